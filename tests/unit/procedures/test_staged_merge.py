"""A dry run stages what the merge publishes, and a merge plans again where heads move."""

import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from branch_console.commit.rows.staged_results import claim_staged, staged_results
from branch_console.diff.lineage import merge_source
from branch_console.errors import ErrorKind, NotAllowed, PaimonError, Refused
from branch_console.format.identifier import Identifier
from branch_console.format.receipt import Receipt
from branch_console.merge.known_rows import STAGED_KEPT_MILLIS
from branch_console.merge.plan import merging
from branch_console.merge.policy import Policy, PolicyChoice
from branch_console.merge.policy_draft import with_column_rule, with_table_rule
from branch_console.procedures.call.call import Argument, ProcedureCall
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.dispatch import run_call
from branch_console.procedures.merge.inputs import decided_merge
from branch_console.procedures.merge.merge_choices import decisions_on_merge
from branch_console.procedures.merge.row_messages import row_work
from branch_console.procedures.recover import recover_table
from branch_console.procedures.run.dry_run_results import (
    discard_result,
    forget_old_results,
)
from branch_console.procedures.run.runner import MOST_PLANS
from branch_console.table.file_store_table import FileStoreTable
from tests.support.contested_table import NAME, ContestedTable
from tests.support.local_row_engine import LocalRows

THEIRS = with_table_rule(Policy(), NAME, PolicyChoice.parse("theirs")).to_yaml()
ASKED: dict[str, Argument] = {"table": NAME, "branch": "fix-delays", "policy": THEIRS}


@pytest.fixture
def table(tmp_path: Path) -> ContestedTable:
    return ContestedTable(tmp_path / "warehouse", flights=3)


class Walk:
    """Runs a procedure and keeps the stages that it walked through."""

    def __init__(self, table: ContestedTable) -> None:
        self.table = table
        self.stages: list[str] = []

    def __call__(
        self, name: str, *, moves: Callable[[str], None] | None = None, **arguments: Argument
    ) -> Receipt:
        self.stages = []

        def on_stage(stage: str, _: str) -> None:
            self.stages.append(stage)
            if moves is not None:
                moves(stage)

        call = ProcedureCall(
            name=name,
            arguments={**ASKED, **arguments},
            actor="ada",
            operation_id=uuid.uuid4().hex,
        )
        rows = LocalRows(self.table.warehouse.file_io)
        return run_call(self.table.warehouse, rows, call, InlineStages(on_stage=on_stage))


def main(table: ContestedTable) -> FileStoreTable:
    return table.warehouse.table(Identifier.parse(NAME))


def head_id(table: ContestedTable) -> int:
    head = main(table).head()
    assert head is not None
    return head.id


def data_files(table: ContestedTable) -> set[str]:
    return {each.name for each in table.folder.rglob("data-*")}


def kept(table: ContestedTable) -> int:
    return len(staged_results(table.warehouse.store.files, main(table).paths))


def test_a_merge_publishes_the_very_files_of_the_dry_run(table: ContestedTable) -> None:
    walk, before, head = Walk(table), data_files(table), head_id(table)
    told = walk("dry_run_merge")
    assert walk.stages == ["check heads", "verify files", "compare rows", "keep the result"]
    assert f"Dry run: 'main' stays at snapshot {head}." in told.notes
    assert any(note.startswith("8 conflicts of rows settled") for note in told.notes)
    assert "6 records staged in 2 files." in told.notes
    assert head_id(table) == head
    staged = data_files(table) - before
    assert len(staged) == 2
    # Trying it once more finds what is there.
    assert walk("dry_run_merge").plan_id == told.plan_id
    assert "compare rows" not in walk.stages
    assert data_files(table) == before | staged

    walk("merge_branch", plan_id=told.plan_id)
    assert walk.stages == ["check heads", "take what was staged", "verify files", "merge branch"]
    assert head_id(table) == head + 1
    assert data_files(table) == before | staged
    now = main(table).head()
    assert now is not None
    assert staged <= set(main(table).live_files(now)["file_name"].to_pylist())
    assert kept(table) == 0


def test_what_was_staged_is_forgotten_once_it_is_of_no_use(table: ContestedTable) -> None:
    walk, before = Walk(table), data_files(table)
    walk("dry_run_merge")
    staged = data_files(table) - before
    # Somebody decides otherwise: the files of before go.
    other = with_table_rule(Policy(), NAME, PolicyChoice.parse("ours")).to_yaml()
    walk("dry_run_merge", policy=other)
    assert not staged & data_files(table)
    assert kept(table) == 1
    # A day passes.
    clock = table.warehouse.clock
    forget_old_results(table.warehouse, main(table))
    assert kept(table) == 1
    object.__setattr__(table.warehouse, "clock", lambda: clock() + STAGED_KEPT_MILLIS + 1)
    forget_old_results(table.warehouse, main(table))
    assert (kept(table), data_files(table)) == (0, before)


def test_a_result_is_discarded_by_hand_unless_a_merge_has_taken_it(table: ContestedTable) -> None:
    walk, before = Walk(table), data_files(table)

    def discard(plan_id: str, role: str = "operator") -> None:
        call = ProcedureCall(
            name="merge_branch", arguments=ASKED, actor="ada", role=role, operation_id="by-hand"
        )
        discard_result(table.warehouse, call, plan_id)

    plan_id = walk("dry_run_merge").plan_id
    assert plan_id is not None
    with pytest.raises(NotAllowed):
        discard(plan_id, role="viewer")
    assert kept(table) == 1
    discard(plan_id)
    assert (kept(table), data_files(table)) == (0, before)
    discard(plan_id)

    plan_id = walk("dry_run_merge").plan_id
    assert plan_id is not None
    claim_staged(table.warehouse.store, main(table).paths, plan_id, "a merge")
    with pytest.raises(Refused, match="a merge publishes it now"):
        discard(plan_id)
    assert len(data_files(table) - before) == 2


def test_what_another_engine_has_removed_is_computed_anew(table: ContestedTable) -> None:
    walk, before = Walk(table), data_files(table)
    walk("dry_run_merge")

    def lose_one() -> Path:
        lost = next(each for each in table.folder.rglob("data-*") if each.name not in before)
        lost.unlink()
        return lost

    lose_one()
    walk("dry_run_merge")
    assert walk.stages[1:4] == ["take what was staged", "verify files", "compare rows"]
    assert (kept(table), len(data_files(table) - before)) == (1, 2)
    gone = lose_one()
    walk("merge_branch")
    assert walk.stages[1:4] == ["take what was staged", "verify files", "compare rows"]
    head = main(table).head()
    assert head is not None
    live = set(main(table).live_files(head)["file_name"].to_pylist())
    assert gone.name not in live
    assert live <= data_files(table)


def test_of_two_merges_of_one_result_one_publishes_it(table: ContestedTable) -> None:
    walk, second = Walk(table), Walk(table)
    told = walk("dry_run_merge")

    def somebody_else(stage: str) -> None:
        if stage == "verify files":
            second("merge_branch", plan_id=told.plan_id)

    with pytest.raises(Refused) as refused:
        walk("merge_branch", moves=somebody_else, plan_id=told.plan_id)
    assert refused.value.kind is ErrorKind.HEAD_MOVED
    # The first had taken the result, so the second computed its own; nothing that is live went.
    assert "compare rows" in second.stages
    head = main(table).head()
    assert head is not None
    assert set(main(table).live_files(head)["file_name"].to_pylist()) <= data_files(table)


def test_what_a_cancelled_merge_took_from_a_dry_run_is_removed_by_recovery(
    table: ContestedTable,
) -> None:
    walk, before = Walk(table), data_files(table)
    told = walk("dry_run_merge")

    def cancel(stage: str) -> None:
        if stage == "merge branch":
            raise PaimonError("Somebody cancelled it.", kind=ErrorKind.CANCELLED)

    recover_table(table.warehouse, main(table))
    assert len(data_files(table) - before) == 2
    with pytest.raises(PaimonError, match="cancelled"):
        walk("merge_branch", moves=cancel, plan_id=told.plan_id)
    assert "compare rows" not in walk.stages
    recover_table(table.warehouse, main(table))
    assert data_files(table) == before
    walk("merge_branch", plan_id=told.plan_id)
    assert len(data_files(table) - before) == 2


def test_a_dry_run_does_not_keep_again_what_was_published_meanwhile(table: ContestedTable) -> None:
    walk, dry, merge = Walk(table), Walk(table), Walk(table)
    told = walk("dry_run_merge")

    def publish(stage: str) -> None:
        if stage == "keep the result":
            merge("merge_branch", plan_id=told.plan_id)

    dry("dry_run_merge", moves=publish)
    assert "take what was staged" in merge.stages
    # A day later whatever nobody published is removed.
    clock = table.warehouse.clock
    object.__setattr__(table.warehouse, "clock", lambda: clock() + STAGED_KEPT_MILLIS + 1)
    forget_old_results(table.warehouse, main(table))
    head = main(table).head()
    assert head is not None
    assert set(main(table).live_files(head)["file_name"].to_pylist()) <= data_files(table)


def test_a_target_that_moves_is_planned_again_while_decisions_stand(
    table: ContestedTable,
) -> None:
    table.call("compare_rows", branch="fix-delays")
    moved: list[int] = []

    def once(stage: str) -> None:
        if stage == "merge branch" and not moved:
            # The same rows once more: another snapshot, the same conflicts.
            table.write("main", delay=5, note="<b>by hand</b>", every=10, deletes_last=True)
            moved.append(head_id(table))

    walk = Walk(table)
    with pytest.raises(Refused) as refused:
        walk("merge_branch", moves=once)
    assert refused.value.kind is ErrorKind.HEAD_MOVED
    moved.clear()
    done = Walk(table)
    receipt = done("merge_branch", moves=once, plan_again=True)
    assert done.stages.count("plan again") == 1
    assert head_id(table) == moved[0] + 1
    (note,) = [each for each in receipt.notes if each.startswith("Planned again")]
    assert f"{moved[0]} by main)" in note


def test_a_target_that_moves_all_the_time_is_given_up_after_three_plans(
    table: ContestedTable,
) -> None:
    def always(stage: str) -> None:
        if stage == "merge branch":
            table.write("main", delay=5, note="<b>by hand</b>", every=10, deletes_last=True)

    walk, before = Walk(table), data_files(table)
    with pytest.raises(Refused, match="planned again 3 times already") as refused:
        walk("merge_branch", moves=always, plan_again=True)
    assert refused.value.kind is ErrorKind.HEAD_MOVED
    assert walk.stages.count("plan again") == MOST_PLANS
    left = {each for each in data_files(table) - before if not each.startswith("data-main")}
    assert left == set()


def test_a_target_that_moves_while_the_merge_is_published_is_planned_again(
    table: ContestedTable,
) -> None:
    clock, walk = table.warehouse.clock, Walk(table)
    looked: list[str] = []

    def ticking() -> int:
        looked.extend(walk.stages[-1:])
        if looked.count("merge branch") == 2:
            # The plan was made, and the operation begins right now.
            object.__setattr__(table.warehouse, "clock", clock)
            table.write("main", delay=5, note="<b>by hand</b>", every=10, deletes_last=True)
        return clock()

    object.__setattr__(table.warehouse, "clock", ticking)
    receipt = walk("merge_branch", plan_again=True)
    assert walk.stages.count("plan again") == 1
    assert receipt.operation_id.endswith("-again-1")
    (move,) = receipt.moves
    assert move.after_id == head_id(table)
    head = main(table).head()
    assert head is not None
    live = set(main(table).live_files(head)["file_name"].to_pylist())
    assert live <= data_files(table)


def decided_now(table: ContestedTable) -> str:
    """What somebody decides on who compares the rows and looks at the merge."""
    table.call("compare_rows", branch="fix-delays")
    call = ProcedureCall(name="merge_branch", arguments=ASKED, actor="ada", operation_id="look")
    return decisions_on_merge(table.warehouse, call).to_text()


def test_a_target_that_moved_while_the_job_waited_is_planned_again(table: ContestedTable) -> None:
    decided = decided_now(table)
    table.write("main", delay=5, note="<b>by hand</b>", every=10, deletes_last=True)
    walk, head = Walk(table), head_id(table)
    walk("merge_branch", plan_id="0" * 16, plan_again=True, decisions=decided)
    assert walk.stages.count("plan again") == 1
    assert head_id(table) == head + 1


def test_what_would_have_to_be_decided_anew_stops_it_and_is_said(table: ContestedTable) -> None:
    decided = decided_now(table)
    table.write("main", delay=9, note="late")
    head = head_id(table)
    with pytest.raises(Refused, match="other rows collide") as refused:
        Walk(table)("merge_branch", plan_id="0" * 16, plan_again=True, decisions=decided)
    assert refused.value.kind is ErrorKind.CONFLICTS_OPEN
    assert "every decision is kept" in refused.value.message
    assert head_id(table) == head


def test_what_the_source_got_since_is_left_to_the_next_merge(table: ContestedTable) -> None:
    decided = decided_now(table)
    source = table.warehouse.table(Identifier.parse(f"{NAME}$branch_fix-delays"))
    seen = source.head()
    assert seen is not None
    table.write("fix-delays", delay=8, note="measured")
    table.write("main", delay=5, note="<b>by hand</b>", every=10, deletes_last=True)
    walk = Walk(table)
    walk("merge_branch", plan_id="0" * 16, plan_again=True, decisions=decided)
    assert walk.stages.count("plan again") == 1
    merged = main(table).head()
    assert merged is not None
    taken = merge_source(merged)
    assert taken is not None
    assert taken.same_as(seen.identity)


def test_a_policy_that_leaves_conflicts_open_is_refused_and_stages_nothing(
    table: ContestedTable,
) -> None:
    some = with_column_rule(Policy(), NAME, "note", PolicyChoice.parse("ours")).to_yaml()
    before = data_files(table)
    with pytest.raises(Refused) as refused:
        Walk(table)("dry_run_merge", policy=some)
    assert refused.value.kind is ErrorKind.CONFLICTS_OPEN
    assert (kept(table), data_files(table)) == (0, before)


def test_rows_whose_base_has_expired_since_they_were_planned_are_refused(
    table: ContestedTable,
) -> None:
    call = ProcedureCall(
        name="merge_branch", arguments=ASKED, actor="ada", operation_id=uuid.uuid4().hex
    )
    merge = decided_merge(table.warehouse, call)
    plan = merging(merge.plan)
    assert plan is not None
    sides = replace(merge.sides(plan.heads), base_of_rows=None)
    with pytest.raises(Refused, match="so nothing tells which side changed a row since") as caught:
        row_work(*merge.as_decided, sides, plan.moves.row_places)
    assert caught.value.kind is ErrorKind.SNAPSHOT_NOT_FOUND
