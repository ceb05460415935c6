"""What every verb of the lifecycle is: a plan that changes nothing, and a finish that may repeat.

The plan is made from what the table holds and goes into the journal; the finish reads nothing but
that. So a preview, a run, a repeated click and a recovery all speak of one thing.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from core.commit.journal import Ending
from core.errors import CommitConflict, ErrorKind, InvalidInput, NotFound, PaimonError, Refused
from core.format.identifier import MAIN_BRANCH, Identifier
from core.format.receipt import Receipt
from core.procedures.call import ProcedureCall
from core.procedures.consequence import Preview
from core.procedures.operation import Operation
from core.procedures.permissions import check_role
from core.procedures.quality_gate import (
    MESSAGE,
    STAGE,
    GateSides,
    gate_journal,
    judge_result,
    rules_digest,
)
from core.procedures.records import number_of
from core.procedures.row_engine import Progress, RowEngine
from core.procedures.stages import Facts, Stages
from core.procedures.verify_files import verify
from core.procedures.warehouse import Warehouse
from core.table.file_store_table import FileStoreTable


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Planned:
    """What was decided: the consequences for people, the journal for the machine.

    Attributes:
        table: The table, on the branch that the verb looks at.
        branch: The branch that changes.
        journal: JSON values: all that is needed to finish.
        already: The receipt, where all this was done by an earlier operation.
    """

    preview: Preview
    table: FileStoreTable
    branch: str
    journal: Mapping[str, object]
    already: Receipt | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """One verb.

    Attributes:
        name: The procedure, as a call names it.
        what: What a role may do, as it completes "You may not …".
        doing: What goes on while it changes something, as a sentence.
        plan: Decides; never writes.
        finish: Carries out the journalled plan from wherever it was cut off; raises CommitConflict
            where somebody else came in between, and has then taken back what it did.
        arriving: The data files that become readable, with the columns of FILES_TO_VERIFY; they
            are looked at before anything is changed. None where no file does.
        rows: Has the row engine compare and write what only rows can tell; what it returns goes
            into the journal, `plan_id` naming the preview that it worked for. None where no verb
            needs rows.
        withdraw: Removes what `rows` wrote, where the operation does not come to be.
        gate: Tells what the rules of the table are to judge before anything is published, from
            the plan's id and what `rows` returned. None where no row comes or goes.
    """

    name: str
    what: str
    doing: str
    plan: Callable[[Warehouse, ProcedureCall], Planned]
    finish: Callable[[Operation], Receipt]
    arriving: Callable[[Warehouse, ProcedureCall], pa.Table] | None = None
    rows: Callable[[Warehouse, RowEngine, ProcedureCall, Progress], Facts] | None = None
    withdraw: Callable[[Warehouse, ProcedureCall, Facts], None] | None = None
    gate: Callable[[Warehouse, ProcedureCall, str, Facts], GateSides] | None = None


def run_verb(
    verb: Verb, warehouse: Warehouse, rows: RowEngine, call: ProcedureCall, stages: Stages
) -> Receipt:
    """Run a verb to its receipt; a call that ran before returns the receipt of then.

    Raises:
        NotAllowed: The role does not reach, or the store is not safe to write.
        Refused: Something stands in the way, or the heads are not those of the preview.
        CommitConflict: Another writer came in between; nothing of it is lost.
    """
    agreed, files_verified = call.find_text("plan_id"), 0
    written: Facts = {}
    judged: Facts = {}
    if verb.arriving is not None:
        checked = stages.run(
            "check heads",
            lambda _: _check(verb, warehouse, call),
            message="Looking at what there is.",
        )
        if "receipt" in checked:
            return Receipt.from_json(str(checked["receipt"]))
        if "plan_id" in checked:
            agreed = str(checked["plan_id"])
            found = stages.run(
                "verify files",
                lambda progress: _verify(verb, warehouse, rows, call, progress),
                message="Checking that the data files which arrive are there and whole.",
            )
            files_verified = number_of(found, "files")
            written = _compare_rows(verb, warehouse, rows, call, stages)
            if "rules" in checked:
                judged = _judge(verb, warehouse, rows, call, agreed, written, stages)
    facts = stages.run(
        verb.name.replace("_", " "),
        lambda _: _carry_out(verb, warehouse, call, agreed, files_verified, written, judged),
        message=verb.doing,
        publishes=True,
    )
    return Receipt.from_json(str(facts["receipt"]))


def finish_verb(verb: Verb, operation: Operation) -> Receipt:
    """Carry out what an operation set out to do, or tell how it ended.

    Raises:
        CommitConflict: Another writer came in between, now or when it was tried first.
    """
    ended = operation.journal.end_of(operation.intent.operation_id)
    if ended is not None and ended.ending is not Ending.DONE:
        raise CommitConflict(
            ended.message or f"Operation {operation.intent.operation_id} was taken back.",
            kind=ErrorKind.HEAD_MOVED,
        )
    done = operation.receipt()
    if done is not None:
        if ended is None:
            operation.end(Ending.DONE)
        return done
    try:
        return verb.finish(operation)
    except CommitConflict as error:
        operation.end(Ending.STOPPED, error.message)
        raise


def table_of(warehouse: Warehouse, call: ProcedureCall) -> FileStoreTable:
    """Open the table that a call names, on the branch that it names."""
    return warehouse.table(Identifier.parse(call.text("table")))


def _check(verb: Verb, warehouse: Warehouse, call: ProcedureCall) -> Facts:
    """Decide, and tell by which plan the rest goes; nothing where the operation has begun."""
    warehouse.check_writable()
    if _begun(warehouse, call) is not None:
        return {}
    planned = _planned(verb, warehouse, call, call.find_text("plan_id"))
    if planned.already is not None:
        return {"receipt": planned.already.to_json()}
    digest = None if verb.gate is None else rules_digest(warehouse, call)
    return {"plan_id": planned.preview.plan_id, **({} if digest is None else {"rules": digest})}


def _verify(
    verb: Verb, warehouse: Warehouse, rows: RowEngine, call: ProcedureCall, progress: Progress
) -> Facts:
    assert verb.arriving is not None
    return {"files": verify(rows, verb.arriving(warehouse, call), call.text("table"), progress)}


def _compare_rows(
    verb: Verb, warehouse: Warehouse, rows: RowEngine, call: ProcedureCall, stages: Stages
) -> Facts:
    compare = verb.rows
    if compare is None:
        return {}
    return stages.run(
        "compare rows",
        lambda progress: compare(warehouse, rows, call, progress),
        message="Comparing rows that both sides may have changed.",
    )


def _judge(
    verb: Verb,
    warehouse: Warehouse,
    rows: RowEngine,
    call: ProcedureCall,
    plan_id: str,
    written: Facts,
    stages: Stages,
) -> Facts:
    """Have the result judged; where it may not be published, what was written for it goes."""
    gate = verb.gate
    assert gate is not None
    try:
        return stages.run(
            STAGE,
            lambda progress: judge_result(
                warehouse, rows, call, gate(warehouse, call, plan_id, written), progress
            ),
            message=MESSAGE,
        )
    except PaimonError:
        _withdraw(verb, warehouse, call, written)
        raise


def _withdraw(verb: Verb, warehouse: Warehouse, call: ProcedureCall, written: Facts) -> None:
    if written and verb.withdraw is not None:
        verb.withdraw(warehouse, call, written)


def _carry_out(
    verb: Verb,
    warehouse: Warehouse,
    call: ProcedureCall,
    agreed: str | None,
    files_verified: int,
    written: Facts,
    judged: Facts,
) -> Facts:
    warehouse.check_writable()
    operation = _begun(warehouse, call)
    if operation is None:
        try:
            planned = _planned(verb, warehouse, call, agreed)
            _check_rows(planned, written)
            journal = dict(planned.journal)
            if verb.gate is not None and planned.already is None:
                plan_id = planned.preview.plan_id
                journal = gate_journal(warehouse, call, plan_id, planned.journal, judged)
        except PaimonError:
            _withdraw(verb, warehouse, call, written)
            raise
        if planned.already is not None:
            return {"receipt": planned.already.to_json()}
        journal = {**journal, **{k: v for k, v in written.items() if k != "plan_id"}}
        if files_verified:
            journal = {**journal, "filesVerified": files_verified}
        operation = Operation.begin(
            warehouse, planned.table, call, branch=planned.branch, plan=journal
        )
    return {"receipt": finish_verb(verb, operation).to_json()}


def _check_rows(planned: Planned, written: Facts) -> None:
    """Refuse rows that were compared for another preview."""
    if written and written.get("plan_id") != planned.preview.plan_id:
        raise Refused(
            f"{planned.preview.title}: a branch moved while rows were compared. Nothing was "
            "changed; look at the new preview.",
            kind=ErrorKind.HEAD_MOVED,
            plan_id=planned.preview.plan_id,
        )


def _planned(verb: Verb, warehouse: Warehouse, call: ProcedureCall, agreed: str | None) -> Planned:
    planned = verb.plan(warehouse, call)
    check_role(call.role, planned.preview.role, verb.what)
    if planned.already is None:
        planned.preview.raise_unless_runnable(agreed)
    return planned


def _begun(warehouse: Warehouse, call: ProcedureCall) -> Operation | None:
    """The operation where it has begun; the branch that the call names may be gone by now."""
    named = Identifier.parse(call.text("table"))
    for identifier in dict.fromkeys((named.on_branch(MAIN_BRANCH), named)):
        try:
            table = warehouse.table(identifier)
        except NotFound:
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
