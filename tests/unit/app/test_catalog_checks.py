"""The checks of a merge of the catalog: what is known before it runs, and what is not yet."""

from dataclasses import replace

import pytest

from branch_console.merge.catalog.catalog_plan import CatalogMergePlan
from branch_console.procedures.call.consequence import changes
from branch_console.quality.findings import GateReport, RuleFinding
from branch_console_app.models.branches.head_checks import HeadCheck
from branch_console_app.models.merge.catalog_checks import checks_of_catalog_merge, tables_of_plan
from branch_console_app.models.merge.catalog_merge import MergeCounts
from branch_console_app.models.merge.eligibility import Check, CheckState
from tests.console.pretend import preview
from tests.support.catalog_states import table
from tests.unit.app.test_catalog_merge import AIR, BASE, PLANES, planned, side

RENAMED = planned(side(AIR, table("f", "d.legs"), PLANES))
RULES = replace(
    changes("1 rule will be run.", ("count (block): at least 1 row",)), rules_of="air.legs"
)


def checks(
    plan: CatalogMergePlan = RENAMED, *, settled: int = 0, check: HeadCheck | None = None
) -> list[Check]:
    found = checks_of_catalog_merge(
        plan, preview("merge_catalog_branch", RULES), MergeCounts.of(plan, now_millis=0),
        settled=settled, check=check, lacks_role=None,
    )  # fmt: skip
    return [*found]


def named(name: str, found: list[Check]) -> Check:
    (one,) = (each for each in found if each.name == name)
    return one


@pytest.mark.parametrize(
    ("undecided", "settled", "standing", "text"),
    [
        (0, 0, CheckState.PASSES, "none."),
        (0, 2, CheckState.PASSES, "2 conflicts, all settled."),
        (1, 0, CheckState.NOT_RUN, "known after the row comparison."),
        (1, 2, CheckState.NOT_RUN, "2 conflicts, all settled. Those of rows are known after the "
         "row comparison."),
    ],
)  # fmt: skip
def test_nobody_says_that_nothing_collides_before_rows_were_compared(
    undecided: int, settled: int, standing: CheckState, text: str
) -> None:
    plan = replace(RENAMED, cost=replace(RENAMED.cost, undecided=undecided))
    found = checks(plan, settled=settled)
    assert named("Conflicts", found).standing is standing
    assert named("Conflicts", found).text == text
    assert any(each.name == "Row comparison" for each in found) is bool(undecided)


def judged(verdict: str) -> HeadCheck:
    finding = RuleFinding(
        table="air.legs", rule="count", asked="", severity="block", verdict=verdict, said="",
        failures=1, rows=16, failures_before=0,
    )  # fmt: skip
    return HeadCheck(
        judged=(), target="main", is_of_source=False, job="j", time_millis=1,
        report=GateReport(digest="", findings=(finding,)),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("check", "standing", "text"),
    [
        (None, CheckState.NOT_RUN, "1 rule of `air.legs`, not run yet. They run on the result "
         "before any table is merged."),
        (judged("pass"), CheckState.PASSES, "1 of 1 rule passed, on the result as it is now."),
        (judged("block"), CheckState.FAILS, "Blocked by rule `count` of `air.legs`: 1 of 16 rows "
         "of the result fails it; 0 on `main` today."),
    ],
)  # fmt: skip
def test_the_rules_say_what_they_found_or_that_they_have_not_run(
    check: HeadCheck | None, standing: CheckState, text: str
) -> None:
    found = named("Quality rules", checks(check=check))
    assert (found.standing, found.text) == (standing, text)


def test_only_tables_whose_content_comes_are_judged() -> None:
    assert tables_of_plan(RENAMED) == ()
    new = planned(side(AIR, *BASE.tables.values(), table("r", "d.routes", at=1)))
    (found,) = tables_of_plan(new)
    assert (found.name.full_name, len(found.heads), found.is_forward) == ("air.routes", 1, True)
