"""Going back to an earlier snapshot by a new one."""

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from branch_console.commit.schema.schema_commit import add_column, change_schema
from branch_console.errors import CommitConflict
from branch_console.format.data_types import INT
from branch_console.format.index_manifest import INDEX_MANIFEST_ENTRY
from branch_console.format.snapshot import CommitKind, Snapshot
from tests.support.commit_tables import UNPARTITIONED, CommitBench, data_files, message


def index_file(name: str, data_file: str) -> pa.Table:
    """An index file with the deletion vector of one data file."""
    row = {
        "kind": 0,
        "partition": UNPARTITIONED,
        "bucket": 0,
        "index_type": "DELETION_VECTORS",
        "file_name": name,
        "file_size": 30,
        "row_count": 1,
        "dv_ranges": [{"data_file": data_file, "offset": 1, "length": 22, "cardinality": 1}],
    }
    return pa.Table.from_pylist([row], schema=INDEX_MANIFEST_ENTRY)


def test_the_files_of_then_are_live_again_and_the_history_stays(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path)
    then = bench.append("a", "b", rows=10)
    bench.committer().commit([message(deleted_files=data_files(["a"]))], user="x", identifier=2)
    bench.append("c", rows=5)
    restored = bench.committer().restore(then, user="rollback", identifier=9)
    assert restored.id == 4
    assert restored.commit_kind is CommitKind.OVERWRITE
    assert bench.live_names() == {"data-a.parquet", "data-b.parquet"}
    assert (restored.total_record_count, restored.delta_record_count) == (20, 5)
    assert bench.table().snapshots.ids() == (1, 2, 3, 4)


def test_only_what_differs_is_written(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path)
    then = bench.append("a", "b")
    bench.append("c")
    restored = bench.committer().restore(then, user="rollback")
    table = bench.table()
    delta = table.read_manifests(table.scan.read_list(table.paths, restored.delta_manifest_list))
    assert delta.select(["kind", "file_name"]).to_pylist() == [
        {"kind": 1, "file_name": "data-c.parquet"}
    ]


def test_deletion_vectors_of_then_count_again(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path, options={"deletion-vectors.enabled": "true"})
    bench.append("a")
    with_vector = bench.committer().commit(
        [message(new_index_files=index_file("index-1", "data-a.parquet"))], user="x", identifier=2
    )
    assert with_vector is not None
    bench.committer().commit(
        [message(deleted_index_files=index_file("index-1", "data-a.parquet"))],
        user="x",
        identifier=3,
    )
    table = bench.table()
    first = table.snapshots.get(1)
    restored = bench.committer().restore(with_vector, user="rollback", identifier=1)
    assert bench.table().index_entries(restored)["file_name"].to_pylist() == ["index-1"]
    again = bench.committer().restore(first, user="rollback", identifier=2)
    assert again.index_manifest is None


@pytest.mark.parametrize("schema_changed", [False, True])
def test_statistics_of_then_come_back_while_their_schema_is_the_newest(
    tmp_path: Path, schema_changed: bool
) -> None:
    bench = CommitBench(tmp_path)
    then = with_statistics(bench, bench.append("a"))
    bench.append("b")
    if schema_changed:
        change_schema(bench.table(), bench.store, [add_column("more", INT)], now_millis=1)
    restored = bench.committer().restore(then, user="rollback")
    assert restored.statistics == (None if schema_changed else then.statistics)
    assert restored.schema_id == (1 if schema_changed else 0)


def with_statistics(bench: CommitBench, snapshot: Snapshot) -> Snapshot:
    """The snapshot as it would be after ANALYZE."""
    name = "stat-of-then"
    content = json.dumps({"snapshotId": snapshot.id, "schemaId": snapshot.schema_id})
    bench.store.publisher.publish(bench.table().paths.statistics(name), content.encode())
    return replace(snapshot, statistics=name)


def test_the_watermark_and_row_ids_do_not_go_back(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path)
    commit = bench.committer().commit
    then = commit([message(new_files=data_files(["a"]))], user="x", identifier=1, watermark=5)
    commit([message(new_files=data_files(["b"]))], user="x", identifier=2, watermark=9)
    assert then is not None
    restored = bench.committer().restore(replace(then, next_row_id=70), user="rollback")
    assert restored.watermark == 9
    assert restored.next_row_id == 70


def test_a_guard_refuses_a_head_that_moved(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path)
    then = bench.append("a")
    planned_on = bench.append("b")
    bench.append("c")
    with pytest.raises(CommitConflict, match="moved"):
        bench.committer().restore(then, user="rollback", guard=planned_on.identity)
    assert bench.table().snapshots.ids() == (1, 2, 3)


def test_a_snapshot_that_only_a_tag_keeps_can_be_restored(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path)
    then = bench.append("a")
    bench.append("b")
    bench.store.remover.remove([bench.table().paths.snapshot(1)])
    bench.committer().restore(then, user="rollback")
    assert bench.live_names() == {"data-a.parquet"}


def test_a_restore_whose_answer_was_lost_is_made_once(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path)
    then = bench.append("a")
    bench.append("b")
    first = bench.committer().restore(then, user="rollback", identifier=4)
    again = bench.committer().restore(then, user="rollback", identifier=4, seen_id=2)
    assert again == first
    assert bench.table().snapshots.ids() == (1, 2, 3)
