"""What the commits of a side come to: rows added and deleted again are no delete, and no rows."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import pyarrow as pa
import pytest
from pyroaring import BitMap64

from branch_console.diff.changes.file_history import SnapshotDelta, fold_history
from branch_console.diff.changes.table_changes import TableChanges, changes_since
from branch_console.diff.file_masks import FileMask
from branch_console.diff.table_operation import TableOperation
from branch_console.format.manifest_entry import MANIFEST_ENTRY
from branch_console.format.snapshot import CommitKind
from branch_console.merge.file_moves import DisplayNames, MergeRules
from branch_console.merge.keyless_files import merge_keyless_files
from tests.support.commit_tables import UNPARTITIONED
from tests.unit.diff.test_file_history import delta

COMPACT: Final = CommitKind.COMPACT
INSERTED: Final = delta(2, "+mine*1", operation="WRITE")


def hide(number: int, name: str, *rows: int, operation: str | None = "DELETE") -> SnapshotDelta:
    """A commit that hides rows of a file that stays."""
    made = delta(number, "+x", operation=operation)
    key = (UNPARTITIONED, 0, f"data-{name}.parquet")
    masks = {key: FileMask(after=BitMap64(rows))}
    return replace(made, entries=made.entries.slice(0, 0), masks=masks)


def side(*deltas: SnapshotDelta) -> TableChanges:
    return changes_since(fold_history(()), fold_history(deltas))


def with_null_counts(made: SnapshotDelta, counts: Mapping[str, list[int]]) -> SnapshotDelta:
    """The commit, with statistics of its files."""
    files = made.entries.to_pylist()
    for file in files:
        name = file["file_name"].removeprefix("data-").removesuffix(".parquet")
        file["value_stats"]["null_counts"] = counts[name]
    return replace(made, entries=pa.Table.from_pylist(files, MANIFEST_ENTRY))


@pytest.mark.parametrize("operation", [None, "DELETE", "UPDATE"])
@pytest.mark.parametrize(
    "deltas",
    [
        pytest.param(lambda did: [delta(2, "+a*2"), did(3, "-a*2", "+b*1")], id="at once"),
        pytest.param(
            lambda did: [
                delta(2, "+a*2"),
                delta(3, "+b*2"),
                delta(4, "-a*2", "-b*2", "+c*4", kind=COMPACT),
                did(5, "-c*4", "+d*3"),
            ],
            id="after a compaction of own files",
        ),
        pytest.param(
            lambda did: [delta(2, "+a*3"), did(3, "-a*3", "+b*2"), did(4, "-b*2", "+c*1")],
            id="in two steps",
        ),
        pytest.param(lambda _: [delta(2, "+a*2"), hide(3, "a", 0)], id="by a deletion vector"),
    ],
)
def test_rows_that_a_side_inserted_and_changed_again_are_inserted(
    deltas: object, operation: str | None
) -> None:
    made = deltas(  # type: ignore[operator]
        lambda number, *changes: delta(number, *changes, operation=operation)
    )
    theirs = side(*made)
    assert theirs.operations == {TableOperation.INSERT}
    assert theirs.wrote_rows
    for source, target in ((theirs, side(INSERTED)), (side(INSERTED), theirs)):
        moves = merge_keyless_files(
            target, source, MergeRules(), DisplayNames(table="db.t", partition=lambda _: "")
        )
        assert moves.conflicts == ()


@pytest.mark.parametrize(
    "deltas",
    [
        pytest.param([delta(2, "+a*2"), delta(3, "-a*2")], id="the whole file"),
        pytest.param([delta(2, "+a*2"), hide(3, "a", 0, 1)], id="by a deletion vector"),
        pytest.param(
            [delta(2, "+a*2"), hide(3, "a", 0), hide(4, "a", 0, 1)], id="by two deletion vectors"
        ),
        pytest.param(
            [delta(2, "+a*2"), delta(3, "-a*2", "+b*2", kind=COMPACT), delta(4, "-b*2")],
            id="after a compaction",
        ),
        pytest.param([delta(2, "-old*4", "+a*4", kind=COMPACT)], id="a compaction alone"),
    ],
)
def test_a_side_that_nets_to_nothing_changed_nothing(deltas: list[SnapshotDelta]) -> None:
    theirs = side(*deltas)
    assert theirs.is_empty
    assert not theirs.wrote_rows


@pytest.mark.parametrize(
    "deltas",
    [
        pytest.param([delta(2, "+a*2"), delta(3, "-old*4", "+b*3")], id="of the base"),
        pytest.param([delta(2, "+a*2"), delta(3, "-a*2", "-old*4", "+b*5")], id="of both"),
        pytest.param([delta(2, "+a*2"), hide(3, "old", 0)], id="of the base, by a vector"),
        pytest.param(
            [
                delta(2, "+a*2"),
                delta(3, "-a*2", "-old*4", "+b*6", kind=COMPACT),
                delta(4, "-b*6", "+c*5"),
            ],
            id="of a compaction with files of the base",
        ),
        pytest.param(
            [delta(2, "-old*4"), delta(3, "+old*4"), delta(4, "-old*4", "+b*3")],
            id="of a file of the base that came back",
        ),
    ],
)
def test_rows_of_the_base_that_a_side_deleted_are_deleted(deltas: list[SnapshotDelta]) -> None:
    assert TableOperation.DELETE in side(*deltas).operations


def test_what_may_have_replaced_a_partition_is_not_taken_for_an_insert() -> None:
    theirs = side(delta(2, "+a*2"), delta(3, "-a*2", "+b*3", emptied=True))
    assert theirs.operations == {TableOperation.UPDATE}
    assert theirs.lasting_steps[-1].may_be_overwrite


@pytest.mark.parametrize(
    ("made", "wrote"),
    [
        (delta(2, "-old*4", "+b*3", operation="DELETE"), False),
        (with_null_counts(delta(2, "-old*4", "+b*3"), {"old": [0, 2], "b": [0, 2]}), False),
        (with_null_counts(delta(2, "-old*4", "+b*3"), {"old": [0, 1], "b": [0, 2]}), True),
        (delta(2, "-old*4", "+b*3"), True),
        (delta(2, "-old*4", "+b*4", operation="UPDATE"), True),
        (delta(2, "+b*1"), True),
    ],
    ids=["recorded", "nulls as before", "more nulls", "no counts", "an update", "an insert"],
)
def test_a_delete_that_wrote_files_again_wrote_no_row(made: SnapshotDelta, wrote: bool) -> None:
    assert side(made).wrote_rows is wrote


def test_a_delete_that_wrote_inserted_rows_again_leaves_them_written() -> None:
    inserted = delta(2, "+a*2")
    assert side(inserted, delta(3, "-a*2", "-old*4", "+b*5", operation="DELETE")).wrote_rows
