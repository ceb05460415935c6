"""Emptying a table for good: main loses all its snapshots, and a rescue branch keeps them first.

Paimon drops branches, tags and readers, adds an empty snapshot and removes the files at once. Here
whatever else needs the files stops it, and they go with the rescue branch.
Source: Paimon FileStoreTable.purgeFiles.
"""

from collections.abc import Iterator

from branch_console.diff.history_move import count
from branch_console.errors import ErrorKind
from branch_console.format.identifier import MAIN_BRANCH, RESCUE_PREFIX, rescue_name
from branch_console.format.journals.history import REPLACE_JOURNAL, HistoryCopy, HistoryJournal
from branch_console.format.kept_elsewhere import Act
from branch_console.operations.branch_requests import PurgeFilesRequest
from branch_console.procedures.branch.drop_branch import open_operations
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import (
    Consequence,
    Preview,
    blocks,
    keeps,
    loses,
    plan_digest,
)
from branch_console.procedures.call.permissions import Role
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.history.history_transfer import finish_history_transfer
from branch_console.procedures.history.protection import owner_blocks
from branch_console.procedures.run.procedure import PlannedOperation, Procedure, table_of
from branch_console.storage.table_paths import CHANGELOG_PREFIX
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.versioned_files import list_prefixed


def plan_purge(warehouse: Warehouse, call: ProcedureCall) -> PlannedOperation:
    """Decide whether nothing but main itself needs the files of a table.

    Raises:
        NotFound: There is no such table.
        FormatError: The head of main cannot be decoded.
    """
    asked, table = call.request(PurgeFilesRequest), table_of(warehouse, call).on(MAIN_BRANCH)
    name, head, ids = table.identifier.table_name, table.head(), table.snapshots.ids()
    consequences: list[Consequence] = [
        *owner_blocks(table.ledger.whole(), MAIN_BRANCH, call.actor),
        *open_operations(warehouse, table),
        *_in_the_way(table),
    ]
    if head is None:
        text = f"Table {name} has no snapshot, so there is nothing to purge."
        consequences.append(blocks(text, ErrorKind.NOTHING_TO_DO))
    else:
        consequences += [
            loses(f"{count(len(ids), 'snapshot')} leave main, which has no row any more."),
            keeps("The schemas and options of the table stay."),
            keeps(
                f"Branch {RESCUE_PREFIX}… keeps all that goes, byte for byte. The files are free "
                "once that branch is dropped and its files are released."
            ),
        ]
    preview = Preview(
        procedure=call.name,
        title=f"Purge the files of {name}",
        plan_id=plan_digest(call, None if head is None else str(head.identity), ids),
        consequences=tuple(consequences),
        typed_name=name,
        role=Role.OPERATOR,
        undo="You can undo this until the next commit on main.",
    )
    copy = HistoryCopy(
        source=MAIN_BRANCH,
        target=MAIN_BRANCH,
        expected_head=None if head is None else head.identity,
        expected_head_id=None if head is None else head.id,
        new_head=None,
        new_head_id=None,
        schema_ids=(),
        tags=(),
        snapshot_ids=(),
        remove_snapshot_ids=ids,
        rescue_branch=rescue_name(call.operation_id),
    )
    return PlannedOperation(
        preview=preview,
        act=Act.COMMIT,
        table=table,
        branch=MAIN_BRANCH,
        journal=HistoryJournal(
            copy=copy,
            plan_id=preview.plan_id,
            reason=asked.reason,
            notes=(f"Table {name} has no row any more.",),
        ),
    )


PURGE_FILES = Procedure(
    name="purge_files",
    what="purge a table",
    doing="Keeping main on a rescue branch, then emptying it.",
    plan=plan_purge,
    codec=REPLACE_JOURNAL,
    finish=finish_history_transfer,
)


def _in_the_way(table: FileStoreTable) -> Iterator[Consequence]:
    changelogs = list_prefixed(table.reader, table.paths.changelog_dir, CHANGELOG_PREFIX)
    for what, names, way in (
        ("branches", table.branches.names(), "Drop them, and release their files"),
        ("tags", table.tags.names(), "Delete them"),
        ("consumers", tuple(each.name for each in table.consumers.states()), "Clear them"),
        ("changelogs", tuple(changelogs), "Expire them"),
    ):
        if names:
            yield blocks(
                f"The {what} of the table would lose what they need. {way}, then purge.",
                ErrorKind.FILES_IN_USE,
                tuple(names),
            )
