"""Pinning a branch: the tag on main that keeps what it began at."""

from branch_console.commit.base.fences import fence_state
from branch_console.commit.schema.base_tags import fork_bytes
from branch_console.commit.schema.tag_commit import put_tag
from branch_console.diff.shared_files import text_of_hiding
from branch_console.errors import ErrorKind, Refused
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.journals.branches import PIN_JOURNAL, PinBranchJournal
from branch_console.format.lineage_event import LineageEvent, LineageKind, base_tag_of, born
from branch_console.format.receipt import Counts, Receipt
from branch_console.format.snapshot import Snapshot, SnapshotIdentity
from branch_console.operations.branch_requests import PinBranchRequest
from branch_console.procedures.branch.create_branch import free_base_tag
from branch_console.procedures.branch.drop_branch import existing_branch
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
from branch_console.procedures.history.dependents import fork_of, readable_tags
from branch_console.procedures.history.rescue_fork import rescued_fork
from branch_console.procedures.run.open_operation import Operation
from branch_console.procedures.run.procedure import PlannedOperation, Procedure, table_of
from branch_console.procedures.run.receipts import event_of, receipt_of
from branch_console.table.file_store_table import FileStoreTable


def plan_pin(warehouse: Warehouse, call: ProcedureCall) -> PlannedOperation:
    """Decide which tag on main keeps the fork of a branch.

    Arguments of the call: `table`, `branch`, `twin` (where that tag stands, a second one is made,
    without which Paimon deletes the files that the first keeps together with it).

    Raises:
        InvalidInput: It is main.
        NotFound: There is no such table or branch, or the fork is nowhere any more.
        Refused: The branch began empty.
    """
    asked = call.request(PinBranchRequest)
    table = table_of(warehouse, call).on(MAIN_BRANCH)
    branch = existing_branch(table, asked.branch, "pinned")
    events = table.ledger.events()
    event = born(events, branch.branch)
    fork = _fork(branch, event, events)
    if fork is None and event is not None and event.kind is LineageKind.RESCUED:
        raise Refused(
            f"Branch {branch.branch!r} shares no snapshot with the branch it was rescued from: it "
            "needs no pin.",
            kind=ErrorKind.NOTHING_TO_DO,
            branch=branch.branch,
        )
    if fork is None:
        raise Refused(
            f"Branch {branch.branch!r} began empty: it stands on nothing that could be pinned.",
            kind=ErrorKind.NOTHING_TO_DO,
            branch=branch.branch,
        )
    parent = MAIN_BRANCH if event is None else event.source_branch or MAIN_BRANCH
    content = fork_bytes(table, branch.branch, fork, (branch.branch, parent, MAIN_BRANCH))
    snapshot = Snapshot.from_json(content)
    recorded = base_tag_of(events, branch.branch)
    base_tag = free_base_tag(table, branch.branch, snapshot.identity, events, wanted=recorded)
    is_twin = asked.twin and table.tags.find(base_tag) is not None
    tag = f"{base_tag}-twin" if is_twin else base_tag
    consequences: list[Consequence] = []
    if table.tags.find(tag) is not None:
        text = f"Tag {tag!r} on main keeps snapshot {snapshot.id} already, and for good."
        consequences.append(blocks(text, ErrorKind.NOTHING_TO_DO))
    else:
        consequences.append(
            changes(
                f"Tag {tag!r} on main keeps snapshot {snapshot.id}, at which branch "
                f"{branch.branch!r} began."
            )
        )
        consequences.append(
            keeps("Expiry by other engines looks at the tags of main, and leaves it.")
        )
        hidden = _hidden_by(table, tag, snapshot, parent)
        consequences += [] if hidden is None else [changes(hidden)]
    preview = Preview(
        procedure=call.name,
        title=f"Pin branch {branch.branch!r} of {table.identifier.table_name}",
        plan_id=plan_digest(call, tag, str(fork)),
        consequences=tuple(consequences),
        typed_name=None,
        role=Role.EDITOR,
        undo="Drop the branch, then delete the tag.",
    )
    return PlannedOperation(
        preview=preview,
        table=table,
        branch=branch.branch,
        journal=PinBranchJournal(
            plan_id=preview.plan_id,
            tag=tag,
            base_tag=base_tag,
            content=content.decode(),
            snapshot_id=snapshot.id,
        ),
    )


def _fork(
    branch: FileStoreTable, event: LineageEvent | None, events: tuple[LineageEvent, ...]
) -> SnapshotIdentity | None:
    if event is None or event.kind is not LineageKind.RESCUED:
        return fork_of(branch, event)
    parent = branch.on(event.source_branch or MAIN_BRANCH)
    held = (*branch.snapshots.all(), *(tag.snapshot for tag in readable_tags(branch)))
    fork = rescued_fork(event, events, held, parent.snapshots.all())
    return None if fork is None else fork.identity


def _hidden_by(main: FileStoreTable, tag: str, snapshot: Snapshot, parent: str) -> str | None:
    """Say which tags of main a pin would hide, None if it is of main's own history."""
    if parent == MAIN_BRANCH or fence_state(main).is_effective:
        return None
    if main.snapshots.holds(snapshot):
        return None
    return text_of_hiding(tag, snapshot.id, readable_tags(main))


def finish_pin(operation: Operation, journal: PinBranchJournal) -> Receipt:
    """Make the tag, and record it as the base tag of the branch.

    Raises:
        CommitConflict: The tag got another meaning in the meantime.
    """
    main, tag, branch = operation.table.on(MAIN_BRANCH), journal.tag, operation.intent.branch
    put_tag(main, operation.warehouse.store, tag, journal.content.encode(), replaces=None)
    receipt = receipt_of(
        operation,
        counts=Counts(tags_added=1),
        notes=(f"Tag {tag!r} keeps snapshot {journal.snapshot_id} for {branch!r}.",),
    )
    base_tag = journal.base_tag or tag
    return operation.complete(event_of(operation, LineageKind.PINNED, receipt, base_tag=base_tag))


PIN_BRANCH = Procedure(
    name="pin_branch",
    what="pin a branch",
    doing="Pinning the branch.",
    plan=plan_pin,
    codec=PIN_JOURNAL,
    finish=finish_pin,
)
