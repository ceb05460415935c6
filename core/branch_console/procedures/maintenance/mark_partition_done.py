"""Marking partitions as done, by a file in the folder of each."""

from collections.abc import Iterator
from typing import Final

from branch_console.commit.rows.partition_marks import mark_path, marked_at, put_marks
from branch_console.diff.history_move import count
from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.journals.partitions import (
    MARK_DONE_JOURNAL,
    MarkDoneJournal,
    PartitionMark,
)
from branch_console.format.lineage_event import LineageKind
from branch_console.format.options import PARTITION_MARK_DONE_ACTION
from branch_console.format.partition_path import escape_path_name
from branch_console.format.receipt import Receipt
from branch_console.format.table_schema import TableSchema
from branch_console.operations.partition_requests import MarkPartitionDoneRequest
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import (
    Consequence,
    Preview,
    blocks,
    changes,
    plan_digest,
)
from branch_console.procedures.call.permissions import Role
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.run.open_operation import Operation
from branch_console.procedures.run.procedure import PlannedOperation, Procedure, table_of
from branch_console.procedures.run.receipts import event_of, receipt_of
from branch_console.table.file_store_table import FileStoreTable

_SUCCESS_FILE: Final = "success-file"


def plan_marks(warehouse: Warehouse, call: ProcedureCall) -> PlannedOperation:
    """Decide on the marks of partitions.

    Raises:
        InvalidInput: A partition is none of the table.
        NotFound: There is no such table or branch.
        FormatError: A mark that is there is none.
    """
    asked, table = call.request(MarkPartitionDoneRequest), table_of(warehouse, call)
    schema, now = table.schema(), warehouse.clock()
    marks = []
    for folder in dict.fromkeys(_folders(schema, asked.partitions)):
        before = table.reader.files.find(mark_path(table.paths.table, folder))
        marks.append(
            PartitionMark(
                folder=folder,
                before=None if before is None else before.decode(),
                after=marked_at(now, before),
            )
        )
    folders = [mark.folder for mark in marks]
    preview = Preview(
        procedure=call.name,
        title=f"Mark partitions of {table.identifier} as done",
        plan_id=plan_digest(call, [(mark.folder, mark.before) for mark in marks]),
        consequences=(*_other_actions(schema), *_consequences(table, folders)),
        typed_name=None,
        role=Role.EDITOR,
        undo="Undo takes the marks away, or gives them the time that they had.",
    )
    return PlannedOperation(
        preview=preview,
        table=table,
        branch=table.branch,
        journal=MarkDoneJournal(plan_id=preview.plan_id, marks=tuple(marks)),
    )


def finish_marks(operation: Operation, journal: MarkDoneJournal) -> Receipt:
    """Write the marks, or take them back.

    Raises:
        CommitConflict: A mark was changed in the meantime; none was written.
    """
    put_marks(operation.warehouse.store, operation.table.paths.table, journal.marks)
    kind = LineageKind.MARKED_DONE if journal.undoes is None else LineageKind.UNDONE
    number = count(len(journal.marks), "partition")
    text = "as done" if journal.undoes is None else "as before"
    receipt = receipt_of(operation, notes=(f"Marked {number} {text}.",))
    return operation.complete(event_of(operation, kind, receipt, undoes=journal.undoes))


MARK_PARTITION_DONE = Procedure(
    name="mark_partition_done",
    what="mark a partition as done",
    doing="Marking the partitions.",
    plan=plan_marks,
    codec=MARK_DONE_JOURNAL,
    finish=finish_marks,
)


def _folders(schema: TableSchema, said: str) -> Iterator[str]:
    """The folders of the partitions that a text names; raises InvalidInput."""
    for text in said.split(";"):
        pairs = [part.partition("=") for part in text.split(",")]
        values = {key.strip(): value.strip() for key, _, value in pairs}
        # Of the first keys alone it is the folder of all their partitions.
        keys = schema.partition_keys[: len(values)]
        if not all(equals for _, equals, _ in pairs) or not all(values.values()):
            raise _no_partition(schema, text)
        if values.keys() != {*keys}:
            raise _no_partition(schema, text)
        yield "/".join(f"{escape_path_name(key)}={escape_path_name(values[key])}" for key in keys)


def _no_partition(schema: TableSchema, text: str) -> InvalidInput:
    keys = ", ".join(schema.partition_keys)
    needs = f"It is partitioned by {keys}" if keys else "It has no partitions"
    return InvalidInput(
        f"{text!r} is no partition of the table. {needs}; write dt=2026-01-31,hour=7. No partition "
        "was marked.",
        kind=ErrorKind.INVALID_ARGUMENT,
        argument="partitions",
    )


def _other_actions(schema: TableSchema) -> Iterator[Consequence]:
    for action in schema.options.read(PARTITION_MARK_DONE_ACTION):
        if action != _SUCCESS_FILE:
            yield blocks(
                f"Option 'partition.mark-done-action' asks for {action!r}, which tells a "
                "metastore or a program, and Branch Console has neither. Mark the partitions with "
                f"Paimon, or set the option to {_SUCCESS_FILE!r}.",
                ErrorKind.UNSUPPORTED,
            )


def _consequences(table: FileStoreTable, folders: list[str]) -> Iterator[Consequence]:
    yield changes(
        f"{count(len(folders), 'partition')} of {table.identifier} are marked as done, by a file "
        "_SUCCESS in the folder of each.",
        tuple(folders),
    )
    if table.branch != MAIN_BRANCH:
        yield changes(
            f"All branches share these folders: who waits for the file on {MAIN_BRANCH!r} takes it "
            "for that branch's."
        )
