from pathlib import Path

import pytest

from branch_console.errors import InvalidInput, NotAllowed, Refused
from branch_console.procedures.call.call import Argument, ProcedureCall
from branch_console.procedures.preview import Preview, Weight, preview_call
from tests.support.branch_bench import BranchBench, tree
from tests.support.lifecycle import run


def preview(bench: BranchBench, name: str, **arguments: Argument) -> Preview:
    """Ask for a preview, and see that it wrote nothing."""
    before = tree(Path(bench.file_io.root))
    call = ProcedureCall(
        name=name,
        arguments={"table": "db.t", **arguments},
        actor="ann",
        operation_id="op",
    )
    found = preview_call(bench.warehouse(), call)
    assert tree(Path(bench.file_io.root)) == before
    return found


def told(found: Preview, weight: Weight) -> str:
    return " ".join(each.text for each in found.consequences if each.weight is weight)


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    bench = BranchBench(tmp_path)
    bench.append("a")
    bench.branch("dev")
    bench.append("b", branch="dev")
    return bench


def test_a_new_branch(bench: BranchBench) -> None:
    found = preview(bench, "create_branch", branch="fix")
    assert found.can_run
    assert found.title == "Create branch 'fix' of db.t"
    assert "begins at snapshot 1 of 'main'" in told(found, Weight.CHANGES)
    assert "'branch-base-fix'" in told(found, Weight.KEEPS)


def test_a_fast_forward_and_what_replacing_costs(bench: BranchBench) -> None:
    found = preview(bench, "fast_forward", branch="dev")
    assert found.can_run
    assert "'main' gets 1 snapshot of 'dev': +10 rows." in told(found, Weight.CHANGES)
    bench.append("x", user="etl")
    refused = preview(bench, "fast_forward", branch="dev")
    assert not refused.can_run
    assert "1 commit of its own" in told(refused, Weight.BLOCKS)
    forced = preview(bench, "fast_forward", branch="dev", force=True)
    assert forced.can_run
    assert forced.typed_name == "main"
    assert forced.role == "operator"
    assert "The history of 'main' is without 1 commit" in told(forced, Weight.LOSES)
    assert forced.consequences[1].details == ("snapshot 2 by etl",)


@pytest.mark.parametrize("name", ["fast_forward", "merge_branch"])
def test_what_changes_nothing_promises_no_undo(bench: BranchBench, name: str) -> None:
    assert preview(bench, name, branch="dev").undo.startswith(
        "You can undo this until the next commit"
    )
    bench.branch("idle")
    assert preview(bench, name, branch="idle").undo == "There is nothing to undo."


def test_what_is_agreed_to_is_what_runs(bench: BranchBench) -> None:
    found = preview(bench, "create_tag", tag="v1")
    bench.append("x")
    with pytest.raises(Refused, match="preview is out of date") as caught:
        bench.call("create_tag", tag="v1", plan_id=found.plan_id)
    assert caught.value.kind == "HEAD_MOVED"
    again = preview(bench, "create_tag", tag="v1")
    bench.call("create_tag", tag="v1", plan_id=again.plan_id)
    assert bench.table().tags.get("v1").snapshot.id == 2


def test_a_viewer_may_look_and_not_run(bench: BranchBench) -> None:
    assert preview(bench, "create_tag", tag="v1").role == "editor"
    with pytest.raises(NotAllowed):
        bench.call("create_tag", tag="v1", role="viewer")


def test_what_has_no_preview(bench: BranchBench) -> None:
    with pytest.raises(InvalidInput, match="no preview of 'recover'"):
        preview(bench, "recover")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("create_branch", {"branch": "fix"}),
        ("create_tag", {"tag": "v1"}),
        ("delete_tag", {"tag": "old"}),
        ("drop_branch", {"branch": "dev"}),
        ("fast_forward", {"branch": "dev"}),
        ("pin_branch", {"branch": "loose"}),
        ("protect_branch", {"branch": "dev*"}),
        ("rename_branch", {"branch": "dev", "to": "fix"}),
        ("replace_main", {"branch": "dev"}),
        ("rollback", {"table": "db.t$branch_dev", "snapshot": 1}),
        ("rollback", {"table": "db.t$branch_dev", "snapshot": 1, "cut": True}),
        ("undo", {"operation": "dropped"}),
        ("undo", {"operation": "renamed"}),
        ("undo", {"operation": "cut"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(map(str, value.values())),
)
def test_every_verb_runs_by_the_plan_of_its_preview(
    bench: BranchBench, name: str, arguments: dict[str, Argument]
) -> None:
    bench.tag("old")
    for branch in ("gone", "was", "loose", "long"):
        bench.branch(branch)
    bench.store.remover.remove([bench.table().paths.tag("branch-base-loose")])
    bench.append("c", branch="long")
    run(bench, "drop_branch", "dropped", branch="gone")
    run(bench, "rename_branch", "renamed", branch="was", to="is")
    run(bench, "rollback", "cut", table="db.t$branch_long", snapshot=1, cut=True)
    found = preview(bench, name, **arguments)
    assert found.can_run, found
    assert found.to_object()["plan_id"] == found.plan_id
    receipt = run(bench, name, "another", plan_id=found.plan_id, **arguments)
    assert receipt.operation_id == "another"
    recorded = [each for each in bench.table().ledger.events() if each.operation_id == "another"]
    assert receipt in [each.receipt for each in recorded]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("expire_tags", {}),
        ("expire_snapshots", {}),
        ("expire_changelogs", {}),
        ("remove_unexisting_files", {"table": "db.empty"}),
        ("compact_manifest", {}),
        ("create_tag", {"tag": "kept", "snapshot": 1}),
    ],
)
def test_where_nothing_is_to_be_done_the_preview_says_so(
    bench: BranchBench, name: str, arguments: dict[str, Argument]
) -> None:
    if name == "create_tag":
        run(bench, name, **arguments)
        assert not preview(bench, name, tag="another", snapshot=1).is_idle
    if name == "remove_unexisting_files":
        bench = BranchBench(Path(bench.file_io.root).parent / "empty")
        arguments = {}
    found = preview(bench, name, **arguments)
    assert found.is_idle
    assert found.can_run
    receipt = run(bench, name, "again", **arguments)
    assert not receipt.moves
