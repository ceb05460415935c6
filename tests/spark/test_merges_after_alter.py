"""Branches that were altered and merged before, or right after, their next commit."""

import random
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from branch_console.spark.session.session import WarmSession
from tests.support.altered_tables import ALTERINGS, COLUMNS, FIRST, KINDS, STATEMENTS, Altering
from tests.support.depths import by_night
from tests.support.java_child import Read, read_with_java
from tests.support.sql_expressions import Expr
from tests.support.statements import Statements
from tests.support.table_model import TableModel
from tests.support.warehouses import VERSIONS

pytestmark = pytest.mark.depth("full")

# Without a key, rows that one side inserts and the other updates are a conflict by rule.
_COMMITS = {
    "key_whole": ("nobody", "dev", "main", "both"),
    "append": ("nobody", "dev", "main"),
}


@pytest.mark.parametrize("kind_name", by_night(_COMMITS, but=("key_whole",)))
def test_a_merge_takes_over_what_an_alter_left_with_or_without_a_commit(
    session: WarmSession,
    tmp_path: Path,
    rng: random.Random,
    request: pytest.FixtureRequest,
    kind_name: str,
) -> None:
    statements, expected = Statements(session, tmp_path), {}
    cases = list(product(ALTERINGS, _COMMITS[kind_name], (False, True)))
    depth = request.config.getoption("--depth")
    if depth != "long":
        # Each change once, between both kinds of table.
        shown = list(ALTERINGS)[list(_COMMITS).index(kind_name) :: 2 if depth == "full" else 10]
        cases = [(change, rng.choice(_COMMITS[kind_name]), rng.random() < 0.5) for change in shown]
    for number, case in enumerate(cases):
        name = f"t{number}"
        expected[name] = (case, _merged(statements, name, kind_name, *case))
    for version in VERSIONS:
        answers = read_with_java(version, tmp_path, [Read(table=f"db.{name}") for name in expected])
        wrong = {}
        for name, (case, model) in expected.items():
            found = answers[Read(table=f"db.{name}")]
            names = statements.warehouse.table(f"db.{name}").schema().row_type.names
            assert isinstance(found, list), (version, case, found)
            if _by_name(names, found) != _by_name(tuple(model.columns), model.listed()):
                wrong[version, *case] = (names, found, model.listed())
        assert wrong == {}


def _merged(
    statements: Statements, name: str, kind_name: str, change: str, who: str, is_added: bool
) -> TableModel:
    """Run a case, and return the table that there must be on main."""
    kind, to = KINDS[kind_name], ALTERINGS[change]
    statements.create(
        name,
        COLUMNS,
        primary_keys=kind.keys,
        partition_keys=kind.partition,
        options=kind.options,
    )
    rows = ", ".join(str(row).replace("None", "NULL") for row in FIRST)
    statements(f"INSERT INTO db.{name} VALUES {rows}")
    statements(f"CREATE BRANCH dev ON TABLE db.{name}")
    model = kind.model
    model.rows = [row for row in model.rows if row["id"] <= len(FIRST)]
    for each in to.sql:
        statements(f"ALTER TABLE db.{name} {each}", "dev")
    to.act(model)
    if who in ("dev", "both"):
        statements(STATEMENTS["update"].sql(name, to), "dev")
        STATEMENTS["update"].act(model, to)
    if is_added:
        statements(f"ALTER TABLE db.{name} ADD COLUMN ours INT")
        model.add("ours", "INT")
    if who in ("main", "both"):
        columns = "(id, n, ours, day)" if is_added else "(id, n, day)"
        values = "(30, 4, 5, 'v')" if is_added else "(30, 4, 'v')"
        statements(f"INSERT INTO db.{name} {columns} VALUES {values}")
        row: dict[str, Any] = {"id": 30, "n": 4, "day": "v"}
        model.insert([row | ({"ours": 5} if is_added else {})])
    statements(f"MERGE BRANCH dev ON TABLE db.{name}")
    statements(f"UPDATE db.{name} SET {to.p} = {to.step} WHERE id = 2 OR {to.q} = 100")
    model.update({to.p: Expr("", "int", lambda env: to.step)}, _second(to))
    return model


def _second(to: Altering) -> Expr:
    return Expr("", "bool", lambda env: env["t"]["id"] == 2 or env["t"][to.q] == 100)


def _by_name(names: tuple[str, ...], rows: list[tuple[Any, ...]]) -> list[str]:
    """Rows whose columns are told by their names: merged columns may stand in another order."""
    return sorted(str(sorted(zip(names, row, strict=True))) for row in rows)
