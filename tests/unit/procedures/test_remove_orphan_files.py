"""Files that nothing names go after a grace; whatever somebody may need stays."""

import os
import shutil
from pathlib import Path
from uuid import UUID

import pyarrow as pa
import pytest

from branch_console.commit.base.commit_store import CommitStore
from branch_console.errors import FormatError, InvalidInput, Refused
from branch_console.format.index_manifest import INDEX_MANIFEST_ENTRY
from branch_console.format.receipt import Receipt
from branch_console.procedures.call.call import Argument, ProcedureCall
from branch_console.procedures.maintenance.remove_orphan_files import plan_cleaning
from branch_console.procedures.recover import recover_table
from branch_console.storage import file_remover
from branch_console.storage.file_remover import FileRemover
from tests.support.branch_bench import store_of, tree
from tests.support.commit_tables import UNPARTITIONED, message
from tests.support.expiry_bench import LATER, ExpiryBench
from tests.support.faulty_store import At, FaultyStore, Killed, When

NAMES = (
    "bucket-0/data-{}-0.parquet",
    "bucket-0/data-{}-0.parquet.index",
    "bucket-0/changelog-{}-3.orc",
    "bucket-7/data-u-ann-s-1-w-{}-1.zstd.avro",
    "bucket-0/.data-{}-2.parquet.00000000-0000-0000-0000-0000000000aa.tmp",
    "bucket-0/index-{}-0",
    "index/index-{}-0",
    "manifest/manifest-{}-0",
    "manifest/manifest-list-{}-1",
    "manifest/index-manifest-{}-0",
    "statistics/stat-{}-0",
)
STRANGE = (
    "bucket-0/data-mine.parquet",
    "bucket-0/data-{}-0.parquet.swp",
    "bucket-0/export-{}-0.parquet",
    "manifest/notes.txt",
    "index/global-{}.index",
)


def orphans(bench: ExpiryBench, names: tuple[str, ...] = NAMES) -> set[Path]:
    """Files that lie in the table and that nothing names."""
    made = set()
    for number, name in enumerate(names):
        path = Path(bench.path) / name.format(UUID(int=number))
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"0123456789")
        made.add(path)
    return made


def clean(
    bench: ExpiryBench,
    operation: str = "cleaning",
    *,
    store: CommitStore | None = None,
    now: int = LATER,
    **arguments: Argument,
) -> Receipt:
    return bench.call(
        "remove_orphan_files",
        operation=operation,
        store=store,
        clock=lambda: now,
        **{"grace": "0 s", **arguments},
    )


def left(made: set[Path]) -> set[Path]:
    return {path for path in made if path.exists()}


@pytest.fixture
def bench(tmp_path: Path) -> ExpiryBench:
    made = ExpiryBench(tmp_path / "made")
    made.add("a")
    made.branch("dev")
    made.add("b", branch="dev")
    made.tag("v1")
    made.replace("c")
    return made


def test_what_nothing_names_goes_and_all_else_stays(bench: ExpiryBench) -> None:
    kept = tree(bench.root).keys()
    made, strange = orphans(bench), orphans(bench, STRANGE)
    call = ProcedureCall(
        name="remove_orphan_files",
        arguments={"table": "db.t", "grace": "0 s"},
        actor="ann",
        operation_id="look",
    )
    planned = plan_cleaning(bench.warehouse(clock=lambda: LATER), call).preview
    told, waits, stays = planned.consequences
    assert set(told.details) == set(map(str, made))
    assert told.text.startswith("11 files with 110 bytes, written before ")
    assert waits.text.startswith("What goes waits in the trash of the table for 7 days")
    assert planned.undo == "Undo brings the files back from the trash, for 7 days at least."
    assert set(stays.details) == set(map(str, strange))
    receipt = clean(bench)
    assert left(made) == set()
    assert left(strange) == strange
    assert kept <= tree(bench.root).keys()
    assert bench.broken() == []
    assert receipt.notes == (
        "11 files with 110 bytes were removed, and wait in the trash for 7 days.",
    )
    assert (receipt.counts.files_removed, receipt.counts.bytes_removed) == (11, 110)
    again = clean(bench, "again")
    assert again.notes[0] == "No file is an orphan: all that may go is named, or too young."


def test_an_index_file_that_an_option_puts_beside_data_files_stays(bench: ExpiryBench) -> None:
    name = f"index-{UUID(int=5)}-0"
    hidden = {"data_file": "data-c.parquet", "offset": 1, "length": 22, "cardinality": 1}
    index = {
        "kind": 0,
        "partition": UNPARTITIONED,
        "bucket": 0,
        "index_type": "DELETION_VECTORS",
        "file_name": name,
        "file_size": 30,
        "row_count": 1,
        "dv_ranges": [hidden],
    }
    named = pa.Table.from_pylist([index], schema=INDEX_MANIFEST_ENTRY)
    bench.committer().commit([message(new_index_files=named)], user="alice", identifier=9)
    (beside,) = orphans(bench, (f"bucket-0/{name}",))
    assert clean(bench).counts.files_removed == 0
    assert beside.exists()


def test_a_young_file_and_what_an_open_operation_may_have_written_stay(bench: ExpiryBench) -> None:
    made = orphans(bench, NAMES[:2])
    young, old = sorted(made)
    os.utime(young, (LATER // 1000 - 86_000, LATER // 1000 - 86_000))
    os.utime(old, (LATER // 1000 - 87_000, LATER // 1000 - 87_000))
    clean(bench)
    assert left(made) == {young}
    # A write began two days ago and has not ended: it may still name what it wrote since.
    faulty = FaultyStore(inner=store_of(bench.root), fault=At(call=2))
    with pytest.raises(Killed):
        bench.call(
            "fence_branch",
            operation="fence",
            store=faulty.store,
            clock=lambda: LATER - 172_800_000,
            branch="main",
        )
    assert clean(bench, "beside", now=LATER + 86_400_000).counts.files_removed == 0
    assert left(made) == {young}
    os.utime(young, (1_000_000_000, 1_000_000_000))
    with pytest.raises(Refused, match=r"Operation fence is at work on db\.t"):
        clean(bench, "blocked")


def test_what_only_a_dropped_branch_held_stays_while_a_rescue_holds_it(bench: ExpiryBench) -> None:
    bench.call("drop_branch", operation="drop", branch="dev")
    assert clean(bench).counts.files_removed == 0
    assert bench.broken() == []
    # As Paimon drops a branch.
    (rescue,) = (name for name in bench.table().branches.names() if name.startswith("rescue-"))
    shutil.rmtree(bench.table(rescue).paths.root)
    manifests = set(Path(bench.table().paths.manifest_dir).iterdir())
    clean(bench, "after")
    assert len(manifests - set(Path(bench.table().paths.manifest_dir).iterdir())) > 0
    assert bench.broken() == []


def test_undo_keeps_the_files_until_the_next_cleaning(bench: ExpiryBench) -> None:
    made = orphans(bench)
    noted = clean(bench, "first", grace="10 min")
    assert noted.notes == (
        "11 orphan files with 110 bytes go with the first cleaning of the table after 10 minutes.",
    )
    early = clean(bench, "early", grace="10 min", now=LATER + 599_999)
    assert early.notes[0].startswith("No file is an orphan")
    back = bench.run("undo", "back", LATER + 1, {"operation": "first"})
    assert back.notes == ("The orphan files stay.",)
    assert left(made) == made
    clean(bench, "second", grace="10 min")
    # Somebody names one after all, and its index with it.
    bench.append(f"{UUID(int=0)}-0", branch="dev")
    (index,) = orphans(bench, (f"bucket-0/data-{UUID(int=0)}-0.parquet.index",))
    over = clean(bench, "over", grace="10 min", now=LATER + 700_000)
    assert left(made) == {index.with_suffix("")}
    assert index.exists()
    assert over.counts.files_removed == 10
    with pytest.raises(Refused, match="the files that it noted were removed"):
        bench.run("undo", "late", LATER + 700_000, {"operation": "second"})


def test_undo_brings_files_back_from_the_trash_until_it_is_emptied(bench: ExpiryBench) -> None:
    made = orphans(bench)
    written = {path: path.stat().st_mtime_ns for path in made}
    before = tree(bench.root, without=".json")
    clean(bench, "first")
    assert left(made) == set()
    back = bench.run("undo", "back", LATER, {"operation": "first"})
    assert back.notes == ("11 orphan files came back from the trash.",)
    assert {path: path.stat().st_mtime_ns for path in made} == written
    assert tree(bench.root, without=".json") == before
    assert not Path(bench.table().paths.trash_dir).exists()

    clean(bench, "noted", grace="10 min")
    clean(bench, "over", grace="10 min", now=LATER + 700_000)
    assert left(made) == set()
    bench.run("undo", "back-over", LATER + 700_000, {"operation": "over"})
    assert left(made) == made
    clean(bench, "last", now=LATER + 700_000)
    week = LATER + 700_000 + 7 * 86_400_000
    early = clean(bench, "early", now=week - 1)
    assert early.notes == ("No file is an orphan: all that may go is named, or too young.",)
    late = clean(bench, "late", now=week)
    assert late.notes[-1] == "11 files went from the trash for good."
    assert not Path(bench.table().paths.trash_dir).exists()
    with pytest.raises(Refused, match="the files that it noted were removed"):
        bench.run("undo", "too-late", week, {"operation": "last"})


def test_no_crash_takes_back_what_undo_brought_back(
    bench: ExpiryBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = orphans(bench)
    clean(bench, "first")
    (list_of_trash,) = Path(bench.table().paths.trash_dir).glob("*.arrow")
    synced: set[Path] = set()

    def sync(folder: Path) -> None:
        if list_of_trash.exists():
            synced.add(folder)

    monkeypatch.setattr(file_remover, "sync_path", sync)
    bench.run("undo", "back", LATER, {"operation": "first"})
    assert synced >= {path.parent for path in made}


@pytest.mark.parametrize("grace", ["0 s", "10 min"])
def test_what_waits_is_found_where_the_warehouse_lies_by_now(
    bench: ExpiryBench, grace: str
) -> None:
    made = orphans(bench)
    clean(bench, "first", grace=grace)
    moved = ExpiryBench(bench.root.rename(bench.root.with_name("moved")))
    there = {Path(moved.path) / path.relative_to(bench.path) for path in made}
    if grace == "0 s":
        moved.run("undo", "back", LATER, {"operation": "first"})
        assert left(there) == there
    else:
        clean(moved, "over", now=LATER + 700_000)
        assert left(there) == set()


@pytest.mark.parametrize("why", ["the call", "the store"])
def test_where_nothing_is_kept_files_go_for_good(
    bench: ExpiryBench, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = orphans(bench)
    given = {"trash_keep": "0 s"} if why == "the call" else {}
    if why == "the store":
        # As on an object store, where a move is a copy.
        monkeypatch.setattr(FileRemover, "moves_freely", False)
    receipt = clean(bench, **given)  # type: ignore[arg-type]
    assert receipt.notes == ("11 files with 110 bytes were removed.",)
    assert left(made) == set()
    assert not Path(bench.table().paths.trash_dir).exists()
    with pytest.raises(Refused, match="the files that it noted were removed"):
        bench.run("undo", "back", LATER, {"operation": "cleaning"})


@pytest.mark.parametrize("grace", ["0 s", "10 min"])
def test_a_kill_at_any_change_loses_nothing_that_is_named(bench: ExpiryBench, grace: str) -> None:
    orphans(bench, NAMES[:3])
    tmp_path = bench.root.parent
    counter = FaultyStore(inner=store_of(shutil.copytree(bench.root, tmp_path / "clean")))
    done = ExpiryBench(tmp_path / "clean")
    clean(done, store=counter.store, grace=grace)
    for number in range(1, len(counter.changes) + 1):
        cut = ExpiryBench(shutil.copytree(bench.root, tmp_path / f"{number}"))
        when = When.BEFORE if number % 2 else When.AFTER
        faulty = FaultyStore(inner=store_of(cut.root), fault=At(call=number, when=when))
        with pytest.raises(Killed):
            clean(cut, store=faulty.store, grace=grace)
        recover_table(cut.warehouse(clock=lambda: LATER + 3_600_000), cut.table())
        clean(cut, "last", now=LATER + 7_200_000)
        assert cut.broken() == [], counter.changes[number - 1]
        assert not list(Path(cut.path).glob("bucket-0/*-0000-*")), counter.changes[number - 1]
        assert not list(Path(cut.table().paths.lineage_dir).glob("release-*"))
        shutil.rmtree(cut.root)


def test_a_branch_without_a_schema_stops_the_cleaning(bench: ExpiryBench) -> None:
    made = orphans(bench)
    shutil.rmtree(bench.table("dev").paths.schema_dir)
    with pytest.raises(FormatError, match=r"Branch 'dev' of db.t is broken .*It has no schema"):
        clean(bench)
    assert left(made) == made


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"older_than": "2096-10-02 06:30:00+00:00"}, "less than an hour ago"),
        ({"older_than": "soon"}, "which is no time"),
        ({"grace": "soon"}, "no file was removed"),
        ({"trash_keep": "long"}, "The argument 'trash_keep' of remove_orphan_files is 'long'"),
    ],
)
def test_what_no_cleaning_can_mean_is_refused(
    bench: ExpiryBench, arguments: dict[str, Argument], words: str
) -> None:
    made = orphans(bench)
    with pytest.raises(InvalidInput, match=words):
        clean(bench, **arguments)  # type: ignore[arg-type]
    assert left(made) == made
