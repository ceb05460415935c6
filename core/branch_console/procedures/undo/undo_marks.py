"""Undoing marks of partitions that are done."""

from branch_console.commit.journal import Journal
from branch_console.commit.rows.partition_marks import mark_path
from branch_console.errors import ErrorKind
from branch_console.format.journals.partitions import (
    MARK_DONE_JOURNAL,
    MarkDoneJournal,
    PartitionMark,
)
from branch_console.format.lineage_event import LineageEvent
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import Consequence, blocks, changes
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.run.procedure import PlannedOperation
from branch_console.procedures.undo.undo_preview import intent_of, planned_undo
from branch_console.table.file_store_table import FileStoreTable


def plan_marks_back(
    warehouse: Warehouse, call: ProcedureCall, table: FileStoreTable, event: LineageEvent
) -> PlannedOperation:
    """Decide whether marks can be what they were.

    Raises:
        NotFound: The journal of the operation is gone.
    """
    ledger = Journal(warehouse.store, table.paths)
    intent = intent_of(ledger, event)
    done = ledger.decode(intent, MARK_DONE_JOURNAL)
    consequences: list[Consequence] = []
    for mark in done.marks:
        path = mark_path(table.paths.table, mark.folder)
        after = None if mark.after is None else mark.after.encode()
        if table.reader.files.find(path) != after:
            text = f"Undo is not possible: {path} was changed since."
            consequences.append(blocks(text, ErrorKind.UNDO_BLOCKED))
    consequences.append(
        changes(
            "The marks of these partitions are as before.",
            tuple(mark.folder for mark in done.marks),
        )
    )
    back = tuple(
        PartitionMark(folder=mark.folder, before=mark.after, after=mark.before)
        for mark in done.marks
    )
    return planned_undo(
        call, table, event, consequences, branch=event.branch, journal=MarkDoneJournal(marks=back)
    )
