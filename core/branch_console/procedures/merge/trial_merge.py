"""The result that a merge of two heads would leave, staged to be read and removed again."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from branch_console.diff.history_move import count
from branch_console.diff.state_diff import ComparedState, StateDiff
from branch_console.errors import ErrorKind, InvalidInput, PaimonError, Refused
from branch_console.format.identifier import Identifier
from branch_console.format.journals.written import NOTHING_WRITTEN, WrittenRows
from branch_console.format.snapshot import Snapshot
from branch_console.merge.conflict import OBJECT_KINDS, ConflictKind
from branch_console.merge.plan import (
    FastForwardPlan,
    Heads,
    Plan,
    RefusedPlan,
    ThreeWayPlan,
    conflicts_of,
)
from branch_console.merge.policy import (
    EVERY_TABLE,
    KindRule,
    Policy,
    PolicyChoice,
    Settle,
    TablePolicy,
)
from branch_console.operations.merge_requests import MergeRequest
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.row_engine import Progress, RowEngine
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.merge.inputs import DecidedMerge, decided_merge
from branch_console.procedures.merge.reconcile_rows import delete_rows, run_row_work
from branch_console.procedures.merge.result_states import states_to_judge
from branch_console.procedures.run.written_messages import buckets_of
from branch_console.procedures.run.written_rows import staging, withdraw_rows
from branch_console.table.table_state import StagedState

_OURS: Final = PolicyChoice(how=Settle.OURS)
# What nobody has settled counts as the target has it.
_TARGET_WINS: Final = Policy(
    kinds=tuple(
        KindRule(kind=kind, take=_OURS) for kind in ConflictKind if kind not in OBJECT_KINDS
    ),
    tables=(TablePolicy(table=EVERY_TABLE, take=_OURS),),
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrialMerge:
    """The result that a merge would leave.

    Attributes:
        state: Its files; some of them may be removed once the trial has ended.
        field_ids: Its field ids by the source's field ids that differ.
        of_target: Whether its field ids are those of the target; else the result is the source
            itself.
        open_conflicts: The number of open conflicts; the target's rows and schema are used for
            them.
    """

    state: StagedState
    field_ids: Mapping[int, int]
    of_target: bool
    open_conflicts: int


@contextmanager
def trial_merge(
    warehouse: Warehouse,
    rows: RowEngine,
    call: ProcedureCall,
    diff: StateDiff,
    progress: Progress,
) -> Iterator[TrialMerge]:
    """Stage what merging the second state into the first would leave.

    Rows that both sides changed are settled and written beside the files of the table, and removed
    at the end.

    Args:
        warehouse: The warehouse of the table.
        rows: Settles rows.
        call: Who asks, and of which table.
        diff: The states: heads of two branches.
        progress: Told what is done and what is known.

    Raises:
        InvalidInput: The states are no heads of two branches.
        NotAllowed: Rows must be settled, and nothing may be written here.
        Refused: They cannot be merged, or only once somebody settled a conflict.
    """
    undecided, merge, decided = _decide(warehouse, call, diff)
    plan = decided.plan
    if not isinstance(plan, ThreeWayPlan):
        takes_over = isinstance(plan, FastForwardPlan)
        yield _committed(warehouse, call, diff, takes_over=takes_over)
        return
    if _stages(plan):
        warehouse.check_writable()
    found, written = None, NOTHING_WRITTEN
    with staging(warehouse, merge, decided.target, plan) as staged:
        if staged is not None:
            found = run_row_work(rows, merge, decided, progress, writes=True, write_id=staged.id)
            rest = (
                delete_rows(warehouse, rows, decided, plan, progress, staged.id)
                if found is None
                else WrittenRows(row_messages=buckets_of(found.messages))
            )
            written = replace(rest, staged_rows=staged.id)
    try:
        if found is not None and found.open_count:
            raise _refusal(plan, _unsettled(found.open_count))
        content = states_to_judge(decided, written).after.content
        assert isinstance(content, StagedState)
        yield TrialMerge(
            state=content,
            field_ids=plan.schema.field_ids,
            of_target=True,
            open_conflicts=len(conflicts_of(undecided))
            + (found.conflicts.num_rows if found else 0),
        )
    finally:
        withdraw_rows(warehouse, merge, decided.target, written)


def can_try_merge(
    warehouse: Warehouse, call: ProcedureCall, diff: StateDiff, *, can_stage: bool
) -> bool:
    """Whether planning, which reads no row, lets `trial_merge` of two states begin.

    Args:
        warehouse: The warehouse of the table.
        call: Who asks, and of which table.
        diff: The states.
        can_stage: Whether the store takes the files that are written where rows must be settled.
    """
    try:
        plan = _decide(warehouse, call, diff)[-1].plan
    except PaimonError:
        return False
    return can_stage or not _stages(plan)


def _stages(plan: Plan) -> bool:
    """Whether files are written, to be removed again, to know what a merge would leave."""
    return isinstance(plan, ThreeWayPlan) and (plan.reads_rows or bool(plan.moves.masks))


def _decide(
    warehouse: Warehouse, call: ProcedureCall, diff: StateDiff
) -> tuple[Plan, ProcedureCall, DecidedMerge]:
    """Return the plan as nobody has settled it, and the merge in which the target wins."""
    _check_branches(diff)
    sides = MergeRequest(table=call.table, source=diff.after.branch, target=diff.before.branch)
    undecided = decided_merge(warehouse, call.asking(sides)).plan
    _check_not_refused(undecided)
    merge = call.asking(replace(sides, policy=_TARGET_WINS.to_yaml()))
    decided = decided_merge(warehouse, merge)
    plan = decided.plan
    _check_not_refused(plan)
    _check_heads(plan.heads, diff)
    if isinstance(plan, ThreeWayPlan) and plan.conflicts:
        raise _refusal(plan, _unsettled(len(plan.conflicts)))
    return undecided, merge, decided


def _check_not_refused(plan: Plan) -> None:
    if isinstance(plan, RefusedPlan):
        raise _refusal(plan, " ".join(each.text for each in plan.blocks), plan.blocks[0].kind)


def _committed(
    warehouse: Warehouse, call: ProcedureCall, diff: StateDiff, *, takes_over: bool
) -> TrialMerge:
    """The source, whose history would be taken over, or the target, which has all of it."""
    left = diff.after if takes_over else diff.before
    table = warehouse.table(Identifier.parse(call.table).on_branch(left.branch))
    return TrialMerge(
        state=StagedState.of_snapshot(table, left.snapshot, left.schema),
        field_ids={},
        of_target=not takes_over,
        open_conflicts=0,
    )


def _unsettled(number: int) -> str:
    return f"{count(number, 'conflict')} must be settled before it is known what is left."


def _check_branches(diff: StateDiff) -> None:
    if diff.before.branch == diff.after.branch:
        raise InvalidInput(
            f"Both states are of branch {diff.before.branch!r}: nothing is merged. Compare the "
            "heads of two branches.",
            kind=ErrorKind.UNSUPPORTED,
        )
    if diff.after.snapshot is None:
        raise InvalidInput(
            f"Branch {diff.after.branch!r} has no snapshot: there is nothing to merge. Compare "
            "without the merged result.",
            kind=ErrorKind.UNSUPPORTED,
        )


def _check_heads(heads: Heads, diff: StateDiff) -> None:
    for state, head in ((diff.before, heads.ours), (diff.after, heads.theirs)):
        if not _is_at(state, head):
            raise InvalidInput(
                f"{state.pinned} is not the head of {state.branch!r}: only heads are merged. "
                "Compare the branches themselves.",
                kind=ErrorKind.UNSUPPORTED,
            )


def _is_at(state: ComparedState, head: Snapshot | None) -> bool:
    if state.snapshot is None or head is None:
        return state.snapshot is head
    return state.snapshot.identity.same_as(head.identity)


def _refusal(plan: Plan, why: str, kind: ErrorKind = ErrorKind.CONFLICTS_OPEN) -> Refused:
    return Refused(
        f"{plan.source!r} cannot be merged into {plan.target!r} of {plan.table}: {why} Nothing was "
        "changed; compare without the merged result.",
        kind=kind,
    )
