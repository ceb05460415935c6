"""Which buckets of a table with a key wait for their rows, and for which that is refused."""

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pytest

from branch_console.diff.changes.file_history import Place, fold_history
from branch_console.diff.changes.table_changes import TableChanges, changes_since
from branch_console.errors import ErrorKind
from branch_console.format.data_types import STRING
from branch_console.format.manifest_entry import file_identity
from branch_console.format.options import Options
from branch_console.format.table_schema import BucketMode, TableSchema
from branch_console.format.values.binary_row import encode_row
from branch_console.merge.file_moves import DisplayNames, FileMoves, Strategy
from branch_console.merge.keyed_files import merge_keyed_files
from tests.support.commit_tables import data_files
from tests.unit.diff.test_file_history import delta
from tests.unit.merge.test_schema_merge import ID, NAME, column, of

_DAY_1, _DAY_2 = (encode_row([day], [STRING]) for day in ("d1", "d2"))


def schema(**options: str) -> TableSchema:
    """Of a table with a key in partitions, whose buckets are dynamic."""
    made = of(ID, NAME)
    return replace(
        made,
        partition_keys=("name",),
        primary_keys=("id", "name"),
        options=Options({"bucket": "-1", **options}),
    )


def wrote(side: str, *places: Place) -> TableChanges:
    """What a side did that wrote a file to each of these buckets."""
    files = [
        data_files([f"{side}{number}"], partition=partition, bucket=bucket, keys=(1, 1))
        for number, (partition, bucket) in enumerate(places)
    ]
    entries = pa.concat_tables(files)
    at = entries.schema.get_field_index("identity")
    entries = entries.set_column(at, entries.schema.field(at), file_identity(entries))
    made = replace(delta(2, f"+{side}"), entries=entries)
    return changes_since(fold_history(()), fold_history([made]))


def merge(table: TableSchema, ours: Sequence[Place], theirs: Sequence[Place]) -> FileMoves:
    naming = DisplayNames(table="db.t", partition=repr)
    return merge_keyed_files(table, wrote("ours", *ours), wrote("theirs", *theirs), naming)


def test_a_partition_that_both_changed_waits_for_the_rows_of_all_changed_buckets() -> None:
    found = merge(schema(), [(_DAY_1, 0), (_DAY_1, 2)], [(_DAY_1, 1), (_DAY_2, 0)])
    assert found.blocks == ()
    assert found.row_places == ((_DAY_1, 0), (_DAY_1, 1), (_DAY_1, 2))
    strategies = {each.place: each.strategy for each in found.buckets}
    assert strategies == {(_DAY_1, 1): Strategy.DELTA, (_DAY_2, 0): Strategy.ADOPT}
    # No file of the source comes to a bucket in which the target may have none of its keys.
    assert found.add["partition"].to_pylist() == [_DAY_2]
    assert found.replays.num_rows == 0
    assert found.adopts_index == {(_DAY_2, 0)}


def test_partitions_of_one_side_each_move_as_files() -> None:
    found = merge(schema(), [(_DAY_1, 0)], [(_DAY_2, 0), (_DAY_2, 1)])
    assert (found.blocks, found.row_places) == ((), ())
    assert {each.strategy for each in found.buckets} == {Strategy.ADOPT}


@pytest.mark.parametrize(
    "options",
    [
        {"merge-engine": "aggregation", "fields.note.aggregate-function": "collect"},
        {"merge-engine": "partial-update", "fields.name.sequence-group": "note",
         "fields.note.aggregate-function": "collect"},
    ],
    ids=["aggregation", "partial-update"],
)  # fmt: skip
def test_a_function_that_no_row_undoes_is_refused_before_rows_are_compared(
    options: dict[str, str],
) -> None:
    table = replace(
        of(ID, NAME, column(2, "note", "STRING")),
        primary_keys=("id",),
        options=Options({"bucket": "1", **options}),
    )
    place, other = ((encode_row([], []), bucket) for bucket in (0, 1))
    (block,) = merge(table, [place], [place]).blocks
    assert block.kind is ErrorKind.UNSUPPORTED
    assert "'collect' of column 'note' is not merged" in block.text
    assert merge(table, [other], [place]).blocks == ()
    options = {**options, "fields.note.aggregate-function": "max"}
    served = replace(table, options=Options({"bucket": "1", **options}))
    assert merge(served, [place], [place]).blocks == ()


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (1, "'collect' of column 'c0' is not merged: no row"),
        (2, "'collect' of column 'c0' is not merged, nor are those of 1 more column: no row"),
        (9, "'collect' of column 'c0' is not merged, nor are those of 8 more columns: no row"),
    ],
)
def test_columns_with_functions_that_no_row_undoes_are_counted_in_one_sentence(
    columns: int, words: str
) -> None:
    names = [f"c{number}" for number in range(columns)]
    functions = {f"fields.{name}.aggregate-function": "collect" for name in names}
    options = {"bucket": "1", "merge-engine": "aggregation", **functions}
    fields = [column(number, name, "STRING") for number, name in enumerate(names, start=1)]
    table = replace(of(ID, *fields), primary_keys=("id",), options=Options(options))
    place = (encode_row([], []), 0)
    (block,) = merge(table, [place], [place]).blocks
    assert words in block.text


@pytest.mark.parametrize(
    "table",
    [
        schema(**{"deletion-vectors.enabled": "true"}),
        schema(**{"merge-engine": "first-row"}),
        schema(**{"index-file-in-data-file-dir": "true"}),
        replace(schema(), primary_keys=("id",)),
    ],
)
def test_where_rows_cannot_be_placed_the_partition_is_named(table: TableSchema) -> None:
    found = merge(table, [(_DAY_1, 0)], [(_DAY_1, 1), (_DAY_2, 1)])
    assert all("dynamic buckets" in each.text for each in found.blocks)
    crosses = table.bucket_mode is BucketMode.KEY_DYNAMIC
    assert len(found.blocks) == (2 if crosses else 1)
