"""Undoing an expiry: the names come back, as long as none of their files was removed."""

from branch_console.commit.journal import Journal
from branch_console.diff.history_move import count, id_range
from branch_console.errors import CommitConflict, ErrorKind
from branch_console.format.journals.expiry import (
    EXPIRE_JOURNAL,
    BranchRetirement,
    ExpireJournal,
    UnexpireJournal,
)
from branch_console.format.journals.names import NamesJournal
from branch_console.format.journals.procedures import codec_of
from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console.format.receipt import Counts, Receipt
from branch_console.maintenance.retire import (
    bring_back,
    check_successor,
    forget_retired,
    is_kept,
)
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import Consequence, blocks, changes, keeps
from branch_console.procedures.call.permissions import Role
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.maintenance.maintenance_turn import (
    claim_maintenance,
    end_turn,
    give_up_turn,
)
from branch_console.procedures.run.open_operation import Operation
from branch_console.procedures.run.procedure import PlannedOperation
from branch_console.procedures.run.receipts import receipt_of
from branch_console.procedures.undo.undo_names import plan_names_back
from branch_console.procedures.undo.undo_preview import planned_undo, traced
from branch_console.table.file_store_table import FileStoreTable


def plan_expiry_back(
    warehouse: Warehouse, call: ProcedureCall, table: FileStoreTable, event: LineageEvent
) -> PlannedOperation:
    """Decide whether branches can have back the snapshots that an expiry took."""
    expiry = event.operation_id
    journal = Journal(warehouse.store, table.paths)
    intent = journal.find(expiry)
    noted = None if intent is None else journal.decode(intent, codec_of(intent.procedure))
    if isinstance(noted, NamesJournal):
        return plan_names_back(warehouse, call, table, event, noted)
    taken = noted.retirements if isinstance(noted, ExpireJournal) else ()
    there = [each for each in taken if is_kept(table, warehouse.store, expiry, each)]
    consequences: list[Consequence] = []
    branches: list[tuple[str, str]] = []
    if not there:
        consequences.append(
            blocks(
                "Undo is not possible: files that only the expired snapshots held were removed.",
                ErrorKind.UNDO_BLOCKED,
            )
        )
    else:
        for each in there:
            found = traced(table, event, each.branch)
            branches.append((each.branch, found.name))
            consequences += found.gone or _consequences(table.on_listed(found.name), each)
        consequences.append(keeps("No file was removed: all that they held is there."))
    return planned_undo(
        call,
        table,
        event,
        consequences,
        branch=event.branch,
        journal=UnexpireJournal(expiry=expiry, branches=tuple(branches)),
        role=Role.OPERATOR,
    )


def finish_expiry_back(operation: Operation, journal: UnexpireJournal) -> Receipt:
    """Bring the names back.

    Raises:
        CommitConflict: Another expiry is at work, or a branch was rewritten in the meantime.
    """
    claim_maintenance(operation)
    try:
        receipt = _bring_back(operation, journal)
    except CommitConflict:
        give_up_turn(operation)
        raise
    return end_turn(operation, LineageKind.UNDONE, receipt, undoes=journal.undoes)


def _bring_back(operation: Operation, journal: UnexpireJournal) -> Receipt:
    table, store = operation.table, operation.warehouse.store
    intent = operation.journal.find(journal.expiry)
    if intent is None:
        raise CommitConflict(
            f"The journal of operation {journal.expiry} is gone. No snapshot came back.",
            kind=ErrorKind.UNDO_BLOCKED,
        )
    planned = {
        each.branch: each for each in operation.journal.decode(intent, EXPIRE_JOURNAL).retirements
    }
    notes, came = [], 0
    for then, now in journal.branches:
        retirement, branch = planned[then], table.on_listed(now)
        check_successor(branch, retirement.successor)
        came += bring_back(branch, store, journal.expiry, retirement)
        _check_is_back(branch, retirement)
        ids = [each.id for each in retirement.snapshots]
        notes.append(f"{count(len(ids), 'snapshot')} of {now!r} came back: {id_range(ids)}.")
    forget_retired(table, store, journal.expiry, tuple(then for then, _ in journal.branches))
    return receipt_of(operation, counts=Counts(snapshots_added=came), notes=tuple(notes))


def _check_is_back(branch: FileStoreTable, retirement: BranchRetirement) -> None:
    """See that a branch has the snapshots: their files may have gone before the claim was ours."""
    first = retirement.snapshots[0]
    found = branch.snapshots.find(first.id)
    if found is None or found.delta_manifest_list != first.delta_manifest_list:
        raise CommitConflict(
            f"Snapshot {first.id} of {branch.branch!r} did not come back: another expiry removed "
            "files that only the expired snapshots held. Nothing was changed.",
            kind=ErrorKind.UNDO_BLOCKED,
            branch=branch.branch,
            snapshot_id=first.id,
        )


def _consequences(branch: FileStoreTable, retirement: BranchRetirement) -> list[Consequence]:
    ids = [each.id for each in retirement.snapshots]
    try:
        check_successor(branch, retirement.successor)
    except CommitConflict as error:
        return [blocks(f"Undo is not possible: {error.message}", ErrorKind.UNDO_BLOCKED)]
    return [changes(f"Snapshots of {branch.branch!r} come back: {id_range(ids)}.")]
