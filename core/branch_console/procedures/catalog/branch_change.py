"""Statements on a catalog branch: each is the next version of its ledger, and nothing else moves.

The version is made with create-if-absent on the number behind the one that was looked at, so that a
statement that somebody else was faster than changes nothing.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from branch_console.catalog.catalog_branch import CatalogOnBranch, MemberState
from branch_console.catalog.catalog_ledger import CatalogLedger, RecordedCatalog
from branch_console.errors import CommitConflict, ErrorKind, NotFound, Refused
from branch_console.format.catalog.catalog_version import (
    CatalogVersion,
    DatabaseChange,
    TableChange,
    VersionKind,
)
from branch_console.format.journals.objects import BranchChangeJournal
from branch_console.format.lineage_event import LineageKind
from branch_console.format.receipt import Receipt
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
from branch_console.procedures.catalog.catalog_operation import (
    CatalogOperation,
    CatalogPlan,
    complete,
)

_KINDS = {
    "create_database": LineageKind.CREATED,
    "drop_database": LineageKind.DROPPED,
    "rename_database": LineageKind.RENAMED,
    "set_database_properties": LineageKind.ALTERED,
    "create_table": LineageKind.CREATED,
    "drop_table": LineageKind.DROPPED,
    "rename_table": LineageKind.RENAMED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchChange:
    """The changes that a statement makes on a catalog branch.

    Attributes:
        subject: The database or table, for people.
        title: The change and its object, as the title of the preview.
        sentence: The sentence of the receipt.
        databases: The changes by database id; None for a database that is dropped.
        tables: The changes by table id; None for a table that is dropped.
        consequences: The consequences, besides the one that nothing else changes.
        typed_name: The name that a person types to confirm.
        journal: Makes the journal of the operation.
    """

    subject: str
    title: str
    sentence: str
    role: Role
    databases: Mapping[str, DatabaseChange | None]
    tables: Mapping[str, TableChange | None]
    consequences: tuple[Consequence, ...] = ()
    typed_name: str | None = None
    journal: Callable[..., BranchChangeJournal] = BranchChangeJournal


def plan_change(
    warehouse: Warehouse, seen: CatalogOnBranch, call: ProcedureCall, change: BranchChange
) -> CatalogPlan:
    """Return the plan of a statement on a catalog branch."""
    return plan_version(call, change, _next_version(warehouse, seen, call, change))


def _next_version(
    warehouse: Warehouse, seen: CatalogOnBranch, call: ProcedureCall, change: BranchChange
) -> CatalogVersion:
    return CatalogVersion(
        branch=seen.branch,
        number=seen.version.number + 1,
        kind=VersionKind.CHANGED,
        parents=(seen.version,),
        operation=call.operation_id,
        actor=call.actor,
        time_millis=warehouse.clock(),
        statement=call.statement,
        reason=call.reason,
        databases=change.databases,
        tables=change.tables,
    )


def plan_version(call: ProcedureCall, change: BranchChange, version: CatalogVersion) -> CatalogPlan:
    """Return the plan of an operation that comes to one version."""
    preview = Preview(
        procedure=call.name,
        title=f"{change.title} on catalog branch {version.branch!r}",
        plan_id=plan_digest(call, str(version.name)),
        consequences=(
            *change.consequences,
            keeps(f"Only {version.branch!r} changes, to {version.name}; main stays as it is."),
        ),
        typed_name=change.typed_name,
        role=change.role,
        undo="You can undo this until the next version of the branch.",
    )
    return CatalogPlan(
        preview=preview,
        branch=version.branch,
        journal=change.journal(
            subject=change.subject,
            plan_id=preview.plan_id,
            catalog_version=version,
            sentence=change.sentence,
        ),
    )


def finish_change(operation: CatalogOperation, journal: BranchChangeJournal) -> Receipt:
    """Make the version, unless an earlier try has.

    Raises:
        CommitConflict: Somebody else made that version first; nothing was changed.
    """
    note = publish_change(operation, journal)
    return complete(operation, _KINDS[operation.intent.procedure], note)


def publish_change(operation: CatalogOperation, journal: BranchChangeJournal) -> str:
    """Make the version, and return the sentence of the receipt; raises as `finish_change`."""
    version = journal.catalog_version
    publish_version(operation, version)
    return f"{journal.sentence} Catalog branch {version.branch!r} is at {version.name}."


def publish_version(operation: CatalogOperation, version: CatalogVersion) -> None:
    """Make a version, unless an earlier try has; raises CommitConflict."""
    ledger, publisher = operation.warehouse.ledger, operation.warehouse.store.publisher
    if ledger.publish(publisher, version) or is_made(ledger, version):
        return
    raise CommitConflict(
        f"Somebody else changed catalog branch {version.branch!r} in the meantime. Nothing was "
        "changed by this operation; look at the branch, then run it again.",
        kind=ErrorKind.HEAD_MOVED,
        branch=version.branch,
    )


def is_made(ledger: CatalogLedger, version: CatalogVersion) -> bool:
    """Whether the version of that number is this one."""
    try:
        return ledger.version(version.name).operation == version.operation
    except NotFound:
        return False


def plan_change_back(
    warehouse: Warehouse,
    call: ProcedureCall,
    done: CatalogOperation,
    journal: BranchChangeJournal,
) -> CatalogPlan:
    """Decide whether a statement on a catalog branch can be undone."""
    version, ledger = journal.catalog_version, warehouse.ledger
    seen = warehouse.on(version.branch)
    before = ledger.recorded(version.branch, version.number - 1)
    after = ledger.recorded(version.branch, version.number)
    now = seen.recorded
    consequences = [
        blocks(f"Undo is not possible: {reason}.", ErrorKind.UNDO_BLOCKED)
        for reason in (
            *_why_not_back(seen, version, before, after, now),
            *_branches_gone(warehouse, version, before, now),
        )
    ]
    change = BranchChange(
        subject=done.subject,
        title=f"Undo operation {version.operation}",
        sentence=f"{done.subject} is as it was before operation {version.operation}.",
        role=Role.EDITOR,
        databases={key: database_back(key, before, now) for key in version.databases},
        tables={key: before.tables.get(key) for key in version.tables},
        consequences=(
            *consequences,
            changes(f"What operation {version.operation} did is taken back."),
        ),
        journal=partial(BranchChangeJournal, undoes=version.operation, reason=call.reason),
    )
    undone = replace(_next_version(warehouse, seen, call, change), kind=VersionKind.UNDONE)
    return plan_version(call, change, undone)


def _why_not_back(
    seen: CatalogOnBranch,
    version: CatalogVersion,
    before: RecordedCatalog,
    after: RecordedCatalog,
    now: RecordedCatalog,
) -> list[str]:
    reasons = []
    if version.number <= seen.fork.number:
        return ["the branch was dropped and made again since"]
    for key in version.databases:
        if _shape(after.databases.get(key)) != _shape(now.databases.get(key)):
            reasons.append("the database was dropped, renamed or changed since")
        elif key not in before.databases:
            inside = [each.name for each in now.tables.values() if each.database == key]
            if inside:
                reasons.append(f"the database holds table {inside[0]!r} by now")
    for key in version.tables:
        if _place(after.tables.get(key)) != _place(now.tables.get(key)):
            reasons.append("the table was dropped or renamed since")
        elif key not in before.tables and seen.open_member(seen.member(key)).head() is not None:
            reasons.append("rows were written to the table since; drop the table instead")
    reasons += _names_taken(version, before, now)
    return reasons


def _branches_gone(
    warehouse: Warehouse, version: CatalogVersion, before: RecordedCatalog, now: RecordedCatalog
) -> list[str]:
    """Return the reasons against restoring tables whose branches were dropped since."""
    then = CatalogOnBranch(
        warehouse.catalog, warehouse.ledger, version.branch, before.version.number
    )
    gone = [key for key in version.tables if key in before.tables and key not in now.tables]
    return [
        f"the branch of table {member.name!r} is gone, or a rescue branch by now"
        for member in map(then.member, gone)
        if member.state is MemberState.LOST
    ]


def _names_taken(
    version: CatalogVersion, before: RecordedCatalog, now: RecordedCatalog
) -> list[str]:
    """Return the reasons why restored objects cannot have their old names."""
    reasons = []
    taken = {each.name for key, each in now.databases.items() if key not in version.databases}
    for key in version.databases:
        database = before.databases.get(key)
        if database is not None and database.name in taken:
            reasons.append(f"another database has the name {database.name!r} by now")
    places = {_place(each) for key, each in now.tables.items() if key not in version.tables}
    for key in version.tables:
        table = before.tables.get(key)
        if table is None:
            continue
        if _place(table) in places:
            reasons.append(f"another table has the name {table.name!r} by now")
        elif table.database not in now.databases and table.database not in version.databases:
            reasons.append(f"the database of table {table.name!r} is gone")
    return reasons


def _shape(database: DatabaseChange | None) -> object:
    return None if database is None else (database.name, _values(database))


def _values(database: DatabaseChange) -> dict[str, str]:
    return {key: value for key, value in database.properties.items() if value is not None}


def _place(table: TableChange | None) -> object:
    return None if table is None else (table.database, table.name)


def database_back(key: str, before: RecordedCatalog, now: RecordedCatalog) -> DatabaseChange | None:
    """Return what makes a database again what it was, None if it was not there."""
    old = before.databases.get(key)
    if old is None:
        return None
    present = now.databases.get(key)
    gone = {} if present is None else dict.fromkeys(_values(present).keys() - _values(old).keys())
    return DatabaseChange(name=old.name, properties={**_values(old), **gone})


def check_in_scope(seen: CatalogOnBranch, name: str, *, holds: bool) -> None:
    """Refuse a name that the branch does not hold.

    Raises:
        Refused: With the scope, and the way out.
    """
    if not holds:
        raise out_of_scope(seen, name)


def out_of_scope(seen: CatalogOnBranch, name: str) -> Refused:
    """The error of a name that the branch does not hold."""
    return Refused(
        f"{name} is outside of catalog branch {seen.branch!r}, which holds {seen.scope}. Nothing "
        "was changed. Say USE BRANCH main, or make a branch ON CATALOG.",
        kind=ErrorKind.INVALID_NAME,
        branch=seen.branch,
    )
