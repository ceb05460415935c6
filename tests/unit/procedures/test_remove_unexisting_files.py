"""A branch names no longer what its store lost, and nothing else changes."""

import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from branch_console.errors import FormatError, Refused
from branch_console.format.data_types import STRING
from branch_console.format.index_manifest import INDEX_MANIFEST_ENTRY, deletion_vector_entry
from branch_console.format.lineage_event import LineageKind
from branch_console.format.snapshot import CommitKind
from branch_console.format.values.binary_row import encode_row
from branch_console.format.values.deletion_vector import (
    DeletionVectorRange,
    read_deletion_vectors,
    write_deletion_vectors,
)
from branch_console.maintenance.named_files import DATA_RANK, RELEASED_FILES
from branch_console.maintenance.trash import Trash
from branch_console.procedures.call.consequence import Weight
from branch_console.procedures.recover import recover_table
from branch_console.table.data_file_paths import data_file_paths
from tests.support.branch_bench import NOW, BranchBench, store_of, tree
from tests.support.commit_tables import UNPARTITIONED, data_files, message
from tests.support.faulty_store import At, FaultyStore, Killed, When
from tests.support.lifecycle import preview, run

REMOVE = "remove_unexisting_files"
# One way to be killed in CI: what is alike for the others is tried at night.
WHENS = [
    pytest.param(each, marks=() if each is When.AFTER else pytest.mark.depth("long"))
    for each in When
]


def place(bench: BranchBench, branch: str = "main") -> dict[str, Path]:
    """Where each file that a branch names should lie, by its short name."""
    table = bench.table(branch)
    head = table.head()
    assert head is not None
    live = table.live_files(head)
    paths = data_file_paths(table, live).to_pylist()
    names = [name[5:-8] for name in live["file_name"].to_pylist()]
    return {name: Path(path) for name, path in zip(names, paths, strict=True)}


def write(bench: BranchBench, branch: str = "main") -> None:
    """Have all files of a branch lie where they should."""
    for path in place(bench, branch).values():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"rows")


def names(bench: BranchBench, branch: str = "main") -> set[str]:
    return set(place(bench, branch))


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    """Three files on main, each in a snapshot, of which the second is lost."""
    bench = BranchBench(tmp_path / "made")
    for name in "abc":
        bench.append(name)
    write(bench)
    place(bench)["b"].unlink()
    return bench


def test_one_snapshot_names_the_missing_file_no_longer(bench: BranchBench) -> None:
    lost = str(place(bench)["b"])
    told = preview(bench, REMOVE)
    assert told.typed_name == "main"
    assert [each.text for each in told.consequences if each.weight is Weight.LOSES] == [
        "1 data file of 'main' with 10 records and 1,000 bytes are missing. The branch names them "
        "no longer: their rows are gone for good."
    ]
    receipt = run(bench, REMOVE, reason="the disk")
    assert names(bench) == {"a", "c"}
    head = bench.table().head()
    assert head is not None
    assert (head.id, head.commit_kind, head.total_record_count) == (4, CommitKind.OVERWRITE, 20)
    assert receipt.answer == ({"fileName": lost},)
    assert receipt.counts.records_added == -10
    noted = bench.table().ledger.events()[-1]
    assert (noted.kind, noted.reason) == (LineageKind.MISSING_FILES_REMOVED, "the disk")
    again = run(bench, REMOVE, "again")
    assert again.notes == ("Every data file that 'main' names is there.",)
    assert bench.table().snapshots.latest_id() == 4


def test_a_branch_without_snapshots_lacks_nothing(tmp_path: Path) -> None:
    empty = BranchBench(tmp_path)
    receipt = run(empty, REMOVE)
    assert receipt.notes == ("Every data file that 'main' names is there.",)


def test_only_the_branch_that_is_named_changes(bench: BranchBench) -> None:
    bench.branch("dev")
    before = bench.table().head()
    told = preview(bench, REMOVE, table="db.t$branch_dev")
    (beside,) = [each for each in told.consequences if "Other branches" in each.text]
    assert beside.details == ("main: 1 file",)
    run(bench, REMOVE, table="db.t$branch_dev")
    assert names(bench, "dev") == {"a", "c"}
    assert names(bench) == {"a", "b", "c"}
    assert bench.table().head() == before


def test_the_loss_is_told_partition_by_partition(tmp_path: Path) -> None:
    bench = BranchBench(tmp_path, partition_keys=["name"])
    for number, day in enumerate(("one", "one", "two", "three")):
        partition = encode_row([day], [STRING])
        files = data_files([f"file-{number}"], partition=partition, rows=number + 1)
        bench.committer().commit(
            [message(partition, new_files=files)], user="alice", identifier=number
        )
    write(bench)
    for name in ("file-0", "file-1", "file-2"):
        place(bench)[name].unlink()
    told = preview(bench, REMOVE)
    lost = [each for each in told.consequences if each.weight is Weight.LOSES]
    assert lost[0].text.startswith("3 data files of 'main' with 6 records and 3,000 bytes")
    assert set(lost[1].details) == {"name=one: 3 records", "name=two: 3 records"}
    run(bench, REMOVE)
    assert names(bench) == {"file-3"}


def test_undo_names_them_again_until_the_branch_moves(bench: BranchBench) -> None:
    before = bench.table().head()
    run(bench, REMOVE)
    run(bench, "undo", "undo", operation="op")
    assert bench.table().head() == before
    assert names(bench) == {"a", "b", "c"}
    run(bench, REMOVE, "again")
    bench.append("d")
    with pytest.raises(Refused, match="'main' moved since"):
        run(bench, "undo", "late", operation="again")


def test_a_file_that_waits_in_the_trash_is_not_lost(bench: BranchBench) -> None:
    path = str(place(bench)["a"])
    trash = Trash(table=bench.table(), store=bench.store, operation_id="clean")
    trash.note(
        pa.Table.from_pylist(
            [{"path": path, "file_size": 4, "rank": DATA_RANK, "name": 1}], schema=RELEASED_FILES
        )
    )
    trash.put([path])
    with pytest.raises(Refused, match="wait in the trash of the table"):
        run(bench, REMOVE)
    assert preview(bench, REMOVE).blocks[0].details == ("clean",)
    trash.bring_back()
    run(bench, REMOVE)
    assert names(bench) == {"a", "c"}


def test_many_files_in_a_trash_whose_list_is_torn_are_refused_once_with_one_move(
    bench: BranchBench,
) -> None:
    lost = [str(place(bench)[each]) for each in "ac"]
    trash = Trash(table=bench.table(), store=bench.store, operation_id="clean")
    rows = [
        {"path": path, "file_size": 4, "rank": DATA_RANK, "name": number}
        for number, path in enumerate(lost)
    ]
    trash.note(pa.Table.from_pylist(rows, schema=RELEASED_FILES))
    trash.put(lost)
    (listed,) = Path(bench.table().paths.trash_dir).glob("*.arrow")
    listed.write_bytes(b"")
    with pytest.raises(FormatError) as refused:
        run(bench, REMOVE)
    told = str(refused.value)
    assert told.startswith(f"{lost[0]} and 1 other file lie in the trash of the table.")
    assert str(listed) in told
    assert told.endswith(
        f"Move everything below {trash.folder} (2 of these files) back by hand to the same path "
        "below the table, then try again."
    )
    shutil.copytree(trash.folder, bench.path, dirs_exist_ok=True)
    run(bench, REMOVE)
    assert names(bench) == {"a", "c"}


def test_old_rows_of_the_same_keys_are_told(tmp_path: Path) -> None:
    bench = BranchBench(tmp_path, primary_keys=["id"], options={"bucket": "1"})
    bench.append("a")
    told = preview(bench, REMOVE)
    assert any("Older rows of the same keys" in each.text for each in told.consequences)


def test_a_listing_that_leaves_files_out_loses_none(
    bench: BranchBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = type(bench.store.files)
    listed = files.names
    monkeypatch.setattr(
        files, "names", lambda self, path: [] if "/bucket-" in path else listed(self, path)
    )
    told = preview(bench, REMOVE)
    assert told.consequences[0].text.startswith("1 data file of 'main'")


@pytest.mark.parametrize("when", WHENS)
def test_a_kill_at_any_change_removes_all_or_nothing(bench: BranchBench, when: When) -> None:
    root = Path(bench.file_io.root)
    counter = FaultyStore(inner=store_of(shutil.copytree(root, root.parent / "clean")))
    run(BranchBench(root.parent / "clean"), REMOVE, store=counter.store)
    for number in range(1, len(counter.changes) + 1):
        copy = shutil.copytree(root, root.parent / f"{when}-{number}")
        cut = BranchBench(copy)
        faulty = FaultyStore(inner=store_of(copy), fault=At(call=number, when=when))
        with pytest.raises(Killed):
            run(cut, REMOVE, store=faulty.store)
        recover_table(cut.warehouse(clock=lambda: NOW + 3_600_000), cut.table())
        ids = cut.table().snapshots.ids()
        assert (ids[-1], names(cut)) in ((3, {"a", "b", "c"}), (4, {"a", "c"}))


def test_a_merge_takes_the_rows_for_deleted(bench: BranchBench) -> None:
    bench.branch("dev")
    run(bench, REMOVE, table="db.t$branch_dev")
    run(bench, "merge_branch", "merge", branch="dev")
    assert names(bench) == {"a", "c"}


def vectors(bench: BranchBench, *data: str) -> None:
    """Mark 3 rows of each file as deleted, in one index file."""
    held = {f"data-{name}.parquet": (1, 4, 7) for name in data}
    content, ranges = write_deletion_vectors(held)
    name = f"index-{'-'.join(data)}"
    path = Path(bench.table().paths.index(name))
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    entry = deletion_vector_entry((UNPARTITIONED, 0), name, len(content), ranges)
    made = pa.Table.from_pylist([entry], schema=INDEX_MANIFEST_ENTRY)
    bench.committer().commit(
        [message(new_index_files=made)], user="alice", identifier=hash(data) % (1 << 40)
    )


def marked(bench: BranchBench) -> dict[str, list[int]]:
    """The rows that the head marks as deleted, file by file, as its index files hold them."""
    table = bench.table()
    head = table.head()
    assert head is not None
    found: dict[str, list[int]] = {}
    for entry in table.index_entries(head).to_pylist():
        path = table.paths.index(entry["file_name"])
        data = Path(path).read_bytes()
        assert len(data) == entry["file_size"]
        ranges = [DeletionVectorRange(**each) for each in entry["dv_ranges"]]
        held = read_deletion_vectors(data, ranges, path)
        found |= {name[5:-8]: list(rows) for name, rows in held.items()}
    return found


def test_vectors_of_missing_files_go_with_them(bench: BranchBench) -> None:
    vectors(bench, "b")
    vectors(bench, "c")
    told = preview(bench, REMOVE)
    assert "with 7 records" in told.consequences[0].text
    run(bench, REMOVE)
    assert marked(bench) == {"c": [1, 4, 7]}


@pytest.mark.parametrize("bucket", ["-1", "1"])
def test_vectors_of_other_files_stay_in_a_file_without_those(tmp_path: Path, bucket: str) -> None:
    bench = BranchBench(tmp_path / "made", options={"bucket": bucket, "bucket-key": "id"}
                        if bucket == "1" else {})  # fmt: skip
    for name in "abc":
        bench.append(name)
    write(bench)
    vectors(bench, "b", "c", "a")
    before = tree(Path(bench.file_io.root))
    place(bench)["b"].unlink()
    run(bench, REMOVE)
    assert marked(bench) == {"c": [1, 4, 7], "a": [1, 4, 7]}
    run(bench, "undo", "back", operation="op")
    assert marked(bench) == {name: [1, 4, 7] for name in "bca"}
    assert before.keys() - tree(Path(bench.file_io.root)).keys() == {
        "db.db/t/bucket-0/data-b.parquet"
    }


def test_a_kill_leaves_all_vectors_or_those_of_what_is_there(bench: BranchBench) -> None:
    vectors(bench, "b", "c")
    root = Path(bench.file_io.root)
    counter = FaultyStore(inner=store_of(shutil.copytree(root, root.parent / "clean")))
    run(BranchBench(root.parent / "clean"), REMOVE, store=counter.store)
    for number in range(1, len(counter.changes) + 1):
        copy = shutil.copytree(root, root.parent / f"vectors-{number}")
        cut = BranchBench(copy)
        faulty = FaultyStore(inner=store_of(copy), fault=At(call=number, when=When.AFTER))
        with pytest.raises(Killed):
            run(cut, REMOVE, store=faulty.store)
        recover_table(cut.warehouse(clock=lambda: NOW + 3_600_000), cut.table())
        assert (names(cut), sorted(marked(cut))) in (
            ({"a", "b", "c"}, ["b", "c"]),
            ({"a", "c"}, ["c"]),
        )


def test_a_lost_index_file_stays_named_so_that_no_deleted_row_comes_back(
    bench: BranchBench,
) -> None:
    vectors(bench, "c")
    lost = Path(bench.table().paths.index("index-c"))
    lost.unlink()
    told = preview(bench, REMOVE)
    (beside,) = [each for each in told.consequences if "index file" in each.text]
    assert beside.text.startswith("1 index file of 'main' is missing and stays named: without ")
    assert "branch-console doctor db.t --deep" in beside.text
    assert beside.details == (str(lost),)
    # The data file goes all the same, and the vector of the other one is named as before.
    run(bench, REMOVE)
    assert names(bench) == {"a", "c"}
    head = bench.table().head()
    assert head is not None
    assert bench.table().index_entries(head)["file_name"].to_pylist() == ["index-c"]
    receipt = run(bench, REMOVE, "again")
    assert receipt.notes[0] == "Every data file that 'main' names is there."
    assert receipt.notes[1].startswith("1 index file of 'main' is missing")


def test_vectors_of_other_files_that_are_lost_are_named_with_their_table(
    bench: BranchBench,
) -> None:
    vectors(bench, "b", "c")
    Path(bench.table().paths.index("index-b-c")).unlink()
    with pytest.raises(FormatError, match="index-b-c is missing, an index file of"):
        run(bench, REMOVE)
    assert names(bench) == {"a", "b", "c"}


def test_an_expiry_passes_over_an_index_file_that_is_gone(bench: BranchBench) -> None:
    vectors(bench, "c")
    lost = Path(bench.table().paths.index("index-c"))
    lost.unlink()
    # The newest snapshot names no vector any more.
    bench.call("rollback", operation="back", snapshot=3, clock=lambda: NOW)
    done = run(
        bench, "expire_snapshots", "expire", now=NOW + 10**12, retain_max=1, grace="0 s",
        options="snapshot.num-retained.min=1,snapshot.time-retained=1 ms",
    )  # fmt: skip
    assert done.counts.snapshots_removed > 0
    assert not lost.exists()
    assert names(bench) == {"a", "b", "c"}
