"""Events and receipts, as the procedures of the lifecycle write them."""

from collections.abc import Callable
from dataclasses import replace

from branch_console.diff.rows.row_figure import snapshot_figure
from branch_console.format.journals.terms import TERMS
from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console.format.receipt import AnswerRow, Counts, HeadMove, Receipt
from branch_console.format.snapshot import Snapshot, SnapshotIdentity
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.row_engine import Progress
from branch_console.procedures.call.stages import Facts, Stages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.call.without_callbacks import notes_of_callbacks
from branch_console.procedures.run.open_operation import OpenOperation
from branch_console.table.file_store_table import FileStoreTable


def receipt_of(
    operation: OpenOperation,
    *,
    moves: tuple[HeadMove, ...] = (),
    counts: Counts | None = None,
    notes: tuple[str, ...] = (),
    rescue_branch: str | None = None,
    answer: tuple[AnswerRow, ...] = (),
) -> Receipt:
    """Return the receipt of an operation that ends now."""
    intent, terms = operation.intent, operation.read(TERMS)
    before, after = terms.rows_counted or (None, None)
    inserted, removed, changed = terms.rows_changed or (None, None, None)
    return Receipt(
        operation_id=intent.operation_id,
        statement=intent.statement,
        actor=intent.actor,
        plan_id=terms.plan_id or "",
        rescue_branch=rescue_branch,
        moves=moves,
        counts=replace(
            counts or Counts(),
            rows_before=before,
            rows_after=after,
            rows_inserted=inserted,
            rows_removed=removed,
            rows_changed=changed,
        ),
        notes=(*notes, *notes_of_callbacks(terms)),
        gate=terms.gate,
        answer=answer,
        started_millis=intent.time_millis,
        finished_millis=operation.warehouse.clock(),
    )


def receipt_without_change(
    call: ProcedureCall,
    plan_id: str,
    notes: tuple[str, ...],
    *,
    started_millis: int,
    finished_millis: int,
) -> Receipt:
    """Return the receipt of a call that had nothing to change; no ledger holds it."""
    return Receipt(
        operation_id=call.operation_id,
        statement=call.statement,
        actor=call.actor,
        plan_id=plan_id,
        notes=notes,
        started_millis=started_millis,
        finished_millis=finished_millis,
    )


def receipt_of_stage(
    warehouse: Warehouse,
    call: ProcedureCall,
    stages: Stages,
    name: str,
    work: Callable[[Progress], Facts],
    *,
    message: str,
    publishes: bool = False,
) -> Receipt:
    """Run the one stage of a call that no ledger holds, and return its receipt.

    Args:
        warehouse: Tells the time.
        call: The call.
        stages: Runs the stage.
        name: The stage, as people see it.
        work: Does it; its facts may hold `notes`, and `plan_id` where it planned something.
        message: A sentence on what goes on.
        publishes: Whether something changes, so that nothing may be cancelled.
    """
    started = warehouse.clock()
    facts = stages.run(name, work, message=message, publishes=publishes)
    return receipt_without_change(
        call,
        text_of(facts, "plan_id") or call.operation_id,
        texts_of(facts, "notes"),
        started_millis=started,
        finished_millis=warehouse.clock(),
    )


def event_of(
    operation: OpenOperation,
    kind: LineageKind,
    receipt: Receipt,
    *,
    branch: str | None = None,
    source_branch: str | None = None,
    before: SnapshotIdentity | None = None,
    after: SnapshotIdentity | None = None,
    parents: tuple[SnapshotIdentity, ...] = (),
    base_tag: str | None = None,
    tag: str | None = None,
    source_tag: str | None = None,
    undoes: str | None = None,
) -> LineageEvent:
    """Return the event of an operation, which carries its receipt."""
    intent = operation.intent
    return LineageEvent(
        id=intent.operation_id,
        branch=branch or intent.branch,
        operation_id=intent.operation_id,
        actor=intent.actor,
        kind=kind,
        source_branch=source_branch,
        time_millis=intent.event_millis,
        before=before,
        after=after,
        parents=parents,
        reason=operation.read(TERMS).reason,
        base_tag=base_tag,
        tag=tag,
        source_tag=source_tag,
        undoes=undoes,
        receipt=receipt,
    )


def end_commit(
    operation: OpenOperation,
    table: FileStoreTable,
    landed: Snapshot,
    kind: LineageKind,
    *,
    notes: tuple[str, ...],
    records_added: int = 0,
    answer: tuple[AnswerRow, ...] = (),
) -> Receipt:
    """Record an operation that was one commit on one branch.

    Args:
        operation: The operation.
        table: The table on the branch.
        landed: The snapshot of the commit.
        kind: The kind of the event.
        notes: What was done, in sentences.
        records_added: Records that came, less those that went.
        answer: The rows that answer the call.
    """
    before = table.snapshots.find(landed.id - 1)
    receipt = receipt_of(
        operation,
        moves=(move_of(table.branch, before, landed),),
        counts=Counts(snapshots_added=1, records_added=records_added),
        notes=notes,
        answer=answer,
    )
    return operation.complete(
        event_of(
            operation,
            kind,
            receipt,
            branch=table.branch,
            before=None if before is None else before.identity,
            after=landed.identity,
            parents=() if before is None else (before.identity,),
        )
    )


def move_of(branch: str, before: Snapshot | None, after: Snapshot | None) -> HeadMove:
    """Return the move of a head."""
    return HeadMove(
        branch=branch,
        before=None if before is None else before.identity,
        before_id=None if before is None else before.id,
        after=None if after is None else after.identity,
        after_id=None if after is None else after.id,
    )


def rows_of_heads(
    table: FileStoreTable, before: Snapshot | None, after: Snapshot | None
) -> tuple[int, int] | None:
    """Return all rows of two heads; None if a head does not tell them."""
    schema = table.schema()
    first, last = (snapshot_figure(head, schema, table.branch).rows for head in (before, after))
    return None if first is None or last is None else (first, last)


def text_of(facts: Facts, key: str) -> str | None:
    """Return a text that a stage left, None if there is none."""
    value = facts.get(key)
    return value if isinstance(value, str) else None


def texts_of(facts: Facts, key: str) -> tuple[str, ...]:
    """Return a list of texts that a stage left."""
    value = facts.get(key)
    return tuple(str(each) for each in value) if isinstance(value, list) else ()


def number_of(facts: Facts, key: str) -> int:
    """Return a number that a stage left, 0 if there is none."""
    value = facts.get(key)
    return value if isinstance(value, int) else 0
