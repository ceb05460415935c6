"""What two states have for themselves, from entries of manifests that only one of them lists."""

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.commit.schema.schema_commit import new_schema
from branch_console.diff.rows.row_bounds import CountBounds, RowDifference, RowReason
from branch_console.diff.state_diff import differing_files, places_of, row_difference, with_masks
from branch_console.format.data_types import INT
from branch_console.format.manifest_entry import MANIFEST_ENTRY
from branch_console.format.options import Options
from branch_console.format.table_schema import TableSchema
from branch_console.format.values.binary_row import encode_row
from tests.unit.table.manifest_entries import ADD, DELETE, added, entries

NOTHING = MANIFEST_ENTRY.empty_table()
FIRST, SECOND = (encode_row([number], [INT]) for number in (1, 2))


def a_schema(*keys: str, **options: str) -> TableSchema:
    made = new_schema([("id", INT), ("pt", INT)], primary_keys=keys)
    return replace(made, options=Options({**made.options, **options}))


APPEND, KEYED = a_schema(), a_schema("id")


def names(before: pa.Table, after: pa.Table, schema: TableSchema = APPEND) -> list[tuple[str, str]]:
    found = differing_files(before, after, (schema, schema))
    sides = ("ab"[each] for each in found["is_after"].to_pylist())
    return sorted(zip(sides, found["file_name"].to_pylist(), strict=True))


def rows(before: pa.Table, after: pa.Table, schema: TableSchema = APPEND) -> RowDifference:
    files = with_masks(differing_files(before, after, (schema, schema)), {}, {})
    return row_difference(files, places_of(files, ()), (), schema)


def test_a_delete_of_a_file_that_a_shared_manifest_adds_is_a_file_of_the_other_side() -> None:
    assert names(NOTHING, entries((DELETE, "old"), (ADD, "new"))) == [("a", "old"), ("b", "new")]


def test_what_came_and_went_on_one_side_is_on_neither() -> None:
    assert names(entries((ADD, "x"), (DELETE, "x")), entries((ADD, "y"))) == [("b", "y")]


def test_one_file_in_manifests_of_both_sides_is_shared() -> None:
    assert names(added("x", "y"), added("y", "z")) == [("a", "x"), ("b", "z")]


def test_a_copy_and_a_lifted_file_hold_the_same_rows() -> None:
    assert names(added("data-1.orc"), added("data-1-of-0a1b2c3d.orc")) == []
    assert names(added("data-1.orc"), added("data-1.orc", level=5), KEYED) == []


def test_a_lifted_file_comes_into_sight_where_level_0_is_not_read() -> None:
    schema = a_schema("id", **{"merge-engine": "first-row"})
    found = differing_files(added("x"), added("x", level=1), (schema, schema))
    assert found["is_read"].to_pylist() == [False, True]


def test_rows_that_one_side_appended_are_exact() -> None:
    found = rows(NOTHING, added("x", "y"))
    assert (found.added, found.removed, found.net) == (
        CountBounds(low=20, high=20),
        CountBounds(low=0, high=0),
        20,
    )
    assert found.is_exact
    assert found.reasons == ()


def test_rows_of_one_partition_that_both_sides_wrote_may_be_equal() -> None:
    found = rows(added("x"), added("y", "z"))
    assert (found.added, found.removed) == (
        CountBounds(low=10, high=20),
        CountBounds(low=0, high=10),
    )
    assert found.reasons == (RowReason.BOTH_WROTE,)


def test_rows_of_two_partitions_are_never_equal() -> None:
    assert rows(added("x", partition=FIRST), added("y", partition=SECOND)).is_exact


def test_a_compaction_is_told_as_the_reason() -> None:
    compacted = added("y")
    source = pa.array([1], pa.int32())
    at = MANIFEST_ENTRY.get_field_index("file_source")
    compacted = compacted.set_column(at, MANIFEST_ENTRY.field(at), source)
    found = rows(added("x"), compacted)
    assert found.added == CountBounds(low=0, high=10)
    assert found.reasons == (RowReason.COMPACTED,)


def test_rows_of_keys_have_bounds_and_deletes_add_none() -> None:
    files = added("x")
    at = MANIFEST_ENTRY.get_field_index("delete_row_count")
    deleting = files.set_column(at, MANIFEST_ENTRY.field(at), pa.array([10], pa.int64()))
    found = rows(NOTHING, deleting, KEYED)
    assert (found.added, found.removed) == (CountBounds(low=0, high=0), CountBounds(low=0, high=10))
    assert found.reasons == (RowReason.MERGED_ON_READ,)
    assert rows(NOTHING, files, KEYED).removed == CountBounds(low=0, high=10)


def test_hidden_rows_of_own_files_are_not_shown() -> None:
    files = differing_files(NOTHING, added("x"), (APPEND, APPEND))
    key = (files["partition"][0].as_py(), 0, "x")
    places = places_of(with_masks(files, {}, {key: 4}), ())
    assert pc.sum(places["rows_after"]).as_py() == 6


def test_places_count_the_deletes_among_their_records() -> None:
    at = MANIFEST_ENTRY.get_field_index("delete_row_count")
    entries = added("a", "b")
    entries = entries.set_column(at, MANIFEST_ENTRY.field(at), pa.array([3, None], pa.int64()))
    files = with_masks(differing_files(NOTHING, entries, [KEYED]), {}, {})
    places = places_of(files, ())
    assert places["deletes_after"].to_pylist() == [3]
    assert places["deletes_before"].to_pylist() == [0]
