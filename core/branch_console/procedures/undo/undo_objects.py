"""Taking an operation on objects of the catalog back, while nothing builds on what it did."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final, assert_never

from branch_console.catalog.sightings import find_birth
from branch_console.commit.catalog.database_commit import (
    change_database,
    move_database,
    publish_database_file,
    rename_database,
)
from branch_console.errors import (
    CommitConflict,
    ErrorKind,
    InvalidInput,
    NotFound,
)
from branch_console.format.catalog.database_file import NumberedDatabaseFile
from branch_console.format.identifier import Identifier
from branch_console.format.journals.catalog_merge import CATALOG_MERGE_JOURNAL
from branch_console.format.journals.codec import Codec
from branch_console.format.journals.intent import Ending
from branch_console.format.journals.objects import (
    BranchChangeJournal,
    DatabaseJournal,
    DropDatabaseJournal,
    DropTableJournal,
    RenameDatabaseJournal,
    RenameTableJournal,
    SetDatabaseJournal,
)
from branch_console.format.journals.procedures import CATALOG_JOURNALS
from branch_console.format.journals.terms import OperationJournal
from branch_console.format.journals.undo_objects import (
    UNDO_OBJECT_JOURNAL,
    DropNewCatalogBranchJournal,
    DropNewDatabaseJournal,
    MergeBackJournal,
    MovedDatabase,
    ObjectBackJournal,
    RenameDatabaseBackJournal,
    RenameTableBackJournal,
    RestoreCatalogBranchJournal,
    RestoreDatabaseInPlaceJournal,
    RestoreDatabaseJournal,
    RestoreTableJournal,
    SetDatabaseBackJournal,
    UndoObjectJournal,
    decision_of_object_undo,
)
from branch_console.format.lineage_event import LineageKind
from branch_console.format.receipt import Counts, Receipt
from branch_console.operations.undo_request import UndoRequest
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import (
    NOTHING_TO_UNDO,
    Consequence,
    Preview,
    blocks,
    changes,
    keeps,
    plan_digest,
)
from branch_console.procedures.call.permissions import Role
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.catalog.branch_change import (
    plan_change_back,
    publish_change,
)
from branch_console.procedures.catalog.catalog_operation import (
    CatalogOperation,
    CatalogPlan,
    CatalogProcedure,
    paths_of,
)
from branch_console.procedures.catalog.database_words import (
    listed,
    property_sentence,
    with_properties,
)
from branch_console.procedures.catalog.main_databases import (
    busy_tables,
    database_file_of,
    tables_in,
)
from branch_console.procedures.catalog.main_tables import (
    move_table,
    restore_table,
    why_not_restored,
)
from branch_console.procedures.run.receipts import event_of, receipt_of
from branch_console.procedures.undo.merge_way_back import UNDONE
from branch_console.procedures.undo.undo_catalog_branch import (
    finish_creation_back,
    finish_drop_back,
    plan_creation_back,
    plan_drop_back,
)
from branch_console.procedures.undo.undo_catalog_merge import (
    find_part,
    finish_merge_back,
    plan_merge_back,
)
from branch_console.table.database_files import find_database_file

_CODECS: Final[Mapping[str, Codec[Any]]] = MappingProxyType(
    {**CATALOG_JOURNALS, "merge_catalog_branch": CATALOG_MERGE_JOURNAL}
)
_INSTEAD: Final[Mapping[str, str]] = MappingProxyType(
    {
        "add_to_catalog_branch": "What a branch holds is not made less: leave alone what came, or "
        "drop the branch.",
        "create_catalog_tag": "Delete the tag: branch-console catalog delete-tag NAME.",
        "delete_catalog_tag": "Make the tag again: branch-console catalog tag NAME.",
        "undo": "Run again what it took back.",
    }
)
"""The advice if an operation cannot be undone, by procedure."""
_Way = Callable[[Warehouse, ProcedureCall, CatalogOperation, Any], CatalogPlan]


def plan_undo(warehouse: Warehouse, call: ProcedureCall) -> CatalogPlan:
    """Decide whether an operation on a database can be taken back.

    Raises:
        InvalidInput: It is an operation of a kind that is not undone.
        NotFound: The journal of the catalog has no such operation, or it changed nothing.
    """
    operation_id = call.request(UndoRequest).operation
    part = find_part(warehouse, operation_id)
    operation = CatalogOperation.find(warehouse, operation_id) if part is None else part[0]
    end = None
    if operation is not None:
        end = operation.journal.end_of(operation.intent.operation_id)
    if operation is None or end is None or end.ending is not Ending.DONE:
        raise NotFound(
            f"The journal of the catalog has no operation {operation_id!r} to undo: it changed "
            "nothing, has not ended, or was that of a table.",
            kind=ErrorKind.OPERATION_NOT_FOUND,
            operation_id=operation_id,
        )
    for undone in (operation.intent.operation_id, operation_id):
        undone_by = operation.journal.find_step(undone, UNDONE)
        if undone_by is not None:
            return _already(call, operation, undone_by.decode())
    if part is not None:
        noted = operation.read(CATALOG_MERGE_JOURNAL)
        return plan_merge_back(warehouse, call, operation, noted, part[1])
    way = _WAYS.get(operation.intent.procedure)
    if way is None:
        procedure = operation.intent.procedure
        raise InvalidInput(
            f"There is no undo of operation {operation_id} ({procedure}). Nothing was changed. "
            f"{_INSTEAD.get(procedure, 'Do the opposite instead.')}",
            kind=ErrorKind.UNSUPPORTED,
            operation_id=operation_id,
        )
    journal = operation.read(_CODECS[operation.intent.procedure])
    if isinstance(journal, BranchChangeJournal):
        return plan_change_back(warehouse, call, operation, journal)
    return way(warehouse, call, operation, journal)


def finish_undo(operation: CatalogOperation, journal: UndoObjectJournal) -> Receipt:
    """Carry out the journalled way back, unless another undo of the same operation is first.

    Raises:
        CommitConflict: Somebody came in between; what the operation did stands, or is undone.
    """
    undone, own = str(journal.undoes), operation.intent.operation_id
    claim = f"undo-{undone}"
    holder = operation.journal.claim(claim, own)
    if holder != own:
        raise _another_undo(undone, holder)
    try:
        other = operation.journal.find_step(undone, UNDONE)
        if other is not None and other.decode() != own:
            raise _another_undo(undone, other.decode())
        notes, counts = _carry_out(operation, journal)
        operation.journal.mark(undone, UNDONE, own.encode())
        receipt = receipt_of(operation, counts=counts, notes=notes)
        return operation.complete(event_of(operation, LineageKind.UNDONE, receipt, undoes=undone))
    finally:
        operation.journal.release(claim, own)


UNDO_OF_CATALOG: Final = CatalogProcedure(
    name="undo",
    what="undo this operation",
    doing="Taking the operation back.",
    plan=plan_undo,
    codec=UNDO_OBJECT_JOURNAL,
    finish=finish_undo,
)


def _plan_creation_back(
    warehouse: Warehouse, call: ProcedureCall, done: CatalogOperation, noted: DatabaseJournal
) -> CatalogPlan:
    name, paths = noted.subject, paths_of(warehouse)
    consequences = _why_not_there(warehouse, name, noted.file.content.id)
    tables = () if consequences else tables_in(warehouse, name)
    if tables:
        consequences.append(
            blocks(
                f"Undo is not possible: database {name!r} holds {listed(tables)} by now. Drop or "
                "move them first, or drop the database.",
                ErrorKind.UNDO_BLOCKED,
            )
        )
    consequences.append(changes("Its folder moves to .branch-console/dropped."))
    journal = DropNewDatabaseJournal(
        subject=name,
        source=paths.database(name),
        target=paths.dropped(f"{name}.db", call.operation_id),
        file=_now(warehouse, noted, name),
    )
    return _planned(call, done, consequences, journal, Role.EDITOR)


def _plan_drop_back(
    warehouse: Warehouse, call: ProcedureCall, done: CatalogOperation, noted: DropDatabaseJournal
) -> CatalogPlan:
    name, paths = noted.subject, paths_of(warehouse)
    kept, folder = noted.kept, paths.database(name)
    consequences: list[Consequence] = []
    restored = RestoreDatabaseJournal
    file = find_database_file(warehouse.file_io, paths, kept)
    if file is not None:
        if warehouse.file_io.exists(folder):
            consequences.append(
                blocks(
                    f"Undo is not possible: another database has the name {name!r} by now. Rename "
                    "it first.",
                    ErrorKind.UNDO_BLOCKED,
                )
            )
    else:
        restored = RestoreDatabaseInPlaceJournal
        file = find_database_file(warehouse.file_io, paths, folder)
        reasons = [why_not_restored(warehouse, each) for each in noted.drops]
        if file is None or file.content.is_on_main:
            reasons.insert(0, f"another database has the name {name!r} by now, or it is gone")
        consequences += (
            blocks(f"Undo is not possible: {reason}.", ErrorKind.UNDO_BLOCKED)
            for reason in reasons
            if reason is not None
        )
    file = file or noted.file
    if file.content.id != noted.file.content.id:
        consequences.append(
            blocks(
                f"Undo is not possible: database {name!r} is another one by now.",
                ErrorKind.UNDO_BLOCKED,
            )
        )
    consequences.append(changes(f"Database {name!r} comes back with all its tables and branches."))
    journal = restored(subject=name, source=kept, target=folder, file=file, drops=noted.drops)
    return _planned(call, done, consequences, journal, Role.OPERATOR)


def _plan_rename_back(
    warehouse: Warehouse, call: ProcedureCall, done: CatalogOperation, noted: RenameDatabaseJournal
) -> CatalogPlan:
    old, now = noted.subject, noted.to
    consequences = _why_not_there(warehouse, now, noted.file.content.id)
    if not consequences:
        consequences += busy_tables(warehouse, now, tables_in(warehouse, now), "renamed")
    if warehouse.file_io.exists(paths_of(warehouse).database(old)):
        consequences.append(
            blocks(
                f"Undo is not possible: something has the name {old!r} by now. Rename it first.",
                ErrorKind.UNDO_BLOCKED,
            )
        )
    consequences.append(changes(f"The folder {now}.db becomes {old}.db."))
    journal = RenameDatabaseBackJournal(
        subject=old, source=now, target=old, file=_now(warehouse, noted, now)
    )
    return _planned(call, done, consequences, journal, Role.EDITOR)


def _plan_set_back(
    warehouse: Warehouse, call: ProcedureCall, done: CatalogOperation, noted: SetDatabaseJournal
) -> CatalogPlan:
    name, earlier, after = noted.subject, noted.earlier, noted.file.content
    consequences = _why_not_there(warehouse, name, after.id)
    now = _now(warehouse, noted, name)
    values = now.content.properties
    moved = [key for key in earlier if values.get(key) != after.properties.get(key)]
    if not consequences and moved:
        keys = ", ".join(map(repr, moved))
        consequences.append(
            blocks(
                f"Undo is not possible: {keys} of database {name!r} changed since. Set the "
                "properties to what they should be.",
                ErrorKind.UNDO_BLOCKED,
            )
        )
    consequences += (
        changes(property_sentence(key, values.get(key), value)) for key, value in earlier.items()
    )
    content = replace(now.content, properties=with_properties(values, earlier))
    file = NumberedDatabaseFile(number=now.number + 1, content=content)
    journal = SetDatabaseBackJournal(subject=name, file=file)
    return _planned(call, done, consequences, journal, Role.EDITOR)


def _plan_table_drop_back(
    warehouse: Warehouse, call: ProcedureCall, done: CatalogOperation, noted: DropTableJournal
) -> CatalogPlan:
    drop = noted.drop
    reason = why_not_restored(warehouse, drop)
    if reason is None and drop.identifier.database not in warehouse.catalog.databases():
        reason = f"database {drop.identifier.database!r} is gone"
    consequences: list[Consequence] = []
    if reason is not None:
        consequences.append(blocks(f"Undo is not possible: {reason}.", ErrorKind.UNDO_BLOCKED))
    consequences.append(changes(f"Table {drop.name} comes back with all its branches."))
    journal = RestoreTableJournal(subject=noted.subject, drop=drop)
    return _planned(call, done, consequences, journal, Role.OPERATOR)


def _plan_table_rename_back(
    warehouse: Warehouse, call: ProcedureCall, done: CatalogOperation, noted: RenameTableJournal
) -> CatalogPlan:
    paths = paths_of(warehouse)
    old, now = Identifier.parse(noted.subject), Identifier.parse(noted.to)
    consequences: list[Consequence] = []
    if find_birth(warehouse.catalog.reader, paths.table(now.database, now.table)) != noted.birth:
        consequences.append(
            blocks(
                f"Undo is not possible: {now} is gone, or another table by now.",
                ErrorKind.UNDO_BLOCKED,
            )
        )
    else:
        consequences += busy_tables(warehouse, now.database, [now.table], "renamed")
    if old.database not in warehouse.catalog.databases():
        consequences.append(
            blocks(
                f"Undo is not possible: database {old.database!r} is gone.", ErrorKind.UNDO_BLOCKED
            )
        )
    elif warehouse.file_io.exists(paths.table(old.database, old.table)):
        consequences.append(
            blocks(
                f"Undo is not possible: something has the name {old} by now. Rename it first.",
                ErrorKind.UNDO_BLOCKED,
            )
        )
    consequences.append(changes(f"Table {now} is called {old} again."))
    journal = RenameTableBackJournal(
        subject=noted.subject, source=now.table_name, target=old.table_name, birth=noted.birth
    )
    return _planned(call, done, consequences, journal, Role.EDITOR)


def _carry_out(
    operation: CatalogOperation, journal: UndoObjectJournal
) -> tuple[tuple[str, ...], Counts]:
    """Go the journalled way back; return the sentences of the receipt, and what moved."""
    if isinstance(journal, MergeBackJournal):
        return finish_merge_back(operation, journal)
    return (_go_back(operation, journal),), Counts()


def _go_back(operation: CatalogOperation, journal: ObjectBackJournal) -> str:
    match journal:
        case BranchChangeJournal():
            return publish_change(operation, journal)
        case DropNewCatalogBranchJournal():
            return finish_creation_back(operation, journal)
        case RestoreCatalogBranchJournal():
            return finish_drop_back(operation, journal)
        case RestoreTableJournal():
            return restore_table(operation, journal.drop)
        case RenameTableBackJournal():
            move_table(operation, journal.source, journal.target, journal.birth)
            return f"Table {journal.source} is called {journal.target} again."
        case SetDatabaseBackJournal():
            return _set_back(operation, journal)
        case RenameDatabaseBackJournal():
            return _rename_back(operation, journal)
        case RestoreDatabaseInPlaceJournal():
            return _restore_in_place(operation, journal)
        case DropNewDatabaseJournal() | RestoreDatabaseJournal():
            return _move(operation, journal)
        case other:
            assert_never(other)


def _move(
    operation: CatalogOperation, journal: DropNewDatabaseJournal | RestoreDatabaseJournal
) -> str:
    store, name, kept = operation.warehouse.store, journal.subject, journal.target
    if not move_database(store, operation.paths, journal.source, kept, journal.file):
        _show(operation, journal, is_on_main=False)
        return f"Database {name!r} was dropped again. Other engines still list it."
    if isinstance(journal, DropNewDatabaseJournal):
        where = operation.paths.relative(kept)
        return f"Database {name!r} was dropped again. Its folder is kept as {where}."
    return f"Database {name!r} is back."


def _restore_in_place(operation: CatalogOperation, journal: RestoreDatabaseInPlaceJournal) -> str:
    for drop in journal.drops:
        restore_table(operation, drop)
    _show(operation, journal, is_on_main=True)
    return f"Database {journal.subject!r} is back."


def _show(operation: CatalogOperation, journal: MovedDatabase, *, is_on_main: bool) -> None:
    """Have main list a database, or hide it where this store cannot move it."""
    folder = operation.paths.database(journal.subject)
    change_database(
        operation.warehouse.store,
        operation.paths,
        folder,
        journal.file,
        lambda found: replace(found, is_on_main=is_on_main),
    )


def _rename_back(operation: CatalogOperation, journal: RenameDatabaseBackJournal) -> str:
    now, old, paths = journal.source, journal.target, operation.paths
    folders = paths.database(now), paths.database(old)
    rename_database(operation.warehouse.store, paths, *folders, old, journal.file)
    return f"Database {now!r} is called {old!r} again."


def _set_back(operation: CatalogOperation, journal: SetDatabaseBackJournal) -> str:
    folder, store = operation.paths.database(journal.subject), operation.warehouse.store
    publish_database_file(store, operation.paths, folder, journal.file)
    return f"Database {journal.subject!r} has the properties from before."


_WAYS: Final[Mapping[str, _Way]] = MappingProxyType(
    {
        "create_database": _plan_creation_back,
        "create_table": plan_change_back,
        "drop_database": _plan_drop_back,
        "rename_database": _plan_rename_back,
        "set_database_properties": _plan_set_back,
        "drop_table": _plan_table_drop_back,
        "rename_table": _plan_table_rename_back,
        "create_catalog_branch": plan_creation_back,
        "drop_catalog_branch": plan_drop_back,
        "merge_catalog_branch": plan_merge_back,
    }
)
"""How what a procedure did is taken back, on main; a statement on a branch by the next version."""


def _why_not_there(warehouse: Warehouse, name: str, database_id: str) -> list[Consequence]:
    """Return the obstacle if the database was dropped, renamed or replaced since; else nothing."""
    is_there = name in warehouse.catalog.databases()
    if is_there:
        found = database_file_of(warehouse, name)
        if found.content.id == database_id:
            return []
    reason = "is another one by now" if is_there else "is gone: it was dropped or renamed since"
    return [blocks(f"Undo is not possible: database {name!r} {reason}.", ErrorKind.UNDO_BLOCKED)]


def _now(warehouse: Warehouse, noted: DatabaseJournal, name: str) -> NumberedDatabaseFile:
    """The file of a database; where that is gone, so that there is no undo, what it had."""
    if name in warehouse.catalog.databases():
        return database_file_of(warehouse, name)
    return noted.file


def _planned(
    call: ProcedureCall,
    done: CatalogOperation,
    consequences: list[Consequence],
    journal: UndoObjectJournal,
    role: Role,
) -> CatalogPlan:
    operation_id = done.intent.operation_id
    facts = [*decision_of_object_undo(journal), [each.kind for each in consequences]]
    preview = Preview(
        procedure=call.name,
        title=f"Undo operation {operation_id} of {done.subject}",
        plan_id=plan_digest(call, *facts),
        consequences=tuple(consequences),
        typed_name=None,
        role=role,
        undo="To take this undo back, run the operation again.",
    )
    noted = replace(journal, plan_id=preview.plan_id, undoes=operation_id, reason=call.reason)
    return CatalogPlan(preview=preview, journal=noted)


def _already(call: ProcedureCall, done: CatalogOperation, undo_id: str) -> CatalogPlan:
    text = f"Operation {done.intent.operation_id} was undone already, by operation {undo_id}."
    preview = Preview(
        procedure=call.name,
        title=f"Undo operation {done.intent.operation_id}",
        plan_id=plan_digest(call, undo_id),
        consequences=(keeps(text),),
        typed_name=None,
        role=Role.VIEWER,
        undo=NOTHING_TO_UNDO,
    )
    undo = CatalogOperation.find(done.warehouse, undo_id)
    receipt = None if undo is None else undo.receipt()
    return CatalogPlan(
        preview=preview, journal=OperationJournal(), earlier_receipt=receipt or done.receipt()
    )


def _another_undo(undone: str, operation_id: str) -> CommitConflict:
    return CommitConflict(
        f"Operation {operation_id} undoes operation {undone} too, and was first. Nothing was "
        "changed by this one; look at the receipt of the other.",
        kind=ErrorKind.HEAD_MOVED,
        operation_id=operation_id,
    )
