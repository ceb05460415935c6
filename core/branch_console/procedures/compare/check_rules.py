"""Judging one state of a table by its rules, as a job."""

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.identifier import Identifier
from branch_console.format.receipt import Receipt
from branch_console.operations.compare_requests import CheckRulesRequest
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.row_engine import Progress, RowEngine
from branch_console.procedures.call.stages import Facts, Stages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.compare.states import find_state
from branch_console.procedures.run.quality_gate import JudgedSides, judge_sides
from branch_console.procedures.run.receipts import receipt_of_stage
from branch_console.procedures.run.rule_evaluation import (
    JudgedState,
    evaluate,
    find_rules,
    keep_report,
    read_rules,
)
from branch_console.procedures.run.running_reads import holding
from branch_console.quality.gate import judge_state
from branch_console.quality.rule_file import rule_path
from branch_console.table.fallback_branch import with_other_branch
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.table_state import ReadState


def check_rules(
    warehouse: Warehouse, rows: RowEngine, call: ProcedureCall, stages: Stages
) -> Receipt:
    """Judge one state of a table by its rules; what is found is kept as an answer of the job.

    Arguments of the call: `table`, on the branch that is judged; `version`, a snapshot id or a tag
    of it, else its head; `rules`, the text of a rule file in place of the kept one. With `a` and
    `b`, states as `parse_state_name` reads them, `b` is judged as if it took the place of `a`: a
    rule that fails on both only warns.

    Raises:
        NotFound: There is no such table, branch, snapshot or tag.
        InvalidInput: There are no rules, or they cannot be read.
    """
    return receipt_of_stage(
        warehouse,
        call,
        stages,
        "check rules",
        lambda progress: _checked(warehouse, rows, call, progress),
        message="Looking for rows that break the rules.",
    )


def _checked(
    warehouse: Warehouse, rows: RowEngine, call: ProcedureCall, progress: Progress
) -> Facts:
    started, asked = warehouse.clock(), call.request(CheckRulesRequest)
    identifier, given = Identifier.parse(asked.table), asked.rules
    table = warehouse.table(identifier)
    rules = find_rules(warehouse, identifier) if given is None else read_rules(given, identifier)
    if rules is None:
        raise InvalidInput(
            f"{identifier.table_name} has no rules. Write them to "
            f"{rule_path(warehouse.url, identifier.table_name)}, or name a file.",
            kind=ErrorKind.INVALID_ARGUMENT,
        )
    if (asked.before is None) != (asked.after is None):
        raise InvalidInput(
            f"{call.name} judges one state, or one against another: name both 'a' and 'b', or "
            "neither.",
            kind=ErrorKind.INVALID_ARGUMENT,
        )
    if asked.before is not None and asked.after is not None:
        before, after = _named_state(table, asked.before), _named_state(table, asked.after)
        sides = JudgedSides(
            table=identifier, before=JudgedState.of(before), after=JudgedState.of(after)
        )
        with holding(warehouse, call, (*before.reads, *after.reads)):
            report = judge_sides(warehouse, rows, call, sides, rules, progress)
        judged = (sides.before, sides.after)
    else:
        state = _state_of(table, asked.version)
        judged = (None, JudgedState.of(state))
        with holding(warehouse, call, state.reads):
            found = evaluate(
                rows,
                identifier,
                judged[1],
                rules.rules,
                now_millis=started,
                operation_id=call.operation_id,
                progress=progress,
            )
        report = judge_state(rules, found)
    keep_report(warehouse, rows, call, report, started, judged)
    said = [each.said for each in report.findings]
    return {"plan_id": rules.digest, "notes": [f"Rules: {report.verdict}.", *said]}


def judged_head_or_past(table: FileStoreTable, asked: CheckRulesRequest) -> ReadState:
    """Return the state whose rows a check judges.

    Raises:
        NotFound: There is no such branch, snapshot or tag, or it is another one by now.
        InvalidInput: A text names no state.
    """
    if asked.after is not None:
        return _named_state(table, asked.after)
    return _state_of(table, asked.version)


def _named_state(table: FileStoreTable, text: str) -> ReadState:
    found = find_state(table, text)
    there = table.on(found.branch)
    head, past_millis = there.head(), None
    if found.snapshot is not None and (head is None or head.id != found.snapshot.id):
        past_millis = found.snapshot.time_millis
    return with_other_branch(
        ReadState(
            table=there, snapshot=found.snapshot, schema=found.schema, past_millis=past_millis
        )
    )


def _state_of(table: FileStoreTable, version: str | None) -> ReadState:
    if version is None:
        return with_other_branch(ReadState.as_it_is(table))
    return with_other_branch(ReadState.as_it_was(*table.state_for(version)))
