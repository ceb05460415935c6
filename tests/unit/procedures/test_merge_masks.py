"""Deletion vectors of append tables that both sides of a merge change."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from branch_console.diff.file_masks import HiddenRows
from branch_console.diff.masks import masks_of
from branch_console.errors import ErrorKind, FormatError, Refused
from branch_console.format.journals.written import WRITTEN_ROWS, WrittenRows
from branch_console.format.manifest_entry import MANIFEST_ENTRY
from branch_console.merge.conflict import Take
from branch_console.merge.file_moves import FileMoves
from branch_console.procedures.merge.deletion_vectors import write_masks
from branch_console.procedures.merge.side_log import read_masks
from branch_console.procedures.run.written_messages import buckets_of, messages_of
from tests.support.branch_bench import BranchBench
from tests.support.commit_tables import UNPARTITIONED, data_files, message
from tests.support.lifecycle import run

VECTORS = {"write-only": "true", "deletion-vectors.enabled": "true"}


def test_a_journal_from_before_index_files_were_written_is_read() -> None:
    (bucket,) = buckets_of([message(new_files=data_files(["a"]))])
    old = replace(bucket, new_index_files=None, deleted_index_files=None)
    told = WRITTEN_ROWS.encode(WrittenRows(row_messages=(old,)))
    assert "IndexFiles" not in str(told)
    (found,) = messages_of(WRITTEN_ROWS.decode(told).row_messages)
    assert found.new_files.num_rows == 1
    assert found.new_index_files.num_rows == found.deleted_index_files.num_rows == 0


def open_bench(root: Path, **options: str) -> BranchBench:
    bench = BranchBench(root, options={**VECTORS, **options})
    bench.append("one", "two")
    bench.branch("dev")
    return bench


def hide(
    bench: BranchBench, branch: str, rows: Mapping[str, list[int]], new: pa.Table | None = None
) -> None:
    """Commit vectors; `new` are files with other versions of the rows."""
    table = bench.table(branch)
    head = table.head()
    assert head is not None
    none = MANIFEST_ENTRY.empty_table()
    masks = {
        (UNPARTITIONED, 0, f"data-{name}.parquet"): HiddenRows(positions)
        for name, positions in rows.items()
    }
    moves = FileMoves(add=none, restore=none, remove=none, masks=masks)
    (written,) = write_masks(bench.store, table, head, moves)
    parts = {} if new is None else {"new_files": new}
    bench.committer(branch).commit(
        [
            message(
                total_buckets=written.total_buckets,
                new_index_files=written.new_index_files,
                deleted_index_files=written.deleted_index_files,
                **parts,
            )
        ],
        user="bob",
        identifier=hash((branch, str(rows))) % (1 << 40),
    )


def hidden(bench: BranchBench) -> dict[str, list[int]]:
    table = bench.table()
    head = table.head()
    assert head is not None
    found = read_masks(table, masks_of(table.index_entries(head)))
    return {key[2].split("-")[1].split(".")[0]: list(rows) for key, rows in found.items()}


def index_files(bench: BranchBench) -> list[str]:
    head = bench.table().head()
    assert head is not None
    return sorted(bench.table().index_entries(head)["file_name"].to_pylist())


def test_vectors_of_one_file_are_united_and_others_left_alone(tmp_path: Path) -> None:
    bench = open_bench(tmp_path)
    hide(bench, "main", {"two": [7]})
    (untouched,) = index_files(bench)
    hide(bench, "main", {"one": [1, 2]})
    hide(bench, "dev", {"one": [2, 3]})
    bench.call("merge_branch", operation="merge-1", branch="dev")
    assert hidden(bench) == {"one": [1, 2, 3], "two": [7]}
    assert untouched in index_files(bench)
    assert bench.live_names() == {"data-one.parquet", "data-two.parquet"}


def test_a_bucket_has_one_file_of_vectors(tmp_path: Path) -> None:
    bench = open_bench(tmp_path, bucket="1", **{"bucket-key": "id"})
    hide(bench, "main", {"two": [7]})
    hide(bench, "dev", {"one": [2]})
    bench.call("merge_branch", operation="merge-1", branch="dev")
    assert hidden(bench) == {"one": [2], "two": [7]}
    assert len(index_files(bench)) == 1


def test_what_a_picked_snapshot_hid_is_hidden_alone(tmp_path: Path) -> None:
    bench = open_bench(tmp_path)
    hide(bench, "dev", {"one": [1]})
    hide(bench, "dev", {"one": [1, 4]})
    hide(bench, "main", {"one": [9]})
    run(bench, "cherry_pick", "pick-1", branch="dev", snapshot=3)
    assert hidden(bench) == {"one": [4, 9]}


def test_a_revert_shows_rows_again_and_leaves_no_empty_vector(tmp_path: Path) -> None:
    bench = open_bench(tmp_path)
    hide(bench, "main", {"one": [1]})
    hide(bench, "main", {"two": [5]})
    run(bench, "revert", "revert-1", snapshot=2)
    assert hidden(bench) == {"two": [5]}


@pytest.mark.parametrize(("ours", "merges"), [([5], True), ([2], False)])
def test_a_deleted_row_beside_an_updated_one(ours: list[int], merges: bool, tmp_path: Path) -> None:
    bench = open_bench(tmp_path)
    hide(bench, "dev", {"one": [2]})
    hide(bench, "main", {"one": ours}, data_files(["new"], rows=1, total_buckets=-1))
    if merges:
        bench.call("merge_branch", operation="merge-1", branch="dev")
        assert hidden(bench) == {"one": [2, 5]}
        return
    with pytest.raises(Refused) as refused:
        bench.call("merge_branch", operation="merge-1", branch="dev")
    assert refused.value.kind is ErrorKind.CONFLICTS_OPEN


@pytest.mark.parametrize(("take", "rows"), [(Take.OURS, [5]), (Take.THEIRS, [2])])
def test_two_updates_of_a_file_are_settled_with_all_that_they_wrote(
    take: Take, rows: list[int], tmp_path: Path
) -> None:
    bench = open_bench(tmp_path)
    for branch, position in (("dev", 2), ("main", 5)):
        new = data_files([f"new-{branch}"], rows=1, total_buckets=-1)
        hide(bench, branch, {"one": [position]}, new)
    with pytest.raises(Refused):
        bench.call("merge_branch", operation="merge-1", branch="dev")
    policy = f"version: 1\nkinds: {{whole files: {take}}}"
    bench.call("merge_branch", operation="merge-2", branch="dev", policy=policy)
    assert hidden(bench) == {"one": rows}
    kept = "main" if take is Take.OURS else "dev"
    assert bench.live_names() == {f"data-{e}.parquet" for e in ("one", "two", f"new-{kept}")}


def test_a_merge_names_the_index_file_that_is_lost_and_its_table(tmp_path: Path) -> None:
    bench = open_bench(tmp_path)
    hide(bench, "main", {"two": [7]})
    hide(bench, "dev", {"two": [8]})
    dev = bench.table("dev")
    head = dev.head()
    assert head is not None
    (name,) = dev.index_entries(head)["file_name"].to_pylist()
    Path(dev.paths.index(name)).unlink()
    before = bench.table().head()
    with pytest.raises(FormatError) as caught:
        run(bench, "merge_branch", branch="dev")
    assert caught.value.kind is ErrorKind.FILES_MISSING
    assert f"{name} is missing, an index file of branch " in caught.value.message
    assert "branch-console doctor db.t --deep" in caught.value.message
    assert bench.table().head() == before
