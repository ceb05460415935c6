"""Two states of a table that real Paimon wrote: what manifests tell holds for the rows it reads."""

import functools
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, TypeAlias

import pyarrow.parquet as pq
import pytest

from branch_console.diff.rows.row_bounds import CountBounds
from branch_console.diff.rows.row_diff import COPIES_AFTER, COPIES_BEFORE, KIND, plan_row_diff
from branch_console.diff.rows.row_diff_index import RowFilter
from branch_console.diff.rows.row_kind import RowKind
from branch_console.diff.state_diff import ComparedState, StateDiff
from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.identifier import Identifier
from branch_console.jobs.kept_diffs import KeptDiffs
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.compare.states import compare_states
from branch_console.table.file_store_table import FileStoreTable
from branch_console_app.models.compare.rows import row_lines
from branch_console_app.models.compare.states import summary
from tests.support.compared_rows import compared_rows
from tests.support.java_paimon import JavaPaimon, JavaTable
from tests.support.warehouses import FixtureWarehouse

Row: TypeAlias = tuple[Any, ...]
RowsOf: TypeAlias = Callable[[str, int | None], list[Row]]

_ELSEWHERE: Final = {"branches_fallback"}
"""Rows of this table are read from two branches; a comparison is of one."""


@pytest.mark.depth("full")
def test_rows_that_differ_lie_within_what_the_manifests_tell(
    same_version: FixtureWarehouse, open_java: Callable[[Path], JavaPaimon]
) -> None:
    warehouse = Warehouse.open(str(same_version.path), read_only=True)
    java = open_java(same_version.path)
    rows_of = functools.cache(lambda name, number: java.table(name).rows(snapshot=number))
    wrong, refused, exact, compared = [], set(), 0, 0
    for identifier in _tables(warehouse):
        table = warehouse.table(identifier)
        for before, after in _pairs(table):
            diff = compare_states(warehouse, identifier, before, after)
            found = _truth(java.table(identifier.table_name), diff, rows_of)
            told = (diff.rows.added, diff.rows.removed, diff.rows.changed)
            exact += diff.rows.is_exact and not diff.rows.is_none
            if not all(_holds(each, bounds) for each, bounds in zip(found, told, strict=True)):
                wrong.append(f"{identifier} {before} {after}: {found}, told {told}")
            if any(each.field_id is not None for each in diff.schema.changes):
                continue
            try:
                counted = _counted(warehouse, table, diff)
            except InvalidInput as error:
                refused.add((identifier.table, error.kind))
                continue
            compared += 1
            if counted != found:
                wrong.append(f"{identifier} {before} {after}: {found}, compared {counted}")
    assert wrong == []
    assert exact > 20
    assert compared > 50
    assert refused <= {("data_evolution", ErrorKind.UNSUPPORTED)}


@pytest.mark.parametrize("keys", [(), ("id",)], ids=["append", "keyed"])
def test_rows_of_one_side_are_kept_though_their_nested_values_have_required_parts(
    java: JavaPaimon, tmp_path: Path, keys: tuple[str, ...]
) -> None:
    """The side that lacks a row has null for each cell: so has each part of them, in Arrow."""
    point = {
        "type": "ROW",
        "fields": [{"id": 10, "name": "x", "type": "INT NOT NULL"}],
    }
    columns = {
        "id": "INT NOT NULL", "point": point, "v": "VARIANT",
        "points": {"type": "ARRAY", "element": point},
    }  # fmt: skip
    table = java.create_table(
        "db.t", columns, primary_keys=keys, options={"bucket": "1" if keys else "-1"}
    )
    table.write([(1, (1,), "1", [(1,)])])
    table.create_tag("fork")
    table.create_branch("dev", "fork")
    table.on("dev").write([(2, (2,), '{"a":2}', [(2,), None])])
    table.write([(3, None, None, None)])
    warehouse = Warehouse.open(str(tmp_path / "java"), read_only=True)
    identifier = Identifier.parse("db.t")
    diff = compare_states(warehouse, identifier, "main", "dev")
    work = plan_row_diff(diff)
    kept = KeptDiffs(folder=tmp_path / "kept")
    with kept.draft("rows") as draft:
        draft.write(
            compared_rows(warehouse.file_io, warehouse.table(identifier), work), work, facts={}
        )
    found = kept.find("rows")
    assert found is not None
    lines = {
        line.cells["id"]: line for line in row_lines(found.page(RowFilter(), 0, 9), found.index)
    }
    assert {name: line.kind for name, line in lines.items()} == {
        "2": RowKind.ADDED,
        "3": RowKind.REMOVED,
    }
    assert lines["2"].cells["point"] == '{"x": 2}'
    assert lines["2"].cells["v"] == '{"a":2}'
    assert lines["2"].cells["points"] == '[{"x": 2}, null]'
    assert lines["3"].cells["point"] == "NULL"
    pq.write_table(next(found.all_rows(RowFilter())), tmp_path / "taken.parquet")


def test_files_that_wait_for_a_compaction_are_told(java: JavaPaimon, tmp_path: Path) -> None:
    columns = {"id": "INT NOT NULL", "v": "STRING"}
    table = java.create_table("db.t", columns, primary_keys=["id"], options={"bucket": "-2"})
    table.write([(1, "base")])
    table.create_tag("fork")
    table.create_branch("dev", "fork")
    table.on("dev").write([(2, "dev")])
    warehouse = Warehouse.open(str(tmp_path / "java"), read_only=True)
    diff = compare_states(warehouse, Identifier.parse("db.t"), "main", "dev")
    assert table.rows() == table.on("dev").rows() == []
    assert diff.has_same_rows
    told = "1 file waits for a compaction: readers do not see its rows yet."
    assert summary(diff).endswith(told)


def _counted(warehouse: Warehouse, table: FileStoreTable, diff: StateDiff) -> tuple[int, ...]:
    """How many rows a comparison of rows finds added, removed and changed."""
    counts = Counter[str]()
    for rows in compared_rows(warehouse.file_io, table, plan_row_diff(diff)):
        for kind, before, after in zip(
            *(rows[name].to_pylist() for name in (KIND, COPIES_BEFORE, COPIES_AFTER)), strict=True
        ):
            counts[kind] += abs(after - before) or 1
    return tuple(counts[kind] for kind in RowKind)


def _tables(warehouse: Warehouse) -> Iterator[Identifier]:
    for name in warehouse.catalog.table_names("fixtures"):
        # A table for each type of a partition column says nothing more than one of them.
        if name not in _ELSEWHERE and (name == "partition_int" or "partition_" not in name):
            yield Identifier(database="fixtures", table=name)


def _pairs(table: FileStoreTable) -> Iterator[tuple[str, str]]:
    """Some snapshots with the next, the first with the last both ways, and each pair of heads."""
    ids = table.snapshots.ids()
    yield from ((f"main@{one}", f"main@{other}") for one, other in pairwise(ids[:4]))
    if len(ids) > 2:
        yield f"main@{ids[0]}", f"main@{ids[-1]}"
        yield f"main@{ids[-1]}", f"main@{ids[0]}"
    for name in table.branches.names():
        if table.on(name).head() is not None:
            yield "main", name


def _holds(number: int, bounds: CountBounds) -> bool:
    return bounds.low <= number <= bounds.high


def _truth(java: JavaTable, diff: StateDiff, rows_of: RowsOf) -> tuple[int, int, int]:
    """How many rows Java finds added, removed and changed, in the columns that both sides have."""
    names = {field.id: field.name for field in diff.after.schema.fields}
    types = {field.id: field.type for field in diff.after.schema.fields}
    shared = [each.id for each in diff.before.schema.fields if types.get(each.id) == each.type]
    before, after = (
        _rows(java.on(state.branch), state, shared, rows_of) for state in (diff.before, diff.after)
    )
    added, removed = after - before, before - after
    keys = diff.after.schema.primary_keys
    if not keys:
        return added.total(), removed.total(), 0
    places = [at for at, each in enumerate(shared) if names[each] in keys]
    old, new = ({_key(row, places) for row in rows} for rows in (before, after))
    changed = {_key(row, places) for row in added} & old
    return len(new - old), len(old - new), len(changed)


def _rows(
    table: JavaTable, state: ComparedState, fields: list[int], rows_of: RowsOf
) -> Counter[Row]:
    rows = rows_of(table.name, None if state.name.is_head else state.name.snapshot_id)
    places = {field.id: at for at, field in enumerate(state.schema.fields)}
    return Counter(tuple(repr(row[places[each]]) for each in fields) for row in rows)


def _key(row: Row, places: list[int]) -> Row:
    return tuple(row[at] for at in places)
