"""Beginning the history of a branch after a gap; snapshots before the gap are retired.

A history has no gaps, so readers that begin before one fail, and those that begin behind it leave
names below it for good. Paimon points at the snapshot behind the gap and leaves the rest; here it
goes as with an expiry, so that undo brings it back and its files go with the next one.
Source: Paimon SnapshotManager.repairEarliestSnapshot.
"""

from typing import Final

from branch_console.errors import ErrorKind
from branch_console.format.journals.expiry import (
    EXPIRE_JOURNAL,
    BranchRetirement,
    ExpireJournal,
    RetiredSnapshot,
)
from branch_console.format.receipt import AnswerRow, Expected, Receipt
from branch_console.format.snapshot import Snapshot
from branch_console.operations.maintenance_requests import (
    EARLIEST_AFTER,
    EARLIEST_BEFORE,
    RepairEarliestSnapshotRequest,
)
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import (
    Consequence,
    Preview,
    blocks,
    changes,
    keeps,
    loses,
    plan_digest,
)
from branch_console.procedures.call.permissions import Role
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.maintenance.expire_snapshots import finish_expire
from branch_console.procedures.maintenance.grace_words import NO_UNDO_OF_FILES
from branch_console.procedures.maintenance.maintenance_turn import obstacles
from branch_console.procedures.run.open_operation import Operation
from branch_console.procedures.run.procedure import PlannedOperation, Procedure, table_of
from branch_console.storage.table_paths import SNAPSHOT_PREFIX
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.versioned_files import decode_states, list_numbered

_MOST_NAMED: Final = 20


def plan_repair(warehouse: Warehouse, call: ProcedureCall) -> PlannedOperation:
    """Decide on the snapshots before the gap, and whether a snapshot is the first after it.

    Raises:
        InvalidInput: The grace is no time.
        NotFound: There is no such table, branch or snapshot.
        FormatError: The snapshot cannot be decoded.
    """
    asked, table = call.request(RepairEarliestSnapshotRequest), table_of(warehouse, call)
    grace, first = asked.grace_millis(), table.snapshots.get(asked.snapshot)
    listed = list_numbered(table.reader, table.paths.snapshot_dir, SNAPSHOT_PREFIX)
    below = {str(number): status for number, status in listed.items() if number < first.id}
    states = decode_states(table.reader, below, Snapshot.from_json)
    broken = [each.path for each in states if each.value is None]
    # Readers walk ids without gaps, so the history after the new start must have none.
    missing = [each for each in range(first.id, max(listed, default=0)) if each not in listed]
    consequences: list[Consequence] = [*obstacles(warehouse, table, call)]
    if missing:
        consequences.append(
            blocks(
                f"Snapshot {missing[-1]} of {table.branch!r} is missing too, so the history would "
                f"have another gap. Begin with snapshot {missing[-1] + 1}.",
                ErrorKind.INVALID_ARGUMENT,
            )
        )
    elif not below:
        text = f"Snapshot {first.id} is the earliest of {table.branch!r} already."
        consequences.append(blocks(text, ErrorKind.NOTHING_TO_DO))
    elif first.id - 1 in listed and table.snapshots.find_earliest_hint() != first.id:
        consequences.append(
            blocks(
                f"Snapshot {first.id - 1} of {table.branch!r} is there, so no gap ends at snapshot "
                f"{first.id}. Take old snapshots with expire_snapshots.",
                ErrorKind.INVALID_ARGUMENT,
            )
        )
    elif broken:
        text = "What stands before the gap cannot be read, so what it needs is not known."
        consequences.append(blocks(text, ErrorKind.BROKEN_FILE, tuple(broken)))
    else:
        consequences += _consequences(table, first, tuple(each.path for each in states), grace)
    retired = tuple(
        RetiredSnapshot(id=each.value.id, delta_manifest_list=each.value.delta_manifest_list)
        for each in states
        if each.value is not None
    )
    preview = Preview(
        procedure=call.name,
        title=f"Begin {table.identifier} with snapshot {first.id}",
        plan_id=plan_digest(call, str(first.identity), sorted(below)),
        consequences=tuple(consequences),
        typed_name=None,
        role=Role.OPERATOR,
        undo=(
            "Undo brings the snapshots back until their files are removed."
            if grace
            else NO_UNDO_OF_FILES
        ),
        expected=Expected(answer=(_ids(retired[0].id, first.id),)) if retired else None,
    )
    return PlannedOperation(
        preview=preview,
        table=table,
        branch=table.branch,
        journal=ExpireJournal(
            plan_id=preview.plan_id,
            reason=asked.reason,
            retirements=(
                BranchRetirement(
                    branch=table.branch,
                    snapshots=retired,
                    successor=RetiredSnapshot(
                        id=first.id, delta_manifest_list=first.delta_manifest_list
                    ),
                ),
            ),
            grace_millis=grace,
        ),
    )


def finish_repair(operation: Operation, journal: ExpireJournal) -> Receipt:
    """Take the names before the gap; raises as `finish_expire`."""
    (retirement,) = journal.retirements
    ids = _ids(retirement.snapshots[0].id, retirement.successor.id)
    return finish_expire(operation, journal, (ids,))


REPAIR_EARLIEST_SNAPSHOT = Procedure(
    name="repair_earliest_snapshot",
    what="repair the earliest snapshot",
    doing="Taking the names before the gap.",
    plan=plan_repair,
    codec=EXPIRE_JOURNAL,
    finish=finish_repair,
)


def _ids(before: int, after: int) -> AnswerRow:
    return {EARLIEST_BEFORE: before, EARLIEST_AFTER: after}


def _consequences(
    table: FileStoreTable, first: Snapshot, below: tuple[str, ...], grace_millis: int
) -> list[Consequence]:
    later = "with the first expiry after the grace" if grace_millis else "at once"
    return [
        changes(f"The history of {table.branch!r} begins with snapshot {first.id}, for everybody."),
        loses(
            "What stands before the gap leaves the branch. Files that nothing else needs go "
            f"{later}.",
            below[:_MOST_NAMED],
        ),
        keeps(f"Snapshot {first.id} and later ones are read as before."),
    ]
