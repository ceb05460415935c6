"""CREATE, DROP, RENAME and SET of databases on main: folders that move, files that are added."""

from collections.abc import Collection, Iterable
from dataclasses import replace

from branch_console.commit.catalog.database_commit import (
    change_database,
    move_database,
    publish_database_file,
    rename_database,
)
from branch_console.commit.journal import Journal
from branch_console.commit.rows import staged_rows
from branch_console.errors import (
    CommitConflict,
    ErrorKind,
    InvalidInput,
    PaimonError,
)
from branch_console.format.catalog.database_file import DatabaseFile, NumberedDatabaseFile
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.format.journals.objects import (
    DatabaseJournal,
    DropDatabaseJournal,
    RenameDatabaseJournal,
    SetDatabaseJournal,
)
from branch_console.format.lineage_event import LineageKind
from branch_console.format.receipt import Receipt
from branch_console.operations.database_requests import (
    CreateDatabaseRequest,
    DropDatabaseRequest,
    RenameDatabaseRequest,
    SetDatabasePropertiesRequest,
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
from branch_console.procedures.call.other_catalog import check_catalog_of_database
from branch_console.procedures.call.permissions import Role
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.catalog.catalog_operation import (
    CatalogOperation,
    CatalogPlan,
    complete,
    paths_of,
)
from branch_console.procedures.catalog.database_words import (
    checked_name,
    given_values,
    going_along,
    holding,
    listed,
    name_taken,
    new_database_id,
    no_database,
    nothing_to_do,
    properties_of,
    property_sentence,
    with_properties,
)
from branch_console.procedures.catalog.held_tables import holders_in
from branch_console.procedures.catalog.main_tables import drop_table, look_at_drop
from branch_console.procedures.catalog.states import read_main_now
from branch_console.procedures.history.protection import protection_blocks
from branch_console.storage.catalog_paths import DATABASE_SUFFIX
from branch_console.table.database_files import find_database_file


def plan_creation(warehouse: Warehouse, call: ProcedureCall) -> CatalogPlan:
    """Decide whether a database can be made.

    Raises:
        AlreadyExists: There is such a database.
        InvalidInput: No database can have the name.
        NotAllowed: Another catalog keeps the databases.
    """
    request = call.request(CreateDatabaseRequest)
    name = checked_name(request.database)
    title = f"Create database {name!r}"
    properties = given_values(title, properties_of(request.procedure, request.properties))
    if name in warehouse.catalog.databases():
        if request.if_not_exists:
            return nothing_to_do(
                warehouse,
                call,
                title,
                f"There is a database {name!r} already; nothing was changed.",
            )
        raise name_taken(name)
    check_catalog_of_database(
        warehouse, None, f"Database {name!r} is not created", consequence="not know the database"
    )
    # A catalog branch may have made a database of that name: its folder is shared.
    paths = paths_of(warehouse)
    before = find_database_file(warehouse.file_io, paths, paths.database(name))
    number = 0 if before is None else before.number
    file = NumberedDatabaseFile(
        number=number + 1,
        content=DatabaseFile(
            id=new_database_id(call.operation_id), name=name, properties=properties
        ),
    )
    preview = Preview(
        procedure=call.name,
        title=title,
        plan_id=plan_digest(call, number),
        consequences=(
            changes(f"The warehouse gets an empty database {name!r}, which every engine lists."),
            *(keeps(f"Property {key!r} is {value!r}.") for key, value in properties.items()),
        ),
        typed_name=None,
        role=Role.EDITOR,
        undo="Undo drops the database again, while it is empty.",
    )
    journal = DatabaseJournal(subject=name, plan_id=preview.plan_id, reason=call.reason, file=file)
    return CatalogPlan(preview=preview, journal=journal)


def finish_creation(operation: CatalogOperation, journal: DatabaseJournal) -> Receipt:
    """Add the first file of the database; raises CommitConflict."""
    name, folder = journal.subject, operation.paths.database(journal.subject)
    publish_database_file(operation.warehouse.store, operation.paths, folder, journal.file)
    return complete(operation, LineageKind.CREATED, f"Database {name!r} was created.")


def plan_drop(warehouse: Warehouse, call: ProcedureCall) -> CatalogPlan:
    """Decide whether a database may go, and say what goes with it.

    Raises:
        NotFound: There is no such database.
        NotAllowed: Another catalog keeps the databases.
    """
    request = call.request(DropDatabaseRequest)
    name = request.database
    title = f"Drop database {name!r}"
    if request.if_exists and name not in warehouse.catalog.databases():
        return nothing_to_do(
            warehouse, call, title, f"There is no database {name!r}; nothing was changed."
        )
    check_database(warehouse, name)
    check_catalog_of_database(
        warehouse,
        name,
        f"Database {name!r} is not dropped",
        consequence="still list the database and its tables, without their files",
    )
    paths = paths_of(warehouse)
    file = database_file_of(warehouse, name)
    tables = tables_in(warehouse, name)
    holders = holders_in(warehouse, name)
    found: list[Consequence] = []
    if tables and not request.cascade:
        found.append(
            blocks(
                f"Database {name!r} is not empty: it holds {listed(tables)}. Say CASCADE to drop "
                "them too, or drop or move them first.",
                ErrorKind.DATABASE_NOT_EMPTY,
                tables,
            )
        )
    else:
        found += busy_tables(warehouse, name, tables, "dropped")
        if tables:
            found.append(loses(f"{going_along(tables)} and all their branches.", tables))
    where: tuple[Consequence, ...]
    if holders:
        where = (
            keeps(
                f"Tables in it stay where {holding(holders)} them, and other engines still list "
                "the database."
            ),
        )
    else:
        where = (
            changes("Its folder moves to .branch-console/dropped, where no engine lists it."),
            keeps("No file is deleted."),
        )
    preview = Preview(
        procedure=call.name,
        title=title,
        plan_id=plan_digest(call, file.number, file.content.id, tables, holders),
        consequences=(*found, *where),
        typed_name=name,
        role=Role.OPERATOR,
        undo="Undo brings the database back as it was, unless its name has been taken since.",
    )
    drops = (
        look_at_drop(warehouse, Identifier(database=name, table=each), call.operation_id)
        for each in (tables if preview.can_run else ())
    )
    journal = DropDatabaseJournal(
        subject=name,
        plan_id=preview.plan_id,
        reason=call.reason,
        file=file,
        kept=paths.dropped(f"{name}.db", call.operation_id),
        drops=tuple(drops),
        is_held=bool(holders),
    )
    return CatalogPlan(preview=preview, journal=journal)


def finish_drop(operation: CatalogOperation, journal: DropDatabaseJournal) -> Receipt:
    """Let the database go: its folder if nobody holds a table in it, else its tables.

    Raises:
        CommitConflict: The database is another one by now, or got a table.
    """
    name, kept, drops, file = journal.subject, journal.kept, journal.drops, journal.file
    folder = operation.paths.database(name)
    known = [each.identifier.table for each in drops]
    text = f"Database {name!r} was dropped."
    if not journal.is_held and move_out(operation.warehouse, folder, kept, file, known):
        dropped = (f"With it went {listed(known)}.",) if known else ()
        where = f"Its folder is kept as {operation.paths.relative(kept)}."
        return complete(operation, LineageKind.DROPPED, f"{text} {where}", *dropped)
    check_nothing_new(operation.warehouse, folder, known)
    notes = [drop_table(operation, each) for each in drops]
    hide_database(operation.warehouse, folder, file)
    return complete(operation, LineageKind.DROPPED, text, *notes)


def move_out(
    warehouse: Warehouse,
    folder: str,
    kept: str,
    file: NumberedDatabaseFile,
    known: Collection[str] = (),
) -> bool:
    """Move the folder of a database among those that were dropped, unless an earlier try has.

    Args:
        warehouse: The warehouse.
        folder: The folder of the database.
        kept: The folder that it becomes.
        file: The known file of the database.
        known: The tables that may go with it, by name.

    Returns:
        Whether it went; it stays where a catalog branch holds a table in it, or where the store
        cannot rename folders.

    Raises:
        CommitConflict: The database is another one by now, or got a table.
    """
    if not warehouse.file_io.exists(kept):
        check_nothing_new(warehouse, folder, known)
        # A branch that holds a table may have been made between a crash and its recovery.
        if holders_in(warehouse, name_of_folder(folder)):
            return False
    return move_database(warehouse.store, paths_of(warehouse), folder, kept, file)


def check_nothing_new(warehouse: Warehouse, folder: str, known: Collection[str]) -> None:
    """Raise CommitConflict if main has tables in a database that goes, but for known ones."""
    if not warehouse.file_io.exists(folder):
        return
    name = name_of_folder(folder)
    # Between a crash and its recovery somebody may have made one.
    strange = [each for each in tables_in(warehouse, name) if each not in known]
    if strange:
        raise CommitConflict(
            f"Database {name!r} got {listed(strange)} in the meantime. Nothing was dropped; "
            "look at the database, then run it again.",
            kind=ErrorKind.HEAD_MOVED,
        )


def folder_that_came_back(warehouse: Warehouse, folder: str) -> str | None:
    """Say that something has an old place again which a move has left; None if it is free."""
    if not warehouse.file_io.exists(folder):
        return None
    return (
        f"There is a folder {paths_of(warehouse).relative(folder)} again: another engine wrote "
        "there meanwhile. Nothing of it was removed; look at it."
    )


def hide_database(warehouse: Warehouse, folder: str, file: NumberedDatabaseFile) -> None:
    """Have main show a database no more whose folder stays."""
    change_database(
        warehouse.store,
        paths_of(warehouse),
        folder,
        file,
        lambda found: replace(found, is_on_main=False),
    )


def name_of_folder(folder: str) -> str:
    """Return the name of the database of a folder."""
    return folder.rpartition("/")[2].removesuffix(DATABASE_SUFFIX)


def plan_rename(warehouse: Warehouse, call: ProcedureCall) -> CatalogPlan:
    """Decide whether a database can get another name.

    Raises:
        NotFound: There is no such database.
        AlreadyExists: There is a database of the new name.
        InvalidInput: No database can have the new name.
        NotAllowed: Another catalog keeps the databases.
    """
    request = call.request(RenameDatabaseRequest)
    name, to = request.database, checked_name(request.to)
    check_database(warehouse, name)
    title = f"Rename database {name!r} to {to!r}"
    if to == name:
        return nothing_to_do(
            warehouse, call, title, f"Database {name!r} has that name already; nothing was changed."
        )
    if to in warehouse.catalog.databases():
        raise name_taken(to)
    check_catalog_of_database(
        warehouse,
        name,
        f"Database {name!r} is not renamed",
        consequence="still list its tables by their old names, without their files",
    )
    paths = paths_of(warehouse)
    file = database_file_of(warehouse, name)
    tables = tables_in(warehouse, name)
    found = list(busy_tables(warehouse, name, tables, "renamed"))
    if warehouse.file_io.exists(paths.database(to)):
        found.append(
            blocks(
                f"The folder {to}.db is taken: a catalog branch has a database {to!r}. Choose "
                "another name.",
                ErrorKind.NAME_TAKEN,
            )
        )
    moved = f", with {listed(tables)}" if tables else ""
    preview = Preview(
        procedure=call.name,
        title=title,
        plan_id=plan_digest(call, file.number, file.content.id, tables),
        consequences=(
            *found,
            changes(f"The folder {name}.db becomes {to}.db{moved}."),
            *(
                (changes("Other engines find these tables by their new names only.", tables),)
                if tables
                else ()
            ),
            keeps("No file is written again: snapshots, branches and tags move with their tables."),
        ),
        typed_name=None,
        role=Role.EDITOR,
        undo="Undo gives the database its old name back, unless it has been taken since.",
    )
    journal = RenameDatabaseJournal(
        subject=name, plan_id=preview.plan_id, reason=call.reason, file=file, to=to
    )
    return CatalogPlan(preview=preview, journal=journal)


def finish_rename(operation: CatalogOperation, journal: RenameDatabaseJournal) -> Receipt:
    """Move the folder of the database to its new name; raises CommitConflict."""
    name, to = journal.subject, journal.to
    store, paths = operation.warehouse.store, operation.paths
    rename_database(store, paths, paths.database(name), paths.database(to), to, journal.file)
    notes = [f"Database {name!r} is called {to!r} now."]
    came_back = folder_that_came_back(operation.warehouse, paths.database(name))
    if came_back is not None:
        notes.append(came_back)
    return complete(operation, LineageKind.RENAMED, *notes)


def database_file_of(warehouse: Warehouse, name: str) -> NumberedDatabaseFile:
    """Return the file of a database of main; one of another engine gets its first with number 1.

    Its id is the one under which main's ledger knows it, or would: by the name alone it could be
    that of another database, which had the name before.

    Raises:
        FormatError: Its file cannot be decoded.
        NotFound: It went in the meantime.
    """
    paths = paths_of(warehouse)
    found = find_database_file(warehouse.file_io, paths, paths.database(name))
    if found is not None:
        return found
    ids = {each.name: key for key, each in read_main_now(warehouse).main.databases.items()}
    if name not in ids:
        raise no_database(name, (each for each in ids if each is not None))
    return NumberedDatabaseFile(number=0, content=DatabaseFile(id=ids[name], name=name))


def plan_set(warehouse: Warehouse, call: ProcedureCall) -> CatalogPlan:
    """Decide whether properties of a database can change.

    Raises:
        NotFound: There is no such database.
        NotAllowed: Another catalog keeps the databases.
    """
    request = call.request(SetDatabasePropertiesRequest)
    name = request.database
    check_database(warehouse, name)
    title = f"Change properties of database {name!r}"
    wanted = properties_of(request.procedure, request.properties)
    if not wanted:
        raise InvalidInput(f"{title}: no property was given. Nothing was changed.")
    check_catalog_of_database(
        warehouse,
        name,
        f"Database {name!r} is not changed",
        consequence="still tell of its properties as they are now",
    )
    before = database_file_of(warehouse, name)
    old = before.content.properties
    earlier = {key: old.get(key) for key, value in wanted.items() if old.get(key) != value}
    if not earlier:
        return nothing_to_do(
            warehouse,
            call,
            title,
            f"Database {name!r} has these properties already. Nothing was changed.",
        )
    content = replace(before.content, properties=with_properties(old, wanted))
    file = NumberedDatabaseFile(number=before.number + 1, content=content)
    preview = Preview(
        procedure=call.name,
        title=title,
        plan_id=plan_digest(call, before.number, before.content.id),
        consequences=tuple(
            changes(property_sentence(key, value, wanted[key])) for key, value in earlier.items()
        ),
        typed_name=None,
        role=Role.EDITOR,
        undo="Undo gives these properties the values from before, while nobody changed them.",
    )
    journal = SetDatabaseJournal(
        subject=name, plan_id=preview.plan_id, reason=call.reason, file=file, earlier=earlier
    )
    return CatalogPlan(preview=preview, journal=journal)


def finish_set(operation: CatalogOperation, journal: SetDatabaseJournal) -> Receipt:
    """Add a file with the properties; raises CommitConflict."""
    name, file = journal.subject, journal.file
    folder = operation.paths.database(name)
    publish_database_file(operation.warehouse.store, operation.paths, folder, file)
    notes = (
        property_sentence(key, value, file.content.properties.get(key))
        for key, value in journal.earlier.items()
    )
    return complete(operation, LineageKind.ALTERED, f"Database {name!r} was altered.", *notes)


def check_database(warehouse: Warehouse, name: str) -> None:
    """Raise NotFound, with near names, unless main has a database of that name."""
    known = warehouse.catalog.databases()
    if name not in known:
        raise no_database(name, known)


def busy_tables(
    warehouse: Warehouse, database: str, tables: Iterable[str], what: str, *, but_of: str = ""
) -> tuple[Consequence, ...]:
    """Return why tables of a database cannot move: protected branches, operations at work.

    Args:
        warehouse: The warehouse.
        database: The database.
        tables: Names of tables in it.
        what: The refused action, such as `dropped`.
        but_of: The operation that asks, whose own work on the tables is in nobody's way.
    """
    found: list[Consequence] = []
    for name in tables:
        try:
            table = warehouse.find_table(Identifier(database=database, table=name))
        except PaimonError:
            continue  # a folder of another type, which moves as it is
        if table is None:
            continue
        try:
            events = table.ledger.whole()
            branches = (MAIN_BRANCH, *table.branches.names())
            open_intents = Journal(warehouse.store, table.paths).open_intents().readable
        except PaimonError as error:
            # An event that cannot be read may protect a branch.
            found.append(blocks(f"{database}.{name}: {error.message}", error.kind))
            continue
        for branch in branches:
            found += (
                replace(each, text=f"{database}.{name}: {each.text}")
                for each in protection_blocks(events, branch, what)
            )
        found += (
            blocks(
                f"Operation {intent.operation_id} ({intent.procedure}) is at work on "
                f"{database}.{name}, or was cut off. Wait for it, or run: branch-console recover.",
                ErrorKind.BRANCH_IN_USE,
            )
            for intent in open_intents
            # Rows that are staged change no branch before somebody publishes them.
            if intent.procedure != staged_rows.PROCEDURE
            and not (but_of and intent.operation_id.startswith(f"{but_of}-"))
        )
    return tuple(found)


def tables_in(warehouse: Warehouse, database: str) -> tuple[str, ...]:
    """Return the names of what main lists in a database."""
    return warehouse.catalog.table_names(database)
