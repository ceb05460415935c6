"""Expressions of SQL that are drawn at random, with what they must come to.

Each is written for Spark, and evaluated here by rules of its own: three truth values, and a null
from whatever touches a null.
"""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

Value: TypeAlias = "int | str | bool | None"
Row: TypeAlias = dict[str, Any]
Env: TypeAlias = Mapping[str, Row]
"""The rows that an expression sees, by the names of their tables."""

_SOURCE_VALUES: Final = [
    (1, 5, "x"), (2, None, "y"), (3, 7, None), (4, -2, "it's"), (6, 0, "X"), (9, 5, ""),
    (12, 3, "y"), (15, None, None),
]  # fmt: skip
SOURCE: Final[Sequence[Row]] = tuple(
    dict(zip(("k", "v", "z"), values, strict=True)) for values in _SOURCE_VALUES
)
"""The rows of `db.src`, which statements take values from; `k` is in none twice."""
SOURCE_COLUMNS: Final = {"k": "INT", "v": "INT", "z": "STRING"}
_STRINGS: Final = ("x", "y", "z", "X", "", "it's", "a b", "ä")


@dataclass(frozen=True, slots=True)
class Expr:
    """An expression: its text, whether it is an int, a str or a bool, and its value."""

    sql: str
    kind: str
    of: Callable[[Env], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Columns that may be named: of the table `table`, whose rows an `Env` has under that name.

    Attributes:
        kinds: int or str, by column.
        alias: What is written before a column; None for bare names.
    """

    table: str
    kinds: Mapping[str, str]
    alias: str | None

    def column(self, name: str) -> Expr:
        """A column by its name."""
        prefix = "" if self.alias is None else f"{self.alias}."
        table = self.table
        return Expr(f"{prefix}{quoted(name)}", self.kinds[name], lambda env: env[table][name])


def quoted(name: str) -> str:
    """A name, in backticks where it needs them."""
    is_plain = name.isascii() and name.isidentifier() and name != "order"
    return name if is_plain else f"`{name}`"


def literal(value: Value) -> Expr:
    """A value as SQL writes it; a null is an int."""
    if isinstance(value, str):
        text = value.replace("\\", "\\\\").replace("'", "\\'")
        return Expr(f"'{text}'", "str", lambda env: value)
    kind = "bool" if isinstance(value, bool) else "int"
    text = "NULL" if value is None else str(value).lower()
    return Expr(text, kind, lambda env: value)


def null_of(kind: str) -> Expr:
    """A null of a kind."""
    written = {"int": "INT", "str": "STRING"}[kind]
    return Expr(f"CAST(NULL AS {written})", kind, lambda env: None)


def coalesced(a: Expr, b: Expr) -> Expr:
    """The first of two values that is not null."""

    def of(env: Env) -> Any:
        value = a.of(env)
        return b.of(env) if value is None else value

    return Expr(f"coalesce({a.sql}, {b.sql})", a.kind, of)


def holds(expr: Expr | None, env: Env) -> bool:
    """Whether a condition is true; where it is unknown it is not."""
    return expr is None or expr.of(env) is True


class Expressions:
    """Draws expressions over tables; joins have no subqueries."""

    def __init__(self, rng: random.Random, *scopes: Scope, has_subqueries: bool = True) -> None:
        self._rng = rng
        self._scopes = scopes
        self._has_subqueries = has_subqueries and bool(scopes)

    def value(self, kind: str, depth: int = 2) -> Expr:
        """An int or a str."""
        return self.number(depth) if kind == "int" else self.text(depth)

    def number(self, depth: int = 2) -> Expr:
        """An int, or null."""
        if depth == 0 or self._rng.random() < 0.25:
            return self._leaf("int")
        a, b, one = self._lazy(depth)
        match self._rng.randrange(9 if self._has_subqueries else 8):
            case 0:
                return _strict(f"({a.sql} + {b.sql})", "int", lambda x, y: x + y, a, b)
            case 1:
                return _strict(f"({a.sql} - {b.sql})", "int", lambda x, y: x - y, a, b)
            case 2:
                by = self._rng.choice((-1, 2, 3))
                return _strict(f"({a.sql} * {by})", "int", lambda x: x * by, a)
            case 3:
                by = self._rng.choice((2, 3, 5))
                # The sign of the remainder is that of the dividend, as in Java.
                return _strict(f"({a.sql} % {by})", "int", lambda x: int(math.fmod(x, by)), a)
            case 4:
                return coalesced(a, b)
            case 5:
                return _case(self.truth(depth - 1, has_subqueries=False), a, b)
            case 6:
                return _strict(f"length({one.sql})", "int", len, one)
            case 7:
                return Expr(
                    f"nullif({a.sql}, {b.sql})",
                    "int",
                    lambda env: None if a.of(env) == b.of(env) else a.of(env),
                )
            case _:
                return self._greatest_of_source()

    def text(self, depth: int = 2) -> Expr:
        """A str, or null."""
        if depth == 0 or self._rng.random() < 0.35:
            return self._leaf("str")
        a, b = self.text(depth - 1), self.text(depth - 1)
        match self._rng.randrange(5):
            case 0:
                return _strict(f"({a.sql} || {b.sql})", "str", lambda x, y: x + y, a, b)
            case 1:
                return _strict(f"upper({a.sql})", "str", str.upper, a)
            case 2:
                return coalesced(a, b)
            case 3:
                return _case(self.truth(depth - 1, has_subqueries=False), a, b)
            case _:
                number = self.number(depth - 1)
                return _strict(f"CAST({number.sql} AS STRING)", "str", str, number)

    def truth(self, depth: int = 2, *, has_subqueries: bool = True) -> Expr:
        """A condition, which may be unknown."""
        rng = self._rng
        if depth > 0 and rng.random() < 0.5:
            a = self.truth(depth - 1, has_subqueries=has_subqueries)
            b = self.truth(depth - 1, has_subqueries=has_subqueries)
            match rng.randrange(3):
                case 0:
                    return Expr(f"({a.sql} AND {b.sql})", "bool", lambda env: _and(a, b, env))
                case 1:
                    return Expr(f"({a.sql} OR {b.sql})", "bool", lambda env: _or(a, b, env))
                case _:
                    # Spark does not say unknown for a subquery that is negated as a part.
                    c = self.truth(depth - 1, has_subqueries=False)
                    return _strict(f"(NOT {c.sql})", "bool", lambda x: not x, c)
        if has_subqueries and self._has_subqueries and rng.random() < 0.25:
            return self._of_source()
        kind = rng.choice(("int", "int", "str"))
        a, b = self.value(kind, 1), self.value(kind, 1)
        match rng.randrange(6):
            case 0:
                return Expr(f"({a.sql} IS NULL)", "bool", lambda env: a.of(env) is None)
            case 1:
                return Expr(f"({a.sql} IS NOT NULL)", "bool", lambda env: a.of(env) is not None)
            case 2:
                return Expr(f"({a.sql} <=> {b.sql})", "bool", lambda env: a.of(env) == b.of(env))
            case 3:
                return self._in_list(a, kind)
            case 4 if kind == "int":
                low, high = sorted((rng.randrange(-3, 9), rng.randrange(-3, 9)))
                text = f"({a.sql} {rng.choice(('', 'NOT '))}BETWEEN {low} AND {high})"
                negated = "NOT BETWEEN" in text
                return _strict(text, "bool", lambda x: (low <= x <= high) is not negated, a)
            case _:
                sign = rng.choice(tuple(_COMPARED))
                return _strict(f"({a.sql} {sign} {b.sql})", "bool", _COMPARED[sign], a, b)

    def _lazy(self, depth: int) -> tuple[Expr, Expr, Expr]:
        return self.number(depth - 1), self.number(depth - 1), self.text(depth - 1)

    def _leaf(self, kind: str) -> Expr:
        columns = [
            scope.column(name)
            for scope in self._scopes
            for name, its_kind in scope.kinds.items()
            if its_kind == kind
        ]
        if columns and self._rng.random() < 0.75:
            return self._rng.choice(columns)
        if self._rng.random() < 0.15:
            return null_of(kind)
        if kind == "int":
            return literal(self._rng.randrange(-3, 13))
        return literal(self._rng.choice(_STRINGS))

    def _outer(self) -> Expr:
        """An int that a subquery of `db.src` sees too: its own columns hide bare names."""
        seen = [each for each in self._scopes if each.alias is not None or each.table != "s"]
        columns = [
            each.column(n) for each in seen for n, kind in each.kinds.items() if kind == "int"
        ]
        return self._rng.choice(columns) if columns else literal(self._rng.randrange(1, 16))

    def _in_list(self, a: Expr, kind: str) -> Expr:
        count = self._rng.randrange(1, 4)
        items = [self._rng.choice((*_STRINGS, None)) for _ in range(count)]
        if kind == "int":
            items = [self._rng.choice((*range(-2, 8), None)) for _ in range(count)]
        is_in = self._rng.random() < 0.5
        text = ", ".join(literal(item).sql for item in items)
        word = "IN" if is_in else "NOT IN"
        return Expr(
            f"({a.sql} {word} ({text}))", "bool", lambda env: _is_in(a.of(env), items, is_in)
        )

    def _of_source(self) -> Expr:
        """A condition about the rows of `db.src`."""
        below = self._rng.randrange(2, 16)
        a = self.number(1)
        if self._rng.random() < 0.5:
            items = [row["v"] for row in SOURCE if row["k"] < below]
            is_in = self._rng.random() < 0.5
            text = f"SELECT v FROM db.src WHERE k < {below}"
            word = "IN" if is_in else "NOT IN"
            return Expr(
                f"({a.sql} {word} ({text}))", "bool", lambda env: _is_in(a.of(env), items, is_in)
            )
        column = self._outer()
        return Expr(
            f"EXISTS (SELECT 1 FROM db.src AS e WHERE e.k = {column.sql} AND e.k < {below})",
            "bool",
            lambda env: any(r["k"] == column.of(env) and r["k"] < below for r in SOURCE),
        )

    def _greatest_of_source(self) -> Expr:
        """A number from `db.src`, of all rows or of those with the key that is a column."""
        column = self._leaf("int")
        if (
            self._rng.random() < 0.5
            or not column.sql.replace("`", "").replace(".", "").isidentifier()
        ):
            below = self._rng.randrange(1, 16)
            found = [r["v"] for r in SOURCE if r["k"] < below and r["v"] is not None]
            text = f"(SELECT max(v) FROM db.src WHERE k < {below})"
            return Expr(text, "int", lambda env: max(found, default=None))
        column = self._outer()
        return Expr(
            f"(SELECT max(g.v) FROM db.src AS g WHERE g.k = {column.sql})",
            "int",
            lambda env: next((r["v"] for r in SOURCE if r["k"] == column.of(env)), None),
        )


_COMPARED: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "=": lambda x, y: x == y,
    "<>": lambda x, y: x != y,
    "<": lambda x, y: x < y,
    "<=": lambda x, y: x <= y,
    ">": lambda x, y: x > y,
    ">=": lambda x, y: x >= y,
}


def _strict(sql: str, kind: str, act: Callable[..., Any], *parts: Expr) -> Expr:
    """An expression that is null where one of its parts is."""

    def of(env: Env) -> Any:
        values = [part.of(env) for part in parts]
        return None if None in values else act(*values)

    return Expr(sql, kind, of)


def _case(condition: Expr, a: Expr, b: Expr) -> Expr:
    return Expr(
        f"CASE WHEN {condition.sql} THEN {a.sql} ELSE {b.sql} END",
        a.kind,
        lambda env: a.of(env) if holds(condition, env) else b.of(env),
    )


def _and(a: Expr, b: Expr, env: Env) -> Any:
    values = (a.of(env), b.of(env))
    return False if False in values else None if None in values else True


def _or(a: Expr, b: Expr, env: Env) -> Any:
    values = (a.of(env), b.of(env))
    return True if True in values else None if None in values else False


def _is_in(value: Any, items: Sequence[Any], is_in: bool) -> Any:
    if not items:
        return not is_in
    if value is None:
        return None
    if value in items:
        return is_in
    return None if None in items else not is_in
