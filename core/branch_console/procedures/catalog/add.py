"""Adding to the scope of a branch of the catalog: more of main, as main has it now.

What comes is read on main until its first write on the branch, whatever way the branch was made in.
The version that adds it builds on main for that alone, so that merges have a base for it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from branch_console.catalog.catalog_branch import CatalogOnBranch
from branch_console.commit.branch.branch_creation import put_base_tags
from branch_console.diff.history_move import count
from branch_console.errors import CommitConflict, ErrorKind, NotFound, Refused
from branch_console.format.catalog.catalog_version import (
    CatalogScope,
    CatalogVersion,
    DatabaseChange,
    TableChange,
    VersionKind,
)
from branch_console.format.journals.branches import BranchCreation
from branch_console.format.journals.catalog_branches import (
    ADD_TO_CATALOG_BRANCH_JOURNAL,
    AddToCatalogBranchJournal,
)
from branch_console.format.journals.intent import Ending
from branch_console.format.lineage_event import LineageKind
from branch_console.format.receipt import Counts, Receipt
from branch_console.operations.catalog_requests import AddToCatalogBranchRequest
from branch_console.procedures.branch.create_branch import take_back_creation
from branch_console.procedures.branch.member_branch import creation_of
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import Preview, changes, keeps, plan_digest
from branch_console.procedures.call.permissions import Role
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.catalog.branch_change import is_made, publish_version
from branch_console.procedures.catalog.catalog_operation import (
    CatalogOperation,
    CatalogPlan,
    CatalogProcedure,
)
from branch_console.procedures.catalog.database_words import nothing_to_do
from branch_console.procedures.catalog.fork import (
    CatalogSource,
    branch_taken,
    check_scope,
    source_of,
    table_in,
    tables_with_base_tags,
)
from branch_console.procedures.catalog.states import note_main
from branch_console.procedures.run.receipts import event_of, receipt_of
from branch_console.table.file_store_table import FileStoreTable

Change = TypeVar("Change", DatabaseChange, TableChange)


@dataclass(frozen=True, slots=True, kw_only=True)
class AdditionPlan(CatalogPlan):
    """The objects of main that a catalog branch will get; `source` is None without any."""

    source: CatalogSource | None


def plan_addition(warehouse: Warehouse, call: ProcedureCall) -> AdditionPlan:
    """Decide what a branch of the catalog gets of main.

    Raises:
        NotFound: There is no such branch, or nothing of main has such a name.
        AlreadyExists: A table has a branch of that name, which is not the catalog branch's.
        Refused: Something else has a name on the branch that would come.
    """
    asked = call.request(AddToCatalogBranchRequest)
    seen = warehouse.on(asked.branch)
    if seen.scope.is_whole_catalog:
        text = (
            f"Catalog branch {seen.branch!r} holds the catalog already: what main got since comes "
            "with a merge of main. Nothing was changed."
        )
    elif asked.pattern in (*seen.scope.databases, *seen.scope.tables):
        text = f"Catalog branch {seen.branch!r} holds {asked.pattern} already; nothing was changed."
    else:
        return _planned(warehouse, call, seen, source_of(warehouse))
    plan = nothing_to_do(warehouse, call, _title(asked), text)
    return AdditionPlan(
        preview=plan.preview,
        journal=plan.journal,
        earlier_receipt=plan.earlier_receipt,
        source=None,
    )


def note_addition(warehouse: Warehouse, call: ProcedureCall, planned: CatalogPlan) -> CatalogPlan:
    """Note where main stands, so that the version can say that it builds on that."""
    assert isinstance(planned, AdditionPlan)
    source = planned.source
    if source is None or source.main is None:
        return planned
    noted = note_main(warehouse, source.main, operation=call.operation_id, actor=call.actor)
    seen = warehouse.on(call.request(AddToCatalogBranchRequest).branch)
    if noted.main is source.main.main:
        return _planned(warehouse, call, seen, replace(source, parent=noted.version))
    return _planned(warehouse, call, seen, source_of(warehouse, main=noted))


def finish_addition(operation: CatalogOperation, journal: AddToCatalogBranchJournal) -> Receipt:
    """Have tags keep what is added, then make the version; or finish what was cut off.

    Raises:
        CommitConflict: Somebody else changed the branch first; the tags are taken back.
        NotFound: The snapshot at which a table begins is gone; the tags are removed again.
    """
    warehouse, version = operation.warehouse, journal.catalog_version
    added = _added(warehouse, version)
    if not is_made(warehouse.ledger, version):
        try:
            put_base_tags(warehouse.store, added)
            publish_version(operation, version)
        except (CommitConflict, NotFound) as error:
            for table, creation in added:
                take_back_creation(warehouse, table, creation)
            operation.end(Ending.ROLLED_BACK, error.message)
            raise
    tags = sum(creation.base_tag is not None for _, creation in added)
    notes = (
        f"Catalog branch {version.branch!r} holds {version.scope} now, at {version.name}.",
        f"{count(len(added), 'table')} of main came, as {version.parents[1]} has them.",
    )
    receipt = receipt_of(operation, counts=Counts(tags_added=tags), notes=notes)
    return operation.complete(event_of(operation, LineageKind.ALTERED, receipt))


def _added(
    warehouse: Warehouse, version: CatalogVersion
) -> list[tuple[FileStoreTable, BranchCreation]]:
    """The tables that a version adds, with what their branches are made of one day."""
    before = warehouse.ledger.recorded(version.branch, version.number - 1)
    content = version.branch if before.fork is None else before.fork.content or version.branch
    databases = {**before.databases, **_not_dropped(version.databases)}
    found = []
    for table in _not_dropped(version.tables).values():
        opened = table_in(warehouse, databases, table)
        found.append((opened, creation_of(content, table, opened)))
    return found


def _planned(
    warehouse: Warehouse, call: ProcedureCall, seen: CatalogOnBranch, source: CatalogSource
) -> AdditionPlan:
    asked = call.request(AddToCatalogBranchRequest)
    more = (
        CatalogScope(tables=(asked.pattern,))
        if "." in asked.pattern
        else CatalogScope(databases=(asked.pattern,))
    )
    check_scope(more, source)
    names = {key: each.name or "" for key, each in source.databases.items()}
    coming = {
        key: table
        for key, table in source.tables.items()
        if key not in seen.recorded.members
        and more.holds_table(names[table.database or ""], table.name or "")
    }
    homes = {table.database for table in coming.values()}
    databases = {
        key: each
        for key, each in source.databases.items()
        if key not in seen.recorded.databases
        and (key in homes or (more.holds_database(names[key]) and key not in seen.recorded.members))
    }
    _check_names(seen, databases, coming, names)
    if seen.fork.is_empty:
        coming = {key: replace(table, head=None) for key, table in coming.items()}
    tables, taken = tables_with_base_tags(warehouse, source.databases, coming, seen.content)
    if taken:
        way = f"Rename or drop these branches, or merge them, then add {asked.pattern} again."
        raise branch_taken(seen.content, taken, way)
    version = CatalogVersion(
        branch=seen.branch,
        number=seen.version.number + 1,
        kind=VersionKind.CHANGED,
        parents=(seen.version, source.parent),
        covers=frozenset((*databases, *tables)),
        operation=call.operation_id,
        actor=call.actor,
        time_millis=warehouse.clock(),
        statement=call.statement,
        reason=call.reason,
        scope=CatalogScope(
            databases=(*seen.scope.databases, *more.databases),
            tables=(*seen.scope.tables, *more.tables),
        ),
        databases=databases,
        tables=tables,
    )
    left_out = {
        name: reason
        for name, reason in source.left_out.items()
        if more.holds_table(*name.split(".", 1))
    }
    return AdditionPlan(
        preview=_preview(call, version, source, left_out),
        journal=AddToCatalogBranchJournal(
            subject=f"catalog branch {seen.branch!r}",
            catalog_version=version,
            reason=version.reason,
        ),
        branch=seen.branch,
        source=source,
    )


def _check_names(
    seen: CatalogOnBranch,
    databases: Mapping[str, DatabaseChange],
    tables: Mapping[str, TableChange],
    names: Mapping[str, str],
) -> None:
    """See that nothing on the branch has a name that comes; raises Refused."""
    dropped = [names[key] for key in databases if key in seen.recorded.members]
    if dropped:
        raise Refused(
            f"Database {dropped[0]!r} was dropped on {seen.branch!r}, so that no table of it can "
            "be added. Nothing was changed.",
            kind=ErrorKind.DATABASE_NOT_FOUND,
        )
    known = {each.name for each in seen.recorded.databases.values()}
    places = {(each.database, each.name) for each in seen.recorded.tables.values()}
    taken = [
        *(f"database {names[key]!r}" for key in databases if names[key] in known),
        *(
            f"table {names[table.database or '']}.{table.name}"
            for table in tables.values()
            if (table.database, table.name) in places
        ),
    ]
    if taken:
        raise Refused(
            f"{seen.branch!r} has another {taken[0]}. Nothing was changed. Rename that one first.",
            kind=ErrorKind.NAME_TAKEN,
        )


def _preview(
    call: ProcedureCall,
    version: CatalogVersion,
    source: CatalogSource,
    left_out: Mapping[str, str],
) -> Preview:
    asked = call.request(AddToCatalogBranchRequest)
    names = sorted(
        f"{source.databases[table.database or ''].name}.{table.name}"
        for table in _not_dropped(version.tables).values()
    )
    tagged = sum(table.head is not None for table in _not_dropped(version.tables).values())
    consequences = [
        changes(f"Catalog branch {version.branch!r} holds {version.scope} then."),
        changes(f"{count(len(names), 'table')} of main come, as main has them now.", tuple(names)),
        changes("The branch of a table is made at its first write; until then main is read."),
    ]
    if tagged:
        consequences.append(keeps(f"A tag keeps what it begins at, on {count(tagged, 'table')}."))
    if left_out:
        reasons = tuple(f"{name}: {why}" for name, why in left_out.items())
        consequences.append(changes(f"Left out: {count(len(left_out), 'table')}.", reasons))
    consequences.append(keeps("No data file is copied, and main stays as it is."))
    return Preview(
        procedure=call.name,
        title=_title(asked),
        # Not where each table stands: a busy one goes on while somebody looks.
        plan_id=plan_digest(call, str(version.name), names, sorted(left_out)),
        consequences=tuple(consequences),
        typed_name=None,
        role=Role.EDITOR,
        undo="What a branch holds is not made less. Drop the branch, or leave these tables alone.",
    )


def _title(asked: AddToCatalogBranchRequest) -> str:
    return f"Add {asked.pattern} to catalog branch {asked.branch!r}"


def _not_dropped(changed: Mapping[str, Change | None]) -> dict[str, Change]:
    return {key: each for key, each in changed.items() if each is not None}


ADD_TO_CATALOG_BRANCH: Final = CatalogProcedure(
    name="add_to_catalog_branch",
    what="add to a branch of the catalog",
    doing="Adding to the branch of the catalog.",
    plan=plan_addition,
    codec=ADD_TO_CATALOG_BRANCH_JOURNAL,
    finish=finish_addition,
    note=note_addition,
)
