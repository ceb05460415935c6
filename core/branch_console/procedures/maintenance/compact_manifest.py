"""Merging the manifests of a branch: few large ones, none of which deletes a file.

No row changes, and every snapshot before stays as it is.
Source: Paimon FileStoreCommitImpl.compactManifest.
"""

from branch_console.commit.snapshot.file_store_commit import FileStoreCommit
from branch_console.commit.snapshot.manifest_file_merger import MergePolicy, count_mergeable
from branch_console.diff.history_move import count
from branch_console.format.journals.manifests import MANIFESTS_JOURNAL, ManifestsJournal
from branch_console.format.kept_elsewhere import Act
from branch_console.format.lineage_event import LineageKind
from branch_console.format.receipt import Receipt
from branch_console.operations.maintenance_requests import CompactManifestRequest
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import (
    NOTHING_TO_UNDO,
    Consequence,
    Preview,
    changes,
    keeps,
    plan_digest,
)
from branch_console.procedures.call.permissions import Role
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.history.protection import protection_blocks
from branch_console.procedures.run.archived import archive_blocks
from branch_console.procedures.run.open_operation import Operation
from branch_console.procedures.run.procedure import PlannedOperation, Procedure, table_of
from branch_console.procedures.run.receipts import (
    end_commit,
    receipt_without_change,
)


def plan_manifests(warehouse: Warehouse, call: ProcedureCall) -> PlannedOperation:
    """Decide whether the manifests of a branch are worth a merge.

    Raises:
        NotFound: There is no such table or branch.
        FormatError: The newest schema or a manifest list cannot be decoded.
    """
    asked, table = call.request(CompactManifestRequest), table_of(warehouse, call)
    head, policy = table.head(), MergePolicy.of(table.schema().options)
    manifests = None if head is None else table.manifests(head)
    number = 0 if manifests is None else manifests.num_rows
    mergeable = 0 if manifests is None else count_mergeable(manifests, policy)
    is_due = mergeable > 1
    consequences: list[Consequence] = []
    if is_due:
        consequences += protection_blocks(table.ledger.whole(), table.branch, "compacted")
        consequences += archive_blocks(table, table.branch, "compacted")
        consequences.append(
            changes(
                f"{count(mergeable, 'manifest')} of the {number:,} of {table.branch!r}, which are "
                "small or delete files, become few: readers of the next snapshot open less."
            )
        )
        consequences.append(keeps("No row changes, and every snapshot before stays as it is."))
    else:
        text = f"Less than two of the {count(number, 'manifest')} of {table.branch!r} are small."
        consequences.append(keeps(f"{text} There is nothing to merge."))
    preview = Preview(
        procedure=call.name,
        title=f"Compact the manifests of {table.identifier}",
        plan_id=plan_digest(call, None if head is None else str(head.identity)),
        consequences=tuple(consequences),
        typed_name=None,
        role=Role.EDITOR,
        undo=NOTHING_TO_UNDO,
    )
    now = warehouse.clock()
    already = receipt_without_change(
        call,
        preview.plan_id,
        tuple(each.text for each in consequences),
        started_millis=now,
        finished_millis=now,
    )
    return PlannedOperation(
        preview=preview,
        act=Act.COMMIT,
        table=table,
        branch=table.branch,
        journal=ManifestsJournal(
            plan_id=preview.plan_id,
            reason=asked.reason,
            head_id=0 if head is None else head.id,
        ),
        earlier_receipt=None if is_due else already,
    )


def finish_manifests(operation: Operation, journal: ManifestsJournal) -> Receipt:
    """Publish a snapshot that names the merged manifests.

    Raises:
        CommitConflict: It lost against other writers in all its tries.
    """
    table = operation.table.on(operation.intent.branch)
    committer = FileStoreCommit(
        table, operation.warehouse.store, without_callbacks=journal.without_callbacks is not None
    )
    landed = committer.merge_manifests(
        user=operation.intent.actor,
        identifier=operation.commit_identifier,
        properties={"branch.operation-id": operation.intent.operation_id},
        seen_id=journal.head_id,
    )
    return end_commit(
        operation,
        table,
        landed,
        LineageKind.COMPACTED,
        notes=(
            f"Snapshot {landed.id} of {table.branch!r} names "
            f"{count(table.manifests(landed).num_rows, 'manifest')}.",
        ),
    )


COMPACT_MANIFEST = Procedure(
    name="compact_manifest",
    what="compact manifests",
    doing="Merging manifests.",
    plan=plan_manifests,
    codec=MANIFESTS_JOURNAL,
    finish=finish_manifests,
)
