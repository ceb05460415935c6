"""Row ids and sequence numbers that a commit gives."""

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from branch_console.commit.snapshot.row_tracking import grouped_by_partition, track_rows
from branch_console.errors import InvalidInput
from branch_console.format.data_types import INT
from branch_console.format.manifest_entry import MANIFEST_ENTRY
from branch_console.format.values.binary_row import encode_row
from tests.support.commit_tables import CommitBench, data_files, message

TRACKED = {"row-tracking.enabled": "true"}


def changed(files: pa.Table, **values: object) -> pa.Table:
    """The files with other values in some columns."""
    rows = [{**row, **values} for row in files.to_pylist()]
    return pa.Table.from_pylist(rows, schema=MANIFEST_ENTRY)


def test_new_rows_are_numbered_one_after_the_other() -> None:
    tracked = track_rows(data_files(["a", "b"], rows=10), snapshot_id=7, next_row_id=100)
    assert tracked.delta["first_row_id"].to_pylist() == [100, 110]
    assert tracked.delta["min_sequence_number"].to_pylist() == [7, 7]
    assert tracked.delta["max_sequence_number"].to_pylist() == [7, 7]
    assert tracked.next_row_id == 120


@pytest.mark.parametrize(
    ("values", "sequences", "first_row_id", "next_row_id"),
    [
        ({"file_source": 1}, (7, 7), None, 100),
        ({"first_row_id": 4}, (7, 7), 4, 100),
        ({"min_sequence_number": 3, "max_sequence_number": 5}, (3, 5), 100, 110),
        ({"min_sequence_number": 3, "max_sequence_number": 0}, (3, 7), 100, 110),
        ({"write_cols": ["_ROW_ID", "name"]}, (7, 7), None, 100),
    ],
    ids=["compacted", "numbered", "older rows", "some changed rows", "ids in the file"],
)
def test_only_what_is_new_is_numbered(
    values: dict[str, object],
    sequences: tuple[int, int],
    first_row_id: int | None,
    next_row_id: int,
) -> None:
    files = changed(data_files(["a"], rows=10), **values)
    tracked = track_rows(files, snapshot_id=7, next_row_id=100)
    (row,) = tracked.delta.to_pylist()
    assert (row["min_sequence_number"], row["max_sequence_number"]) == sequences
    assert row["first_row_id"] == first_row_id
    assert tracked.next_row_id == next_row_id


def test_a_file_that_does_not_say_who_made_it_is_refused() -> None:
    with pytest.raises(InvalidInput, match="without a source"):
        track_rows(changed(data_files(["a"]), file_source=None), snapshot_id=1, next_row_id=0)


def test_rows_of_a_partition_are_numbered_without_gaps(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path, partition_keys=["pt"], options=TRACKED)
    one, two = encode_row([1], [INT]), encode_row([2], [INT])
    messages = [
        message(partition=partition, new_files=data_files([name], partition=partition))
        for name, partition in (("a", two), ("b", one), ("c", two))
    ]
    head = bench.committer().commit(messages, user="x")
    assert head is not None
    live = bench.table().live_files(head)
    firsts = dict(zip(live["file_name"].to_pylist(), live["first_row_id"].to_pylist(), strict=True))
    assert firsts == {"data-a.parquet": 0, "data-c.parquet": 10, "data-b.parquet": 20}
    assert grouped_by_partition(live)["file_name"].to_pylist() == live["file_name"].to_pylist()


def test_a_restore_brings_back_files_with_the_ids_they_had(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path, options=TRACKED)
    then = bench.append("a")
    bench.committer().overwrite([message(new_files=data_files(["b"]))], user="x")
    head = bench.committer().restore(then, user="x")
    live = bench.table().live_files(head)
    assert live["first_row_id"].to_pylist() == [0]
    assert live["min_sequence_number"].to_pylist() == [1]
    assert head.next_row_id == 20
    assert pc.sum(live["row_count"]).as_py() == head.total_record_count
