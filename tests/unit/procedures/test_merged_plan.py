"""The plan of a merge that is done, decided once more at the heads that it had."""

from pathlib import Path

from branch_console.merge.plan import ThreeWayPlan
from branch_console.procedures.merge.inputs import preview_merge
from branch_console.procedures.merge.merged_plan import find_merged_plan
from tests.support.branch_bench import BranchBench


def _diverged(tmp_path: Path) -> BranchBench:
    bench = BranchBench(tmp_path, options={"write-only": "true"})
    bench.append("a")
    bench.branch("dev")
    bench.append("b", branch="dev")
    bench.append("x")
    return bench


def test_a_merge_that_is_done_has_the_plan_that_it_had_before(tmp_path: Path) -> None:
    bench = _diverged(tmp_path)
    before = preview_merge(bench.warehouse(), bench.identifier, "dev")
    assert isinstance(before, ThreeWayPlan)
    bench.call("merge_branch", operation="merge", branch="dev")
    bench.append("later")
    bench.append("more", branch="dev")
    found = find_merged_plan(bench.warehouse(), bench.identifier, "merge")
    assert found is not None
    heads = [(each.base.identity, each.ours.identity) for each in (found.heads, before.heads)]
    assert heads[0] == heads[1]
    assert found.heads.theirs.identity == before.heads.theirs.identity
    assert found.moves.digest_parts == before.moves.digest_parts
    assert found.cost == before.cost


def test_nothing_is_made_up_of_what_cannot_be_planned_again(tmp_path: Path) -> None:
    bench = _diverged(tmp_path)
    bench.call("merge_branch", operation="merge", branch="dev")
    bench.branch("forward")
    bench.append("y", branch="forward")
    bench.call("fast_forward", operation="forward", branch="forward")
    for operation in ("forward", "nothing"):
        assert find_merged_plan(bench.warehouse(), bench.identifier, operation) is None
    source = bench.table("dev")
    head = source.head()
    assert head is not None
    Path(source.paths.snapshot(head.id)).unlink()
    assert find_merged_plan(bench.warehouse(), bench.identifier, "merge") is None
