"""The parts of every procedure: a plan that changes nothing, and a finish that can be repeated.

The plan is made from the table and written to the journal; the finish reads only the journal. So a
preview, a run, a repeated click and a recovery all do the same thing.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

import pyarrow as pa

from branch_console.errors import CommitConflict, ErrorKind, InvalidInput, Refused
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.format.journals.codec import Codec
from branch_console.format.journals.intent import Ending
from branch_console.format.journals.terms import TERMS, OperationJournal
from branch_console.format.journals.written import NOTHING_WRITTEN, WrittenRows
from branch_console.format.kept_elsewhere import Act, KeptElsewhere
from branch_console.format.receipt import Receipt
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import Preview
from branch_console.procedures.call.permissions import check_role
from branch_console.procedures.call.row_engine import Progress, RowEngine
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.call.without_callbacks import (
    changes_schema,
    journal_of_callbacks,
    left_out_by_catalog,
    left_out_of,
    turns_options_of_main,
    weigh_callbacks,
)
from branch_console.procedures.run.agreed_choices import AgreedChoices
from branch_console.procedures.run.archived import unless_archived
from branch_console.procedures.run.open_operation import OpenOperation, Operation
from branch_console.procedures.run.quality_gate import StatesToJudge
from branch_console.quality.rules import RuleSet
from branch_console.table.file_store_table import FileStoreTable


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlannedOperation:
    """The decision of a procedure: the consequences for people, the journal for the machine.

    Attributes:
        table: The table, on the branch that the procedure reads.
        branch: The branch that changes.
        journal: Everything that finishing needs; empty if nothing can run.
        earlier_receipt: The receipt, if an earlier operation did all this.
        act: The act after which Paimon runs callbacks; None without callbacks.
        rules: The quality rules that judge the result before it is published; None without them.
        heads: The heads of the decision, for the argument HEADS of the call. A run keeps to them if
            later commits of others may be left out; else None.
    """

    preview: Preview
    table: FileStoreTable
    branch: str
    journal: OperationJournal
    earlier_receipt: Receipt | None = None
    act: Act | None = None
    rules: RuleSet | None = None
    heads: str | None = None


P = TypeVar("P", bound=PlannedOperation)
AnOperation = TypeVar("AnOperation", bound=OpenOperation)
Ended_contra = TypeVar("Ended_contra", bound=OpenOperation, contravariant=True)
J = TypeVar("J")


@dataclass(frozen=True, slots=True, kw_only=True)
class Procedure(Generic[P, J]):
    """A procedure on one table.

    What it planned is passed to all functions that run before its end, so that nobody plans again.

    Attributes:
        name: The procedure, as a call names it.
        what: The right of a role, as the end of "You may not …".
        doing: A sentence for the time in which it changes something.
        plan: Decides; never writes.
        plan_on: Decides like `plan`, for a run that has planned before; unchanged parts are not
            read again. None if that saves nothing.
        codec: Reads and writes the journal.
        finish: Carries out the journalled plan from wherever it was cut off; raises CommitConflict
            if another writer committed in between, and has then taken back its own changes.
        files_to_verify: The data files that become readable, with the columns of FILES_TO_VERIFY;
            they are checked before anything is changed. None if there are none.
        rows: Lets the row engine compare and write rows; its result is written to the journal. None
            if the procedure needs no rows.
        discard: Removes the files that `rows` wrote if the operation does not begin.
        gate: Returns the states that the quality rules judge before anything is published, from the
            result of `rows`. None if no row is added or removed.
        stage: The name of the stage that changes something; None for the procedure's name.
        decisions: Returns the decisions of a person who sees the preview, so that a run may plan
            again if a head moved. None if it never does.
    """

    name: str
    what: str
    doing: str
    plan: Callable[[Warehouse, ProcedureCall], P]
    codec: Codec[J]
    finish: Callable[[Operation, J], Receipt]
    stage: str | None = None
    files_to_verify: Callable[[P], pa.Table] | None = None
    rows: Callable[[Warehouse, RowEngine, ProcedureCall, P, Progress], WrittenRows] | None = None
    discard: Callable[[Warehouse, ProcedureCall, FileStoreTable, WrittenRows], None] | None = None
    gate: Callable[[P, WrittenRows], StatesToJudge] | None = None
    decisions: Callable[[Warehouse, ProcedureCall], AgreedChoices] | None = None
    plan_on: Callable[[Warehouse, ProcedureCall, P], P] | None = None


class _Ends(Protocol[Ended_contra, J]):
    """The end of a procedure, be it one on a table or on objects of the catalog."""

    @property
    def codec(self) -> Codec[J]: ...

    @property
    def finish(self) -> Callable[[Ended_contra, J], Receipt]: ...


def finish_procedure(procedure: _Ends[AnOperation, J], operation: AnOperation) -> Receipt:
    """Carry out the journal of an operation, or return its earlier receipt.

    Raises:
        CommitConflict: Another writer came in between, now or when it was tried first.
        FormatError: What it set out to do cannot be read.
    """
    return finish_operation(
        lambda held: procedure.finish(held, held.read(procedure.codec)), operation
    )


def finish_operation(finish: Callable[[AnOperation], Receipt], operation: AnOperation) -> Receipt:
    """Carry out a journal, or return the earlier receipt; raises as `finish_procedure` does."""
    with operation.held() as held:
        ended, done = held.end_unless_stopped(), held.receipt()
        if done is not None:
            if ended is None:
                held.end(Ending.DONE)
            return done
        # Before anything is done: a newer release may have meant something else by it.
        held.read(TERMS)
        try:
            return finish(held)
        except CommitConflict as error:
            # A try on another machine, which no lock holds off, may have been faster.
            ended, done = held.end(Ending.STOPPED, error.message), held.receipt()
            if ended.ending is Ending.DONE and done is not None:
                return done
            raise


def table_of(warehouse: Warehouse, call: ProcedureCall) -> FileStoreTable:
    """Open the table that a call names, on the branch that it names."""
    return warehouse.table(Identifier.parse(call.table))


def decide(
    procedure: Procedure[P, Any],
    warehouse: Warehouse,
    call: ProcedureCall,
    earlier: P | None = None,
) -> P:
    """Decide, also on what Paimon would do for others; raises as the plan of the procedure does.

    Args:
        procedure: The procedure.
        warehouse: The warehouse of the table.
        call: Its arguments.
        earlier: What this very run has planned before.
    """
    with warehouse.deciding(None if earlier is None else earlier.table) as deciding:
        if earlier is None or procedure.plan_on is None:
            planned = procedure.plan(deciding, call)
        else:
            planned = procedure.plan_on(deciding, call, earlier)
        if planned.earlier_receipt is not None or not planned.preview.can_run:
            return planned
        if planned.act is Act.COMMIT:
            preview = unless_archived(planned.preview, planned.table, planned.branch)
            if not preview.can_run:
                return replace(planned, preview=preview)
        left_out = _left_out(deciding, planned)
    return replace(
        planned,
        preview=weigh_callbacks(planned.preview, call, left_out),
        journal=replace(planned.journal, without_callbacks=journal_of_callbacks(call, left_out)),
    )


def _left_out(warehouse: Warehouse, planned: PlannedOperation) -> tuple[KeptElsewhere, ...]:
    table, journal = planned.table, planned.journal
    by_options = (
        left_out_by_catalog(warehouse, table.on(MAIN_BRANCH))
        if turns_options_of_main(journal)
        else ()
    )
    if planned.act is None:
        return by_options
    target = table.on(planned.branch)
    changes = changes_schema(journal)
    return (*by_options, *left_out_of(warehouse, target, planned.act, changes_schema=changes))


def plan_checked(
    procedure: Procedure[P, Any],
    warehouse: Warehouse,
    call: ProcedureCall,
    agreed: str | None,
    earlier: P | None = None,
) -> P:
    """Decide, for a run of the preview that was agreed to; None if nobody looked at one.

    Raises:
        NotAllowed: The role does not reach.
        Refused: Something stands in the way, or the preview is another one by now.
    """
    planned = decide(procedure, warehouse, call, earlier)
    check_role(call.role, planned.preview.role, procedure.what)
    if planned.earlier_receipt is None:
        planned.preview.raise_unless_runnable(agreed)
    return planned


def check_rows(planned: PlannedOperation, written: WrittenRows) -> None:
    """Raise Refused for rows that were compared for another preview."""
    if written != NOTHING_WRITTEN and written.plan_id != planned.preview.plan_id:
        raise another_plan(planned, "while rows were compared")


def another_plan(planned: PlannedOperation, meanwhile: str) -> Refused:
    """Return the refusal of a run whose plan is another one by now; `meanwhile` says when."""
    return Refused(
        f"{planned.preview.title}: a branch moved {meanwhile}. Nothing was changed; look at the "
        "new preview.",
        kind=ErrorKind.HEAD_MOVED,
        plan_id=planned.preview.plan_id,
    )


def find_operation(
    warehouse: Warehouse, call: ProcedureCall, known: FileStoreTable | None = None
) -> Operation | None:
    """Return the operation where it has begun; the branch of the call may be gone by now.

    Args:
        warehouse: The warehouse of the table.
        call: The call of the operation.
        known: The table on any branch, where somebody has opened it.
    """
    named = Identifier.parse(call.table)
    opened = (
        map(warehouse.find_table, dict.fromkeys((named.on_branch(MAIN_BRANCH), named)))
        if known is None
        else (known,)
    )
    for table in opened:
        if table is None:
            continue
        found = Operation.find(warehouse, table, call.operation_id)
        if found is not None and found.intent.procedure != call.name:
            raise InvalidInput(
                f"Operation {call.operation_id} is a {found.intent.procedure} already. Use an id "
                "of its own for each operation.",
                operation_id=call.operation_id,
            )
        return found
    return None
