"""Rows of a merge that both sides may have changed: compared, settled by a policy, written."""

from dataclasses import replace

from core.commit.commit_message import CommitMessage
from core.commit.data_copy import remove_copies
from core.commit.row_conflicts import publish_row_conflicts
from core.diff.history_move import count
from core.errors import ErrorKind, Refused
from core.format.json_text import JsonObject
from core.format.receipt import Receipt
from core.merge.merge_plan import MergePlan
from core.merge.row_work import JoinedRows, Reconciled
from core.procedures.call import ProcedureCall
from core.procedures.merge_masks import write_masks
from core.procedures.merge_rows import (
    messages_from,
    messages_to_json,
    row_scope,
    row_work,
    vectors_of,
    written_paths,
)
from core.procedures.merge_spec import MergeKind, MergeSpec, sides_of
from core.procedures.preview_merge import planned_merge, policy_of, target_table
from core.procedures.records import receipt_of_stage
from core.procedures.row_engine import Progress, RowEngine
from core.procedures.stages import Facts, Stages
from core.procedures.warehouse import Warehouse
from core.table.file_store_table import FileStoreTable


def settle_rows(
    warehouse: Warehouse, rows: RowEngine, call: ProcedureCall, progress: Progress
) -> Facts:
    """Compare the rows that both sides may have changed, and write what replaying cannot give.

    Raises:
        Refused: Conflicts are open; they are kept under the plan's id, and nothing else is.
    """
    plan = planned_merge(warehouse, call)
    found = reconcile_rows(warehouse, rows, call, plan, progress, writes=True)
    if found is None:
        return delete_rows(warehouse, rows, call, plan, progress)
    if found.open_count:
        remove_copies(warehouse.store, written_paths(target_table(warehouse, call), found.messages))
        spec = MergeSpec.from_call(target_table(warehouse, call), call)
        raise Refused(
            f"{spec.title} of {plan.table} is refused: "
            f"{count(found.open_count, 'conflict')} of rows must be settled first. Nothing was "
            "changed; settle them by a policy.",
            kind=ErrorKind.CONFLICTS_OPEN,
            plan_id=plan.id,
            conflicts=found.open_count,
        )
    settled = found.conflicts.num_rows
    notes = [f"{count(settled, 'conflict')} of rows settled by policy {plan.rules.policy}."]
    return {
        "plan_id": plan.id,
        "rowMessages": messages_to_json(found.messages),
        "rowNotes": notes if settled else [],
    }


def delete_rows(
    warehouse: Warehouse,
    rows: RowEngine,
    call: ProcedureCall,
    plan: MergePlan,
    progress: Progress,
) -> Facts:
    """Write what deletes rows of a table without keys: deletion vectors, and files written again.

    Raises:
        Refused: Rows of a file that both sides were to have deleted rows of were changed.
    """
    if plan.moves is None or plan.ours is None:
        return {}
    target = target_table(warehouse, call)
    joined = _joined(target, rows, call, plan, progress)
    if joined.changed:
        remove_copies(warehouse.store, written_paths(target, joined.messages))
        raise Refused(
            f"{MergeSpec.from_call(target, call).title} of {plan.table} is refused: both sides "
            f"deleted rows of {', '.join(joined.changed)}, and one changed others of it. "
            "Nothing was changed; settle 'file rule' by ours or theirs in a "
            "policy.",
            kind=ErrorKind.CONFLICTS_OPEN,
            plan_id=plan.id,
            conflicts=len(joined.changed),
        )
    messages = (*write_masks(warehouse.store, target, plan.ours, plan.moves), *joined.messages)
    if not messages:
        return {}
    return {"plan_id": plan.id, "rowMessages": messages_to_json(messages), "rowNotes": []}


def _joined(
    target: FileStoreTable,
    rows: RowEngine,
    call: ProcedureCall,
    plan: MergePlan,
    progress: Progress,
) -> JoinedRows[CommitMessage]:
    assert plan.moves is not None
    assert plan.ours is not None
    if not plan.moves.joins or plan.theirs is None:
        return JoinedRows(messages=(), changed=())
    sides = sides_of(target, MergeSpec.from_call(target, call), plan.ours, plan.theirs)
    marks = vectors_of(target, target.on(plan.source), sides)
    return rows.join_deletes(target, row_scope(plan, sides), plan.moves.joins, marks, progress)


def compare_rows(
    warehouse: Warehouse, rows: RowEngine, call: ProcedureCall, stages: Stages
) -> Receipt:
    """Look for conflicts of rows and keep them to be shown; the table is left as it is.

    Takes the arguments of `merge_branch`.
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
    plan = planned_merge(warehouse, call)
    found = reconcile_rows(warehouse, rows, call, plan, progress, writes=False)
    if found is None:
        return {"plan_id": plan.id, "notes": ["No row had to be compared."]}
    settled = found.conflicts.num_rows - found.open_count
    return {
        "plan_id": plan.id,
        "notes": [
            f"{count(found.open_count, 'conflict')} of rows must be settled, {settled:,} are.",
            "Nothing was changed.",
        ],
    }


def reconcile_rows(
    warehouse: Warehouse,
    rows: RowEngine,
    call: ProcedureCall,
    plan: MergePlan,
    progress: Progress,
    *,
    writes: bool,
) -> Reconciled[CommitMessage] | None:
    """Have the rows compared that a plan waits for, and keep the conflicts that there are.

    Args:
        warehouse: Where the table lies.
        rows: Compares them.
        call: The merge; its policy settles conflicts.
        plan: Of that call.
        progress: Told buckets done and all buckets.
        writes: Whether the settled rows are written.

    Returns:
        None where the plan waits for no rows.
    """
    found = run_row_work(warehouse, rows, call, plan, progress, writes=writes)
    if found is not None and (found.conflicts.num_rows or not writes):
        # Without a run to tell, that there are none is an answer as well.
        paths = target_table(warehouse, call).paths
        publish_row_conflicts(warehouse.store, paths, plan.id, found.conflicts)
    return found


def run_row_work(
    warehouse: Warehouse,
    rows: RowEngine,
    call: ProcedureCall,
    plan: MergePlan,
    progress: Progress,
    *,
    writes: bool,
) -> Reconciled[CommitMessage] | None:
    """Do as `reconcile_rows` does, and keep nothing of it."""
    if plan.moves is None or not plan.moves.row_places or plan.ours is None or plan.theirs is None:
        return None
    target = target_table(warehouse, call)
    source = target.on(plan.source)
    sides = sides_of(target, MergeSpec.from_call(target, call), plan.ours, plan.theirs)
    work = row_work(target, source, sides, plan.moves.row_places)
    scope, policy = row_scope(plan, sides), policy_of(call)
    return rows.reconcile(target, scope, work, policy, progress, writes=writes)


def withdraw_rows(warehouse: Warehouse, call: ProcedureCall, written: Facts) -> None:
    """Remove the files of settled rows of a merge that does not come to be."""
    messages = messages_from(JsonObject(dict(written), "rows of a merge"), "rowMessages")
    remove_copies(warehouse.store, written_paths(target_table(warehouse, call), messages))
