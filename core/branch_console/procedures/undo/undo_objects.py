"""Taking an operation on objects of the catalog back, while nothing builds on what it did."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

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
    FormatError,
    InvalidInput,
    NotFound,
)
from branch_console.format.identifier import Identifier
from branch_console.format.journals.intent import Ending
from branch_console.format.lineage_event import LineageKind
from branch_console.format.receipt import Receipt
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
    is_on_branch,
    plan_change_back,
    publish_version,
    version_of,
)
from branch_console.procedures.catalog.catalog_operation import (
    CatalogOperation,
    CatalogPlan,
    CatalogVerb,
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
    drops_of,
    earlier_of,
    file_of,
    tables_in,
)
from branch_console.procedures.catalog.main_tables import (
    drop_of,
    move_table,
    restore_table,
    why_not_restored,
)
from branch_console.procedures.run.receipts import event_of, receipt_of, text_of
from branch_console.procedures.undo.undo_catalog_branch import (
    finish_creation_back,
    finish_drop_back,
    plan_creation_back,
    plan_drop_back,
)
from branch_console.table.database_files import NumberedDatabaseFile, find_database_file

_UNDONE: Final = "undone"
"""The step of an operation that was taken back; it holds the id of the undo."""

_Way = Callable[[Warehouse, ProcedureCall, CatalogOperation], CatalogPlan]


def plan_undo(warehouse: Warehouse, call: ProcedureCall) -> CatalogPlan:
    """Decide whether an operation on a database can be taken back.

    Raises:
        InvalidInput: It is an operation of a kind that is not undone.
        NotFound: The journal of the catalog has no such operation, or it changed nothing.
    """
    operation_id = call.request(UndoRequest).operation
    operation = CatalogOperation.find(warehouse, operation_id)
    end = None if operation is None else operation.journal.end_of(operation_id)
    if operation is None or end is None or end.ending is not Ending.DONE:
        raise NotFound(
            f"The journal of the catalog has no operation {operation_id!r} to undo: it changed "
            "nothing, has not ended, or was that of a table.",
            kind=ErrorKind.OPERATION_NOT_FOUND,
            operation_id=operation_id,
        )
    undone_by = operation.journal.find_step(operation_id, _UNDONE)
    if undone_by is not None:
        return _already(call, operation, undone_by.decode())
    if is_on_branch(operation):
        return plan_change_back(warehouse, call, operation)
    way = _WAYS.get(operation.intent.procedure)
    if way is None:
        raise InvalidInput(
            f"There is no undo of operation {operation_id} ({operation.intent.procedure}): run "
            "again what it took back.",
            kind=ErrorKind.UNSUPPORTED,
            operation_id=operation_id,
        )
    return way(warehouse, call, operation)


def finish_undo(operation: CatalogOperation) -> Receipt:
    """Carry out the journalled way back, unless another undo of the same operation is first.

    Raises:
        CommitConflict: Somebody came in between; what the operation did stands, or is undone.
    """
    undone, own = operation.noted.get("undoes", str), operation.intent.operation_id
    claim = f"undo-{undone}"
    holder = operation.journal.claim(claim, own)
    if holder != own:
        raise _another_undo(undone, holder)
    try:
        other = operation.journal.find_step(undone, _UNDONE)
        if other is not None and other.decode() != own:
            raise _another_undo(undone, other.decode())
        note = _finish_of(operation)(operation)
        operation.journal.mark(undone, _UNDONE, own.encode())
        receipt = receipt_of(operation, notes=(note,))
        return operation.complete(event_of(operation, LineageKind.UNDONE, receipt, undoes=undone))
    finally:
        operation.journal.release(claim, own)


UNDO_OF_CATALOG: Final = CatalogVerb(
    name="undo",
    what="undo this operation",
    doing="Taking the operation back.",
    plan=plan_undo,
    finish=finish_undo,
)


def _plan_creation_back(
    warehouse: Warehouse, call: ProcedureCall, done: CatalogOperation
) -> CatalogPlan:
    name, paths = done.subject, paths_of(warehouse)
    made = file_of(done).content
    told = _why_not_there(warehouse, name, made.id)
    tables = () if told else tables_in(warehouse, name)
    if tables:
        told.append(
            blocks(
                f"Undo is not possible: database {name!r} holds {listed(tables)} by now. Drop or "
                "move them first, or drop the database.",
                ErrorKind.UNDO_BLOCKED,
            )
        )
    kept = paths.dropped(f"{name}.db", call.operation_id)
    told.append(changes("Its folder moves to .branch-console/dropped."))
    journal = {"way": "drop", "from": paths.database(name), "to": kept}
    return _planned(call, done, told, {**journal, **_file(warehouse, done, name)}, Role.EDITOR)


def _plan_drop_back(
    warehouse: Warehouse, call: ProcedureCall, done: CatalogOperation
) -> CatalogPlan:
    name, paths = done.subject, paths_of(warehouse)
    kept, folder = done.noted.get("kept", str), paths.database(name)
    drops = drops_of(done)
    told: list[Consequence] = []
    file = find_database_file(warehouse.file_io, paths, kept)
    if file is not None:
        way = "restore"
        if warehouse.file_io.exists(folder):
            told.append(
                blocks(
                    f"Undo is not possible: another database has the name {name!r} by now. Rename "
                    "it first.",
                    ErrorKind.UNDO_BLOCKED,
                )
            )
    else:
        way, file = "restore in place", find_database_file(warehouse.file_io, paths, folder)
        reasons = [why_not_restored(warehouse, each) for each in drops]
        if file is None or file.content.is_on_main:
            reasons.insert(0, f"another database has the name {name!r} by now, or it is gone")
        told += (
            blocks(f"Undo is not possible: {reason}.", ErrorKind.UNDO_BLOCKED)
            for reason in reasons
            if reason is not None
        )
    file = file or file_of(done)
    if file.content.id != file_of(done).content.id:
        told.append(
            blocks(
                f"Undo is not possible: database {name!r} is another one by now.",
                ErrorKind.UNDO_BLOCKED,
            )
        )
    told.append(changes(f"Database {name!r} comes back with all its tables and branches."))
    journal = {
        "way": way,
        "from": kept,
        "to": folder,
        "number": file.number,
        "file": file.content.to_json(),
        "drops": [each.to_object() for each in drops],
    }
    return _planned(call, done, told, journal, Role.OPERATOR)


def _plan_rename_back(
    warehouse: Warehouse, call: ProcedureCall, done: CatalogOperation
) -> CatalogPlan:
    old, now = done.subject, done.noted.get("to", str)
    told = _why_not_there(warehouse, now, file_of(done).content.id)
    if not told:
        told += busy_tables(warehouse, now, tables_in(warehouse, now), "renamed")
    if warehouse.file_io.exists(paths_of(warehouse).database(old)):
        told.append(
            blocks(
                f"Undo is not possible: something has the name {old!r} by now. Rename it first.",
                ErrorKind.UNDO_BLOCKED,
            )
        )
    told.append(changes(f"The folder {now}.db becomes {old}.db."))
    journal = {"way": "rename", "from": now, "to": old, **_file(warehouse, done, now)}
    return _planned(call, done, told, journal, Role.EDITOR)


def _plan_set_back(
    warehouse: Warehouse, call: ProcedureCall, done: CatalogOperation
) -> CatalogPlan:
    name, earlier = done.subject, earlier_of(done)
    after = file_of(done).content
    told = _why_not_there(warehouse, name, after.id)
    now = _now(warehouse, done, name)
    values = now.content.properties
    moved = [key for key in earlier if values.get(key) != after.properties.get(key)]
    if not told and moved:
        keys = ", ".join(map(repr, moved))
        told.append(
            blocks(
                f"Undo is not possible: {keys} of database {name!r} changed since. Set the "
                "properties to what they should be.",
                ErrorKind.UNDO_BLOCKED,
            )
        )
    told += (
        changes(property_sentence(key, values.get(key), value)) for key, value in earlier.items()
    )
    content = replace(now.content, properties=with_properties(values, earlier))
    journal = {"way": "set", "number": now.number + 1, "file": content.to_json()}
    return _planned(call, done, told, journal, Role.EDITOR)


def _plan_table_drop_back(
    warehouse: Warehouse, call: ProcedureCall, done: CatalogOperation
) -> CatalogPlan:
    drop = drop_of(done)
    reason = why_not_restored(warehouse, drop)
    if reason is None and drop.identifier.database not in warehouse.catalog.databases():
        reason = f"database {drop.identifier.database!r} is gone"
    told: list[Consequence] = []
    if reason is not None:
        told.append(blocks(f"Undo is not possible: {reason}.", ErrorKind.UNDO_BLOCKED))
    told.append(changes(f"Table {drop.name} comes back with all its branches."))
    journal = {"way": "restore table", "drop": drop.to_object()}
    return _planned(call, done, told, journal, Role.OPERATOR)


def _plan_table_rename_back(
    warehouse: Warehouse, call: ProcedureCall, done: CatalogOperation
) -> CatalogPlan:
    noted, paths = done.noted, paths_of(warehouse)
    old, now = Identifier.parse(done.subject), Identifier.parse(noted.get("to", str))
    birth = noted.find("birth", str)
    told: list[Consequence] = []
    if find_birth(warehouse.catalog.reader, paths.table(now.database, now.table)) != birth:
        told.append(
            blocks(
                f"Undo is not possible: {now} is gone, or another table by now.",
                ErrorKind.UNDO_BLOCKED,
            )
        )
    else:
        told += busy_tables(warehouse, now.database, [now.table], "renamed")
    if old.database not in warehouse.catalog.databases():
        told.append(
            blocks(
                f"Undo is not possible: database {old.database!r} is gone.", ErrorKind.UNDO_BLOCKED
            )
        )
    elif warehouse.file_io.exists(paths.table(old.database, old.table)):
        told.append(
            blocks(
                f"Undo is not possible: something has the name {old} by now. Rename it first.",
                ErrorKind.UNDO_BLOCKED,
            )
        )
    told.append(changes(f"Table {now} is called {old} again."))
    names = {"from": now.table_name, "to": old.table_name, "birth": birth}
    return _planned(call, done, told, {"way": "rename table", **names}, Role.EDITOR)


def _finish_of(operation: CatalogOperation) -> Callable[[CatalogOperation], str]:
    """What carries a journalled way back out; raises FormatError for one that is not known."""
    noted = operation.noted
    way = noted.get("way", str)
    finish = _FINISHES.get(way)
    if finish is None:
        raise FormatError(f"The {noted.what} has the unknown 'way' {way!r}.")
    return finish


def _names(operation: CatalogOperation) -> tuple[str, str]:
    """Where something goes from, and where to."""
    noted = operation.noted
    return noted.get("from", str), noted.get("to", str)


def _finish_version(operation: CatalogOperation) -> str:
    version = version_of(operation)
    publish_version(operation, version)
    return (
        f"{operation.noted.get('told', str)} Catalog branch {version.branch!r} is at "
        f"{version.name}."
    )


def _finish_table_restore(operation: CatalogOperation) -> str:
    return restore_table(operation, drop_of(operation))


def _finish_table_rename(operation: CatalogOperation) -> str:
    now, old = _names(operation)
    move_table(operation, now, old)
    return f"Table {now} is called {old} again."


def _finish_move(operation: CatalogOperation) -> str:
    from_folder, to_folder = _names(operation)
    store = operation.warehouse.store
    name = operation.subject
    if not move_database(store, operation.paths, from_folder, to_folder, file_of(operation)):
        return _finish_hidden(operation)
    if operation.noted.get("way", str) == "drop":
        return f"Database {name!r} was dropped again. Its folder is kept as {to_folder}."
    return f"Database {name!r} is back."


def _finish_hidden(operation: CatalogOperation) -> str:
    """Take a database back that this store cannot move: main hides it."""
    folder, file = operation.paths.database(operation.subject), file_of(operation)
    change_database(
        operation.warehouse.store,
        operation.paths,
        folder,
        file,
        lambda found: replace(found, is_on_main=False),
    )
    return f"Database {operation.subject!r} was dropped again. Other engines still list it."


def _finish_restore_in_place(operation: CatalogOperation) -> str:
    folder, file = operation.paths.database(operation.subject), file_of(operation)
    for drop in drops_of(operation):
        restore_table(operation, drop)
    change_database(
        operation.warehouse.store,
        operation.paths,
        folder,
        file,
        lambda found: replace(found, is_on_main=True),
    )
    return f"Database {operation.subject!r} is back."


def _finish_rename(operation: CatalogOperation) -> str:
    now, old = _names(operation)
    store = operation.warehouse.store
    rename_database(store, operation.paths, now, old, file_of(operation))
    return f"Database {now!r} is called {old!r} again."


def _finish_set(operation: CatalogOperation) -> str:
    folder = operation.paths.database(operation.subject)
    store = operation.warehouse.store
    publish_database_file(store, operation.paths, folder, file_of(operation))
    return f"Database {operation.subject!r} has the properties from before."


_WAYS: Final[Mapping[str, _Way]] = MappingProxyType(
    {
        "create_database": _plan_creation_back,
        "drop_database": _plan_drop_back,
        "rename_database": _plan_rename_back,
        "set_database_properties": _plan_set_back,
        "drop_table": _plan_table_drop_back,
        "rename_table": _plan_table_rename_back,
        "create_catalog_branch": plan_creation_back,
        "drop_catalog_branch": plan_drop_back,
    }
)
_FINISHES: Final[Mapping[str, Callable[[CatalogOperation], str]]] = MappingProxyType(
    {
        "version": _finish_version,
        "drop": _finish_move,
        "restore": _finish_move,
        "restore in place": _finish_restore_in_place,
        "restore table": _finish_table_restore,
        "rename table": _finish_table_rename,
        "rename": _finish_rename,
        "set": _finish_set,
        "drop branch": finish_creation_back,
        "restore branch": finish_drop_back,
    }
)


def _why_not_there(warehouse: Warehouse, name: str, database_id: str) -> list[Consequence]:
    """What stands in the way where the database of that name is another one by now, or gone."""
    is_there = name in warehouse.catalog.databases()
    if is_there:
        found = database_file_of(warehouse, name)
        if found.content.id == database_id:
            return []
    reason = "is another one by now" if is_there else "is gone: it was dropped or renamed since"
    return [blocks(f"Undo is not possible: database {name!r} {reason}.", ErrorKind.UNDO_BLOCKED)]


def _now(warehouse: Warehouse, done: CatalogOperation, name: str) -> NumberedDatabaseFile:
    """The file of a database; where that is gone, so that there is no undo, what it had."""
    if name in warehouse.catalog.databases():
        return database_file_of(warehouse, name)
    return file_of(done)


def _file(warehouse: Warehouse, done: CatalogOperation, name: str) -> dict[str, object]:
    found = _now(warehouse, done, name)
    return {"number": found.number, "file": found.content.to_json()}


def _planned(
    call: ProcedureCall,
    done: CatalogOperation,
    told: list[Consequence],
    journal: Mapping[str, object],
    role: Role,
) -> CatalogPlan:
    operation_id = done.intent.operation_id
    # The folder of a dropped database is named after the operation, which a preview has none of.
    facts = [text_of(journal, "way"), journal.get("number"), [each.kind for each in told]]
    preview = Preview(
        procedure=call.name,
        title=f"Undo operation {operation_id} of {done.subject}",
        plan_id=plan_digest(call, *facts),
        consequences=tuple(told),
        typed_name=None,
        role=role,
        undo="Run the operation again.",
    )
    plan = {"subject": done.subject, "planId": preview.plan_id, "undoes": operation_id, **journal}
    return CatalogPlan(preview=preview, journal=plan)


def _already(call: ProcedureCall, done: CatalogOperation, undo_id: str) -> CatalogPlan:
    told = f"Operation {done.intent.operation_id} was undone already, by operation {undo_id}."
    preview = Preview(
        procedure=call.name,
        title=f"Undo operation {done.intent.operation_id}",
        plan_id=plan_digest(call, undo_id),
        consequences=(keeps(told),),
        typed_name=None,
        role=Role.VIEWER,
        undo=NOTHING_TO_UNDO,
    )
    undo = CatalogOperation.find(done.warehouse, undo_id)
    receipt = None if undo is None else undo.receipt()
    return CatalogPlan(preview=preview, journal={}, already=receipt or done.receipt())


def _another_undo(undone: str, operation_id: str) -> CommitConflict:
    return CommitConflict(
        f"Operation {operation_id} undoes operation {undone} too, and was first. Nothing was "
        "changed by this one; look at the receipt of the other.",
        kind=ErrorKind.HEAD_MOVED,
        operation_id=operation_id,
    )
