"""The conditions of a merge of the catalog, fulfilled or not."""

from collections.abc import Iterator

from branch_console.errors import ErrorKind
from branch_console.format.identifier import Identifier
from branch_console.merge.catalog.catalog_plan import CatalogMergePlan
from branch_console.merge.catalog.catalog_steps import StepKind
from branch_console.merge.plan import FastForwardPlan
from branch_console.procedures.call.consequence import Preview
from branch_console.quality.findings import GateVerdict
from branch_console_app.models.branches.head_checks import HeadCheck, MergedTable
from branch_console_app.models.merge.catalog_merge import MergeCounts
from branch_console_app.models.merge.eligibility import (
    RULES,
    Check,
    CheckState,
    check_of,
    check_of_role,
)
from branch_console_app.models.merge.gate_run import passed_words
from branch_console_app.models.merge.merge_state import blocked_by
from branch_console_app.models.parts.wording import code, listed, plural

_MOST_TABLES = 5


def checks_of_catalog_merge(
    plan: CatalogMergePlan,
    preview: Preview,
    counts: MergeCounts,
    *,
    settled: int,
    check: HeadCheck | None,
    lacks_role: str | None,
) -> tuple[Check, ...]:
    """Return the conditions of a merge of the catalog whose conflicts are settled.

    Args:
        plan: The merge.
        preview: The preview of its command.
        counts: The numbers of the plan.
        settled: How many conflicts were decided on.
        check: The result of the quality rules for this merge; None if it is not known.
        lacks_role: Why the person may not merge, in the words of `lacks_role`; None if they may.
    """
    target = code(plan.target)
    checks = (
        *map(check_of, preview.blocks),
        *_conflicts(plan, settled),
        *_comparison(plan),
        *_rules(preview, plan.target, check),
        *_busy(counts),
        check_of_role(target, lacks_role, f"You may merge into {target}."),
    )
    return tuple(sorted(checks, key=lambda check: check.standing))


def _conflicts(plan: CatalogMergePlan, settled: int) -> Iterator[Check]:
    known = f"{plural(settled, 'conflict')}, all settled." if settled else "none."
    if not plan.cost.undecided:
        yield Check(standing=CheckState.PASSES, name="Conflicts", text=known)
        return
    of_rows = "known after the row comparison."
    text = f"{known} Those of rows are {of_rows}" if settled else of_rows
    yield Check(standing=CheckState.NOT_RUN, name="Conflicts", text=text)


def _comparison(plan: CatalogMergePlan) -> Iterator[Check]:
    number = plan.cost.undecided
    if not number:
        return
    yield Check(
        standing=CheckState.NOT_RUN, name="Row comparison",
        text=f"of {plural(number, 'table')}, as the first step of the merge. If rows collide, it "
        "stops.",
    )  # fmt: skip


def _rules(preview: Preview, target: str, check: HeadCheck | None) -> Iterator[Check]:
    if check is not None:
        yield _of_check(check, target)
        return
    judged = {
        each.rules_of: len(each.details)
        for each in preview.consequences
        if each.rules_of is not None
    }
    if not judged:
        return
    tables = listed([code(name) for name in judged], most=_MOST_TABLES)
    yield Check(
        standing=CheckState.NOT_RUN, name=RULES,
        text=f"{plural(sum(judged.values()), 'rule')} of {tables}, not run yet. They run on the "
        "result before any table is merged.",
    )  # fmt: skip


def _of_check(check: HeadCheck, target: str) -> Check:
    findings = check.report.findings
    if check.blocks:
        return Check(
            standing=CheckState.FAILS, name=RULES, text=blocked_by(check.report.blocking, target),
            kind=ErrorKind.GATE_FAILED,
        )  # fmt: skip
    warns = check.report.verdict is GateVerdict.WARN
    return Check(
        standing=CheckState.WARNS if warns else CheckState.PASSES, name=RULES,
        text=f"{passed_words(findings)}, on the result as it is now.",
    )  # fmt: skip


def tables_of_plan(plan: CatalogMergePlan) -> tuple[MergedTable, ...]:
    """Return the tables that a merge brings content of, with the heads that a check must be of."""
    ours, theirs = plan.states.ours.tables, plan.states.theirs.tables
    plans = {each.id: each.plan for each in plan.objects}
    found = []
    for step in plan.steps:
        is_new = step.kind is StepKind.CREATE_TABLE
        name = (plan.result if is_new else plan.states.ours).name_of(step.id)
        if name is None or not (is_new or step.kind is StepKind.MERGE_CONTENT):
            continue
        sides = (None if is_new else ours.get(step.id), theirs.get(step.id))
        heads = (None if side is None else side.head for side in sides)
        found.append(
            MergedTable(
                id=step.id,
                name=Identifier.parse(name),
                heads=tuple(head.text for head in heads if head is not None),
                is_forward=is_new or isinstance(plans.get(step.id), FastForwardPlan),
            )
        )
    return tuple(found)


def _busy(counts: MergeCounts) -> Iterator[Check]:
    if not counts.busy:
        return
    yield Check(
        standing=CheckState.WARNS,
        text=f"{listed([code(each) for each in counts.busy])} got a commit in the last ten "
        "minutes. If another one arrives while this merge publishes, it is planned again or taken "
        "back.",
    )  # fmt: skip
