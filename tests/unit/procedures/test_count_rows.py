"""Rows that files tell, and rows that are counted, beside what Paimon itself counts."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from branch_console.diff.rows.row_diff import plan_row_diff
from branch_console.errors import InvalidInput
from branch_console.format.identifier import Identifier
from branch_console.jobs.kept_counts import KeptCounts
from branch_console.procedures.call.row_engine import NoRowEngine, Progress, QuerySource
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.compare.count_rows import count_name, figure_of_state, weigh_count
from branch_console.procedures.compare.count_rows import count_rows_of as count_states
from branch_console.procedures.compare.states import compare_states
from branch_console.procedures.run.rule_evaluation import JudgedState, count_rows_of
from branch_console.spark.compare.row_count import count_rows
from branch_console.spark.session.session import WarmSession
from branch_console.table.table_state import ReadState
from tests.support.warehouses import FixtureWarehouse

# Where files tell the rows of a table with a key: compacted, first-row, vectors, one write.
_TOLD = {"key_first_row", "vectors_key", "vectors_key_64", "bucket_postpone", "all_keys"}
# Where they do not: several runs, deletes, or rows that another branch brings.
_NOT_TOLD = {"key_levels", "key_aggregation", "changelog_input", "branches_fallback"}


def no_spark() -> WarmSession:
    raise AssertionError("so few rows are counted without Spark")


def test_rows_that_files_tell_are_those_that_paimon_counts(
    warehouse_200: FixtureWarehouse,
) -> None:
    warehouse = Warehouse.open(str(warehouse_200.path), read_only=True)
    told, not_told = set(), set()
    for name, table in warehouse_200.expected.items():
        for branch, answers in table["on"].items():
            identifier = Identifier.parse(name)
            diff = compare_states(warehouse, identifier, branch, branch)
            rows = figure_of_state(warehouse, identifier, diff.before).rows
            (not_told if rows is None else told).add(identifier.table)
            assert rows in (None, answers["row_count"]), (name, branch)
    assert told >= _TOLD
    assert not_told >= _NOT_TOLD


def counted(warehouse: Warehouse, name: str, before: str, after: str, folder: Path) -> Any:
    identifier = Identifier.parse(name)
    diff = compare_states(warehouse, identifier, before, after)
    table, units = warehouse.table(identifier), KeptCounts(folder=folder).units
    return count_rows(no_spark, warehouse.file_io, table, plan_row_diff(diff), units)


@pytest.mark.parametrize(
    "name", ["key_levels", "key_aggregation", "key_partial_update", "key_sequence_field"]
)
def test_counted_rows_are_those_that_paimon_counts(
    warehouse_200: FixtureWarehouse, tmp_path: Path, name: str
) -> None:
    warehouse = Warehouse.open(str(warehouse_200.path), read_only=True)
    rows = warehouse_200.expected[f"fixtures.{name}"]["on"]["main"]["row_count"]
    found = counted(warehouse, f"fixtures.{name}", "main", "main", tmp_path)
    assert (found.before, found.after, found.added, found.removed) == (rows, rows, 0, 0)
    (kept, *_) = (tmp_path / "units").iterdir()
    kept.write_text('{"rows": 1000000}')
    again = counted(warehouse, f"fixtures.{name}", "main", "main", tmp_path)
    assert again.before > 900_000, "a unit that was counted is not read again"


def test_both_sides_are_counted_with_what_became_of_the_rows(
    warehouse_200: FixtureWarehouse, tmp_path: Path
) -> None:
    warehouse = Warehouse.open(str(warehouse_200.path), read_only=True)
    forth = counted(warehouse, "fixtures.key_levels", "main@1", "main", tmp_path)
    back = counted(warehouse, "fixtures.key_levels", "main", "main@1", tmp_path)
    assert (forth.before, forth.after) == (back.after, back.before)
    assert (forth.added, forth.removed, forth.changed) == (back.removed, back.added, back.changed)
    assert forth.after == forth.before + forth.added - forth.removed


def test_what_is_to_be_read_is_weighed_by_what_the_files_do_not_tell(
    warehouse_200: FixtureWarehouse,
) -> None:
    warehouse = Warehouse.open(str(warehouse_200.path), read_only=True)
    many, none = (Identifier.parse(f"fixtures.{each}") for each in ("key_levels", "key_first_row"))
    work = weigh_count(warehouse, many, compare_states(warehouse, many, "main", "main"))
    assert work.records == 3_014
    assert work.is_small
    told = weigh_count(warehouse, none, compare_states(warehouse, none, "main", "main"))
    assert told.records == 0


def test_a_table_without_a_key_is_not_counted(warehouse_200: FixtureWarehouse) -> None:
    warehouse = Warehouse.open(str(warehouse_200.path), read_only=True)
    identifier = Identifier.parse("fixtures.append")
    diff = compare_states(warehouse, identifier, "main", "main")
    with pytest.raises(
        InvalidInput, match=r"by their primary key, which table fixtures\.append lacks"
    ):
        count_states(warehouse, NoRowEngine(), identifier, diff, lambda done, total: None)


class Counting(NoRowEngine):
    """Answers each query with a number of rows, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def query(
        self,
        sql: str,
        sources: Mapping[str, QuerySource],
        limit: int,
        progress: Progress,
        *,
        keeps_times: bool = False,
    ) -> tuple[pa.Table, str]:
        self.asked.append(sql)
        return pa.table({"total": [2_999]}), ""


@pytest.mark.parametrize(
    ("name", "rows", "asks"),
    [("key_first_row", None, 0), ("append", None, 0), ("key_levels", 2_999, 1)],
)
def test_a_judged_state_is_asked_for_its_rows_only_if_its_files_do_not_tell_them(
    warehouse_200: FixtureWarehouse, name: str, rows: int | None, asks: int
) -> None:
    warehouse = Warehouse.open(str(warehouse_200.path), read_only=True)
    identifier, engine = Identifier.parse(f"fixtures.{name}"), Counting()
    state = JudgedState.of(ReadState.as_it_is(warehouse.table(identifier)))
    found = count_rows_of(
        engine, identifier, state, operation_id="op", progress=lambda done, total: None
    )
    wanted = warehouse_200.expected[f"fixtures.{name}"]["on"]["main"]["row_count"]
    assert found == wanted
    assert rows in (None, found)
    assert len(engine.asked) == asks


def test_counts_that_are_not_there_or_broken_are_made_again(tmp_path: Path) -> None:
    kept = KeptCounts(folder=tmp_path)
    assert kept.find("a") is None
    (tmp_path / "b.json").write_text('{"before": 1}')
    assert kept.find("b") is None
    assert kept.units.find("c") is None


def test_the_same_two_contents_have_one_name(warehouse_200: FixtureWarehouse) -> None:
    warehouse = Warehouse.open(str(warehouse_200.path), read_only=True)
    identifier = Identifier.parse("fixtures.key_levels")
    one, same, other = (
        compare_states(warehouse, identifier, before, "main")
        for before in ("main", "main", "main@1")
    )
    assert count_name(identifier, one) == count_name(identifier, same)
    assert count_name(identifier, one) != count_name(identifier, other)
