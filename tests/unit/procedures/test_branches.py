from itertools import product
from pathlib import Path

import pytest

from branch_console.diff.branch_counts import BranchCounts
from branch_console.errors import (
    AlreadyExists,
    InvalidInput,
    NotAllowed,
    NotFound,
    Refused,
    StorageError,
)
from branch_console.format.lineage_event import LineageKind
from branch_console.format.tag import Tag
from branch_console.procedures.browse.branches import list_branches
from branch_console.procedures.browse.graph import read_graph
from branch_console.procedures.browse.tables import list_tables, read_table
from branch_console.table.schema_manager import SchemaManager
from tests.support.branch_bench import BranchBench, tree
from tests.support.lifecycle import preview, run


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    bench = BranchBench(tmp_path)
    bench.append("a")
    bench.append("b")
    bench.tag("v2")
    bench.alter()
    bench.append("c")
    return bench


def test_a_branch_from_the_head_has_its_snapshot_schemas_and_base_tag(bench: BranchBench) -> None:
    receipt = bench.branch("dev", owner="ann", reason="fix delays")
    dev, main = bench.table("dev"), bench.table()
    assert dev.snapshots.ids() == (3,)
    assert dev.schemas.ids() == (0, 1)
    assert dev.tags.names() == ("branch-base-dev",)
    assert main.tags.get("branch-base-dev").time_retained_seconds is None
    assert Path(dev.paths.snapshot(3)).read_bytes() == Path(main.paths.snapshot(3)).read_bytes()
    assert bench.live_names("dev") == bench.live_names()
    (event,) = main.ledger.events()
    assert (event.kind, event.source_branch) == (LineageKind.FORKED, "main")
    assert (event.owner, event.reason, event.base_tag) == ("ann", "fix delays", "branch-base-dev")
    assert event.receipt == receipt


def spoil(path: Path, how: str) -> None:
    """Make a file missing, empty, shorter or no file of ours."""
    data = path.read_bytes()
    path.unlink()
    if how != "missing":
        path.write_bytes({"empty": b"", "short": data[:-7], "other": b"x" * 9}[how])


@pytest.mark.parametrize(
    ("what", "how"),
    [
        *product(("base list", "delta list", "manifest"), ("missing", "empty", "short", "other")),
        *product(("snapshot",), ("empty", "short", "other")),
    ],
)
def test_no_branch_begins_at_a_head_that_cannot_be_read(
    bench: BranchBench, what: str, how: str
) -> None:
    main, head = bench.table(), bench.table().snapshots.get(3)
    path = Path(
        {
            "base list": main.paths.manifest(head.base_manifest_list),
            "delta list": main.paths.manifest(head.delta_manifest_list),
            "manifest": main.paths.manifest(main.manifests(head)["file_name"][-1].as_py()),
            "snapshot": main.paths.snapshot(3),
        }[what]
    )
    spoil(path, how)
    before = tree(Path(bench.file_io.root))
    for ask in (preview, run):
        with pytest.raises(Refused, match="begin at an older snapshot or") as caught:
            ask(bench, "create_branch", branch="dev")
        assert path.name in caught.value.message
        assert caught.value.facts["path"] == str(path)
    assert tree(Path(bench.file_io.root)) == before
    bench.branch("older", snapshot=2)
    bench.branch("tagged", tag="v2")
    bench.branch("bare", empty=True)
    assert bench.live_names("older") == bench.live_names("tagged")


def test_c01_a_branch_goes_on_from_the_id_of_its_fork(bench: BranchBench) -> None:
    bench.branch("dev", tag="v2")
    assert bench.append("d", branch="dev").id == 3
    bench.branch("bare", empty=True)
    assert bench.append("e", branch="bare").id == 1


def test_a_branch_from_a_tag_has_the_schemas_of_then(bench: BranchBench) -> None:
    bench.branch("dev", tag="v2")
    assert bench.table("dev").snapshots.ids() == (2,)
    assert bench.table("dev").schemas.ids() == (0,)


def test_a_branch_from_a_tag_whose_snapshot_has_expired(bench: BranchBench) -> None:
    path = bench.table().paths.snapshot(2)
    content = Path(path).read_bytes()
    bench.store.remover.remove([path])
    bench.branch("dev", tag="v2")
    assert Path(bench.table("dev").paths.snapshot(2)).read_bytes() == content


def test_the_base_tag_lasts_though_the_tag_it_comes_from_does_not(bench: BranchBench) -> None:
    path = Path(bench.table().paths.tag("v2"))
    text = path.read_text().rstrip().removesuffix("}").rstrip()
    path.write_text(
        text + ',\n  "tagCreateTime" : [ 2026, 1, 1, 0, 0 ],\n  "tagTimeRetained" : 60.0,\n'
        '  "unknown" : "kept"\n}'
    )
    assert bench.table().tags.get("v2").time_retained_seconds == 60
    bench.branch("dev", tag="v2")
    base = Path(bench.table().paths.tag("branch-base-dev")).read_text()
    assert Tag.from_json("base", base).time_retained_seconds is None
    assert '"unknown" : "kept"' in base


def test_a_branch_from_a_snapshot_a_time_and_another_branch(bench: BranchBench) -> None:
    bench.branch("by-id", snapshot=1)
    assert bench.table("by-id").snapshots.ids() == (1,)
    second = bench.table().snapshots.get(2)
    bench.branch("by-time", timestamp=second.time_millis)
    assert bench.table("by-time").snapshots.ids() == (2,)
    bench.append("x", branch="by-id")
    bench.branch("child", from_branch="by-id")
    assert bench.live_names("child") == {"data-a.parquet", "data-x.parquet"}
    assert bench.table("by-id").tags.names() == ("branch-base-by-id", "branch-base-child")


def test_an_empty_branch_has_the_schema_and_nothing_else(bench: BranchBench) -> None:
    receipt = bench.branch("bare", empty=True)
    bare = bench.table("bare")
    assert (bare.schemas.ids(), bare.snapshots.ids(), bare.tags.names()) == ((0, 1), (), ())
    assert "cannot be merged" in receipt.notes[0]


@pytest.mark.parametrize("name", ["main", "MAIN", "123", "", "a/b", "a$b", "a.b", "rescue-x", "-x"])
def test_names_that_no_branch_may_have(bench: BranchBench, name: str) -> None:
    before = tree(Path(bench.file_io.root))
    with pytest.raises(InvalidInput):
        bench.branch(name) if name else bench.call("create_branch", branch=name)
    assert tree(Path(bench.file_io.root)) == before


def test_a_name_that_is_taken(bench: BranchBench) -> None:
    bench.branch("dev")
    before = tree(Path(bench.file_io.root))
    with pytest.raises(AlreadyExists, match="has a branch 'dev' already"):
        bench.call("create_branch", operation="another", branch="dev")
    assert tree(Path(bench.file_io.root)) == before


def test_a_repeated_click_makes_one_branch(bench: BranchBench) -> None:
    first = bench.call("create_branch", branch="dev")
    bench.append("d")
    assert bench.call("create_branch", branch="dev") == first
    assert bench.table("dev").snapshots.ids() == (3,)


def test_a_base_tag_of_an_earlier_branch_of_that_name_is_left_alone(bench: BranchBench) -> None:
    bench.tag("branch-base-dev")
    bench.append("d")
    bench.branch("dev")
    assert bench.table().tags.names() == ("branch-base-dev", "branch-base-dev-2", "v2")


@pytest.mark.parametrize(
    ("place", "error"),
    [
        ({"tag": "nope"}, NotFound),
        ({"snapshot": 99}, NotFound),
        ({"timestamp": 5}, NotFound),
        ({"from_branch": "nope"}, NotFound),
        ({"tag": "v2", "empty": True}, InvalidInput),
        ({"snapshot": 1, "timestamp": 5}, InvalidInput),
    ],
)
def test_places_where_no_branch_can_begin(
    bench: BranchBench, place: dict[str, str | int | bool], error: type[Exception]
) -> None:
    before = tree(Path(bench.file_io.root))
    with pytest.raises(error):
        bench.branch("dev", **place)
    assert tree(Path(bench.file_io.root)) == before


def test_a_viewer_is_told_which_role_it_takes(bench: BranchBench) -> None:
    with pytest.raises(NotAllowed, match="it asks for editor, and your role is viewer"):
        bench.call("create_branch", branch="dev", role="viewer")


def test_half_made_branches_are_never_shown(bench: BranchBench) -> None:
    receipt = bench.branch("dev")
    paths = bench.table().paths
    # As after a crash: everything is there but the end.
    bench.store.remover.remove([f"{paths.lineage_dir}/done-{receipt.operation_id}.json"])
    warehouse, identifier = bench.warehouse(), bench.identifier
    assert [item.name for item in list_branches(warehouse, identifier)] == ["main"]
    assert read_table(warehouse, identifier).branches == ()
    assert list_tables(warehouse)[0].branches == BranchCounts(branches=1)
    assert [lane.branch for lane in read_graph(warehouse, identifier).lanes] == ["main"]


@pytest.mark.parametrize("empty", [True, False])
def test_a_listing_that_leaves_a_schema_out_makes_no_branch(
    bench: BranchBench, empty: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tree(Path(bench.file_io.root))
    monkeypatch.setattr(SchemaManager, "ids", lambda _: (0,))
    with pytest.raises(StorageError, match="schema-1, which is there"):
        bench.branch("dev", empty=empty)
    assert tree(Path(bench.file_io.root)) == before


def test_a_fork_whose_schema_is_gone_makes_no_branch(bench: BranchBench) -> None:
    bench.store.remover.remove([bench.table().paths.schema(1)])
    with pytest.raises(NotFound, match="schema-1 is missing, though snapshot 3"):
        bench.branch("dev", snapshot=3)
    assert not bench.table().branches.exists("dev")
