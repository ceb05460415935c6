"""Our system tables have the rows of Paimon's, on every table and branch of the fixtures."""

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest

from core.format.identifier import Identifier
from tests.support.build_warehouses import BINARY, SYSTEM_TABLES
from tests.support.our_answers import open_catalog
from tests.support.our_system_tables import our_system_table
from tests.support.warehouses import FixtureWarehouse, expected_tables

# Needs the rows of the table, not only its metadata.
_SERVED_BY_ROWS = "audit_log"

# Of a file that holds some columns only, Paimon shows the statistics under names of other columns.
_WRONG_IN_PAIMON = {
    ("fixtures.data_evolution", "files"): {
        "null_value_counts",
        "min_value_stats",
        "max_value_stats",
    }
}


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    # Paimon shows times in the zone of the machine; the fixtures were written in UTC.
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize("name", [name for name in SYSTEM_TABLES if name != _SERVED_BY_ROWS])
def test_the_system_tables_have_the_same_columns_and_rows(
    name: str, fixture_warehouse: FixtureWarehouse
) -> None:
    version = fixture_warehouse.version
    catalog = open_catalog(fixture_warehouse.path)
    different = {}
    for table, branches in expected_tables(version).items():
        for branch in branches:
            answer = fixture_warehouse.expected[table]["on"][branch]["system"][name]
            identifier = Identifier.parse(table).on_branch(branch)
            ours = our_system_table(catalog.open(identifier), name)
            if "error" not in answer:
                ignored = _WRONG_IN_PAIMON.get((table, name), set())
                different[f"{table} {branch}"] = _differences(ours, answer, ignored)
    assert {place: found for place, found in different.items() if found} == {}


def _differences(ours: dict[str, Any], theirs: dict[str, Any], ignored: set[str]) -> dict[str, Any]:
    """What differs, by column; newer versions of Paimon, and we, know more columns."""
    shared = [column for column in ours["columns"] if column in theirs["columns"]]
    if shared != theirs["columns"]:
        return {"columns": (shared, theirs["columns"])}
    if len(ours["rows"]) != len(theirs["rows"]):
        return {"row count": (len(ours["rows"]), len(theirs["rows"]))}
    positions = [ours["columns"].index(column) for column in shared]
    our_rows = sorted(([row[i] for i in positions] for row in ours["rows"]), key=repr)
    their_rows = sorted(theirs["rows"], key=repr)
    return {
        f"{column} of row {number}": (mine, theirs_)
        for number, (my_row, their_row) in enumerate(zip(our_rows, their_rows, strict=True))
        for column, mine, theirs_ in zip(shared, my_row, their_row, strict=True)
        if column not in ignored and not _same(mine, theirs_)
    }


def _same(mine: Any, theirs: Any) -> bool:
    if isinstance(mine, str) and isinstance(theirs, str) and BINARY in theirs:
        # Of a binary value Paimon prints nothing that could be compared.
        return re.fullmatch(re.escape(theirs).replace(re.escape(BINARY), ".*"), mine) is not None
    return bool(mine == theirs)
