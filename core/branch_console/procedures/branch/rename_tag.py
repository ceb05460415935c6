"""Giving a tag another name: it is there under the new one before the old one goes."""

from branch_console.commit.schema.tag_commit import check_tag_name, rename_tag
from branch_console.format.journals.tags import RENAME_TAG_JOURNAL, RenameTagJournal
from branch_console.format.kept_elsewhere import Act
from branch_console.format.lineage_event import LineageKind
from branch_console.format.receipt import Receipt
from branch_console.operations.tag_requests import RenameTagRequest
from branch_console.procedures.branch.tags import tag_taken, tag_text, vital_blocks
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import Preview, changes, keeps, plan_digest
from branch_console.procedures.call.permissions import Role
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.history.catalog_readers import catalog_blocks
from branch_console.procedures.run.open_operation import Operation
from branch_console.procedures.run.procedure import PlannedOperation, Procedure, table_of
from branch_console.procedures.run.receipts import event_of, receipt_of


def plan_tag_name(warehouse: Warehouse, call: ProcedureCall) -> PlannedOperation:
    """Decide whether a tag can have another name.

    Raises:
        AlreadyExists: A tag has the new name.
        InvalidInput: The new name is none that a tag may have.
        NotFound: There is no such table, branch or tag.
    """
    asked, table = call.request(RenameTagRequest), table_of(warehouse, call)
    tag, name, to = table.tags.get(asked.tag), asked.tag, asked.target_tag
    check_tag_name(to)
    taken = table.tags.find(to)
    if taken is not None:
        raise tag_taken(table, taken)
    number = tag.snapshot.id
    preview = Preview(
        procedure=call.name,
        title=f"Rename tag {name!r} of {table.identifier} to {to!r}",
        plan_id=plan_digest(call, str(tag.snapshot.identity), tag.time_retained_seconds),
        consequences=(
            *vital_blocks(table, name, "renamed"),
            *catalog_blocks(table, (name,), warehouse.catalog_references, "renamed"),
            changes(
                f"Tag {to!r} of {table.branch!r} names snapshot {number}, and {name!r} names "
                "nothing. Queries that name the old one no longer find it."
            ),
            keeps("The snapshot is kept for as long as before."),
        ),
        typed_name=None,
        role=Role.EDITOR,
        undo="Undo gives the tag its earlier name again.",
    )
    return PlannedOperation(
        preview=preview,
        act=Act.TAG,
        table=table,
        branch=table.branch,
        journal=RenameTagJournal(
            plan_id=preview.plan_id, tag=name, target_tag=to, content=tag_text(table, name)
        ),
    )


def finish_tag_name(operation: Operation, journal: RenameTagJournal) -> Receipt:
    """Make the tag under its new name, then take the old one away.

    Raises:
        CommitConflict: The tag is another one now, or the new name was taken; both names stay as
            they are.
    """
    table, store = operation.table.on(operation.intent.branch), operation.warehouse.store
    name, to = journal.tag, journal.target_tag
    rename_tag(table, store, name, to, journal.content.encode())
    receipt = receipt_of(
        operation, notes=(f"Tag {name!r} of {table.branch!r} is called {to!r} now.",)
    )
    return operation.complete(
        event_of(
            operation,
            LineageKind.TAG_RENAMED,
            receipt,
            tag=to,
            source_tag=name,
            undoes=journal.undoes,
        )
    )


RENAME_TAG = Procedure(
    name="rename_tag",
    what="rename a tag",
    doing="Renaming the tag.",
    plan=plan_tag_name,
    codec=RENAME_TAG_JOURNAL,
    finish=finish_tag_name,
)
