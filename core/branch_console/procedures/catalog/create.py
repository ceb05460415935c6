"""Making branches of the catalog: all or nothing, each table at a fork that a tag keeps.

The first version of the branch is what makes it: before it there are tags and table branches that
nobody's catalog branch names, which a recovery finishes or takes back.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from branch_console.commit.branch.branch_creation import (
    make_branch,
    put_base_tags,
    whose_branch,
)
from branch_console.commit.branch.branch_folder import FolderOwner
from branch_console.commit.journal import Journal
from branch_console.diff.history_move import count
from branch_console.errors import CommitConflict, ErrorKind, NotAllowed, NotFound
from branch_console.format.catalog.catalog_version import (
    CatalogVersion,
    CreationMode,
    VersionName,
)
from branch_console.format.journals.branches import BranchCreation, CreateBranchJournal
from branch_console.format.journals.catalog_branches import (
    CREATE_CATALOG_BRANCH_JOURNAL,
    CreateCatalogBranchJournal,
)
from branch_console.format.journals.intent import Ending
from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console.format.other_catalog import CatalogKind
from branch_console.format.receipt import Counts, Receipt
from branch_console.procedures.branch.create_branch import event_of_creation, take_back_creation
from branch_console.procedures.branch.member_branch import creation_of
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import Preview, changes, keeps, plan_digest
from branch_console.procedures.call.permissions import Role
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.catalog.catalog_operation import (
    CatalogOperation,
    CatalogPlan,
    CatalogProcedure,
)
from branch_console.procedures.catalog.fork import (
    CatalogFork,
    decide_fork,
    first_version,
    table_in,
)
from branch_console.procedures.catalog.states import note_main
from branch_console.procedures.run.open_operation import Operation
from branch_console.procedures.run.receipts import event_of
from branch_console.table.file_store_table import FileStoreTable


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Making:
    """A table of a new branch, with what its table branch is made of."""

    table: FileStoreTable
    creation: BranchCreation
    is_adopted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkPlan(CatalogPlan):
    """A branch of the catalog that is to be made, and where it begins."""

    fork: CatalogFork


def plan_catalog_branch(warehouse: Warehouse, call: ProcedureCall) -> ForkPlan:
    """Decide what a new branch of the catalog holds; errors are those of `decide_fork`.

    Raises:
        NotAllowed: Another catalog keeps the databases.
    """
    check_catalog_kind(warehouse)
    return _planned(warehouse, call, decide_fork(warehouse, call))


def note_beginning(warehouse: Warehouse, call: ProcedureCall, planned: CatalogPlan) -> ForkPlan:
    """Note where main stands, so that the branch can say that it begins there."""
    assert isinstance(planned, ForkPlan)
    fork = planned.fork
    if fork.main is None:
        return planned
    noted = note_main(warehouse, fork.main, operation=call.operation_id, actor=call.actor)
    if noted.main is fork.main.main:
        return _planned(warehouse, call, replace(fork, parent=noted.version))
    return _planned(warehouse, call, decide_fork(warehouse, call, noted))


def _planned(warehouse: Warehouse, call: ProcedureCall, fork: CatalogFork) -> ForkPlan:
    version = first_version(warehouse, fork, call)
    return ForkPlan(
        preview=_preview(fork, call),
        journal=CreateCatalogBranchJournal(
            subject=f"catalog branch {fork.branch!r}",
            catalog_version=version,
            reason=version.reason,
        ),
        branch=fork.branch,
        fork=fork,
    )


def check_catalog_kind(warehouse: Warehouse) -> None:
    """Refuse a warehouse whose databases another catalog keeps; raises NotAllowed."""
    kind = warehouse.catalog_kind
    if kind is None or kind is CatalogKind.FILESYSTEM:
        return
    raise NotAllowed(
        f"The setting catalog={kind} says that the databases of this warehouse are kept in "
        f"{kind.keeper}, which Branch Console does not write to, so that they have no branches. "
        "Nothing was changed. Make a branch of each table, with create-branch.",
        kind=ErrorKind.UNSUPPORTED,
        catalog=str(kind),
    )


def finish_catalog_branch(
    operation: CatalogOperation, noted: CreateCatalogBranchJournal
) -> Receipt:
    """Make the branch of an operation, or finish one that was cut off.

    Raises:
        CommitConflict: Others make or made a branch of this name, or a table got a branch of this
            name; all is taken back.
        NotFound: The snapshot at which a table begins is gone; everything is taken back.
    """
    journal, intent = operation.journal, operation.intent
    version = noted.catalog_version
    holder = journal.claim(version.branch, intent.operation_id)
    if holder != intent.operation_id:
        raise CommitConflict(
            f"Operation {holder} makes a catalog branch {version.branch!r}. Nothing was changed; "
            "choose another name.",
            kind=ErrorKind.NAME_TAKEN,
            branch=version.branch,
        )
    try:
        _make(operation, version)
    except (CommitConflict, NotFound) as error:
        _take_back(operation, version, error.message)
        raise
    receipt = operation.complete(_event(operation, version))
    journal.release(version.branch, intent.operation_id)
    return receipt


def _take_back(operation: CatalogOperation, version: CatalogVersion, reason: str) -> None:
    """Take back all that an operation made of a branch whose first version is not there."""
    kept = []
    for making in _makings(operation.warehouse, version):
        if making.is_adopted:
            continue
        tag = take_back_creation(operation.warehouse, making.table, making.creation)
        if tag is not None:
            kept.append(making.table.identifier.table_name)
    if kept:
        reason = f"{reason} A base tag stays on {count(len(kept), 'table')}: others may need it."
    operation.end(Ending.ROLLED_BACK, reason)
    operation.journal.release(version.branch, operation.intent.operation_id)


def _preview(fork: CatalogFork, call: ProcedureCall) -> Preview:
    held = count(len(fork.tables), "table")
    names = sorted(map(fork.name_of, fork.tables))
    tagged = sum(table.head is not None for table in fork.tables.values())
    adopted = sorted(fork.name_of(key) for key, table in fork.tables.items() if table.adopted)
    consequences = [changes(f"Catalog branch {fork.branch!r} holds {held} of {fork.scope}.")]
    if fork.mode is CreationMode.LAZY:
        consequences.append(
            changes("The branch of a table is made at its first write; until then main is read.")
        )
    elif len(fork.tables) > len(adopted):
        made = count(len(fork.tables) - len(adopted), "table")
        consequences.append(changes(f"The branch {fork.branch!r} of {made} is made now."))
    if adopted:
        consequences.append(
            changes(f"The branch of {count(len(adopted), 'table')} is adopted.", tuple(adopted))
        )
    if tagged:
        consequences.append(keeps(f"A tag keeps what it begins at, on {count(tagged, 'table')}."))
    if fork.left_out:
        reasons = tuple(f"{name}: {why}" for name, why in fork.left_out.items())
        consequences.append(changes(f"Left out: {count(len(fork.left_out), 'table')}.", reasons))
    consequences.append(keeps("No data file is copied, and main stays as it is."))
    return Preview(
        procedure=call.name,
        title=f"Create catalog branch {fork.branch!r}",
        # Not where each table stands: a busy one goes on while somebody looks.
        plan_id=plan_digest(call, names, adopted, sorted(fork.left_out)),
        consequences=tuple(consequences),
        typed_name=None,
        role=Role.EDITOR,
        undo=f"Drop the branch: branch-console catalog drop {fork.branch}.",
    )


def _makings(warehouse: Warehouse, version: CatalogVersion) -> Iterator[_Making]:
    """The tables of a branch that begins with a version."""
    recorded = warehouse.ledger.forked(version)
    content = version.content or version.branch
    for table in recorded.tables.values():
        opened = table_in(warehouse, recorded.databases, table)
        yield _Making(
            table=opened,
            creation=creation_of(content, table, opened, version.from_tag),
            is_adopted=bool(table.adopted),
        )


def _make(operation: CatalogOperation, version: CatalogVersion) -> None:
    warehouse, store = operation.warehouse, operation.warehouse.store
    makings = list(_makings(warehouse, version))
    put_base_tags(store, [(each.table, each.creation) for each in makings])
    if version.mode is CreationMode.EAGER:
        made = [each for each in makings if not each.is_adopted]
        for making in made:
            _make_table_branch(operation, making)
        _record(operation, made)
    if not warehouse.ledger.publish(store.publisher, version) and not _is_ours(operation, version):
        raise CommitConflict(
            f"Somebody made a catalog branch {version.branch!r} in the meantime. It stays as it "
            "is, and this creation is taken back. Choose another name.",
            kind=ErrorKind.NAME_TAKEN,
            branch=version.branch,
        )


def _make_table_branch(operation: CatalogOperation, making: _Making) -> None:
    store, creation = operation.warehouse.store, making.creation
    if making.table.branches.exists(creation.branch):
        whose = whose_branch(making.table, store, creation)
        if whose is FolderOwner.OURS_IN_USE and operation.is_resumed:
            return
        if whose is not FolderOwner.OURS:
            raise CommitConflict(
                f"{making.table.identifier.table_name} got a branch {creation.branch!r} of its own "
                "in the meantime. It stays as it is, and this creation is taken back. Choose "
                "another name, or adopt it.",
                kind=ErrorKind.NAME_TAKEN,
                branch=creation.branch,
            )
    make_branch(making.table, store, creation, has_base_tag=True)


def _record(operation: CatalogOperation, made: list[_Making]) -> None:
    """Note in the ledger of each table that its branch was made, which tells a lost one later."""
    warehouse = operation.warehouse
    files: list[tuple[str, bytes]] = []
    for making in made:
        of_table = Operation(
            warehouse=warehouse,
            table=making.table,
            journal=Journal(warehouse.store, making.table.paths),
            intent=operation.intent,
        )
        event = event_of_creation(of_table, CreateBranchJournal(creation=making.creation))
        files.append(
            (making.table.paths.event(event.time_millis, event.id), event.to_json().encode())
        )
    left = [each for each in files if not warehouse.store.files.exists(each[0])]
    while left:
        # An event that is there already is this one, from a try that was cut off.
        won = warehouse.store.publisher.publish_in_order(left)
        left = left[len(won) :]


def _is_ours(operation: CatalogOperation, version: CatalogVersion) -> bool:
    """Whether the first version of the branch is that of this operation: a try may have won."""
    try:
        found = operation.warehouse.ledger.version(
            VersionName(branch=version.branch, number=version.number)
        )
    except NotFound:
        return False
    return found.operation == version.operation


def _event(operation: CatalogOperation, version: CatalogVersion) -> LineageEvent:
    recorded = operation.warehouse.ledger.forked(version)
    tags = sum(table.head is not None for table in recorded.tables.values())
    made = [each for each in recorded.tables.values() if not each.adopted]
    is_eager = version.mode is CreationMode.EAGER
    notes = [
        f"Catalog branch {version.branch!r} begins at {version.parents[0]} with "
        f"{count(len(recorded.tables), 'table')} of {version.scope}.",
        *(f"{name} is left out: {reason}" for name, reason in version.left_out.items()),
    ]
    if not is_eager:
        notes.append("The branch of a table is made at its first write.")
    receipt = Receipt(
        operation_id=operation.intent.operation_id,
        statement=operation.intent.statement,
        actor=operation.intent.actor,
        plan_id=operation.intent.operation_id,
        counts=Counts(
            tags_added=tags,
            snapshots_added=sum(each.head is not None for each in made) if is_eager else 0,
        ),
        notes=tuple(notes),
        started_millis=operation.intent.time_millis,
        finished_millis=operation.warehouse.clock(),
    )
    return event_of(operation, LineageKind.FORKED, receipt)


CREATE_CATALOG_BRANCH: Final = CatalogProcedure(
    name="create_catalog_branch",
    what="make a branch of the catalog",
    doing="Making the branch of the catalog.",
    plan=plan_catalog_branch,
    codec=CREATE_CATALOG_BRANCH_JOURNAL,
    finish=finish_catalog_branch,
    note=note_beginning,
)
