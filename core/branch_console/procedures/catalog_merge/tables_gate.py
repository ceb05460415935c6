"""The gate of a merge of the catalog: all tables are judged before any of them is published.

Each table is judged by its own rules, on what would arrive. One rule that blocks keeps back all of
the merge, so every table is judged before that is told.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from branch_console.errors import ErrorKind, InvalidInput, NotFound
from branch_console.format.catalog.catalog_version import VersionName
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.format.journals.catalog_merge import CatalogMergeJournal
from branch_console.format.journals.written import NOTHING_WRITTEN, JudgedResult, WrittenRows
from branch_console.merge.catalog.catalog_plan import CatalogMergePlan
from branch_console.merge.catalog.catalog_steps import StepKind
from branch_console.merge.plan import SchemaPlan
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import Consequence, blocks
from branch_console.procedures.call.row_engine import Progress, RowEngine
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.merge.inputs import DecidedMerge
from branch_console.procedures.merge.result_states import states_to_judge
from branch_console.procedures.run.quality_gate import (
    StatesToJudge,
    check_passes,
    gate_notes,
    overridden,
    passed_result,
    report_on,
    rule_consequences,
    rules_digest,
    stale,
)
from branch_console.procedures.run.rule_evaluation import JudgedState, find_rules, keep_report
from branch_console.quality.findings import GateReport, findings_of
from branch_console.quality.rules import RuleSet
from branch_console.table.table_state import ReadState


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TableToJudge:
    """A table that gets content, with its rules.

    Attributes:
        name: Its name on the target, after the merge if it is new.
        is_new: Whether the target does not have it.
    """

    id: str
    name: Identifier
    rules: RuleSet
    is_new: bool


def tables_to_judge(warehouse: Warehouse, plan: CatalogMergePlan) -> Iterator[TableToJudge]:
    """Yield the tables that get content and have rules, in the order of the steps.

    Raises:
        InvalidInput: A rule file cannot be read; the message names it.
    """
    for table_id, name, is_new in _arriving(plan):
        rules = find_rules(warehouse, name)
        if rules is not None:
            yield TableToJudge(id=table_id, name=name, rules=rules, is_new=is_new)


def rule_consequences_of(warehouse: Warehouse, plan: CatalogMergePlan) -> Iterator[Consequence]:
    """Tell by which rules each table will be judged; rules that cannot be read block the merge."""
    for _, name, _ in _arriving(plan):
        try:
            yield from rule_consequences(find_rules(warehouse, name), name.table_name)
        except InvalidInput as error:
            yield blocks(error.message, error.kind)


def judge_tables(
    warehouse: Warehouse,
    rows: RowEngine,
    call: ProcedureCall,
    plan: CatalogMergePlan,
    decided: Mapping[str, DecidedMerge],
    written: Mapping[str, WrittenRows],
    progress: Progress,
) -> dict[str, JudgedResult]:
    """Judge all tables that get content; return what to note of each that has rules, by its id.

    Args:
        warehouse: The warehouse of the tables.
        rows: Reads rows.
        call: The merge; each report is kept under its id and the id of the table, and all of them
            together under its id.
        plan: The decided plan.
        decided: The merges of tables that both sides have.
        written: The rows that were written for these.
        progress: Told how far it is.

    Raises:
        Refused: The gate blocks, and the call does not override it; the message names each table.
        NotAllowed: The role may not override the gate.
    """
    started = warehouse.clock()
    found: list[tuple[TableToJudge, ProcedureCall, StatesToJudge, GateReport]] = []
    for table in tables_to_judge(warehouse, plan):
        rules_digest(call, table.rules)  # checks the role before anything is read
        sides = _sides(warehouse, plan, table, decided.get(table.id), written)
        if sides is not None:
            own = replace(call, operation_id=f"{call.operation_id}-{table.id}")
            _, report = report_on(warehouse, rows, own, sides, progress)
            found.append((table, own, sides, report))
    report_on_all = _on_tables([(table.name, report) for table, _, _, report in found])
    if found:
        keep_report(warehouse, rows, call, report_on_all, started, ())
    check_passes(call, _with_tables_said(report_on_all))
    return {
        table.id: passed_result(warehouse, rows, own, sides, table.rules, report, progress)
        for table, own, sides, report in found
    }


def with_gate(
    warehouse: Warehouse,
    call: ProcedureCall,
    plan: CatalogMergePlan,
    journal: CatalogMergeJournal,
    judged: Mapping[str, JudgedResult],
) -> CatalogMergeJournal:
    """Return the journal of a merge with the verdict that lets it begin.

    Raises:
        Refused: The verdict is of another plan, or of other rules than a table has now.
    """
    reports = []
    for table in tables_to_judge(warehouse, plan):
        result = judged.get(table.id)
        if result is None:
            if _is_judged(plan, table):
                raise stale(f"{table.name.table_name} got rules meanwhile.")
            continue
        if result.digest != rules_digest(call, table.rules):
            raise stale(f"The rules of {table.name.table_name} were changed meanwhile.")
        if result.plan_id != plan.id:
            raise stale("A branch moved while its result was judged.", ErrorKind.HEAD_MOVED)
        findings = findings_of(result.gate["findings"])
        reports.append((table.name, GateReport(digest=result.digest, findings=findings)))
    if len(reports) < len(judged):
        raise stale("The rules of a table were taken away meanwhile.")
    if not reports:
        return journal
    report = _with_tables_said(_on_tables(reports))
    return replace(
        journal,
        gate=overridden(warehouse, call, report),
        notes=(*journal.notes, *gate_notes(call, report)),
    )


def _arriving(plan: CatalogMergePlan) -> Iterator[tuple[str, Identifier, bool]]:
    """The ids and names of tables that get content, and whether they are new to the target."""
    for step in plan.steps:
        is_new = step.kind is StepKind.CREATE_TABLE
        if not (is_new or step.kind is StepKind.MERGE_CONTENT):
            continue
        state = plan.result if is_new else plan.states.ours
        name = state.name_of(step.id)
        if name is not None:
            yield step.id, Identifier.parse(name), is_new


def _is_judged(plan: CatalogMergePlan, table: TableToJudge) -> bool:
    """Whether rows of a table arrive: of one without a snapshot only schemas come."""
    merged = next(each for each in plan.objects if each.id == table.id)
    return not isinstance(merged.plan, SchemaPlan)


def _sides(
    warehouse: Warehouse,
    plan: CatalogMergePlan,
    table: TableToJudge,
    decided: DecidedMerge | None,
    written: Mapping[str, WrittenRows],
) -> StatesToJudge | None:
    """The states that a table is judged on; None if no row of it arrives."""
    if decided is not None:
        if isinstance(decided.plan, SchemaPlan):
            return None
        sides = states_to_judge(decided, written.get(table.id, NOTHING_WRITTEN))
        return replace(sides, table=table.name, plan_id=plan.id)
    # A new table, or one that the target makes at the head of the source.
    before = None if table.is_new else _state(warehouse, plan.versions.ours, table.name)
    name = plan.states.theirs.name_of(table.id)
    if name is None:
        raise NotFound(f"{table.name.table_name} is not on {plan.source!r}.")
    after = _state(warehouse, plan.versions.theirs, Identifier.parse(name))
    return StatesToJudge(table=table.name, plan_id=plan.id, before=before, after=after)


def _state(warehouse: Warehouse, version: str, name: Identifier) -> JudgedState:
    branch = VersionName.parse(version).branch
    on_branch = replace(name, catalog_branch=None if branch == MAIN_BRANCH else branch)
    return JudgedState.of(ReadState.as_it_is(warehouse.table(on_branch)))


def _on_tables(reports: Sequence[tuple[Identifier, GateReport]]) -> GateReport:
    """Return one report on many tables, with the table of each finding."""
    findings = (
        replace(finding, table=name.table_name)
        for name, report in reports
        for finding in report.findings
    )
    texts = sorted(f"{name.table_name}={report.digest}" for name, report in reports)
    digest = hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]
    return GateReport(digest=digest, findings=tuple(findings))


def _with_tables_said(report: GateReport) -> GateReport:
    """Return the report with the table in each sentence, as a receipt and an error tell it."""
    findings = (replace(each, said=f"{each.table}: {each.said}") for each in report.findings)
    return replace(report, findings=tuple(findings))
