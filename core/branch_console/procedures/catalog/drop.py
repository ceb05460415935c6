"""Dropping branches of the catalog: a rescue branch keeps what each of its tables holds."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from branch_console.catalog.catalog_branch import CatalogOnBranch, Member, MemberState
from branch_console.diff.history_move import count
from branch_console.errors import CommitConflict, ErrorKind, NotFound
from branch_console.format.catalog.catalog_version import CatalogVersion, VersionKind, VersionName
from branch_console.format.identifier import Identifier
from branch_console.format.journals.branches import DROP_JOURNAL, DropBranchJournal
from branch_console.format.journals.catalog_branches import (
    DROP_CATALOG_BRANCH_JOURNAL,
    DropCatalogBranchJournal,
    OwnDatabase,
    OwnTable,
    UnneededTag,
)
from branch_console.format.lineage_event import LineageKind
from branch_console.format.receipt import Counts, HeadMove, Receipt
from branch_console.operations.catalog_requests import DropCatalogBranchRequest
from branch_console.procedures.branch.drop_branch import (
    DROP_BRANCH,
    blocked_expiry,
    plan_drop_of,
)
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import (
    Preview,
    Weight,
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
    CatalogProcedure,
)
from branch_console.procedures.catalog.held_tables import readers_of
from branch_console.procedures.catalog.left_behind import (
    drop_of_member,
    own_databases,
    own_tables,
    put_away,
    put_databases_away,
    remove_tags,
    unneeded_tags,
)
from branch_console.procedures.run.open_operation import Operation
from branch_console.procedures.run.procedure import PlannedOperation, finish_procedure
from branch_console.procedures.run.receipts import event_of
from branch_console.table.file_store_table import FileStoreTable

_AWAY: Final = "The folders move to .branch-console/dropped, where nothing is deleted."


def plan_catalog_drop(warehouse: Warehouse, call: ProcedureCall) -> CatalogPlan:
    """Decide whether a branch of the catalog may go, and say what goes with it; raises NotFound."""
    seen = warehouse.on(call.request(DropCatalogBranchRequest).branch)
    return drop_planned(warehouse, seen, call, seen.members())


def drop_planned(
    warehouse: Warehouse, seen: CatalogOnBranch, call: ProcedureCall, members: Sequence[Member]
) -> CatalogPlan:
    """Return the plan of dropping a branch of the catalog with some of its table branches.

    Args:
        warehouse: The warehouse.
        seen: The branch.
        call: The call, with its actor and reason.
        members: The tables whose table branches are dropped.
    """
    version = CatalogVersion(
        branch=seen.branch,
        number=seen.version.number + 1,
        kind=VersionKind.DROPPED,
        parents=(seen.version,),
        operation=call.operation_id,
        actor=call.actor,
        time_millis=warehouse.clock(),
        statement=call.statement,
        reason=call.reason,
    )
    plans = list(_plans(warehouse, seen, call, members))
    own = own_tables(warehouse, seen, members, call.operation_id)
    databases = own_databases(warehouse, seen, own, call.operation_id)
    tags = unneeded_tags(warehouse, seen, members)
    return CatalogPlan(
        preview=_preview(warehouse, seen, plans, own, databases, tags, call),
        journal=DropCatalogBranchJournal(
            subject=f"catalog branch {seen.branch!r}",
            catalog_version=version,
            reason=version.reason,
            # What has to be there for the undo.
            made=tuple(member.id for member, planned in plans if planned is not None),
            own=own,
            tags=tags,
            databases=databases,
        ),
        branch=seen.branch,
    )


def finish_catalog_drop(operation: CatalogOperation, journal: DropCatalogBranchJournal) -> Receipt:
    """Drop the table branches that are there still, the branch itself, and what it leaves."""
    warehouse = operation.warehouse
    moves, notes = carry_out_drop(
        operation, journal.catalog_version, journal.own, journal.tags, keeps_adopted=False
    )
    notes += put_databases_away(operation, journal.databases)
    receipt = Receipt(
        operation_id=operation.intent.operation_id,
        statement=operation.intent.statement,
        actor=operation.intent.actor,
        plan_id=operation.intent.operation_id,
        moves=tuple(moves),
        counts=Counts(),
        notes=tuple(notes),
        started_millis=operation.intent.time_millis,
        finished_millis=warehouse.clock(),
    )
    return operation.complete(event_of(operation, LineageKind.DROPPED, receipt))


def carry_out_drop(
    operation: CatalogOperation,
    version: CatalogVersion,
    own: Sequence[OwnTable],
    tags: Sequence[UnneededTag],
    *,
    keeps_adopted: bool,
) -> tuple[list[HeadMove], list[str]]:
    """Drop a branch of the catalog, or go on with that.

    Args:
        operation: The operation.
        version: The version that ends the branch.
        own: The tables that the branch alone has.
        tags: The base tags that nobody needs once it has ended.
        keeps_adopted: Whether table branches stay that were there before the catalog branch.

    Returns:
        The table branches that went, and the sentences of the receipt.
    """
    warehouse, call = operation.warehouse, _call_of(operation)
    moves: list[HeadMove] = []
    notes = [f"Catalog branch {version.branch!r} is dropped."]
    if warehouse.ledger.find(version.branch) is not None:
        seen = warehouse.on(version.branch)
        for member in seen.members():
            if not member.is_made or (keeps_adopted and member.table.adopted):
                continue
            receipt = _drop_member(warehouse, seen, member, call)
            moves += receipt.moves
            notes.append(f"{member.name}: {receipt.notes[0]}")
        for table in own:
            _finish_cut_off(operation, table)
        _end_branch(operation, version)
    # Only now: nobody has the branch any more, so that nothing of it is missed meanwhile.
    notes += put_away(operation, own)
    remove_tags(operation, version.branch, tags)
    return moves, notes


def _plans(
    warehouse: Warehouse, seen: CatalogOnBranch, call: ProcedureCall, members: Sequence[Member]
) -> Iterator[tuple[Member, PlannedOperation | None]]:
    """Tables of a branch, with the plan of dropping the table branches that are made."""
    for member in members:
        is_made = member.state is MemberState.MADE
        yield member, _plan(warehouse, seen, member, call) if is_made else None


def _plan(
    warehouse: Warehouse, seen: CatalogOnBranch, member: Member, call: ProcedureCall
) -> PlannedOperation:
    return plan_drop_of(warehouse, _call_for(call, member), seen.open_member(member))


def _call_for(call: ProcedureCall, member: Member) -> ProcedureCall:
    """The call by which the table branch of one table is dropped."""
    return replace(
        call,
        name="drop_branch",
        arguments={"table": member.name, "branch": member.identifier.branch},
        operation_id=drop_of_member(call.operation_id, member.id),
    )


def _only_there(planned: PlannedOperation) -> tuple[str, ...]:
    """Return the sentences about what only the branch of a table has, which its rescue keeps."""
    journal = planned.journal
    return journal.lost if isinstance(journal, DropBranchJournal) else ()


def _preview(
    warehouse: Warehouse,
    seen: CatalogOnBranch,
    plans: list[tuple[Member, PlannedOperation | None]],
    own: Sequence[OwnTable],
    databases: Sequence[OwnDatabase],
    tags: Sequence[UnneededTag],
    call: ProcedureCall,
) -> Preview:
    consequences = [
        blocks(
            f"Catalog branch {branch!r} reads {count(len(names), 'table')} on it, such as "
            f"{names[0]}, that it has not made yet. Drop {branch!r} before it, or write to them "
            "there.",
            ErrorKind.BRANCH_IN_USE,
            names,
        )
        for branch, names in readers_of(warehouse, seen).items()
    ]
    for member, planned in plans:
        if planned is None:
            continue
        consequences += [
            replace(each, text=f"{member.name}: {each.text}")
            for each in planned.preview.consequences
            if each.weight in (Weight.BLOCKS, Weight.LOSES) or each.text in _only_there(planned)
        ]
        # The branch of one table goes with that of the catalog, which takes no reclaim.
        consequences += blocked_expiry(seen.open_member(member), can_reclaim=False)
    made = [member for member, planned in plans if planned is not None]
    lost = [member.name for member, _ in plans if member.state is MemberState.LOST]
    if made:
        names = tuple(member.name for member in made)
        consequences.append(
            changes(f"The branch of {count(len(made), 'table')} becomes a rescue branch.", names)
        )
    if lost:
        consequences.append(
            changes(f"Lost on it already: {count(len(lost), 'table')}.", tuple(lost))
        )
    if own:
        names = tuple(table.name for table in own)
        consequences.append(
            loses(f"On no other branch: {count(len(own), 'table')}. {_AWAY}", names),
        )
    if databases:
        names = tuple(each.name for each in databases)
        what = count(len(databases), "database")
        consequences.append(changes(f"On no other branch, and empty then: {what}. {_AWAY}", names))
    if tags:
        names = tuple(each.name for each in tags)
        consequences.append(
            changes(f"The base tag of {count(len(tags), 'table')} is removed.", names)
        )
    consequences.append(keeps("No data file is deleted, and main stays as it is."))
    left = [member for member, _ in plans if member.base_tag is not None]
    if len(left) > len(tags):
        others = count(len(left) - len(tags), "table")
        consequences.append(
            keeps(f"The base tag of {others} stays: it keeps what somebody may need.")
        )
    return Preview(
        procedure=call.name,
        title=f"Drop catalog branch {seen.branch!r}",
        plan_id=plan_digest(
            call,
            str(seen.version),
            [None if planned is None else planned.preview.plan_id for _, planned in plans],
            [table.id for table in own],
            [each.id for each in tags],
            [each.id for each in databases],
        ),
        consequences=tuple(consequences),
        typed_name=seen.branch,
        role=Role.EDITOR,
        undo="Undo brings all of it back, while nothing has its names and main has the snapshots "
        "that it began at.",
    )


def _drop_member(
    warehouse: Warehouse, seen: CatalogOnBranch, member: Member, call: ProcedureCall
) -> Receipt:
    table, of_member = seen.open_member(member), _call_for(call, member)
    operation = Operation.find(warehouse, table, of_member.operation_id)
    if operation is None:
        planned = plan_drop_of(warehouse, of_member, table)
        assert isinstance(planned.journal, DropBranchJournal)
        operation = Operation.begin(
            warehouse,
            planned.table,
            of_member,
            branch=planned.branch,
            codec=DROP_JOURNAL,
            journal=planned.journal,
        )
    return finish_procedure(DROP_BRANCH, operation)


def _finish_cut_off(operation: CatalogOperation, table: OwnTable) -> None:
    """Finish the drop of a table branch that was cut off: nobody looks for it in another place."""
    warehouse = operation.warehouse
    opened = FileStoreTable(
        warehouse.catalog.reader,
        operation.paths.folder(table.folder),
        Identifier.parse(table.name),
    )
    drop_id = drop_of_member(operation.intent.operation_id, table.id)
    of_table = Operation.find(warehouse, opened, drop_id)
    if of_table is not None:
        finish_procedure(DROP_BRANCH, of_table)


def _end_branch(operation: CatalogOperation, version: CatalogVersion) -> None:
    ledger, publisher = operation.warehouse.ledger, operation.warehouse.store.publisher
    if ledger.publish(publisher, version):
        return
    try:
        found = ledger.version(VersionName(branch=version.branch, number=version.number))
    except NotFound:
        found = None
    if found is None or found.operation != version.operation:
        raise CommitConflict(
            f"Catalog branch {version.branch!r} changed while it was dropped, so that it stays. "
            "Drop it again.",
            kind=ErrorKind.HEAD_MOVED,
            branch=version.branch,
        )


def _call_of(operation: CatalogOperation) -> ProcedureCall:
    """The call that began an operation, as far as its tables need it."""
    intent = operation.intent
    return ProcedureCall(
        name="drop_catalog_branch",
        arguments={"branch": intent.branch},
        actor=intent.actor,
        operation_id=intent.operation_id,
    )


DROP_CATALOG_BRANCH: Final = CatalogProcedure(
    name="drop_catalog_branch",
    what="drop a branch of the catalog",
    doing="Dropping the branch of the catalog.",
    plan=plan_catalog_drop,
    codec=DROP_CATALOG_BRANCH_JOURNAL,
    finish=finish_catalog_drop,
)
