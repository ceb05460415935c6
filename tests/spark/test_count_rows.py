"""Rows counted in tasks of Spark are those that are counted in one process."""

from pathlib import Path

import pytest

from branch_console.diff.rows.row_diff import plan_row_diff
from branch_console.format.identifier import Identifier
from branch_console.jobs.kept_counts import KeptCounts
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.compare.states import compare_states
from branch_console.spark.compare.row_count import LOCAL_BYTES, count_rows
from branch_console.spark.session.session import WarmSession
from tests.support.warehouses import FixtureWarehouse


@pytest.mark.parametrize(
    ("name", "before"), [("key_levels", "main@1"), ("key_partitioned", "fixes")]
)
def test_large_states_are_counted_as_small_ones_are(
    session: WarmSession, warehouse_200: FixtureWarehouse, tmp_path: Path, name: str, before: str
) -> None:
    warehouse = Warehouse.open(str(warehouse_200.path), read_only=True)
    identifier = Identifier.parse(f"fixtures.{name}")
    diff = compare_states(warehouse, identifier, before, "main")
    opened: list[WarmSession] = []

    def open_session() -> WarmSession:
        opened.append(session)
        return session

    here, in_spark = (
        count_rows(
            open_session,
            warehouse.file_io,
            warehouse.table(identifier),
            plan_row_diff(diff),
            KeptCounts(folder=tmp_path / str(most)).units,
            local_bytes=most,
        )
        for most in (LOCAL_BYTES, 0)
    )
    assert opened, "Spark was not asked"
    assert in_spark == here
    assert here.after == warehouse_200.expected[identifier.full_name]["on"]["main"]["row_count"]
