"""Kinds of tables, ALTERs and statements: each combination is a case of what comes after an ALTER.

Every case starts from the rows that Java wrote, alters the table, perhaps commits something small,
and runs one statement. What it must leave says `TableModel`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from tests.support.sql_expressions import Env, Expr, Row
from tests.support.table_model import ModelClause, ModelColumn, TableModel

COLUMNS: Final = {
    "id": "INT NOT NULL",
    "day": "STRING NOT NULL",
    "a": "INT",
    "b": "INT",
    "n": "INT NOT NULL",
    "e": "INT",
}
FIRST: Final = [
    (1, "x", 10, 100, 7, 5), (2, "x", 20, 200, 8, None), (3, "y", None, 300, 9, 6),
    (4, "y", 40, None, 7, 7), (5, "x", 300, 50, 8, 8),
]  # fmt: skip
SECOND: Final = [(6, "z", 60, 20, 7, 1), (7, "y", 30, 10, 9, None)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of table."""

    keys: tuple[str, ...] = ()
    partition: tuple[str, ...] = ("day",)
    options: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def model(self) -> TableModel:
        """The table with the rows that Java wrote."""
        columns = {
            name: ModelColumn(type.split()[0], is_nullable="NOT NULL" not in type)
            for name, type in COLUMNS.items()
        }
        model = TableModel(
            columns=columns,
            keys=self.keys,
            partition=self.partition,
            engine=self.options.get("merge-engine", "deduplicate"),
        )
        for rows in (FIRST, SECOND):
            model.insert(dict(zip(COLUMNS, row, strict=True)) for row in rows)
        return model


_KEYS: Final = ("id", "day")
_BIG: Final = 3_000_000_000
_MARKS: Final = {"deletion-vectors.enabled": "true"}
KINDS: Final[Mapping[str, Kind]] = {
    "key": Kind(keys=_KEYS, options={"bucket": "2"}),
    "key_marked": Kind(keys=_KEYS, options={"bucket": "1", **_MARKS}),
    "key_whole": Kind(keys=_KEYS, partition=(), options={"bucket": "1"}),
    "key_dynamic": Kind(keys=_KEYS, options={"bucket": "-1"}),
    "append": Kind(options={"bucket": "-1"}),
    "append_marked": Kind(partition=(), options={"bucket": "-1", **_MARKS}),
    "bucketed": Kind(options={"bucket": "2", "bucket-key": "id"}),
    "partial_update": Kind(
        keys=_KEYS,
        options={
            "bucket": "1",
            "merge-engine": "partial-update",
            "partial-update.remove-record-on-delete": "true",
        },
    ),
    "aggregation": Kind(
        keys=_KEYS,
        options={
            "bucket": "1",
            "merge-engine": "aggregation",
            "fields.default-aggregate-function": "sum",
        },
    ),
}


@dataclass(frozen=True, slots=True)
class Altering:
    """Changes of a schema.

    Attributes:
        sql: What follows ALTER TABLE and the name, change by change.
        act: The same on the model.
        p, q: Columns that were touched, or lie beside them: statements set `p` and ask for `q`.
        step: What an UPDATE adds; more than an INT holds where `p` holds more.
    """

    sql: tuple[str, ...]
    act: Callable[[TableModel], object]
    p: str
    q: str
    step: int = 1


def _swap(table: TableModel) -> None:
    for old, new in (("a", "was"), ("b", "a"), ("was", "b")):
        table.rename(old, new)


def _drop_and_add(type: str) -> Callable[[TableModel], None]:
    def act(table: TableModel) -> None:
        table.drop("b")
        table.add("b", type)

    return act


ALTERINGS: Final[Mapping[str, Altering]] = {
    "add": Altering(("ADD COLUMN w INT",), lambda t: t.add("w", "INT"), "w", "a"),
    "drop": Altering(("DROP COLUMN b",), lambda t: t.drop("b"), "a", "e"),
    "drop_and_add": Altering(
        ("DROP COLUMN b", "ADD COLUMN b INT"), _drop_and_add("INT"), "a", "b"
    ),
    "add_as_another": Altering(
        ("DROP COLUMN b", "ADD COLUMN b BIGINT"), _drop_and_add("BIGINT"), "b", "a", _BIG
    ),
    "rename": Altering(("RENAME COLUMN a TO x",), lambda t: t.rename("a", "x"), "x", "b"),
    "swap": Altering(
        ("RENAME COLUMN a TO was", "RENAME COLUMN b TO a", "RENAME COLUMN was TO b"),
        _swap, "a", "b",
    ),
    "widen": Altering(
        ("ALTER COLUMN a TYPE BIGINT",), lambda t: t.retype("a", "BIGINT"), "a", "b", _BIG
    ),
    "move": Altering(("ALTER COLUMN e FIRST",), lambda t: t.move("e", None), "b", "e"),
    "move_after": Altering(("ALTER COLUMN b AFTER e",), lambda t: t.move("b", "e"), "b", "a"),
    "nullability": Altering(
        ("ALTER COLUMN n DROP NOT NULL",), lambda t: t.allow_null("n"), "n", "a"
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement: its text for a table, and the same on the model."""

    sql: Callable[[str, Altering], str]
    act: Callable[[TableModel, Altering], object]


def _update(table: TableModel, to: Altering) -> None:
    def value(env: Env) -> Any:
        q = env["t"][to.q]
        return None if q is None else q + to.step

    def meant(env: Env) -> bool:
        q = env["t"][to.q]
        return env["t"]["id"] in (1, 3) or (q is not None and q >= 40)

    table.update({to.p: Expr("", "int", value)}, Expr("", "bool", meant))


def _delete(table: TableModel, to: Altering) -> None:
    def meant(env: Env) -> bool:
        p, q = env["t"][to.p], env["t"][to.q]
        return p in (20, 200) or q in (10, 300, 5)

    table.delete(Expr("", "bool", meant))


def _merge(table: TableModel, to: Altering) -> None:
    source: list[Row] = [{"id": i, "day": day, "v": v} for i, day, v in _SOURCE]

    def meets(env: Env) -> bool:
        return (env["t"]["id"], env["t"]["day"]) == (env["s"]["id"], env["s"]["day"])

    def added(env: Env) -> Any:
        return env["s"]["v"] + (env["t"][to.q] or 0)

    names = {"id": "id", "day": "day", "n": "id"} | {to.p: "v"}
    inserted = {
        column: Expr("", "int", lambda env, given=given: env["s"][given])
        for column, given in names.items()
    }
    table.merge(
        source,
        Expr("", "bool", meets),
        (
            ModelClause(
                meets="matched",
                does="delete",
                condition=Expr("", "bool", lambda env: env["t"][to.q] in (60, 20)),
            ),
            ModelClause(meets="matched", does="update", values={to.p: Expr("", "int", added)}),
            ModelClause(meets="source", does="insert", values=inserted),
        ),
    )


_SOURCE: Final = ((1, "x", 70), (2, "x", 71), (6, "z", 72), (8, "x", 73))
_VALUES: Final = ", ".join(f"({i}, '{day}', {v})" for i, day, v in _SOURCE)


def _merge_text(name: str, to: Altering) -> str:
    # The column n must not be left out, and may be the one that is set.
    columns, values = ("", "") if to.p == "n" else (", n", ", s.id")
    return (
        f"MERGE INTO db.{name} AS t USING (SELECT * FROM VALUES {_VALUES} AS v (id, day, v)) AS s "
        f"ON t.id = s.id AND t.day = s.day WHEN MATCHED AND t.{to.q} IN (60, 20) THEN DELETE "
        f"WHEN MATCHED THEN UPDATE SET t.{to.p} = s.v + coalesce(t.{to.q}, 0) "
        f"WHEN NOT MATCHED THEN INSERT (id, day, {to.p}{columns}) "
        f"VALUES (s.id, s.day, s.v{values})"
    )


def _insert(table: TableModel, to: Altering) -> None:
    rows: list[Row] = [{"id": i, "day": day, "n": 1} | {to.p: v} for i, day, v in _SOURCE]
    table.insert(rows)


def _insert_text(name: str, to: Altering) -> str:
    extra, value = ("", "") if to.p == "n" else (", n", ", 1")
    rows = ", ".join(f"({i}, '{day}', {v}{value})" for i, day, v in _SOURCE)
    return f"INSERT INTO db.{name} (id, day, {to.p}{extra}) VALUES {rows}"


def _overwrite(table: TableModel, to: Altering) -> None:
    found = [
        {**row, "id": row["id"] + 10, to.p: row[to.q]}
        for row in table.rows
        if row["day"] == "x" and (to.p != "n" or row[to.q] is not None)
    ]
    table.overwrite(found, None)


def _overwrite_text(name: str, to: Altering, columns: list[str]) -> str:
    listed = ", ".join({"id": "id + 10", to.p: to.q}.get(each, each) for each in columns)
    only = f" AND {to.q} IS NOT NULL" if to.p == "n" else ""
    return f"INSERT OVERWRITE db.{name} SELECT {listed} FROM db.{name} WHERE day = 'x'{only}"


def _columns_after(to: Altering) -> list[str]:
    model = KINDS["key"].model
    to.act(model)
    return list(model.columns)


STATEMENTS: Final[Mapping[str, Statement]] = {
    "update": Statement(
        lambda name, to: (
            f"UPDATE db.{name} SET {to.p} = {to.q} + {to.step} WHERE id IN (1, 3) OR {to.q} >= 40"
        ),
        _update,
    ),
    "delete": Statement(
        lambda name, to: (
            f"DELETE FROM db.{name} WHERE {to.p} IN (20, 200) OR {to.q} IN (10, 300, 5)"
        ),
        _delete,
    ),
    "merge": Statement(_merge_text, _merge),
    "overwrite": Statement(
        lambda name, to: _overwrite_text(name, to, _columns_after(to)), _overwrite
    ),
    "insert": Statement(_insert_text, _insert),
}
