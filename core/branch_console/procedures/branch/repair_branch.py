"""Repairing a branch: schemas that its files need and that only main has come back to it.

A branch whose making was cut off may have none at all: then it gets those that main had then. A
schema, a snapshot or a base tag that is cut off comes back from where it lies whole, on main too.
"""

from collections.abc import Sequence

from branch_console.commit.base.metadata_copy import copy_files, mend_file
from branch_console.diff.history_move import count, id_range
from branch_console.errors import ErrorKind
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.journals.branches import (
    REPAIR_JOURNAL,
    RepairBranchJournal,
    WholeFile,
)
from branch_console.format.lineage_event import LineageKind
from branch_console.format.receipt import Counts, Receipt
from branch_console.format.snapshot import Snapshot
from branch_console.operations.branch_requests import RepairBranchRequest
from branch_console.procedures.branch.drop_branch import existing_branch
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import (
    Consequence,
    Preview,
    blocks,
    changes,
    keeps,
    plan_digest,
)
from branch_console.procedures.call.permissions import Role
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.history.whole_copies import WholeCopies
from branch_console.procedures.run.open_operation import Operation
from branch_console.procedures.run.procedure import PlannedOperation, Procedure, table_of
from branch_console.procedures.run.receipts import event_of, receipt_of
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.missing_schemas import missing_schemas


def plan_repair(warehouse: Warehouse, call: ProcedureCall) -> PlannedOperation:
    """Decide which files of a branch come back from their copies, or which schemas from main.

    Arguments of the call: `table`, `branch`, `reason`.

    Raises:
        InvalidInput: It is main, and none of its files can come back from a copy.
        NotFound: There is no such table or branch.
        FormatError: A snapshot, a manifest or a schema that is needed cannot be decoded.
    """
    asked = call.request(RepairBranchRequest)
    main = table_of(warehouse, call).on(MAIN_BRANCH)
    branch, whole = main.on(asked.branch), WholeCopies(main).of_branch(asked.branch)
    missing: tuple[int, ...] = ()
    if whole:
        consequences = _whole_consequences(branch, whole)
    else:
        branch = existing_branch(main, asked.branch, "repaired")
        newest = branch.schemas.find_latest()
        if newest is None:
            missing = _schemas_of_main(branch, main)
            consequences = _half_made_consequences(branch, main, missing)
        else:
            missing = missing_schemas(branch, newest.id, branch.snapshots.all())
            consequences = _consequences(branch, main, missing)
    preview = Preview(
        procedure=call.name,
        title=f"Repair branch {branch.branch!r} of {main.identifier.table_name}",
        plan_id=plan_digest(
            call,
            *map(str, missing),
            *(part for each in whole for part in (each.path, each.content)),
        ),
        consequences=consequences,
        typed_name=None,
        role=Role.EDITOR,
        undo="None: what files need is not taken away again, and a whole file is not cut off.",
    )
    return PlannedOperation(
        preview=preview,
        table=main,
        branch=branch.branch,
        journal=RepairBranchJournal(
            plan_id=preview.plan_id, schemas=missing, whole=whole, reason=asked.reason
        ),
    )


def _whole_consequences(
    branch: FileStoreTable, whole: Sequence[WholeFile]
) -> tuple[Consequence, ...]:
    return (
        changes(
            f"{count(len(whole), 'file')} of {branch.branch!r} that "
            f"{'was' if len(whole) == 1 else 'were'} cut off "
            f"{'is' if len(whole) == 1 else 'are'} written again, from where the same lies whole.",
            tuple(f"{each.path}: {each.source}" for each in whole),
        ),
        keeps("No file that can be read and no data file changes."),
    )


def _consequences(
    branch: FileStoreTable, main: FileStoreTable, missing: tuple[int, ...]
) -> tuple[Consequence, ...]:
    name = branch.branch
    if not missing:
        text = f"Branch {name!r} has every schema that its files need."
        return (blocks(text, ErrorKind.NOTHING_TO_DO),)
    on_main = set(main.schemas.ids())
    absent = [each for each in missing if each not in on_main]
    if absent:
        return (
            blocks(
                f"Main has no {_schemas(absent)} either. Restore "
                f"{branch.paths.schema(absent[0])} from a copy.",
                ErrorKind.SCHEMA_NOT_FOUND,
            ),
        )
    # Ids are given anew where main was replaced or rolled back. What both have of the ids behind
    # the gap tells whether main's schemas are those that the branch began with.
    witness = next(each for each in branch.schemas.ids() if each > missing[0])
    if witness not in on_main or main.schemas.get(witness) != branch.schemas.get(witness):
        return (
            blocks(
                f"Schema {witness} of {name!r} is not that of main, so that main's "
                f"{_schemas(missing)} may be another one. Restore "
                f"{branch.paths.schema(missing[0])} from a copy.",
                ErrorKind.SCHEMA_NOT_FOUND,
            ),
        )
    return (
        changes(f"Branch {name!r} gets {_schemas(missing)} from main."),
        keeps("No snapshot and no data file changes."),
    )


def _schemas_of_main(branch: FileStoreTable, main: FileStoreTable) -> tuple[int, ...]:
    """The schemas that main had when a branch was made that has none: all if nothing tells."""
    needed = [each.schema_id for each in _held_by(branch)]
    return tuple(each for each in main.schemas.ids() if not needed or each <= max(needed))


def _half_made_consequences(
    branch: FileStoreTable, main: FileStoreTable, ids: tuple[int, ...]
) -> tuple[Consequence, ...]:
    name = branch.branch
    of_main = [each.identity for each in _held_by(main)]
    strange = [each for each in _held_by(branch) if not any(map(each.identity.same_as, of_main))]
    if strange:
        return (
            blocks(
                f"Branch {name!r} has no schema, and its snapshot {strange[0].id} is none of main: "
                "nothing tells which schema its files were written with. Restore "
                f"{branch.paths.schema(strange[0].schema_id)} from a copy.",
                ErrorKind.SCHEMA_NOT_FOUND,
            ),
        )
    return (
        changes(
            f"Branch {name!r}, which has no schema, gets {_schemas(ids)} from main and can be read."
        ),
        keeps("No snapshot and no data file changes."),
    )


def _held_by(table: FileStoreTable) -> tuple[Snapshot, ...]:
    return (*table.snapshots.all(), *(tag.snapshot for tag in table.tags.all()))


def finish_repair(operation: Operation, journal: RepairBranchJournal) -> Receipt:
    """Copy the schemas, or write the files that were cut off.

    Raises:
        CommitConflict: Somebody made another file of that name in the meantime, or removed it.
    """
    table, branch = operation.table, operation.table.on(operation.intent.branch)
    wanted = journal.schemas
    pairs = [(table.paths.schema(each), branch.paths.schema(each)) for each in wanted]
    copy_files(operation.warehouse.store, pairs)
    for each in journal.whole:
        mend_file(operation.warehouse.store, each.path, each.content.encode())
    notes = [f"{each.path} is whole again, from {each.source}." for each in journal.whole]
    if wanted:
        notes.append(f"Branch {branch.branch!r} has {_schemas(wanted)} again.")
    receipt = receipt_of(operation, counts=Counts(schemas_added=len(wanted)), notes=tuple(notes))
    return operation.complete(event_of(operation, LineageKind.REPAIRED, receipt))


def _schemas(ids: list[int] | tuple[int, ...]) -> str:
    return f"schema{'' if len(ids) == 1 else 's'} {id_range(sorted(ids))}"


REPAIR_BRANCH = Procedure(
    name="repair_branch",
    what="repair a branch",
    doing="Repairing the branch.",
    plan=plan_repair,
    codec=REPAIR_JOURNAL,
    finish=finish_repair,
)
