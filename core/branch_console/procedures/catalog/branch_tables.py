"""CREATE TABLE, DROP TABLE and ALTER TABLE … RENAME TO on a catalog branch."""

import hashlib
from functools import partial
from typing import Final

from branch_console.catalog.catalog_branch import CatalogOnBranch, Member
from branch_console.commit.schema.schema_commit import (
    check_new_schema,
    create_table,
    withdraw_schemas,
)
from branch_console.errors import AlreadyExists, CommitConflict, ErrorKind, InvalidInput
from branch_console.format.catalog.catalog_version import TableChange
from branch_console.format.identifier import Identifier
from branch_console.format.journals.objects import NewTableOnBranchJournal
from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console.format.receipt import Receipt
from branch_console.format.table_schema import TableSchema
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import changes, keeps
from branch_console.procedures.call.permissions import Role
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.catalog.branch_change import (
    BranchChange,
    finish_change,
    is_made,
    out_of_scope,
    plan_change,
)
from branch_console.procedures.catalog.catalog_operation import CatalogOperation, CatalogPlan
from branch_console.procedures.catalog.database_words import no_database, nothing_to_do
from branch_console.storage.catalog_paths import CatalogPaths
from branch_console.storage.table_paths import TablePaths
from branch_console.table.file_store_table import FileStoreTable

_ID_DIGITS: Final = 16


def plan_creation(
    warehouse: Warehouse,
    seen: CatalogOnBranch,
    call: ProcedureCall,
    table: Identifier,
    schema: TableSchema,
    *,
    is_lenient: bool,
) -> CatalogPlan:
    """Decide whether a table can be made on a branch, and where its files go.

    Raises:
        AlreadyExists: The branch has a table of that name.
        NotFound: The branch has no such database.
        Refused: The name is outside of the scope.
        InvalidInput: No table can begin with the schema.
    """
    check_new_schema(schema)
    title = f"Create table {table.table_name}"
    database = database_of(seen, table)
    if table.table in seen.table_names(table.database):
        if is_lenient:
            text = f"There is a table {table.table_name} already; it stays as it is."
            return nothing_to_do(warehouse, call, title, text)
        raise _name_taken(seen, table)
    folder = _folder_for(warehouse, seen, table, call.operation_id)
    change = BranchChange(
        subject=f"table {table.table_name}",
        title=title,
        sentence=f"Table {table.table_name} was created.",
        role=Role.EDITOR,
        databases={},
        tables={
            _table_id(call.operation_id): TableChange(
                database=database,
                name=table.table,
                folder=folder,
                birth=hashlib.sha256(schema.to_json().encode()).hexdigest(),
                schema=schema.id,
            )
        },
        consequences=(changes(f"{seen.branch!r} gets a table {table.table_name} without rows."),),
        journal=partial(
            NewTableOnBranchJournal, folder=folder, content=seen.content, schema=schema
        ),
    )
    return plan_change(warehouse, seen, call, change)


def finish_creation(operation: CatalogOperation, journal: NewTableOnBranchJournal) -> Receipt:
    """Write the schema, then the version; raises CommitConflict, with the schema taken back."""
    schema, store = journal.schema, operation.warehouse.store
    content, path = journal.content, operation.paths.folder(journal.folder)
    paths = TablePaths(table=path, branch=content)
    try:
        create_table(store, paths, schema)
    except AlreadyExists as error:
        raise CommitConflict(
            f"{error.message} Nothing was changed.", kind=ErrorKind.NAME_TAKEN, path=path
        ) from error
    identifier = Identifier(database="new", table="table", branch=content)
    table = FileStoreTable(operation.warehouse.catalog.reader, path, identifier)
    event = LineageEvent(
        id=operation.intent.operation_id,
        branch=content,
        operation_id=operation.intent.operation_id,
        actor=operation.intent.actor,
        kind=LineageKind.CREATED,
        time_millis=operation.intent.event_millis,
    )
    # It tells a table branch that was lost from one that is not made yet.
    store.publisher.publish(paths.event(event.time_millis, event.id), event.to_json().encode())
    try:
        return finish_change(operation, journal)
    except CommitConflict:
        if not is_made(operation.warehouse.ledger, journal.catalog_version):
            withdraw_schemas(table, store, [schema])
        raise


def plan_drop(
    warehouse: Warehouse,
    seen: CatalogOnBranch,
    call: ProcedureCall,
    table: Identifier,
    *,
    is_lenient: bool,
) -> CatalogPlan:
    """Decide whether a table of a branch may go; raises NotFound or Refused."""
    title = f"Drop table {table.table_name}"
    if is_lenient and seen.find_member(table) is None and seen.find(table) is None:
        text = f"There is no table {table.table_name}; nothing was dropped."
        return nothing_to_do(warehouse, call, title, text)
    member = member_of(seen, table)
    change = BranchChange(
        subject=f"table {table.table_name}",
        title=title,
        sentence=f"Table {table.table_name} was dropped.",
        role=Role.OPERATOR,
        databases={},
        tables={member.id: None},
        consequences=(
            changes(f"{seen.branch!r} has no table {table.table_name} any more."),
            keeps("Its table branch stays, so that undo works."),
        ),
        typed_name=table.table_name,
    )
    return plan_change(warehouse, seen, call, change)


def plan_rename(
    warehouse: Warehouse,
    seen: CatalogOnBranch,
    call: ProcedureCall,
    source: Identifier,
    target: Identifier,
) -> CatalogPlan:
    """Decide whether a table of a branch can get another name, or move to another database.

    Raises:
        NotFound: There is no such table, or no database of the new name.
        AlreadyExists: The branch has a table of the new name.
        Refused: A name is outside of the scope.
    """
    member = member_of(seen, source)
    database = database_of(seen, target)
    if target.table in seen.table_names(target.database):
        raise _name_taken(seen, target)
    name, place = target.table, database
    change = BranchChange(
        subject=f"table {source.table_name}",
        title=f"Rename table {source.table_name} to {target.table_name}",
        sentence=f"Table {source.table_name} is called {target.table_name} now.",
        role=Role.EDITOR,
        databases={},
        tables={
            member.id: TableChange(
                database=place if place != member.table.database else None, name=name
            )
        },
        consequences=(
            changes(f"{seen.branch!r} calls it {target.table_name}."),
            keeps("Other engines read its branch under the name that main has for the table."),
        ),
    )
    return plan_change(warehouse, seen, call, change)


def member_of(seen: CatalogOnBranch, table: Identifier) -> Member:
    """Return the table of a branch that has a name.

    Raises:
        NotFound: There is no such table.
        Refused: It is outside of the branch.
    """
    if not table.is_main:
        raise InvalidInput(
            f"{table} is a branch of a table, and a branch of the catalog has names of its own. "
            f"Say {table.table_name}.",
            kind=ErrorKind.INVALID_NAME,
        )
    found = seen.find_member(table)
    if found is None:
        seen.open(table)  # says so if there is no such table at all
        raise out_of_scope(seen, f"Table {table.table_name}")
    return found


def database_of(seen: CatalogOnBranch, table: Identifier) -> str:
    """Return the id of the database in which a branch may have a table of a name.

    Raises:
        NotFound: The branch has no such database.
        Refused: The name is outside of the scope.
    """
    if not table.is_main:
        raise InvalidInput(
            f"{table} names a branch of a table, and this one is made for a branch of the catalog. "
            f"Say {table.table_name}.",
            kind=ErrorKind.INVALID_NAME,
        )
    if table.database not in seen.databases():
        raise no_database(table.database, seen.databases())
    key = seen.find_database(table.database)
    if key is None or not seen.scope.holds_table(table.database, table.table):
        raise out_of_scope(seen, f"Table {table.table_name}")
    return key


def _folder_for(
    warehouse: Warehouse, seen: CatalogOnBranch, table: Identifier, operation_id: str
) -> str:
    """The folder of a new table below the warehouse: that of its name, unless that is taken.

    Without a database folder of that name one is not made: every engine would list a database.
    """
    paths: CatalogPaths = warehouse.ledger.paths
    files, folder = warehouse.file_io, paths.table(table.database, table.table)
    is_taken = (
        not files.exists(paths.database(table.database))
        or files.exists(TablePaths(table=folder).schema_dir)
        or files.exists(TablePaths(table=folder, branch=seen.content).root)
    )
    return paths.relative(paths.new_table(_table_id(operation_id)) if is_taken else folder)


def _table_id(operation_id: str) -> str:
    return f"t-{hashlib.sha256(operation_id.encode()).hexdigest()[:_ID_DIGITS]}"


def _name_taken(seen: CatalogOnBranch, table: Identifier) -> AlreadyExists:
    return AlreadyExists(
        f"Catalog branch {seen.branch!r} has a table {table.table_name} already. Nothing was "
        "changed; choose another name.",
        table=table.table_name,
    )
