"""Statements that write, drawn at random: each as text, and as what it must do to a model.

A program is a table of some kind and the statements that are run on it and on its branches. Keys
that come are different in one statement, as the order of its rows is nobody's.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from tests.support.sql_expressions import (
    SOURCE,
    Env,
    Expr,
    Expressions,
    Row,
    Scope,
    coalesced,
    holds,
    literal,
    null_of,
    quoted,
)
from tests.support.table_model import ModelClause, ModelColumn, TableModel

_SOURCE_KINDS: Final = {"k": "int", "v": "int", "z": "str"}
_NAMES: Final = ("c", "d", "Größe", "a b", "order", "x.y")
_PARTS: Final = ("p", "q", "r")


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenKind:
    """A kind of table that statements are drawn for."""

    keys: tuple[str, ...] = ()
    partition: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def columns(self) -> dict[str, str]:
        """The columns before any ALTER, as Paimon writes their types."""
        part = "STRING NOT NULL" if self.keys else "STRING"
        return {
            "id": "INT NOT NULL",
            **({"part": part} if self.partition else {}),
            "a": "INT",
            "b": "STRING",
            "n": "INT NOT NULL",
        }

    @property
    def model(self) -> TableModel:
        """The empty table."""
        columns = {
            name: ModelColumn(type.split()[0], is_nullable="NOT NULL" not in type)
            for name, type in self.columns.items()
        }
        return TableModel(columns=columns, keys=self.keys, partition=self.partition)


_MARKS: Final = {"deletion-vectors.enabled": "true"}
_PLACED: Final = ("id", "part")
WRITTEN_KINDS: Final[Mapping[str, WrittenKind]] = {
    "key": WrittenKind(keys=("id",), options={"bucket": "2"}),
    "key_parts": WrittenKind(keys=_PLACED, partition=("part",), options={"bucket": "1"}),
    "key_marked": WrittenKind(keys=("id",), options={"bucket": "1", **_MARKS}),
    "key_dynamic": WrittenKind(keys=_PLACED, partition=("part",), options={"bucket": "-1"}),
    "append": WrittenKind(options={"bucket": "-1"}),
    "append_parts": WrittenKind(partition=("part",), options={"bucket": "-1"}),
    "append_marked": WrittenKind(partition=("part",), options={"bucket": "-1", **_MARKS}),
    "bucketed": WrittenKind(partition=("part",), options={"bucket": "2", "bucket-key": "id"}),
}


@dataclass(frozen=True, slots=True)
class Drawn:
    """A statement: its text, the branch that it is run on, and what it does to the models."""

    sql: str
    branch: str
    act: Callable[[], object]


class WriteProgram:
    """A table `db.<name>` with its branches, and statements for it."""

    def __init__(self, rng: random.Random, name: str, kind: WrittenKind) -> None:
        self._rng = rng
        self._name = name
        self.branches = {"main": kind.model}

    def statements(self, count: int) -> Iterator[Drawn]:
        """Draw statements; each is run, or refused, before the next is asked for."""
        yield self._insert(self._target())
        for _ in range(count - 1):
            yield self._next()

    def _next(self) -> Drawn:
        drawn = self._rng.random()
        if drawn < 0.06 and len(self.branches) < 3:
            return self._branch()
        at = self._target()
        if drawn < 0.18:
            return self._alter(at)
        makers = (
            self._insert, self._insert, self._overwrite, self._update, self._update, self._delete,
            self._delete, self._merge, self._merge, self._merge,
        )  # fmt: skip
        return self._rng.choice(makers)(at)

    def _target(self) -> "_Target":
        branch = self._rng.choice(list(self.branches))
        model = self.branches[branch]
        how = self._rng.randrange(3)
        if branch != "main" and how == 0:
            return _Target(model, f"db.`{self._name}$branch_{branch}`", "", "main")
        if branch != "main" and how == 1:
            return _Target(model, f"db.{self._name}", f"USE BRANCH {branch}; ", "main")
        return _Target(model, f"db.{self._name}", "", branch)

    def _branch(self) -> Drawn:
        name = f"dev{len(self.branches)}"

        def act() -> None:
            self.branches[name] = self.branches["main"].copy()

        return Drawn(f"CREATE BRANCH {name} ON TABLE db.{self._name}", "main", act)

    # ---- ALTER TABLE ---------------------------------------------------------------------------

    def _alter(self, at: "_Target") -> Drawn:
        rng, model = self._rng, at.model
        held = {"id", "n", *model.keys, *model.partition}
        free = [name for name in model.columns if name not in held]
        new = rng.choice([name for name in _NAMES if name not in model.columns])
        match rng.randrange(7):
            case 0 | 1:
                type = rng.choice(("INT", "STRING", "BIGINT"))
                return at.ran(f"ADD COLUMN {quoted(new)} {type}", lambda: model.add(new, type))
            case 2 if len(free) > 1:
                gone = rng.choice(free)
                return at.ran(f"DROP COLUMN {quoted(gone)}", lambda: model.drop(gone))
            case 3 if free:
                old = rng.choice(free)
                change = f"RENAME COLUMN {quoted(old)} TO {quoted(new)}"
                return at.ran(change, lambda: model.rename(old, new))
            case 4 if ints := [name for name in free if model.columns[name].type == "INT"]:
                wide = rng.choice(ints)
                change = f"ALTER COLUMN {quoted(wide)} TYPE BIGINT"
                return at.ran(change, lambda: model.retype(wide, "BIGINT"))
            case 5 if not model.columns["n"].is_nullable:
                return at.ran("ALTER COLUMN n DROP NOT NULL", lambda: model.allow_null("n"))
            case _:
                moved = rng.choice(list(model.columns))
                after = rng.choice([None, *(name for name in model.columns if name != moved)])
                where = "FIRST" if after is None else f"AFTER {quoted(after)}"
                change = f"ALTER COLUMN {quoted(moved)} {where}"
                return at.ran(change, lambda: model.move(moved, after))

    # ---- INSERT --------------------------------------------------------------------------------

    def _insert(self, at: "_Target") -> Drawn:
        rows = self._rows(at.model, static={})
        return at.drawn(f"INSERT INTO {at.text}{rows.sql}", lambda: at.model.insert(rows.of()))

    def _overwrite(self, at: "_Target") -> Drawn:
        model, rng = at.model, self._rng
        how = rng.randrange(3) if model.partition else 0
        if how == 1:
            static = {"part": rng.choice(_PARTS)}
            rows = self._rows(model, static=static)
            return at.drawn(
                f"INSERT OVERWRITE {at.text} PARTITION (part = '{static['part']}'){rows.sql}",
                lambda: model.overwrite(rows.of(), static),
            )
        rows = self._rows(model, static={})
        if how == 2:
            return at.drawn(
                f"INSERT OVERWRITE {at.text} PARTITION (){rows.sql}",
                lambda: model.overwrite(rows.of(), {}),
            )
        return at.drawn(
            f"INSERT OVERWRITE {at.text}{rows.sql}", lambda: model.overwrite(rows.of(), None)
        )

    def _rows(self, model: TableModel, static: Mapping[str, Any]) -> "_Rows":
        """Rows to be inserted: columns, and VALUES or a SELECT of `db.src`."""
        rng = self._rng
        own = [name for name in model.columns if name not in static]
        needed = [name for name in own if name in model.keys or not model.columns[name].is_nullable]
        names, listed = own, ""
        how = rng.randrange(3)
        if how:
            spare = [name for name in own if name not in needed]
            names = [*needed, *rng.sample(spare, rng.randrange(len(spare) + 1))]
            rng.shuffle(names)
            if how == 1:
                listed = f" ({', '.join(map(quoted, names))})"
        if how == 2 or rng.random() < 0.5:
            scope = Scope(table="s", kinds=_SOURCE_KINDS, alias=rng.choice((None, "q")))
            chosen = self._values(model, names, Expressions(rng, scope), scope.column("k"))
            where = Expressions(rng, scope).truth() if rng.random() < 0.5 else None
            selected = ", ".join(f"{v.sql} AS {quoted(name)}" for name, v in chosen.items())
            text = f"SELECT {selected} FROM db.src{' AS q' if scope.alias else ''}"
            text += "" if where is None else f" WHERE {where.sql}"
            by_name = " BY NAME" if how == 2 else ""
            return _Rows(
                f"{listed}{by_name} {text}",
                lambda: [
                    {**static, **{name: value.of({"s": row}) for name, value in chosen.items()}}
                    for row in SOURCE
                    if holds(where, {"s": row})
                ],
            )
        ids = rng.sample(range(1, 16), rng.randrange(1, 6))
        # Spark works out few functions in VALUES.
        drawn = [self._values(model, names, Expressions(rng), literal(i)) for i in ids]
        rows = [{n: _constant(v) for n, v in row.items()} for row in drawn]
        text = ", ".join(f"({', '.join(v.sql for v in row.values())})" for row in rows)
        return _Rows(
            f"{listed} VALUES {text}",
            lambda: [{**static, **{n: v.of({}) for n, v in row.items()}} for row in rows],
        )

    def _values(
        self, model: TableModel, names: Sequence[str], draw: Expressions, key: Expr
    ) -> dict[str, Expr]:
        """A value for each column, different ones for `id`."""
        return {name: self._value(model, name, draw, key) for name in names}

    def _value(self, model: TableModel, name: str, draw: Expressions, key: Expr) -> Expr:
        rng = self._rng
        if name == "id":
            more = rng.choice((0, 0, 1, 2))
            return Expr(f"{key.sql} + {more}", "int", lambda env: key.of(env) + more)
        if name == "part":
            is_null = not model.keys and rng.random() < 0.1
            return null_of("str") if is_null else literal(rng.choice(_PARTS))
        column = model.columns[name]
        value = draw.value(column.kind, rng.randrange(3))
        if column.is_nullable or rng.random() < 0.04:
            return value
        return coalesced(value, literal(0))

    # ---- UPDATE, DELETE, MERGE INTO ------------------------------------------------------------

    def _update(self, at: "_Target") -> Drawn:
        alias = self._rng.choice((None, "u"))
        draw = Expressions(self._rng, at.scope(alias))
        values = self._assigned(at.model, draw)
        where = draw.truth() if self._rng.random() < 0.85 else None
        prefix = "" if alias is None else self._rng.choice(("", "u."))
        sets = ", ".join(f"{prefix}{quoted(name)} = {v.sql}" for name, v in values.items())
        text = f"UPDATE {at.text}{'' if alias is None else ' AS u'} SET {sets}"
        text += "" if where is None else f" WHERE {where.sql}"
        return at.drawn(text, lambda: at.model.update(values, where))

    def _delete(self, at: "_Target") -> Drawn:
        alias = self._rng.choice((None, "u"))
        where = Expressions(self._rng, at.scope(alias)).truth()
        text = f"DELETE FROM {at.text}{'' if alias is None else ' AS u'} WHERE {where.sql}"
        return at.drawn(text, lambda: at.model.delete(where))

    def _merge(self, at: "_Target") -> Drawn:
        rng, model = self._rng, at.model
        ours, theirs = at.scope("t"), Scope(table="s", kinds=_SOURCE_KINDS, alias="s")
        draw = Expressions(rng, ours, theirs)
        on = self._on(ours, theirs)
        matched = [self._clause("matched", model, draw) for _ in range(rng.randrange(3))]
        alone = [
            self._clause("target", model, Expressions(rng, ours))
            for _ in range(rng.choice((0, 0, 1, 2)))
        ]
        fresh = [
            self._fresh(model, Expressions(rng, theirs), theirs)
            for _ in range(rng.choice((0, 1, 1, 2)))
        ]
        clauses = [*_only_last_always(matched), *_only_last_always(fresh)]
        clauses += _only_last_always(alone)
        if not clauses:
            clauses = [self._fresh(model, Expressions(rng, theirs), theirs)]
        # How columns of a clause of one side are spelled; the alias may be left out there.
        text = f"MERGE INTO {at.text} AS t USING db.src AS s ON {on.sql}"
        text += "".join(f" {_clause_text(each)}" for each in clauses)
        return at.drawn(text, lambda: model.merge(SOURCE, on, clauses))

    def _on(self, ours: Scope, theirs: Scope) -> Expr:
        draw = Expressions(self._rng, ours, theirs, has_subqueries=False)
        name = "id" if self._rng.random() < 0.8 else "n"
        mine, other = ours.column(name), theirs.column("k" if name == "id" else "v")
        also = draw.truth(1) if self._rng.random() < 0.4 else None
        more = "" if also is None else f" AND {also.sql}"

        def of(env: Env) -> bool:
            one, two = mine.of(env), other.of(env)
            return one is not None and one == two and holds(also, env)

        return Expr(f"{mine.sql} = {other.sql}{more}", "bool", of)

    def _clause(self, meets: str, model: TableModel, draw: Expressions) -> ModelClause:
        does = self._rng.choice(("update", "update", "delete"))
        condition = draw.truth(1, has_subqueries=False) if self._rng.random() < 0.6 else None
        values = self._assigned(model, draw) if does == "update" else {}
        return ModelClause(meets=meets, does=does, condition=condition, values=values)

    def _fresh(self, model: TableModel, draw: Expressions, theirs: Scope) -> ModelClause:
        needed = [n for n, c in model.columns.items() if n in model.keys or not c.is_nullable]
        spare = [name for name in model.columns if name not in needed]
        names = [*needed, *self._rng.sample(spare, self._rng.randrange(len(spare) + 1))]
        condition = draw.truth(1, has_subqueries=False) if self._rng.random() < 0.5 else None
        values = self._values(model, names, draw, theirs.column("k"))
        return ModelClause(meets="source", does="insert", condition=condition, values=values)

    def _assigned(self, model: TableModel, draw: Expressions) -> dict[str, Expr]:
        names = [name for name in model.columns if name not in model.keys and name != "id"]
        chosen = self._rng.sample(names, self._rng.randrange(1, min(3, len(names)) + 1))
        return {name: self._value(model, name, draw, literal(0)) for name in chosen}


@dataclass(frozen=True, slots=True)
class _Rows:
    sql: str
    of: Callable[[], list[Row]]


@dataclass(frozen=True, slots=True)
class _Target:
    """A table as a statement names it, and how the statement comes to its branch."""

    model: TableModel
    text: str
    before: str
    branch: str

    def scope(self, alias: str | None) -> Scope:
        return Scope(table="t", kinds=self.model.kinds(), alias=alias)

    def drawn(self, sql: str, act: Callable[[], object]) -> Drawn:
        return Drawn(self.before + sql, self.branch, act)

    def ran(self, change: str, act: Callable[[], object]) -> Drawn:
        return self.drawn(f"ALTER TABLE {self.text} {change}", act)


def _constant(expr: Expr) -> Expr:
    value = expr.of({})
    return null_of(expr.kind) if value is None else literal(value)


def _only_last_always(clauses: list[ModelClause]) -> list[ModelClause]:
    """Clauses of which only the last may be without a condition, as SQL wants it."""
    always = [number for number, each in enumerate(clauses) if each.condition is None]
    return clauses[: always[0] + 1] if always else clauses


_MEETS: Final = {
    "matched": "MATCHED",
    "source": "NOT MATCHED",
    "target": "NOT MATCHED BY SOURCE",
}


def _clause_text(clause: ModelClause) -> str:
    text = f"WHEN {_MEETS[clause.meets]}"
    text += "" if clause.condition is None else f" AND {clause.condition.sql}"
    match clause.does:
        case "delete":
            return f"{text} THEN DELETE"
        case "update":
            sets = ", ".join(f"{quoted(n)} = {v.sql}" for n, v in clause.values.items())
            return f"{text} THEN UPDATE SET {sets}"
        case _:
            names = ", ".join(map(quoted, clause.values))
            values = ", ".join(v.sql for v in clause.values.values())
            return f"{text} THEN INSERT ({names}) VALUES ({values})"
