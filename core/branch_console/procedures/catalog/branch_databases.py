"""CREATE, DROP, RENAME and SET of databases on a catalog branch."""

from functools import partial

from branch_console.catalog.catalog_branch import CatalogOnBranch
from branch_console.commit.catalog.database_commit import make_hidden_database
from branch_console.errors import AlreadyExists, ErrorKind
from branch_console.format.catalog.catalog_version import DatabaseChange
from branch_console.format.catalog.database_file import DatabaseFile
from branch_console.format.journals.objects import NewDatabaseOnBranchJournal
from branch_console.format.receipt import Receipt
from branch_console.operations.database_requests import (
    CreateDatabaseRequest,
    DropDatabaseRequest,
    RenameDatabaseRequest,
    SetDatabasePropertiesRequest,
)
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import Consequence, blocks, changes, keeps, loses
from branch_console.procedures.call.permissions import Role
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.catalog.branch_change import (
    BranchChange,
    check_in_scope,
    finish_change,
    out_of_scope,
    plan_change,
)
from branch_console.procedures.catalog.catalog_operation import CatalogOperation, CatalogPlan
from branch_console.procedures.catalog.database_words import (
    checked_name,
    given_values,
    going_along,
    listed,
    new_database_id,
    no_database,
    nothing_to_do,
    properties_of,
    property_sentence,
)


def plan_creation(warehouse: Warehouse, seen: CatalogOnBranch, call: ProcedureCall) -> CatalogPlan:
    """Decide whether a database can be made on a branch; raises AlreadyExists, Refused."""
    request = call.request(CreateDatabaseRequest)
    name = checked_name(request.database)
    title = f"Create database {name!r}"
    properties = given_values(title, properties_of(request.procedure, request.properties))
    if name in seen.databases():
        if request.if_not_exists:
            text = f"There is a database {name!r} already; nothing was changed."
            return nothing_to_do(warehouse, call, title, text)
        raise _name_taken(seen, name)
    check_in_scope(seen, f"Database {name!r}", holds=seen.scope.holds_database(name))
    database_id = new_database_id(call.operation_id)
    file = DatabaseFile(id=database_id, name=name, is_on_main=False, properties=properties)
    change = BranchChange(
        subject=f"database {name!r}",
        title=title,
        sentence=f"Database {name!r} was created.",
        role=Role.EDITOR,
        databases={database_id: DatabaseChange(name=name, properties=dict(properties))},
        tables={},
        consequences=(
            changes(f"{seen.branch!r} gets an empty database {name!r}."),
            keeps("Other engines list it too, empty; main here does not."),
        ),
        journal=partial(NewDatabaseOnBranchJournal, file=file),
    )
    return plan_change(warehouse, seen, call, change)


def finish_creation(operation: CatalogOperation, journal: NewDatabaseOnBranchJournal) -> Receipt:
    """Make the folder if there is none, then the version; raises CommitConflict."""
    make_hidden_database(operation.warehouse.store, operation.paths, journal.file)
    return finish_change(operation, journal)


def plan_drop(warehouse: Warehouse, seen: CatalogOnBranch, call: ProcedureCall) -> CatalogPlan:
    """Decide whether a database of a branch may go; raises NotFound, Refused."""
    request = call.request(DropDatabaseRequest)
    name = request.database
    title = f"Drop database {name!r}"
    if request.if_exists and name not in seen.databases():
        text = f"There is no database {name!r}; nothing was changed."
        return nothing_to_do(warehouse, call, title, text)
    key = _key_of(seen, name)
    inside = {each: table for each, table in seen.recorded.tables.items() if table.database == key}
    names = tuple(sorted(table.name or "" for table in inside.values()))
    warned: tuple[Consequence, ...] = ()
    if names and not request.cascade:
        warned = (
            blocks(
                f"Database {name!r} is not empty: it holds {listed(names)}. Say CASCADE to drop "
                "them too, or drop or move them first.",
                ErrorKind.DATABASE_NOT_EMPTY,
                names,
            ),
        )
    elif names:
        warned = (loses(f"{going_along(names)} of {seen.branch!r}.", names),)
    change = BranchChange(
        subject=f"database {name!r}",
        title=title,
        sentence=f"Database {name!r} was dropped.",
        role=Role.OPERATOR,
        databases={key: None},
        tables=dict.fromkeys(inside),
        consequences=(*warned, keeps("Branches of its tables stay, so that undo works.")),
        typed_name=name,
    )
    return plan_change(warehouse, seen, call, change)


def plan_rename(warehouse: Warehouse, seen: CatalogOnBranch, call: ProcedureCall) -> CatalogPlan:
    """Decide whether a database of a branch can get another name; raises as the others do."""
    request = call.request(RenameDatabaseRequest)
    name, to = request.database, checked_name(request.to)
    title = f"Rename database {name!r} to {to!r}"
    key = _key_of(seen, name)
    if to == name:
        text = f"Database {name!r} has that name already; nothing was changed."
        return nothing_to_do(warehouse, call, title, text)
    if to in seen.databases():
        raise _name_taken(seen, to)
    check_in_scope(seen, f"Database {to!r}", holds=seen.scope.holds_database(to))
    change = BranchChange(
        subject=f"database {name!r}",
        title=title,
        sentence=f"Database {name!r} is called {to!r} now.",
        role=Role.EDITOR,
        databases={key: DatabaseChange(name=to)},
        tables={},
        consequences=(changes(f"{seen.branch!r} calls it {to!r}, with all its tables."),),
    )
    return plan_change(warehouse, seen, call, change)


def plan_set(warehouse: Warehouse, seen: CatalogOnBranch, call: ProcedureCall) -> CatalogPlan:
    """Decide whether properties of a database of a branch can change; raises NotFound, Refused."""
    request = call.request(SetDatabasePropertiesRequest)
    name = request.database
    title = f"Change properties of database {name!r}"
    key = _key_of(seen, name)
    old = seen.database(name)
    wanted = properties_of(request.procedure, request.properties)
    changed = {each: value for each, value in wanted.items() if old.get(each) != value}
    if not changed:
        text = f"Database {name!r} has these properties already. Nothing was changed."
        return nothing_to_do(warehouse, call, title, text)
    change = BranchChange(
        subject=f"database {name!r}",
        title=title,
        sentence=f"Database {name!r} was altered.",
        role=Role.EDITOR,
        databases={key: DatabaseChange(properties=changed)},
        tables={},
        consequences=tuple(
            changes(property_sentence(each, old.get(each), value))
            for each, value in changed.items()
        ),
    )
    return plan_change(warehouse, seen, call, change)


def _key_of(seen: CatalogOnBranch, name: str) -> str:
    """The id of a database that the branch holds as a whole; raises NotFound or Refused."""
    if name not in seen.databases():
        raise no_database(name, seen.databases())
    key = seen.find_database(name)
    if key is None or not seen.scope.holds_database(name):
        raise out_of_scope(seen, f"Database {name!r}")
    return key


def _name_taken(seen: CatalogOnBranch, name: str) -> AlreadyExists:
    return AlreadyExists(
        f"Catalog branch {seen.branch!r} has a database {name!r} already. Nothing was changed; "
        "choose another name.",
        database=name,
    )
