"""Releases of branches that undo can still bring back.

As long as a release can be undone, the table still needs the files of its branch. If that branch
cannot be read, any file may be one of them, so no file leaves the table until then.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final

from branch_console.commit.journal import Journal
from branch_console.errors import FormatError, NotFound
from branch_console.format.journals.branches import DROP_JOURNAL, RELEASE_JOURNAL
from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console.maintenance.references import retired_operations
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.table.file_store_table import FileStoreTable

_CODECS: Final = {"drop_branch": DROP_JOURNAL, "release_branch": RELEASE_JOURNAL}
"""The operations that release a branch; the journals of all others load pyarrow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseInGrace:
    """A released branch that undo can bring back.

    Attributes:
        operation_id: The release, or the drop that removed the files too.
        procedure: Its procedure.
        until_millis: The end of its grace.
    """

    operation_id: str
    procedure: str
    branch: str
    until_millis: int


def releases_in_grace(
    warehouse: Warehouse, table: FileStoreTable, among: Collection[str] | None = None
) -> tuple[ReleaseInGrace, ...]:
    """Return the released branches of a table that undo can bring back now.

    Args:
        warehouse: The warehouse of the table.
        table: The table on any branch.
        among: The only operations to look at; None for all whose names are still retired.

    Raises:
        FormatError: The journal of one cannot be decoded.
    """
    journal, now = Journal(warehouse.store, table.paths), warehouse.clock()
    found = []
    for operation_id in retired_operations(table):
        if among is not None and operation_id not in among:
            continue
        end, intent = journal.end_of(operation_id), journal.find(operation_id)
        if end is None or intent is None or intent.procedure not in _CODECS:
            continue
        noted = journal.decode(intent, _CODECS[intent.procedure])
        if noted.release is None:
            continue
        until = end.time_millis + noted.release.grace_millis
        if now < until:
            found.append(
                ReleaseInGrace(
                    operation_id=operation_id,
                    procedure=intent.procedure,
                    branch=noted.move.source,
                    until_millis=until,
                )
            )
    return tuple(found)


def release_operations(events: Iterable[LineageEvent]) -> frozenset[str]:
    """Return the operations that released a branch, by the ledger, however long ago.

    A grace may last as long as its caller wants, and no event tells it. What a table without a
    release can bring back needs no request.
    """
    return frozenset(
        event.operation_id
        for event in events
        if event.kind is LineageKind.DROPPED
        and event.receipt is not None
        and event.receipt.rescue_branch is None
    )


def is_head_found(branch: FileStoreTable) -> bool:
    """Whether the head and the schema of a branch can be decoded, and the head's lists are there.

    No manifest is read, so damage in one is not seen.

    Raises:
        StorageError: The store did not answer.
    """
    try:
        head, _ = branch.head_and_schema()
        if head is not None:
            branch.check_lists(head)
    except (FormatError, NotFound):
        return False
    return True
