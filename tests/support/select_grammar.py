"""SELECTs drawn from a grammar, each twice: over our tables, and over plain views of their rows.

What a statement answers must not depend on the order in which rows come: LIMIT follows an ORDER BY
of all columns, windows are ranked by values, sums are of numbers that are added exactly.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final, TypeVar

T = TypeVar("T")

Column = tuple[str, str]
"""A name, qualified or not, and a type: one of `int`, `dec`, `dbl`, `str`, `date`, `arr`, `row`."""

LITERALS: Final[Mapping[str, tuple[str, ...]]] = {
    "int": ("0", "1", "2", "3", "7", "-1", "40", "NULL"),
    "dec": ("1.50", "0.25", "-3.00", "12.75"),
    "dbl": ("0.5D", "2.25D", "-1.0D"),
    "str": ("'a'", "'b'", "'ab'", "''", "'é'"),
    "date": ("DATE '2024-01-01'", "DATE '1969-12-31'", "DATE '2024-02-29'"),
    "arr": ("array(1, 2)", "CAST(array() AS ARRAY<INT>)"),
    "row": ("named_struct('x', 1, 'y', 'a')",),
}
_SIMPLE: Final = ("int", "dec", "str", "date")
_MARK: Final = re.compile(r"@([^@]+)@")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A state of a table: how we name it, the view of a copy of its rows, and its columns."""

    ours: str
    view: str
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnSelect:
    """A statement for us, and the same one for plain Spark."""

    ours: str
    plain: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Relation:
    """What stands in a FROM, with the columns that it gives under their qualified names."""

    text: str
    columns: tuple[Column, ...]


def _nested(relation: _Relation) -> str:
    return f"({relation.text})" if "JOIN" in relation.text else relation.text


class SelectGrammar:
    """Draws statements over some tables."""

    def __init__(self, rng: Random, sources: Sequence[Source]) -> None:
        self._rng = rng
        self._sources = {source.view: source for source in sources}
        self._names = 0

    def draw(self) -> DrawnSelect:
        """Draw a statement."""
        self._names = 0
        marked = self._statement()
        return DrawnSelect(
            ours=_MARK.sub(lambda found: self._sources[found[1]].ours, marked),
            plain=_MARK.sub(lambda found: self._sources[found[1]].view, marked),
        )

    # ---- statements ----------------------------------------------------------------------------

    def _statement(self) -> str:
        body, types = self._one_of(
            (5, self._plain_select),
            (3, self._grouped_select),
            (2, self._set_operation),
            (1, self._pivoted),
            (1, self._unpivoted),
            (1, self._counted),
            (1, self._piped),
        )()
        if self._chance(0.2):
            return f"WITH {self._name('c')} AS ({body}) SELECT * FROM c{self._names}"
        if types and self._chance(0.3):
            order = ", ".join(
                f"{at + 1}{self._pick(('', ' DESC', ' NULLS LAST'))}" for at in range(len(types))
            )
            offset = f" OFFSET {self._rng.randrange(3)}" if self._chance(0.3) else ""
            return f"{body} ORDER BY {order} LIMIT {self._rng.randrange(1, 9)}{offset}"
        return body

    def _plain_select(self) -> tuple[str, list[str]]:
        relation = self._relation()
        items, types = self._items(relation)
        distinct = "DISTINCT " if self._chance(0.15) else ""
        views = ""
        arrays = [name for name, kind in relation.columns if kind == "arr"]
        if arrays and self._chance(0.3):
            view = self._name("v")
            explode = f"{self._pick(('', 'OUTER '))}explode({self._pick(arrays)})"
            views = f" LATERAL VIEW {explode} {view} AS e{view}"
            items, types = f"{items}, e{view}", [*types, "int"] if types else types
        where = self._where(relation.columns)
        return f"SELECT {distinct}{items} FROM {relation.text}{views}{where}", types

    def _items(self, relation: _Relation) -> tuple[str, list[str]]:
        """The list of a SELECT; no types where a star makes them unknown."""
        qualifiers = sorted({name.rpartition(".")[0] for name, _ in relation.columns} - {""})
        if self._chance(0.12):
            return "*", []
        if self._chance(0.1) and qualifiers:
            return f"{self._pick(qualifiers)}.*, {self._value(relation.columns, 'int')} AS more", []
        if self._chance(0.12):
            bare = [name.rpartition(".")[2] for name, _ in relation.columns]
            single = [name for name in bare if bare.count(name) == 1]
            if single and len(bare) > 1:
                left_out = self._rng.sample(single, min(len(single), 2, len(bare) - 1))
                return f"* EXCEPT ({', '.join(left_out)})", []
        texts, types = [], []
        for _ in range(self._rng.randrange(1, 4)):
            kind = self._pick(_SIMPLE)
            text = self._one_of(
                (5, lambda kind=kind: self._value(relation.columns, kind)),
                (1, lambda kind=kind: self._window(relation.columns, kind)),
                (1, lambda kind=kind: self._scalar_subquery(relation.columns, kind)),
            )()
            texts.append(f"{text} AS {self._name('x')}")
            types.append(kind)
        return ", ".join(texts), types

    def _grouped_select(self) -> tuple[str, list[str]]:
        relation = self._relation()
        keys = [name for name, kind in relation.columns if kind in _SIMPLE]
        chosen = self._rng.sample(keys, min(len(keys), self._rng.randrange(3)))
        types = [dict(relation.columns)[name] for name in chosen]
        texts = [f"{name} AS {self._name('k')}" for name in chosen]
        for _ in range(self._rng.randrange(1, 3)):
            texts.append(f"{self._aggregate(relation.columns)} AS {self._name('x')}")
            types.append("any")
        grouping = ""
        if chosen:
            listed = ", ".join(chosen)
            form = self._pick(("{}", "{}", "ROLLUP ({})", "CUBE ({})", "ALL"))
            grouping = f" GROUP BY {form.format(listed)}"
        having = f" HAVING count(*) >= {self._rng.randrange(3)}" if self._chance(0.3) else ""
        where = self._where(relation.columns)
        return f"SELECT {', '.join(texts)} FROM {relation.text}{where}{grouping}{having}", types

    def _set_operation(self) -> tuple[str, list[str]]:
        types = [self._pick(_SIMPLE) for _ in range(self._rng.randrange(1, 3))]
        parts = []
        for _ in range(self._rng.randrange(2, 4)):
            relation = self._relation()
            items = ", ".join(self._value(relation.columns, kind) for kind in types)
            parts.append(f"SELECT {items} FROM {relation.text}{self._where(relation.columns)}")
        operators = ("UNION ALL", "UNION", "EXCEPT", "EXCEPT ALL", "INTERSECT", "MINUS")
        text = parts[0]
        for part in parts[1:]:
            text = f"{text} {self._pick(operators)} {part}"
        return f"SELECT * FROM ({text})", types

    def _pivoted(self) -> tuple[str, list[str]]:
        source = self._source()
        key = self._pick([name for name, kind in source.columns if kind == "int"])
        kept = ", ".join(dict.fromkeys(["s", key, "g"]))
        return (
            f"SELECT * FROM (SELECT {kept} FROM @{source.view}@ AS y) "
            f"PIVOT (count(*) AS c FOR g IN (1, 2 AS two, 3))",
            [],
        )

    def _unpivoted(self) -> tuple[str, list[str]]:
        source = self._source()
        numbers = [name for name, kind in source.columns if kind == "int"]
        chosen = ", ".join(self._rng.sample(numbers, min(2, len(numbers))))
        nulls = self._pick(("", " INCLUDE NULLS"))
        picked = self._pick(("what, many", "*", "count(*), sum(many)"))
        return (
            f"SELECT {picked} FROM @{source.view}@ UNPIVOT{nulls} (many FOR what IN ({chosen}))",
            [],
        )

    def _counted(self) -> tuple[str, list[str]]:
        """Counts by stars, which need all columns or none."""
        source = self._source()
        names = [name for name, _ in source.columns]
        simple = [name for name, kind in source.columns if kind in _SIMPLE]
        picked, other = self._pick(simple), self._pick(names)
        star = self._pick(
            (
                "count(*)",
                f"count(* EXCEPT ({other}))",
                f"count(*, {picked})",
                "count(DISTINCT y.*)",
                "count(y.*)",
                f"max(hash(* EXCEPT ({other})))",
            )
        )
        over = self._pick(("", "", f" FILTER (WHERE {self._condition(source.columns)})"))
        rest = self._pick(("", f", max({picked})"))
        where = self._where(source.columns)
        return f"SELECT {star}{over}{rest} FROM @{source.view}@ AS y{where}", []

    def _piped(self) -> tuple[str, list[str]]:
        source = self._source()
        steps = [f"FROM @{source.view}@ AS y"]
        if self._chance(0.6):
            steps.append(f"WHERE {self._condition(source.columns)}")
        if self._chance(0.5):
            steps.append(f"EXTEND {self._value(source.columns, 'int')} AS more")
        if self._chance(0.5):
            other = self._source()
            steps.append(f"LEFT JOIN @{other.view}@ AS z USING (id)")
        steps.append(
            self._pick(("AGGREGATE count(*) AS n GROUP BY id", "SELECT id, y.s", "WHERE id > 1"))
        )
        return " |> ".join(steps), []

    # ---- relations -----------------------------------------------------------------------------

    def _relation(self, depth: int = 0) -> _Relation:
        choices: list[tuple[int, Callable[[], _Relation]]] = [
            (6, self._table),
            (2, self._renamed_table),
            (2, lambda: self._subquery(depth)),
            (1, self._values),
        ]
        if depth < 2:
            choices.append((4, lambda: self._join(depth)))
        if depth == 0:
            choices.append((1, self._lateral))
        return self._one_of(*choices)()

    def _table(self) -> _Relation:
        source, alias = self._source(), self._name("t")
        sign = self._pick(("AS ", ""))
        columns = tuple((f"{alias}.{name}", kind) for name, kind in source.columns)
        text = f"@{source.view}@ {sign}{alias}"
        return _Relation(text=text, columns=columns)

    def _renamed_table(self) -> _Relation:
        source, alias = self._source(), self._name("t")
        # Names of other columns among them: what is pruned by names would change places.
        names = [name for name, _ in source.columns]
        self._rng.shuffle(names)
        if self._chance(0.5):
            names = [f"{name}{at}" for at, name in enumerate(names)]
        table = f"@{source.view}@" if self._chance(0.7) else f"(@{source.view}@)"
        kinds = [kind for _, kind in source.columns]
        return _Relation(
            text=f"{table} AS {alias}({', '.join(names)})",
            columns=tuple(
                (f"{alias}.{name}", kind) for name, kind in zip(names, kinds, strict=True)
            ),
        )

    def _subquery(self, depth: int) -> _Relation:
        inner, alias = self._relation(depth + 1), self._name("q")
        kinds = [self._pick(_SIMPLE) for _ in range(self._rng.randrange(1, 4))]
        names = [self._name("x") for _ in kinds]
        values = [self._value(inner.columns, kind) for kind in kinds]
        where = self._where(inner.columns)
        columns = tuple((f"{alias}.{name}", kind) for name, kind in zip(names, kinds, strict=True))
        if self._chance(0.4):
            text = f"SELECT {', '.join(values)} FROM {inner.text}{where}"
            return _Relation(text=f"({text}) AS {alias}({', '.join(names)})", columns=columns)
        items = ", ".join(f"{value} AS {name}" for value, name in zip(values, names, strict=True))
        return _Relation(text=f"(SELECT {items} FROM {inner.text}{where}) {alias}", columns=columns)

    def _values(self) -> _Relation:
        alias = self._name("w")
        rows = ", ".join(
            f"({self._pick(LITERALS['int'][:-1])}, {self._pick(LITERALS['str'])})"
            for _ in range(self._rng.randrange(1, 4))
        )
        return _Relation(
            text=f"(VALUES {rows}) AS {alias}(i, z)",
            columns=((f"{alias}.i", "int"), (f"{alias}.z", "str")),
        )

    def _join(self, depth: int) -> _Relation:
        left, right = self._relation(depth + 1), self._relation(depth + 1)
        kind = self._pick(
            ("JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "SEMI JOIN", "ANTI JOIN", ",")
        )
        columns = (*left.columns, *right.columns)
        # A comma binds less than a JOIN.
        is_plain = depth == 0 and "JOIN" not in left.text + right.text
        if kind == ",":
            sign = ", " if is_plain else " CROSS JOIN "
            return _Relation(text=f"{left.text}{sign}{_nested(right)}", columns=columns)
        if is_plain and self._chance(0.3) and kind != "CROSS JOIN":
            tables = [self._table(), self._table()]
            shared = f"{kind} {{}} USING (id)"
            # Spark knows no natural join that only leaves rows out.
            if kind not in ("SEMI JOIN", "ANTI JOIN") and self._chance(0.5):
                shared = f"NATURAL {kind} {{}}"
            text = f"{tables[0].text} {shared.format(tables[1].text)}"
            columns = tuple(column for table in tables for column in table.columns)
            left = tables[0]
        else:
            on = self._join_condition(left.columns, right.columns)
            text = f"{left.text} {kind} {_nested(right)} ON {on}"
        is_filter = kind in ("SEMI JOIN", "ANTI JOIN")
        return _Relation(text=text, columns=left.columns if is_filter else columns)

    def _join_condition(self, left: Sequence[Column], right: Sequence[Column]) -> str:
        pairs = [(a, b) for a, kind in left for b, other in right if kind == other == "int"]
        if not pairs:
            return "TRUE"
        equal = " = ".join(self._pick(pairs))
        return f"{equal} AND {self._condition(left)}" if self._chance(0.2) else equal

    def _lateral(self) -> _Relation:
        outer, source, alias = self._table(), self._source(), self._name("l")
        numbers = [name for name, kind in outer.columns if kind == "int"]
        inner = [name for name, kind in source.columns if kind == "int"]
        condition = f"i.{self._pick(inner)} = {self._pick(numbers)}"
        text = (
            f"{outer.text} JOIN LATERAL (SELECT count(*) AS n, max(i.s) AS m "
            f"FROM @{source.view}@ AS i WHERE {condition}) AS {alias}"
        )
        own = ((f"{alias}.n", "int"), (f"{alias}.m", "str"))
        return _Relation(text=text, columns=(*outer.columns, *own))

    # ---- expressions ---------------------------------------------------------------------------

    def _value(self, columns: Sequence[Column], kind: str, depth: int = 0) -> str:
        named = [name for name, other in columns if other == kind]
        structs = [name for name, other in columns if other == "row"]
        arrays = [name for name, other in columns if other == "arr"]
        if kind == "int" and structs and self._chance(0.1):
            return f"{self._pick(structs)}.x"
        if kind == "str" and structs and self._chance(0.1):
            return f"{self._pick(structs)}.y"
        if kind == "int" and arrays and self._chance(0.1):
            return f"size({self._pick(arrays)})"
        if depth > 1 or self._chance(0.6):
            return self._pick(named) if named and self._chance(0.9) else self._literal(kind)
        one = self._value(columns, kind, depth + 1)
        other = self._value(columns, kind, depth + 1)
        forms = {
            "int": ("{0} + {1}", "coalesce({0}, {1})", "{0} % 5", "length({2})", "-({0})"),
            "dec": ("{0} + {1}", "coalesce({0}, {1})", "abs({0})"),
            "str": ("concat({0}, {1})", "upper({0})", "coalesce({0}, {1})", "CAST({3} AS STRING)"),
            "date": ("date_add({0}, 1)", "coalesce({0}, {1})", "greatest({0}, {1})"),
        }[kind]
        condition = self._condition(columns, depth + 1)
        case = f"CASE WHEN {condition} THEN {one} ELSE {other} END"
        text = self._pick((*forms, case))
        if text is case:
            return case
        word = self._value(columns, "str", depth + 1) if "{2}" in text else ""
        number = self._value(columns, "int", depth + 1) if "{3}" in text else ""
        return f"({text.format(one, other, word, number)})"

    def _literal(self, kind: str) -> str:
        text = self._pick(LITERALS[kind])
        return "CAST(NULL AS INT)" if text == "NULL" else text

    def _window(self, columns: Sequence[Column], kind: str) -> str:
        part = self._pick([name for name, _ in columns])
        order = self._pick([name for name, _ in columns])
        over = self._pick(
            (
                f"OVER (PARTITION BY {part})",
                f"OVER (PARTITION BY {part} ORDER BY {order} DESC)",
                f"OVER (ORDER BY {order})",
                "OVER ()",
            )
        )
        if kind == "int" and self._chance(0.5):
            if "ORDER" in over:
                return f"CAST({self._pick(('rank()', 'dense_rank()'))} {over} AS INT)"
            return f"CAST({self._pick(('count(*)', 'count(*, ' + part + ')'))} {over} AS INT)"
        value = self._value(columns, kind, 1)
        return f"{self._pick(('min', 'max'))}({value}) {over}"

    def _aggregate(self, columns: Sequence[Column]) -> str:
        kind = self._pick(("int", "dec", "str", "date"))
        value = self._value(columns, kind, 1)
        forms = ["count({0})", "count(DISTINCT {0})", "min({0})", "max({0})", "count(*)"]
        forms.append("sort_array(collect_list({0}))")
        if kind in ("int", "dec"):
            forms += ["sum({0})", "avg({0})"]
        if self._chance(0.2):
            condition = self._condition(columns)
            forms = [f"{form} FILTER (WHERE {condition})" for form in forms[:5]]
        return self._pick(forms).format(value)

    def _scalar_subquery(self, columns: Sequence[Column], kind: str) -> str:
        source = self._source()
        inner = [(f"i.{name}", other) for name, other in source.columns]
        named = [name for name, other in inner if other == kind]
        if not named:
            return self._literal(kind)
        numbers = [name for name, other in columns if other == "int"]
        where = ""
        if numbers and self._chance(0.6):
            own = self._pick([name for name, other in inner if other == "int"])
            where = f" WHERE {own} = {self._pick(numbers)}"
        return f"(SELECT max({self._pick(named)}) FROM @{source.view}@ AS i{where})"

    def _where(self, columns: Sequence[Column]) -> str:
        return f" WHERE {self._condition(columns)}" if self._chance(0.6) else ""

    def _condition(self, columns: Sequence[Column], depth: int = 0) -> str:
        if depth < 2 and self._chance(0.25):
            left, right = (self._condition(columns, depth + 1) for _ in range(2))
            return self._pick((f"({left} AND {right})", f"({left} OR {right})", f"NOT ({left})"))
        simple = [(name, kind) for name, kind in columns if kind in _SIMPLE]
        if not simple:
            return "TRUE"
        name, kind = self._pick(simple)
        value, other = self._literal(kind), self._literal(kind)
        sign = self._pick(("=", "<", ">", "<=", ">=", "<>", "<=>"))
        forms = [
            f"{name} {sign} {value}",
            f"{name} {sign} {value}",
            f"{value} {sign} {name}",
            f"{name} BETWEEN {value} AND {other}",
            f"{name} IN ({value}, {other})",
            f"{name} NOT IN ({value}, {other})",
            f"{name} IS {self._pick(('', 'NOT '))}NULL",
        ]
        if kind == "str":
            forms.append(f"{name} LIKE {self._pick(('a%', '%b', '_'))!r}")
        if depth == 0:
            forms += [self._exists(columns), self._in_subquery(name, kind)]
        return self._pick(forms)

    def _exists(self, columns: Sequence[Column]) -> str:
        source = self._source()
        numbers = [name for name, kind in columns if kind == "int"]
        own = self._pick([name for name, kind in source.columns if kind == "int"])
        outer = self._pick(numbers) if numbers else "1"
        alias = "i"
        if self._chance(0.3):
            names = [f"n{at}" for at, _ in enumerate(source.columns)]
            own = names[[name for name, _ in source.columns].index(own)]
            alias = f"i({', '.join(names)})"
        sign = self._pick(("", "NOT "))
        return f"{sign}EXISTS (SELECT 1 FROM @{source.view}@ AS {alias} WHERE i.{own} = {outer})"

    def _in_subquery(self, name: str, kind: str) -> str:
        source = self._source()
        named = [f"i.{column}" for column, other in source.columns if other == kind]
        if not named:
            return f"{name} IS NOT NULL"
        inner = [(f"i.{column}", other) for column, other in source.columns]
        condition = self._condition(inner, 1)
        return f"{name} IN (SELECT {self._pick(named)} FROM @{source.view}@ AS i WHERE {condition})"

    # ---- draws ---------------------------------------------------------------------------------

    def _source(self) -> Source:
        return self._pick(tuple(self._sources.values()))

    def _name(self, letter: str) -> str:
        self._names += 1
        return f"{letter}{self._names}"

    def _chance(self, share: float) -> bool:
        return self._rng.random() < share

    def _pick(self, options: Sequence[T]) -> T:
        return self._rng.choice(options)

    def _one_of(self, *weighted: tuple[int, T]) -> T:
        weights = [weight for weight, _ in weighted]
        return self._rng.choices([each for _, each in weighted], weights)[0]
