"""The conditions of a merge of the catalog, fulfilled or not."""

from collections.abc import Iterator

from branch_console.merge.catalog.catalog_plan import CatalogMergePlan
from branch_console.procedures.call.consequence import Preview
from branch_console_app.models.merge.catalog_merge import MergeCounts
from branch_console_app.models.merge.eligibility import (
    RULES,
    Check,
    CheckState,
    check_of,
    check_of_role,
)
from branch_console_app.models.parts.wording import code, listed, plural

_MOST_TABLES = 5


def checks_of_catalog_merge(
    plan: CatalogMergePlan,
    preview: Preview,
    counts: MergeCounts,
    *,
    settled: int,
    lacks_role: str | None,
) -> tuple[Check, ...]:
    """Return the conditions of a merge of the catalog whose conflicts are settled.

    Args:
        plan: The merge.
        preview: The preview of its command.
        counts: The numbers of the plan.
        settled: How many conflicts were decided on.
        lacks_role: Why the person may not merge, in the words of `lacks_role`; None if they may.
    """
    target = code(plan.target)
    checks = (
        *map(check_of, preview.blocks),
        *_conflicts(settled),
        *_comparison(plan),
        *_rules(preview),
        *_busy(counts),
        check_of_role(target, lacks_role, f"You may merge into {target}."),
    )
    return tuple(sorted(checks, key=lambda check: check.standing))


def _conflicts(settled: int) -> Iterator[Check]:
    text = f"{plural(settled, 'conflict')}, all settled." if settled else "none."
    yield Check(standing=CheckState.PASSES, name="Conflicts", text=text)


def _comparison(plan: CatalogMergePlan) -> Iterator[Check]:
    number = plan.cost.undecided
    if not number:
        return
    yield Check(
        standing=CheckState.NOT_RUN, name="Row comparison",
        text=f"of {plural(number, 'table')}, as the first step of the merge. If rows collide, it "
        "stops.",
    )  # fmt: skip


def _rules(preview: Preview) -> Iterator[Check]:
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


def _busy(counts: MergeCounts) -> Iterator[Check]:
    if not counts.busy:
        return
    yield Check(
        standing=CheckState.WARNS,
        text=f"{listed([code(each) for each in counts.busy])} got a commit in the last ten "
        "minutes. If another one arrives while this merge publishes, it is planned again or taken "
        "back.",
    )  # fmt: skip
