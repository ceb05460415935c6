"""Undoing what made or dropped a branch of the catalog as a whole."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from branch_console.catalog.catalog_branch import CatalogOnBranch, Member, MemberState
from branch_console.catalog.table_folders import TableFolders
from branch_console.diff.history_move import count
from branch_console.errors import CommitConflict, ErrorKind
from branch_console.format.catalog.catalog_version import CatalogVersion, VersionKind
from branch_console.format.identifier import MAIN_BRANCH, Identifier, rescue_name
from branch_console.format.journals.catalog_branches import (
    CreateCatalogBranchJournal,
    DropCatalogBranchJournal,
    OwnTable,
)
from branch_console.format.journals.undo import UNDO_JOURNAL, RestoreBranchJournal
from branch_console.format.journals.undo_objects import (
    DropNewCatalogBranchJournal,
    RestoreCatalogBranchJournal,
    decision_of_object_undo,
)
from branch_console.format.lineage_event import LineageEvent, undone_by
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
from branch_console.procedures.catalog.branch_change import publish_version
from branch_console.procedures.catalog.catalog_operation import CatalogOperation, CatalogPlan
from branch_console.procedures.catalog.drop import (
    carry_out_drop,
    drop_planned,
)
from branch_console.procedures.catalog.left_behind import (
    bring_back,
    bring_databases_back,
    drop_of_member,
    put_tags_back,
    why_not_back,
)
from branch_console.procedures.run.open_operation import Operation
from branch_console.procedures.run.procedure import finish_operation
from branch_console.procedures.undo.undo_branch import finish_restore, plan_restore
from branch_console.table.file_store_table import FileStoreTable


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Return:
    """A table branch that went with its catalog branch, and that is on a rescue branch still.

    Attributes:
        name: The table's name on the catalog branch.
        table: The table, on main.
        event: The drop of the table branch.
    """

    id: str
    name: str
    table: FileStoreTable
    event: LineageEvent


def plan_drop_back(
    warehouse: Warehouse,
    call: ProcedureCall,
    done: CatalogOperation,
    noted: DropCatalogBranchJournal,
) -> CatalogPlan:
    """Decide whether a dropped branch of the catalog can come back whole."""
    version = noted.catalog_version
    consequences: list[Consequence] = []
    newest = warehouse.ledger.newest(version.branch)
    if newest != version.number:
        consequences.append(
            _no_undo(
                f"there is a catalog branch {version.branch!r} again. Drop that one first"
                if warehouse.ledger.find(version.branch) is not None
                else f"another catalog branch {version.branch!r} was there since"
            )
        )
    before = _seen_before(warehouse, version)
    consequences += (
        _no_undo(reason)
        for table in noted.own
        if (reason := why_not_back(warehouse, table, noted.databases)) is not None
    )
    kept = {table.id: table for table in noted.own}
    returns = {each.id: each for each in _returns(warehouse, before, version.operation, kept)}
    restored = []
    for found in returns.values():
        planned = plan_restore(warehouse, _call_for(call, found), found.table, found.event)
        consequences += (_of(found.name, each) for each in planned.preview.blocks)
        restored.append(planned.preview.plan_id)
    consequences += _missing(noted, before, returns)
    names = tuple(sorted(each.name for each in returns.values()))
    consequences += [
        changes(f"Catalog branch {version.branch!r} is back, as {before.version} was."),
        *(
            (changes(f"The branch of {count(len(names), 'table')} comes back.", names),)
            if names
            else ()
        ),
        keeps("No data file is copied, and main stays as it is."),
    ]
    undone = CatalogVersion(
        branch=version.branch,
        number=version.number + 1,
        kind=VersionKind.UNDONE,
        parents=(version.name,),
        operation=call.operation_id,
        actor=call.actor,
        time_millis=warehouse.clock(),
        statement=call.statement,
        reason=call.reason,
    )
    journal = RestoreCatalogBranchJournal(
        subject=noted.subject,
        catalog_version=undone,
        own=noted.own,
        databases=noted.databases,
    )
    return _planned(call, done, consequences, journal, facts=[newest, *restored])


def finish_drop_back(operation: CatalogOperation, journal: RestoreCatalogBranchJournal) -> str:
    """Bring the table branches back that are not there yet, then the branch itself.

    Raises:
        CommitConflict: Somebody made a branch of that name; what came back by then stays a branch
            of its table.
    """
    warehouse, version = operation.warehouse, journal.catalog_version
    own = operation.intent.operation_id
    # Whoever makes a branch of that name takes the same claim.
    holder = operation.journal.claim(version.branch, own)
    if holder != own:
        raise CommitConflict(
            f"Operation {holder} makes a catalog branch {version.branch!r}. Nothing was changed.",
            kind=ErrorKind.NAME_TAKEN,
            branch=version.branch,
        )
    try:
        newest = warehouse.ledger.newest(version.branch)
        if newest == version.number - 1:
            dropped = warehouse.ledger.version(version.parents[0])
            bring_databases_back(operation, journal.databases)
            bring_back(operation, journal.own)
            before = _seen_before(warehouse, dropped)
            for found in _returns(warehouse, before, dropped.operation, {}):
                _restore(operation, found)
            put_tags_back(operation, _seen_before(warehouse, dropped))
        publish_version(operation, version)
    finally:
        operation.journal.release(version.branch, own)
    return f"Catalog branch {version.branch!r} is back, at {version.name}."


def plan_creation_back(
    warehouse: Warehouse,
    call: ProcedureCall,
    done: CatalogOperation,
    noted: CreateCatalogBranchJournal,
) -> CatalogPlan:
    """Decide whether a branch of the catalog can go again, on which nothing was done."""
    made = noted.catalog_version
    found = warehouse.ledger.find(made.branch)
    fork = None if found is None else found.fork
    reason = None
    if found is None or fork is None or fork.operation != made.operation:
        reason = f"catalog branch {made.branch!r} was dropped since"
    elif found.number != made.number:
        newest = f"{made.branch}@{found.number}"
        reason = f"{newest} is its newest version: it changed since. Drop it instead"
    if reason is not None:
        journal = DropNewCatalogBranchJournal(subject=noted.subject, catalog_version=made)
        return _planned(call, done, [_no_undo(reason)], journal, facts=[reason])
    seen = warehouse.on(made.branch)
    members = [each for each in seen.members() if not each.table.adopted]
    planned = drop_planned(warehouse, seen, call, members)
    consequences = [
        *(
            _no_undo(f"{member.name} {what}. Drop the branch instead")
            for member in members
            if (what := _changed_since(seen, member)) is not None
        ),
        *planned.preview.consequences,
    ]
    adopted = tuple(each.name for each in seen.members() if each.table.adopted)
    if adopted:
        consequences.append(keeps(f"The branch of {count(len(adopted), 'table')} stays.", adopted))
    drop = planned.journal
    assert isinstance(drop, DropCatalogBranchJournal)
    journal = DropNewCatalogBranchJournal(
        subject=noted.subject,
        catalog_version=drop.catalog_version,
        own=drop.own,
        tags=drop.tags,
    )
    return _planned(call, done, consequences, journal, facts=[planned.preview.plan_id])


def finish_creation_back(operation: CatalogOperation, journal: DropNewCatalogBranchJournal) -> str:
    """Drop the branch that was made, but for table branches that it had adopted."""
    _, notes = carry_out_drop(
        operation, journal.catalog_version, journal.own, journal.tags, keeps_adopted=True
    )
    return notes[0]


def _seen_before(warehouse: Warehouse, dropped: CatalogVersion) -> CatalogOnBranch:
    """The catalog as a branch had it before the version that ended it."""
    number = dropped.number - 1
    return CatalogOnBranch(warehouse.catalog, warehouse.ledger, dropped.branch, number)


def _returns(
    warehouse: Warehouse,
    before: CatalogOnBranch,
    operation_id: str,
    kept: Mapping[str, OwnTable],
) -> Iterator[_Return]:
    """The table branches that a drop took, but for those that came back since.

    Args:
        warehouse: The warehouse.
        before: The branch, before it was dropped.
        operation_id: The drop.
        kept: The tables whose folders it moved out of their databases, by id.
    """
    reader, paths = warehouse.catalog.reader, warehouse.ledger.paths
    for key, table in before.recorded.tables.items():
        drop_id, away = drop_of_member(operation_id, key), kept.get(key)
        if away is not None and warehouse.file_io.exists(paths.folder(away.kept)):
            folder = away.kept
        else:
            # A restore that was cut off may have moved it back already.
            found = TableFolders(reader, paths, rescue_name(drop_id)).find(table) or TableFolders(
                reader, paths, before.content
            ).find(table)
            if found is None:
                continue
            folder = found.folder
        database = before.recorded.databases[table.database or ""].name or ""
        identifier = Identifier(database=database, table=table.name or "", branch=MAIN_BRANCH)
        opened = FileStoreTable(reader, paths.folder(folder), identifier)
        events = opened.ledger.whole_as_written()
        event = next((each for each in events if each.operation_id == drop_id), None)
        if event is not None and drop_id not in undone_by(events):
            yield _Return(id=key, name=identifier.table_name, table=opened, event=event)


def _missing(
    noted: DropCatalogBranchJournal, before: CatalogOnBranch, returns: dict[str, _Return]
) -> Iterator[Consequence]:
    """Tables that would not be as they were: what they had on the branch is gone."""
    for member in before.members():
        if member.id in returns or member.is_made:
            continue
        is_pinned = member.state is MemberState.NOT_MADE and member.table.head is not None
        if member.id in noted.made or (is_pinned and before.find_base(member) is None):
            yield _no_undo(f"what {member.name} had on the branch is gone")


def _restore(operation: CatalogOperation, found: _Return) -> None:
    """Bring one table branch back, by an operation of its table."""
    warehouse = operation.warehouse
    intent = operation.intent
    call = _call_for(
        ProcedureCall(name="undo", actor=intent.actor, operation_id=intent.operation_id), found
    )
    of_table = Operation.find(warehouse, found.table, call.operation_id)
    if of_table is None:
        planned = plan_restore(warehouse, call, found.table, found.event)
        if planned.preview.blocks:
            raise CommitConflict(
                f"{found.name}: {planned.preview.blocks[0].text} The catalog branch is not back; "
                "what came back of it is a branch of its table.",
                kind=ErrorKind.HEAD_MOVED,
            )
        assert isinstance(planned.journal, RestoreBranchJournal)
        of_table = Operation.begin(
            warehouse,
            planned.table,
            call,
            branch=planned.branch,
            codec=UNDO_JOURNAL,
            journal=planned.journal,
        )
    journal = of_table.read(UNDO_JOURNAL)
    assert isinstance(journal, RestoreBranchJournal)
    finish_operation(lambda held: finish_restore(held, journal), of_table)


def _changed_since(seen: CatalogOnBranch, member: Member) -> str | None:
    """Say what was done to a table of a branch since that began; None if nothing was."""
    if member.state is MemberState.LOST:
        return "is lost on it"
    if not member.is_made:
        return None
    head, schema = seen.open_member(member).head_and_schema()
    began = member.table.head
    if head is None or began is None:
        is_same = head is None and began is None
    else:
        is_same = head.identity.same_as(began.identity)
    return None if is_same and schema.id == (member.table.schema or 0) else "was written to since"


def _call_for(call: ProcedureCall, found: _Return) -> ProcedureCall:
    """The call by which the table branch of one table comes back."""
    return replace(
        call,
        name="undo",
        arguments={"table": found.name, "operation": found.event.operation_id},
        operation_id=f"{call.operation_id}-{found.id}",
    )


def _of(name: str, consequence: Consequence) -> Consequence:
    return replace(consequence, text=f"{name}: {consequence.text}")


def _no_undo(reason: str) -> Consequence:
    return blocks(f"Undo is not possible: {reason}.", ErrorKind.UNDO_BLOCKED)


def _planned(
    call: ProcedureCall,
    done: CatalogOperation,
    consequences: list[Consequence],
    journal: RestoreCatalogBranchJournal | DropNewCatalogBranchJournal,
    *,
    facts: Sequence[object],
) -> CatalogPlan:
    undone, version = done.intent.operation_id, journal.catalog_version
    way, _ = decision_of_object_undo(journal)
    preview = Preview(
        procedure=call.name,
        title=f"Undo operation {undone} of {journal.subject}",
        plan_id=plan_digest(call, way, str(version.name), *facts),
        consequences=tuple(consequences),
        typed_name=None,
        role=Role.EDITOR,
        undo="To take this undo back, run the operation again.",
    )
    noted = replace(journal, plan_id=preview.plan_id, undoes=undone, reason=call.reason)
    return CatalogPlan(preview=preview, branch=version.branch, journal=noted)
