"""Rows of a merge that both sides may have changed: compared, settled by a policy, written."""

from dataclasses import replace

from branch_console.commit.base.commit_message import CommitMessage
from branch_console.commit.branch.data_copy import remove_copies
from branch_console.commit.rows.row_conflicts import publish_row_conflicts
from branch_console.diff.history_move import count
from branch_console.errors import ErrorKind, Refused
from branch_console.format.journals.written import NOTHING_WRITTEN, WrittenRows
from branch_console.format.receipt import Receipt
from branch_console.merge.file_moves import Knowledge
from branch_console.merge.joined_deletes import overruled_updates
from branch_console.merge.plan import ThreeWayPlan, found_by, merging
from branch_console.merge.resolution import open_words, settlement_words
from branch_console.merge.row_work import JoinedDeletesResult, Reconciled
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.row_engine import Progress, RowEngine
from branch_console.procedures.call.stages import Facts, Stages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.merge.deletion_vectors import write_masks
from branch_console.procedures.merge.inputs import (
    DecidedMerge,
    PlannedMerge,
    decided_merge,
    policy_of,
)
from branch_console.procedures.merge.merge_kind import MergeKind
from branch_console.procedures.merge.row_messages import row_scope, row_work, vectors_of
from branch_console.procedures.run.receipts import receipt_of_stage
from branch_console.procedures.run.running_reads import holding
from branch_console.procedures.run.written_messages import buckets_of, written_paths
from branch_console.procedures.run.written_rows import staging


def settle_rows(
    warehouse: Warehouse,
    rows: RowEngine,
    call: ProcedureCall,
    planned: PlannedMerge,
    progress: Progress,
) -> WrittenRows:
    """Compare the rows that both sides may have changed, and write what replaying cannot give.

    Raises:
        Refused: Conflicts are open; they are kept under the plan's id, and nothing else is.
    """
    return settle_rows_of(warehouse, rows, call, planned.merge, progress)


def settle_rows_of(
    warehouse: Warehouse,
    rows: RowEngine,
    call: ProcedureCall,
    merge: DecidedMerge,
    progress: Progress,
) -> WrittenRows:
    """Do as `settle_rows` does, for a merge that was decided on; raises Refused."""
    plan = merging(merge.plan)
    with staging(warehouse, call, merge.target, merge.plan) as staged:
        if plan is None or staged is None:
            return NOTHING_WRITTEN
        heads = plan.heads
        reads = ((merge.target, heads.ours), (merge.source, heads.theirs))
        with holding(warehouse, call, reads, beside=((merge.source, heads.base),)):
            written = _settled(warehouse, rows, call, merge, plan, progress, staged.id)
        if not written.row_messages:
            staged.forget()
            return written
        return replace(written, staged_rows=staged.id)


def _settled(
    warehouse: Warehouse,
    rows: RowEngine,
    call: ProcedureCall,
    merge: DecidedMerge,
    plan: ThreeWayPlan,
    progress: Progress,
    write_id: str,
) -> WrittenRows:
    spec = merge.spec
    found = reconcile_rows(warehouse, rows, call, merge, progress, writes=True, write_id=write_id)
    if found is None:
        return delete_rows(warehouse, rows, merge, plan, progress, write_id)
    if found.open_count:
        remove_copies(warehouse.store, written_paths(merge.target, found.messages))
        # A catalog merge has no page for them: its tables have.
        page = "on the merge page of the table, or " if spec.kind is MergeKind.MERGE else ""
        raise Refused(
            f"{spec.title} of {plan.table} is refused: "
            f"{count(found.open_count, 'conflict')} of rows must be settled first. Nothing was "
            f"changed. {open_words(found.conflicts, f'{page}by a policy (--policy FILE)')}",
            kind=ErrorKind.CONFLICTS_OPEN,
            plan_id=plan.id,
            conflicts=found.open_count,
        )
    settled = found.conflicts.num_rows
    settled_by = [
        f"{count(settled, 'conflict')} of rows settled by policy {plan.rules.policy}: "
        f"{settlement_words(found.conflicts)}."
    ]
    return WrittenRows(
        plan_id=plan.id,
        row_messages=buckets_of(found.messages),
        row_notes=(*(settled_by if settled else ()), *_keys_sentence(plan, found)),
    )


def delete_rows(
    warehouse: Warehouse,
    rows: RowEngine,
    merge: DecidedMerge,
    plan: ThreeWayPlan,
    progress: Progress,
    write_id: str,
) -> WrittenRows:
    """Write what deletes rows of a table without keys: deletion vectors, and files written again.

    Raises:
        Refused: Nobody can say which rows are left of a file that both sides touched.
    """
    target = merge.target
    joined = _joined(rows, merge, plan, progress, write_id)
    if joined.unresolved_files:
        remove_copies(warehouse.store, written_paths(target, joined.messages))
        raise Refused(
            f"{merge.spec.title} of {plan.table} is refused: both sides "
            f"changed rows of {', '.join(joined.unresolved_files)}, and rows without a key "
            "cannot be matched with those of the other side. Nothing was changed. Settle 'whole "
            "files' in a policy: 'ours' keeps the target, 'theirs' takes the source.",
            kind=ErrorKind.CONFLICTS_OPEN,
            plan_id=plan.id,
            conflicts=len(joined.unresolved_files),
        )
    masks = write_masks(warehouse.store, target, plan.heads.ours, plan.moves, write_id)
    messages = (*masks, *joined.messages)
    if not messages:
        return NOTHING_WRITTEN
    return WrittenRows(
        plan_id=plan.id,
        row_messages=buckets_of(messages),
        row_notes=(overruled_updates(joined.overruled_rows),) if joined.overruled_rows else (),
    )


def _joined(
    rows: RowEngine,
    merge: DecidedMerge,
    plan: ThreeWayPlan,
    progress: Progress,
    write_id: str,
) -> JoinedDeletesResult[CommitMessage]:
    if not plan.moves.joins:
        return JoinedDeletesResult(messages=(), unresolved_files=())
    sides = merge.sides(plan.heads)
    target, source = merge.as_decided
    marks = vectors_of(target, source, sides)
    scope = row_scope(plan, sides)
    return rows.join_deletes(target, scope, plan.moves.joins, marks, progress, write_id)


def compare_rows_of_merge(
    warehouse: Warehouse, rows: RowEngine, call: ProcedureCall, stages: Stages
) -> Receipt:
    """Compare the rows that a merge waits for, as procedure `compare_rows`; no branch changes.

    The conflicts are kept under the id of the plan, for `read_row_conflicts`. Takes the arguments
    of `merge_branch`.
    """
    merge = replace(call, name=str(MergeKind.MERGE))
    return receipt_of_stage(
        warehouse,
        call,
        stages,
        "compare rows",
        lambda progress: _compared(warehouse, rows, merge, progress),
        message="Comparing rows that both sides may have changed.",
    )


def _compared(
    warehouse: Warehouse, rows: RowEngine, call: ProcedureCall, progress: Progress
) -> Facts:
    merge = decided_merge(warehouse, call)
    plan = found_by(merge.plan)
    found = reconcile_rows(warehouse, rows, call, merge, progress, writes=False)
    if plan is None or found is None:
        return {"plan_id": merge.plan.id, "notes": ["No row had to be compared."]}
    settled = found.conflicts.num_rows - found.open_count
    return {
        "plan_id": plan.id,
        "notes": [
            f"{count(found.open_count, 'conflict')} of rows must be settled, {settled:,} are.",
            *_keys_sentence(plan, found),
            "Nothing was changed.",
        ],
    }


def _keys_sentence(plan: ThreeWayPlan, found: Reconciled[CommitMessage]) -> list[str]:
    """Say in how many parts (buckets) rows had to be read, and in how many the keys were enough."""
    columns = (found.verdicts[name].to_pylist() for name in ("partition", "bucket"))
    with_rows = set(zip(*columns, strict=True))
    keyed = [each.place for each in plan.moves.buckets if each.knowledge is Knowledge.KEYS]
    alone = sum(place not in with_rows for place in keyed)
    enough = f"; in {alone:,} the keys were enough" if alone else ""
    compared = count(len(keyed), "compared part")
    return [f"Rows were read in {len(keyed) - alone:,} of {compared}{enough}."] if keyed else []


def reconcile_rows(
    warehouse: Warehouse,
    rows: RowEngine,
    call: ProcedureCall,
    merge: DecidedMerge,
    progress: Progress,
    *,
    writes: bool,
    write_id: str = "",
) -> Reconciled[CommitMessage] | None:
    """Have the rows compared that a plan waits for, and keep the conflicts that there are.

    Args:
        warehouse: The warehouse of the table.
        rows: Compares them.
        call: The merge; its policy settles conflicts.
        merge: The decision on that call.
        progress: Told buckets done and all buckets.
        writes: Whether the settled rows are written.
        write_id: The id that the names of their files contain.

    Returns:
        None if the plan waits for no rows.
    """
    found = run_row_work(rows, call, merge, progress, writes=writes, write_id=write_id)
    if found is not None and (found.conflicts.num_rows or not writes):
        # Without a run to tell, that there are none is an answer as well.
        paths = merge.target.paths
        publish_row_conflicts(warehouse.store, paths, merge.plan.id, found.conflicts)
    return found


def run_row_work(
    rows: RowEngine,
    call: ProcedureCall,
    merge: DecidedMerge,
    progress: Progress,
    *,
    writes: bool,
    write_id: str = "",
) -> Reconciled[CommitMessage] | None:
    """Do as `reconcile_rows` does, and keep nothing of it."""
    plan, (target, source) = found_by(merge.plan), merge.as_decided
    if plan is None or not plan.moves.row_places:
        return None
    sides = merge.sides(plan.heads)
    work = row_work(target, source, sides, plan.moves.row_places)
    scope, policy = row_scope(plan, sides), policy_of(call)
    return rows.reconcile(target, scope, work, policy, progress, writes=writes, write_id=write_id)
