"""Archiving a branch: a tag keeps its head, a fence its history, and nobody commits to it here."""

from branch_console.commit.base.fences import put_fence
from branch_console.commit.schema.tag_commit import put_tag, snapshot_bytes
from branch_console.diff.lifecycle.archive import archived_by
from branch_console.errors import ErrorKind
from branch_console.format.journals.branches import ARCHIVE_JOURNAL, ArchiveBranchJournal
from branch_console.format.kept_elsewhere import Act
from branch_console.format.lineage_event import LineageKind
from branch_console.format.receipt import Counts, Receipt
from branch_console.format.snapshot import Snapshot
from branch_console.operations.branch_requests import ArchiveBranchRequest
from branch_console.procedures.branch.drop_branch import existing_branch, open_operations
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
from branch_console.procedures.history.protection import protection_of
from branch_console.procedures.run.open_operation import Operation
from branch_console.procedures.run.procedure import PlannedOperation, Procedure, table_of
from branch_console.procedures.run.receipts import event_of, receipt_of
from branch_console.table.file_store_table import FileStoreTable

_TAG_PREFIX = "archived-"


def plan_archive(warehouse: Warehouse, call: ProcedureCall) -> PlannedOperation:
    """Decide whether a branch can be archived, or taken out of the archive.

    Raises:
        InvalidInput: It is main.
        NotFound: There is no such table or branch.
    """
    asked, table = call.request(ArchiveBranchRequest), table_of(warehouse, call)
    branch = existing_branch(table, asked.branch, "archived")
    events = table.ledger.whole()
    name, since = branch.branch, archived_by(events, branch.branch)
    head = branch.head() if asked.archived else None
    tag = None if head is None else _tag_name(branch, head, call.operation_id)
    consequences = (
        *_obstacles(warehouse, branch, is_archived=since is not None, archives=asked.archived),
        *(_archive_consequences(name, tag) if asked.archived else _return_consequences(name)),
    )
    of_table = f"branch {name!r} of {table.identifier.table_name}"
    preview = Preview(
        procedure=call.name,
        title=f"Archive {of_table}" if asked.archived else f"Take {of_table} out of the archive",
        plan_id=plan_digest(
            call, str(head.identity if head else None), since and since.operation_id
        ),
        consequences=consequences,
        typed_name=None,
        role=Role.EDITOR if protection_of(events, name) is None else Role.APPROVER,
        undo="Take the branch out of the archive." if asked.archived else "Archive it again.",
    )
    return PlannedOperation(
        preview=preview,
        act=None if tag is None else Act.TAG,
        table=table,
        branch=name,
        journal=ArchiveBranchJournal(
            plan_id=preview.plan_id,
            reason=asked.reason,
            archived=asked.archived,
            tag=tag,
            content="" if head is None else snapshot_bytes(branch, head).decode(),
        ),
    )


def finish_archive(operation: Operation, journal: ArchiveBranchJournal) -> Receipt:
    """Make tag and fence, and record that the branch is archived, or is no more.

    Raises:
        CommitConflict: Somebody else gave the tag another meaning in the meantime.
    """
    name, store = operation.intent.branch, operation.warehouse.store
    table = operation.table.on(name)
    if journal.archived:
        # Expiry by other engines ignores tags of branches: only the fence keeps the snapshot that
        # the tag names, so the fence comes first.
        put_fence(table, store)
    if journal.tag is not None:
        put_tag(table, store, journal.tag, journal.content.encode(), replaces=None)
    kept = f" Tag {journal.tag!r} keeps its head." if journal.tag else ""
    sentence = f"is archived.{kept}" if journal.archived else "is out of the archive."
    receipt = receipt_of(
        operation,
        counts=Counts(tags_added=int(journal.tag is not None)),
        notes=(f"Branch {name!r} {sentence}",),
    )
    kind = LineageKind.ARCHIVED if journal.archived else LineageKind.UNARCHIVED
    return operation.complete(event_of(operation, kind, receipt, tag=journal.tag))


ARCHIVE_BRANCH = Procedure(
    name=ArchiveBranchRequest.procedure,
    what="archive a branch",
    doing="Archiving the branch.",
    plan=plan_archive,
    codec=ARCHIVE_JOURNAL,
    finish=finish_archive,
)


def _obstacles(
    warehouse: Warehouse, branch: FileStoreTable, *, is_archived: bool, archives: bool
) -> tuple[Consequence, ...]:
    if is_archived == archives:
        state = "archived already" if archives else "not archived"
        return (blocks(f"Branch {branch.branch!r} is {state}.", ErrorKind.NOTHING_TO_DO),)
    return open_operations(warehouse, branch) if archives else ()


def _archive_consequences(name: str, tag: str | None) -> tuple[Consequence, ...]:
    kept = () if tag is None else (changes(f"Tag {tag!r} of {name!r} keeps its head."),)
    return (
        changes(
            f"Branch Console commits no more to {name!r} until it is taken out of the archive. "
            "Other engines do not know of this."
        ),
        *kept,
        keeps("The branch stays readable, and its fence keeps other engines from expiring it."),
    )


def _return_consequences(name: str) -> tuple[Consequence, ...]:
    return (
        changes(f"Branch {name!r} takes commits again, and its age counts from now on."),
        keeps("The tag that was made with the archive stays."),
    )


def _tag_name(branch: FileStoreTable, head: Snapshot, operation_id: str) -> str:
    name = f"{_TAG_PREFIX}{head.id}"
    found = branch.tags.find(name)
    is_free = found is None or (
        # A tag with a retention time would end some day, and the archive must not.
        found.time_retained_seconds is None and found.snapshot.identity.same_as(head.identity)
    )
    return name if is_free else f"{name}-{operation_id}"
