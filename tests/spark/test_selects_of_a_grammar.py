"""SELECTs drawn from a grammar answer as plain Spark does on a copy of the rows."""

import datetime as dt
import random
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest
from py4j.protocol import Py4JJavaError

from branch_console.format.identifier import Identifier
from branch_console.spark.session.session import WarmSession
from tests.support.examples import Examples
from tests.support.plain_spark import PlainSpark, answer_of
from tests.support.select_grammar import SelectGrammar, Source
from tests.support.statements import Statements

pytestmark = pytest.mark.depth("full")

_SPARK_FAILS: Final = "PLAN_VALIDATION_FAILED"
"""What Spark says where its own optimizer breaks a plan: there is no answer to compare with."""

Row = tuple[Any, ...]

_Columns: TypeAlias = tuple[tuple[str, str, str], ...]

_KEYED: Final[_Columns] = (
    ("id", "int", "INT NOT NULL"),
    ("g", "int", "INT"),
    ("n", "int", "INT"),
    ("s", "str", "STRING"),
    ("m", "dec", "DECIMAL(8, 2)"),
    ("d", "date", "DATE"),
    ("f", "dbl", "DOUBLE"),
    ("a", "arr", "ARRAY<INT>"),
    ("r", "row", "STRUCT<x: INT, y: STRING>"),
)
_PARTED: Final[_Columns] = (
    ("g", "int", "INT"),
    ("id", "int", "INT"),
    ("s", "str", "STRING"),
    ("p", "str", "STRING"),
)


class Copied:
    """Two tables with several states each, and a plain view of the rows of each state."""

    def __init__(self, session: WarmSession, folder: Path, rng: random.Random) -> None:
        self.ours = Statements(session, folder)
        self.plain = PlainSpark(session.spark)
        (folder / "db.db").mkdir(parents=True)
        self.sources: list[Source] = []
        self._rng = rng
        self._make_keyed()
        self._make_parted()

    def _make_keyed(self) -> None:
        self.ours(
            f"CREATE TABLE db.t ({_ddl(_KEYED)}, PRIMARY KEY (id) NOT ENFORCED) "
            "TBLPROPERTIES ('bucket' = '2')"
        )
        rows = self._put("db.t", {}, range(1, 9))
        self._view("db.t VERSION AS OF 1", "t_1", _KEYED, rows)
        moment = self._moment("db.t")
        self._view(f"db.t TIMESTAMP AS OF '{moment}'", "t_then", _KEYED, rows)
        self.ours("CALL sys.create_tag(table => 'db.t', tag => 'first')")
        self._view("db.t VERSION AS OF 'first'", "t_tag", _KEYED, rows)
        rows = self._put("db.t", rows, range(5, 14))
        self.ours("CREATE BRANCH dev ON TABLE db.t")
        on_dev = self._put("db.`t$branch_dev`", rows, range(12, 18))
        self.ours("DELETE FROM db.`t$branch_dev` WHERE id < 3")
        on_dev = {key: row for key, row in on_dev.items() if key >= 3}
        self.ours("ALTER TABLE db.`t$branch_dev` RENAME COLUMN n TO k")
        renamed = tuple(("k" if name == "n" else name, *kinds) for name, *kinds in _KEYED)
        self._view("db.`t$branch_dev`", "t_dev", renamed, on_dev)
        self._view("db.t /*+ OPTIONS('branch'='dev') */", "t_hinted", renamed, on_dev)
        self.ours("UPDATE db.t SET s = 'new', g = NULL WHERE id IN (2, 6, 11)")
        for key in (2, 6, 11):
            row = rows[key]
            rows[key] = (row[0], None, row[2], "new", *row[4:])
        self._view("db.t", "t", _KEYED, rows)

    def _make_parted(self) -> None:
        self.ours(f"CREATE TABLE db.u ({_ddl(_PARTED)}) PARTITIONED BY (p)")
        rows: list[Row] = []
        for day in ("d1", "d2", None):
            more = [(self._rng.choice((1, 2, 3, None)), n, self._text(), day) for n in range(4)]
            self.ours(f"INSERT INTO db.u VALUES {', '.join(map(_literal, more))}")
            rows += more
        self._view("db.u", "u", _PARTED, dict(enumerate(rows)))
        self._view("db.u VERSION AS OF 2", "u_2", _PARTED, dict(enumerate(rows[:8])))

    def _put(self, table: str, rows: dict[int, Row], keys: Iterable[int]) -> dict[int, Row]:
        new = {key: self._row(key) for key in keys}
        self.ours(f"INSERT INTO {table} VALUES {', '.join(map(_literal, new.values()))}")
        return rows | new

    def _row(self, key: int) -> Row:
        draw = self._rng.choice
        return (
            key,
            draw((1, 2, 3, None)),
            draw((0, -1, 7, 40, None)),
            self._text(),
            draw((Decimal("1.50"), Decimal("0.25"), Decimal("-3.00"), None)),
            draw((dt.date(2024, 1, 1), dt.date(1969, 12, 31), dt.date(2024, 2, 29), None)),
            draw((0.5, 2.25, -1.0, None)),
            draw(([1, 2], [], [3, None], None)),
            draw(((1, "a"), (2, None), None)),
        )

    def _text(self) -> str | None:
        return self._rng.choice(("a", "b", "ab", "", "é", None))

    def _moment(self, table: str) -> str:
        head = self.ours.warehouse.table(Identifier.parse(table)).head()
        assert head is not None
        moment = dt.datetime.fromtimestamp(head.time_millis / 1000, dt.UTC)
        return moment.strftime("%Y-%m-%d %H:%M:%S.%f")

    def _view(self, ours: str, view: str, columns: _Columns, rows: dict[int, Row]) -> None:
        self.plain.add(view, _ddl(columns), rows.values())
        named = tuple((name, kind) for name, kind, _ in columns)
        self.sources.append(Source(ours=ours, view=view, columns=named))


def _ddl(columns: Iterable[tuple[str, str, str]]) -> str:
    return ", ".join(f"{name} {kind}" for name, _, kind in columns)


def _literal(value: Any) -> str:
    match value:
        case None:
            return "NULL"
        case str():
            return f"'{value}'"
        case Decimal():
            return f"{value}BD"
        case dt.date():
            return f"DATE '{value}'"
        case list():
            return f"array({', '.join(map(_literal, value))})"
        case (x, y):
            return f"named_struct('x', {_literal(x)}, 'y', {_literal(y)})"
        case tuple():
            return f"({', '.join(map(_literal, value))})"
        case _:
            return f"{value}D" if isinstance(value, float) else str(value)


@pytest.fixture(scope="module")
def copied(session: WarmSession, tmp_path_factory: pytest.TempPathFactory, seed: int) -> Copied:
    folder = tmp_path_factory.mktemp("grammar") / "warehouse"
    return Copied(session, folder, random.Random(seed))


def test_selects_answer_as_plain_spark_on_a_copy_of_the_rows(
    copied: Copied, rng: random.Random, examples: Examples
) -> None:
    count, answered, unplanned, wrong = examples(5), 0, 0, []
    for number in range(count):
        drawn = SelectGrammar(rng, copied.sources).draw()
        try:
            wanted = answer_of(copied.plain.rows, drawn.plain)
        except Py4JJavaError as error:
            if _SPARK_FAILS not in str(error):
                raise
            unplanned += 1
            continue
        found = answer_of(copied.ours.rows, drawn.ours)
        answered += wanted != "refused"
        if found != wanted:
            wrong.append(f"{number}: {drawn.ours}\n  plain {wanted}\n  ours  {found}")
    print(
        f"{count} statements, {answered} of them answered, {len(wrong)} otherwise than by Spark, "
        f"{unplanned} on which Spark itself fails"
    )
    assert not wrong, "\n".join(wrong)
    assert unplanned <= count * 0.02, "Spark fails on few"
    assert answered >= count * 0.8, "the grammar draws statements that mean something"
