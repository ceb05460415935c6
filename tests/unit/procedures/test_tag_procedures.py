"""Tags as Paimon's procedures make, move, rename and delete them."""

import shutil
from pathlib import Path

import pytest

from branch_console.commit.snapshot.file_store_commit import FileStoreCommit
from branch_console.errors import AlreadyExists, FormatError, InvalidInput, NotFound, Refused
from branch_console.format.lineage_event import LineageKind
from branch_console.procedures.recover import recover_table
from tests.support.branch_bench import NOW, BranchBench, store_of, tree
from tests.support.commit_tables import data_files, message
from tests.support.faulty_store import At, FaultyStore, Killed, When
from tests.support.lifecycle import metadata, preview, run

# One way to be killed in CI: what is alike for the others is tried at night.
WHENS = [
    pytest.param(each, marks=() if each is When.AFTER else pytest.mark.depth("long"))
    for each in When
]


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    """Main with snapshots a second apart, whose watermarks are ten apart."""
    bench = BranchBench(tmp_path / "made")
    for number in range(4):
        commit(bench, number, None if number == 1 else 10 * number)
    return bench


def commit(bench: BranchBench, number: int, watermark: int | None) -> None:
    committer = FileStoreCommit(
        bench.table(), bench.store, clock=lambda: NOW + 1000 * number, sleep=lambda _: None
    )
    committer.commit(
        [message(new_files=data_files([f"file-{number}"]))],
        user="alice",
        identifier=number,
        watermark=watermark,
    )


def named(bench: BranchBench, tag: str, branch: str = "main") -> int:
    return bench.table(branch).tags.get(tag).snapshot.id


def test_a_tag_is_replaced_only_where_there_is_one(bench: BranchBench) -> None:
    with pytest.raises(NotFound, match="Branch 'main' has no tag 'now'"):
        bench.call("replace_tag", tag="now")
    bench.call("create_tag", operation="make", tag="now", snapshot=1, time_retained="7 d")
    bench.call("replace_tag", operation="move", tag="now")
    assert named(bench, "now") == 4
    assert bench.table().tags.get("now").time_retained_seconds is None
    bench.call("replace_tag", operation="longer", tag="now", snapshot=1, time_retained="P1D")
    tag = bench.table().tags.get("now")
    assert (tag.snapshot.id, tag.time_retained_seconds) == (1, 86_400)


def test_an_option_says_how_long_a_tag_is_kept(tmp_path: Path) -> None:
    bench = BranchBench(tmp_path, options={"tag.default-time-retained": "2 d"})
    bench.append("a")
    bench.call("create_tag", operation="one", tag="usual")
    bench.call("create_tag", operation="two", tag="short", time_retained="1 h")
    tags = bench.table().tags
    assert tags.get("usual").time_retained_seconds == 172_800
    assert tags.get("short").time_retained_seconds == 3_600


def test_a_snapshot_that_only_a_tag_keeps_can_be_named_again(bench: BranchBench) -> None:
    bench.call("create_tag", operation="one", tag="first", snapshot=1)
    bench.store.remover.remove([bench.table().paths.snapshot(1)])
    bench.call("create_tag", operation="two", tag="again", snapshot=1)
    assert named(bench, "again") == 1


@pytest.mark.parametrize(
    ("least", "found"), [(-1, 1), (0, 1), (1, 3), (20, 3), (21, 4), (30, 4), (31, None)]
)
def test_a_tag_is_made_from_the_first_snapshot_with_a_watermark(
    bench: BranchBench, least: int, found: int | None
) -> None:
    if found is None:
        with pytest.raises(NotFound, match="no snapshot with a watermark of 31 or more"):
            bench.call("create_tag_from_watermark", tag="new", watermark=least)
        return
    receipt = bench.call("create_tag_from_watermark", tag="new", watermark=least)
    snapshot = bench.table().snapshots.get(found)
    assert receipt.answer == (
        {
            "tagName": "new",
            "snapshot": found,
            "commit_time": snapshot.time_millis,
            "watermark": str(snapshot.watermark),
        },
    )
    assert named(bench, "new") == found


def test_a_tag_is_made_from_the_first_snapshot_at_a_time_be_it_kept_by_a_tag_alone(
    bench: BranchBench,
) -> None:
    snapshots = bench.table().snapshots.all()
    bench.call("create_tag", operation="keep", tag="kept", snapshot=1)
    bench.store.remover.remove([bench.table().paths.snapshot(1)])
    bench.call(
        "create_tag_from_timestamp", operation="one", tag="one", timestamp=snapshots[0].time_millis
    )
    assert named(bench, "one") == 1
    late = snapshots[-1].time_millis
    bench.call("create_tag_from_timestamp", operation="two", tag="two", timestamp=late)
    assert named(bench, "two") == 4
    with pytest.raises(NotFound, match=rf"has no snapshot committed at {late + 1} or later"):
        bench.call("create_tag_from_timestamp", operation="none", tag="new", timestamp=late + 1)
    with pytest.raises(AlreadyExists, match="has a tag 'one' already"):
        bench.call("create_tag_from_timestamp", operation="taken", tag="one", timestamp=0)


def test_a_renamed_tag_names_the_same_for_as_long(bench: BranchBench) -> None:
    bench.call("create_tag", operation="make", tag="v1", snapshot=2, time_retained="7 d")
    before = Path(bench.table().paths.tag("v1")).read_bytes()
    bench.call("rename_tag", operation="rename", tag="v1", target_tag="v2")
    assert bench.table().tags.names() == ("v2",)
    assert Path(bench.table().paths.tag("v2")).read_bytes() == before
    event = bench.table().ledger.events()[-1]
    assert (event.kind, event.tag, event.source_tag) == (LineageKind.TAG_RENAMED, "v2", "v1")
    with pytest.raises(NotFound):
        bench.call("rename_tag", operation="gone", tag="v1", target_tag="v3")
    bench.call("create_tag", operation="other", tag="v3")
    with pytest.raises(AlreadyExists, match="has a tag 'v3' already"):
        bench.call("rename_tag", operation="taken", tag="v2", target_tag="v3")
    with pytest.raises(InvalidInput):
        bench.call("rename_tag", operation="bad", tag="v2", target_tag="7")


def undo(bench: BranchBench, operation: str, undone: str) -> None:
    run(bench, "undo", operation, operation=undone)


def test_the_ledger_follows_a_tag_to_its_new_name(bench: BranchBench) -> None:
    bench.call("create_tag", operation="make", tag="v1", snapshot=2)
    before = metadata(bench)
    bench.call("rename_tag", operation="rename", tag="v1", target_tag="v2")
    undo(bench, "back", "rename")
    assert metadata(bench) == before
    bench.call("rename_tag", operation="again", tag="v1", target_tag="v3")
    undo(bench, "unmake", "make")
    assert bench.table().tags.names() == ()


def test_a_vital_tag_keeps_its_name(bench: BranchBench) -> None:
    bench.branch("dev", snapshot=2)
    before = tree(Path(bench.file_io.root))
    with pytest.raises(Refused, match="cannot be renamed: it is the base tag of branch 'dev'"):
        bench.call("rename_tag", tag="branch-base-dev", target_tag="mine")
    assert tree(Path(bench.file_io.root)) == before


@pytest.mark.parametrize("when", WHENS)
def test_a_rename_that_was_cut_off_is_finished(bench: BranchBench, when: When) -> None:
    bench.call("create_tag", operation="make", tag="v1", snapshot=2)
    root = Path(bench.file_io.root)
    for number in range(1, 8):
        copy = shutil.copytree(root, root.parent / f"{when}-{number}")
        faulty = FaultyStore(inner=store_of(copy), fault=At(call=number, when=when))
        cut = BranchBench(copy)
        try:
            cut.call(
                "rename_tag", operation="rename", store=faulty.store, tag="v1", target_tag="v2"
            )
        except Killed:
            # It is never missing under both names.
            assert cut.table().tags.names() in (("v1",), ("v1", "v2"), ("v2",))
        recover_table(cut.warehouse(clock=lambda: NOW + 3_600_000), cut.table())
        assert cut.table().tags.names() in (("v1",), ("v2",))


def test_several_tags_are_deleted_at_once_and_come_back_at_once(bench: BranchBench) -> None:
    for number, name in enumerate(("a", "b", "c"), start=1):
        bench.call("create_tag", operation=f"make-{name}", tag=name, snapshot=number)
    before = metadata(bench)
    told = preview(bench, "delete_tag", tag="a, b,")
    assert told.title == "Delete tags 'a', 'b' of db.t"
    receipt = bench.call("delete_tag", operation="gone", tag="a, b,", reason="old")
    assert bench.table().tags.names() == ("c",)
    assert receipt.counts.tags_removed == 2
    undo(bench, "back", "gone")
    assert metadata(bench) == before
    with pytest.raises(NotFound, match="no tag 'x'"):
        bench.call("delete_tag", operation="missing", tag="a,x")
    assert bench.table().tags.names() == ("a", "b", "c")


def test_a_tag_whose_name_has_a_comma_is_one_tag(bench: BranchBench) -> None:
    for name in ("a", "b", "a,b"):
        bench.tag(name)
    bench.call("delete_tag", tag="a,b")
    assert bench.table().tags.names() == ("a", "b")


def test_tags_that_keep_a_fork_for_each_other_do_not_go_together(bench: BranchBench) -> None:
    bench.tag("one")
    bench.tag("two")
    main, made = bench.table().paths, bench.table("dev").paths
    for source, target in (
        (main.schema(0), made.schema(0)),
        (main.snapshot(4), made.snapshot(4)),
    ):
        bench.store.publisher.publish(target, Path(source).read_bytes())
    with pytest.raises(Refused, match="nothing else keeps the snapshot that branch 'dev' began at"):
        bench.call("delete_tag", operation="both", tag="one,two")
    bench.call("delete_tag", operation="first", tag="one")
    with pytest.raises(Refused):
        bench.call("delete_tag", operation="second", tag="two")


def test_a_tag_that_nobody_can_read_is_deleted_and_comes_back_as_it_was(
    bench: BranchBench,
) -> None:
    path = Path(bench.table().paths.tag("v1"))
    bench.tag("v1")
    path.write_text("{")
    told = preview(bench, "delete_tag", tag="v1")
    assert told.can_run
    assert told.consequences[0].text == (
        "Tag 'v1' of 'main' cannot be read, so nothing tells which snapshot it kept. The name is "
        "gone then."
    )
    run(bench, "delete_tag", tag="v1")
    assert not path.exists()
    back = run(bench, "undo", "back", operation="op")
    assert back.notes == ("Tag 'v1' of 'main' is back, and cannot be read.",)
    assert path.read_text() == "{"


def test_a_tag_that_a_branch_stands_on_stays_although_nobody_can_read_it(
    bench: BranchBench,
) -> None:
    bench.call("create_branch", operation="make", branch="stands")
    path = Path(bench.table().paths.tag("branch-base-stands"))
    path.write_text("{")
    with pytest.raises(FormatError, match="branch-base-stands is broken"):
        run(bench, "delete_tag", tag="branch-base-stands")
    assert path.exists()
