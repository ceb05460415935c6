"""The gate: a result is judged by the rules of its table before anything of it is published.

It is judged as it will be, from the files that are staged. The verdict belongs to the plan and to
the rules that it was made with; where either is another one by the end, it counts for nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeVar

from branch_console.diff.history_move import count
from branch_console.diff.schema_diff import SchemaVerdict, diff_schemas
from branch_console.errors import ErrorKind, InvalidInput, PaimonError, Refused
from branch_console.format.identifier import Identifier
from branch_console.format.journals.terms import OperationJournal
from branch_console.format.journals.written import GateOverride, JudgedResult, override_note
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import Consequence, changes
from branch_console.procedures.call.permissions import Role, check_role
from branch_console.procedures.call.row_engine import Progress, RowEngine
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.run.rule_evaluation import (
    JudgedState,
    count_rows_of,
    evaluate,
    find_rules,
    keep_report,
    with_new_failures,
)
from branch_console.quality.findings import GateReport, GateVerdict, RuleFinding, findings_of
from branch_console.quality.gate import failing_ids, judge, judge_state
from branch_console.quality.rules import RuleSet
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.table_state import ReadState

STAGE: Final = "quality rules"
MESSAGE: Final = "Judging the result by the rules of the table."

_SAID: Final = 3

J = TypeVar("J", bound=OperationJournal)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JudgedSides:
    """Two states of a table; the rules are judged on the second.

    Attributes:
        before: None if the table is new: then nothing failed before.
    """

    table: Identifier
    before: JudgedState | None
    after: JudgedState


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StatesToJudge(JudgedSides):
    """The target, and the target as a plan would leave it; `plan_id` is bound to both heads."""

    plan_id: str


def rules_digest(call: ProcedureCall, rules: RuleSet | None) -> str | None:
    """Return the digest of the rules that a call is held to; None if there are none.

    Raises:
        NotAllowed: The role may not override the gate.
    """
    if call.agreement.override_gate is not None:
        check_role(call.role, Role.OPERATOR, "override quality rules")
    return None if rules is None else rules.digest


def depends_on_time(warehouse: Warehouse, call: ProcedureCall) -> bool:
    """Whether a rule may be judged otherwise later, although nothing was committed since."""
    rules = find_rules(warehouse, Identifier.parse(call.table))
    return rules is not None and rules.depends_on_time


def rule_consequences(
    rules: RuleSet | None, table: str | None = None, judged: JudgedResult | None = None
) -> list[Consequence]:
    """Tell by which rules a result will be judged, or was; nothing if there are none.

    Args:
        rules: The rules.
        table: The name of their table, where the preview is of many.
        judged: The verdict on the result that a dry run has kept; None without one.
    """
    if rules is None:
        return []
    of_table = "" if table is None else f" of {table}"
    number = f"{count(len(rules.rules), 'quality rule')}{of_table}"
    if judged is not None and judged.digest == rules.digest:
        said = f"The dry run has run {number} on this result, and none blocks it."
    else:
        said = f"{number} will be run on the result before it is published."
    texts = tuple(f"{each.id} ({each.severity}): {each.text}" for each in rules.rules)
    return [replace(changes(said, texts), rules_of=rules.table)]


def judge_result(
    warehouse: Warehouse,
    rows: RowEngine,
    call: ProcedureCall,
    sides: StatesToJudge,
    progress: Progress,
) -> JudgedResult:
    """Judge a staged result; what is found is kept as the answer of the job.

    Raises:
        Refused: A rule fails, and the call does not override it.
        PaimonError: The rules could not be checked, and the call does not override them.
    """
    rules, report = report_on(warehouse, rows, call, sides, progress)
    check_passes(call, report)
    return passed_result(warehouse, rows, call, sides, rules, report, progress)


def report_on(
    warehouse: Warehouse,
    rows: RowEngine,
    call: ProcedureCall,
    sides: StatesToJudge,
    progress: Progress,
) -> tuple[RuleSet, GateReport]:
    """Judge a staged result by the rules of its table, and keep what is found.

    Raises:
        Refused: The rules are gone.
    """
    started = warehouse.clock()
    rules = find_rules(warehouse, sides.table)
    if rules is None:
        raise stale("The rules of the table were taken away meanwhile.")
    report = judge_sides(warehouse, rows, call, sides, rules, progress)
    keep_report(warehouse, rows, call, report, started, (sides.before, sides.after))
    return rules, report


def check_passes(call: ProcedureCall, report: GateReport) -> None:
    """Raise an error if the gate blocks, and the call does not override it.

    Raises:
        Refused: A rule fails.
        PaimonError: None fails, and one that would block could not be checked: the job can go on.
    """
    if not report.verdict.blocks or call.agreement.override_gate is not None:
        return
    if report.verdict is GateVerdict.BLOCK:
        raise Refused(
            f"{_said(report.blocking)} Nothing was changed. Correct the rows on the source, or let "
            "an operator override the rule with a reason.",
            kind=ErrorKind.GATE_FAILED,
            gate=report.to_object(),
        )
    raise PaimonError(
        f"The quality rules could not be checked. {_said(report.blocking)} Nothing was changed. "
        "Check them again once the cause is gone, or let an operator override them with a reason.",
        kind=ErrorKind.RULES_NOT_CHECKED,
        gate=report.to_object(),
    )


def passed_result(
    warehouse: Warehouse,
    rows: RowEngine,
    call: ProcedureCall,
    sides: StatesToJudge,
    rules: RuleSet,
    report: GateReport,
    progress: Progress,
) -> JudgedResult:
    """Return what an operation notes of a result that passes, or that an operator lets pass."""
    return JudgedResult(
        plan_id=sides.plan_id,
        digest=rules.digest,
        gate=overridden(warehouse, call, report),
        notes=gate_notes(call, report),
        rows_counted=_counted(rows, call, sides, progress),
    )


def overridden(warehouse: Warehouse, call: ProcedureCall, report: GateReport) -> dict[str, object]:
    """Return what the gate said as JSON values, with who overrode it where it blocks."""
    gate = report.to_object()
    if not report.verdict.blocks:
        return gate
    reason = call.agreement.override_gate or ""
    override = GateOverride(reason=reason, actor=call.actor, time_millis=warehouse.clock())
    return override.on(gate)


def gate_notes(call: ProcedureCall, report: GateReport) -> tuple[str, ...]:
    """Return what a receipt tells of the gate: the verdict, or who overrode it and why."""
    if not report.verdict.blocks:
        return (f"Quality rules: {report.verdict}.", *_worth_telling(report))
    reason = call.agreement.override_gate or ""
    return (override_note(call.actor, reason), *_worth_telling(report))


def _counted(
    rows: RowEngine, call: ProcedureCall, sides: StatesToJudge, progress: Progress
) -> tuple[int, int] | None:
    """All rows of the target before and after; None if they cannot be read here."""
    rows_of = partial(
        count_rows_of, rows, sides.table, operation_id=call.operation_id, progress=progress
    )
    try:
        return 0 if sides.before is None else rows_of(sides.before), rows_of(sides.after)
    except PaimonError as error:
        # Whoever overrode rules that cannot be evaluated there is not stopped by a count.
        if isinstance(error, InvalidInput) or error.kind is ErrorKind.UNEXPECTED:
            return None
        raise


def gate_journal(
    call: ProcedureCall,
    plan_id: str,
    journal: J,
    judged: JudgedResult | None,
    rules: RuleSet | None,
) -> J:
    """Return the journal of an operation with the verdict that lets it begin.

    Args:
        call: The call.
        plan_id: The id of the plan that is carried out.
        journal: The journal of the plan.
        judged: What `judge_result` returned; None if there were no rules to judge by.
        rules: Those that the table has now.

    Raises:
        Refused: The verdict is of another plan, or of other rules than the table has now.
    """
    if rules_digest(call, rules) != (None if judged is None else judged.digest):
        raise stale("The rules of the table were changed meanwhile.")
    if judged is None:
        return journal
    if judged.plan_id != plan_id:
        raise stale("A branch moved while its result was judged.", ErrorKind.HEAD_MOVED)
    return replace(
        journal,
        gate=judged.gate,
        rows_counted=judged.rows_counted or journal.rows_counted,
        notes=(*journal.notes, *judged.notes),
    )


def gate_properties(gate: Mapping[str, Any] | None) -> dict[str, str]:
    """Return what a snapshot tells of the gate that it passed; nothing if there was none."""
    if gate is None:
        return {}
    found = {"branch.gate": gate["verdict"], "branch.gate-rules": gate["digest"]}
    override = GateOverride.of_gate(gate)
    if override is None:
        return found
    blocking = GateReport(digest="", findings=findings_of(gate["findings"])).blocking
    return found | {
        "branch.gate-override-reason": override.reason,
        "branch.gate-override-by": override.actor,
        "branch.gate-override-time": str(override.time_millis),
        "branch.gate-findings": _said(blocking),
    }


def stale(what: str, kind: ErrorKind = ErrorKind.GATE_FAILED) -> Refused:
    """Return the refusal of a result whose verdict is worth nothing; `what` says why."""
    return Refused(
        f"{what} The result must be judged by the quality rules again. Nothing was changed; run "
        "it again.",
        kind=kind,
    )


def judge_sides(
    warehouse: Warehouse,
    rows: RowEngine,
    call: ProcedureCall,
    sides: JudgedSides,
    rules: RuleSet,
    progress: Progress,
) -> GateReport:
    """Judge one state; for each failed rule, judge the other state too."""
    judged_on = partial(
        evaluate,
        rows,
        sides.table,
        now_millis=warehouse.clock(),
        operation_id=call.operation_id,
        progress=progress,
    )
    if sides.before is None:
        return judge_state(rules, judged_on(sides.after, rules.rules))
    after = judged_on(sides.after, rules.rules, shows_rows=False)
    failing = failing_ids(rules, after)
    # What passes on the result passes the gate, however the target stands.
    asked_again = [each for each in rules.rules if each.id in failing]
    before = judged_on(sides.before, asked_again, shows_rows=False)
    for each in asked_again:
        after[each.id] = with_new_failures(
            rows, sides.table, (sides.before, sides.after), each,
            (before[each.id], after[each.id]), operation_id=call.operation_id, progress=progress,
        )  # fmt: skip
    diff = diff_schemas(sides.before.schema, sides.after.schema)
    breaking = [
        f"{each.kind} {each.subject!r}: {each.reason}"
        for each in diff.changes
        if each.verdict is SchemaVerdict.BREAKING
    ]
    return judge(rules, after, before, breaking)


def _worth_telling(report: GateReport) -> list[str]:
    return [each.said for each in report.in_order if each.verdict != GateVerdict.PASS]


def _said(findings: tuple[RuleFinding, ...]) -> str:
    more = len(findings) - _SAID
    said = " ".join(each.said for each in findings[:_SAID])
    return f"{said} And {more} more." if more > 0 else said


def sides_of_forward(target: FileStoreTable, source: FileStoreTable, plan_id: str) -> StatesToJudge:
    """Return the target as it is, and as it is once it took over the history of the source."""
    return StatesToJudge(
        table=name_of(target),
        plan_id=plan_id,
        before=JudgedState.of(ReadState.as_it_is(target)),
        after=JudgedState.of(ReadState.as_it_is(source)),
    )


def name_of(table: FileStoreTable) -> Identifier:
    """Return the name of a table without its branch."""
    return Identifier.parse(table.identifier.table_name)
