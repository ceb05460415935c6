"""Our system tables have the rows of Paimon's, on every table and branch of the fixtures."""

import time
from collections.abc import Iterator

import pytest

from branch_console.format.identifier import Identifier
from tests.support.build_warehouses import SYSTEM_TABLES
from tests.support.our_answers import open_catalog
from tests.support.our_system_tables import our_system_table, row_differences
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


@pytest.mark.parametrize("fixture", ["warehouse_142", "warehouse_200", "warehouse_pypaimon"])
@pytest.mark.parametrize("name", [name for name in SYSTEM_TABLES if name != _SERVED_BY_ROWS])
def test_the_system_tables_have_the_same_columns_and_rows(
    name: str, fixture: str, request: pytest.FixtureRequest
) -> None:
    fixture_warehouse: FixtureWarehouse = request.getfixturevalue(fixture)
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
                different[f"{table} {branch}"] = row_differences(ours, answer, ignored)
    assert {place: found for place, found in different.items() if found} == {}
