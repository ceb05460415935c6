"""Tables of main as objects: they are dropped and renamed with journal, recovery and undo.

There are two ways to drop. Where nobody else holds the table, its folder moves out of its database
with all branches. Where a catalog branch holds it, or the store cannot rename folders, main alone
goes: it becomes a rescue branch of the table, and the branches of others go on working.
"""

from typing import Final

from branch_console.catalog.sightings import find_birth
from branch_console.commit.catalog.table_retreat import come_back, retreat
from branch_console.errors import (
    AlreadyExists,
    CommitConflict,
    ErrorKind,
    InvalidInput,
)
from branch_console.format.identifier import Identifier, rescue_name
from branch_console.format.journals.objects import (
    DropTableJournal,
    RenameTableJournal,
    TableDrop,
)
from branch_console.format.lineage_event import LineageKind
from branch_console.format.receipt import Receipt
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
from branch_console.procedures.catalog.catalog_operation import (
    CatalogOperation,
    CatalogPlan,
    complete,
    paths_of,
)
from branch_console.procedures.catalog.database_words import holding
from branch_console.procedures.catalog.held_tables import holders_of, make_held
from branch_console.storage import catalog_paths
from branch_console.storage.catalog_paths import CatalogPaths
from branch_console.storage.directory_mover import MoveOutcome
from branch_console.storage.table_paths import TablePaths

DROPPED: Final = catalog_paths.DROPPED
"""Below the warehouse: where folders of dropped tables are kept."""


def look_at_drop(warehouse: Warehouse, table: Identifier, operation_id: str) -> TableDrop:
    """Look how a table can go."""
    paths = paths_of(warehouse)
    folder = paths.table(table.database, table.table)
    return TableDrop(
        name=table.table_name,
        birth=find_birth(warehouse.catalog.reader, folder),
        kept=paths.dropped(table.table_name, operation_id),
        rescue=rescue_name(operation_id),
        is_held=bool(holders_of(warehouse, paths.relative(folder))),
    )


def drop_table(operation: CatalogOperation, drop: TableDrop) -> str:
    """Let a table of main go, or finish what was cut off; return the sentence of the receipt.

    Raises:
        CommitConflict: Another table has its name by now; it stays.
    """
    store, files = operation.warehouse.store, operation.warehouse.file_io
    reader, table = operation.warehouse.catalog.reader, drop.identifier
    main = TablePaths(table=operation.paths.table(table.database, table.table))
    if files.exists(drop.kept):
        return drop.went(operation.paths.relative(drop.kept))
    # Between a crash and its recovery a branch may have been made that holds it.
    is_held = drop.is_held or bool(
        holders_of(operation.warehouse, operation.paths.relative(main.table))
    )
    if not is_held and not files.exists(main.on(drop.rescue).root):
        if find_birth(reader, main.table) != drop.birth:
            raise _another_table(drop.name, "dropped")
        match store.mover.move(main.table, drop.kept):
            case MoveOutcome.DONE:
                return drop.went(operation.paths.relative(drop.kept))
            case MoveOutcome.TAKEN:
                raise AlreadyExists(f"Something has the name {drop.kept} already.")
            case MoveOutcome.UNSUPPORTED:
                pass  # so main alone goes
    birth = find_birth(reader, main.table)
    if birth not in (drop.birth, None):
        raise _another_table(drop.name, "dropped")
    if birth is not None:
        folder = operation.paths.relative(main.table)
        make_held(operation.warehouse, folder, operation.intent)
    retreat(store, main, drop.rescue)
    return drop.stays


def restore_table(operation: CatalogOperation, drop: TableDrop) -> str:
    """Bring a table back that `drop_table` let go; return the sentence of the receipt.

    Raises:
        CommitConflict: Something else has its name by now.
    """
    store, files = operation.warehouse.store, operation.warehouse.file_io
    table = drop.identifier
    main = TablePaths(table=operation.paths.table(table.database, table.table))
    if files.exists(drop.kept):
        move_folder(operation.warehouse, drop.kept, main.table, drop.birth, "brought back")
    elif files.exists(main.on(drop.rescue).root):
        come_back(store, main, drop.rescue)
    return f"Table {drop.name} is back."


def is_kept(warehouse: Warehouse, drop: TableDrop) -> bool:
    """Whether a dropped table is there to come back: its folder, or its rescue branch."""
    table = drop.identifier
    main = TablePaths(table=paths_of(warehouse).table(table.database, table.table))
    files = warehouse.file_io
    return files.exists(drop.kept) or files.exists(main.on(drop.rescue).root)


def why_not_restored(warehouse: Warehouse, drop: TableDrop) -> str | None:
    """Say why a dropped table cannot come back, None if it can."""
    files, paths, table = warehouse.file_io, paths_of(warehouse), drop.identifier
    main = TablePaths(table=paths.table(table.database, table.table))
    if not is_kept(warehouse, drop):
        return f"nothing is left of table {drop.name}"
    if files.exists(drop.kept):
        taken = files.exists(main.table)
    else:
        taken = files.exists(main.schema_dir) or files.exists(main.snapshot_dir)
    return f"another table has the name {drop.name} by now; rename it first" if taken else None


def plan_table_drop(warehouse: Warehouse, call: ProcedureCall, table: Identifier) -> CatalogPlan:
    """Decide how a table of main goes, which is there and may go."""
    drop = look_at_drop(warehouse, table, call.operation_id)
    holders = holders_of(warehouse, f"{table.database}.db/{table.table}")
    if holders:
        consequences = (
            changes(f"Main goes, into a rescue branch: {holding(holders)} the table."),
            keeps("The table's other branches stay, where every engine reads them."),
        )
    else:
        consequences = (
            loses(f"With it go all branches of {drop.name}."),
            keeps("No file is deleted: its folder moves to .branch-console/dropped."),
        )
    preview = Preview(
        procedure=call.name,
        title=f"Drop table {drop.name}",
        plan_id=plan_digest(call, drop.birth, drop.is_held),
        consequences=consequences,
        typed_name=drop.name,
        role=Role.OPERATOR,
        undo="Undo brings the table back as it was, unless its name has been taken since.",
    )
    journal = DropTableJournal(subject=drop.name, plan_id=preview.plan_id, drop=drop)
    return CatalogPlan(preview=preview, journal=journal)


def finish_table_drop(operation: CatalogOperation, journal: DropTableJournal) -> Receipt:
    """Let the table go; raises CommitConflict."""
    note = drop_table(operation, journal.drop)
    return complete(operation, LineageKind.DROPPED, note)


def plan_table_rename(
    warehouse: Warehouse,
    call: ProcedureCall,
    source: Identifier,
    target: Identifier,
) -> CatalogPlan:
    """Decide whether a table of main, which is there, can get a name that no table has."""
    paths = paths_of(warehouse)
    birth = find_birth(warehouse.catalog.reader, paths.table(source.database, source.table))
    taken = paths.table(target.database, target.table)
    blocked = (_folder_taken(warehouse, target, taken),) if warehouse.file_io.exists(taken) else ()
    preview = Preview(
        procedure=call.name,
        title=f"Rename table {source} to {target}",
        plan_id=plan_digest(call, birth),
        consequences=(
            *blocked,
            changes(f"The table is called {target}, with all its branches, in every engine."),
        ),
        typed_name=None,
        role=Role.EDITOR,
        undo="Undo gives the table its old name back, unless it has been taken since.",
    )
    journal = RenameTableJournal(
        subject=source.table_name, plan_id=preview.plan_id, to=target.table_name, birth=birth
    )
    return CatalogPlan(preview=preview, journal=journal)


def _folder_taken(warehouse: Warehouse, table: Identifier, folder: str) -> Consequence:
    """Say what is in the folder of a name that no table of main has."""
    holders = holders_of(warehouse, paths_of(warehouse).relative(folder))
    held = f"{holding(holders)} a table in it"
    reason = held if holders else "other branches, or what was dropped there, are in it"
    return blocks(
        f"The folder of {table} is taken: {reason}. Choose another name.", ErrorKind.NAME_TAKEN
    )


def finish_table_rename(operation: CatalogOperation, journal: RenameTableJournal) -> Receipt:
    """Move the folder of the table; raises CommitConflict."""
    source, target = journal.subject, journal.to
    move_table(operation, source, target, journal.birth)
    return complete(operation, LineageKind.RENAMED, f"Table {source} is called {target} now.")


def move_table(operation: CatalogOperation, source: str, target: str, birth: str | None) -> None:
    """Move the folder of a table to another name, unless an earlier try has; raises as below."""
    paths = operation.paths
    from_folder, to_folder = _folder(paths, source), _folder(paths, target)
    move_folder(operation.warehouse, from_folder, to_folder, birth, "renamed")


def move_folder(
    warehouse: Warehouse, source: str, target: str, birth: str | None, what: str
) -> None:
    """Move the folder of a table, unless an earlier try has.

    Args:
        warehouse: The warehouse.
        source: The path where the table is.
        target: The path that it gets.
        birth: Tells the table from another one that has its place by now.
        what: The refused action on the table, in the words of the refusal.

    Raises:
        CommitConflict: The table is gone, or something has its new place; nothing was changed.
        InvalidInput: The store cannot rename folders.
    """
    files, reader = warehouse.file_io, warehouse.catalog.reader
    if not files.exists(source) and files.exists(target) and find_birth(reader, target) == birth:
        return  # an earlier try did it
    if not files.exists(source) or find_birth(reader, source) != birth:
        raise _another_table(f"The table in {paths_of(warehouse).relative(source)}", what)
    match warehouse.store.mover.move(source, target):
        case MoveOutcome.DONE:
            return
        case MoveOutcome.TAKEN:
            raise CommitConflict(
                f"Something is at {paths_of(warehouse).relative(target)} already. Nothing was "
                "changed; choose another name.",
                kind=ErrorKind.NAME_TAKEN,
                path=target,
            )
        case MoveOutcome.UNSUPPORTED:
            raise InvalidInput(
                "This store cannot give a folder another name in one step, so that a table is not "
                f"{what} in it. Nothing was changed.",
                kind=ErrorKind.UNSUPPORTED,
            )


def _folder(paths: CatalogPaths, name: str) -> str:
    table = Identifier.parse(name)
    return paths.table(table.database, table.table)


def _another_table(name: str, what: str) -> CommitConflict:
    return CommitConflict(
        f"{name} is gone, or another table by now. It was not {what}; look at the tables, then "
        "run it again.",
        kind=ErrorKind.HEAD_MOVED,
    )
