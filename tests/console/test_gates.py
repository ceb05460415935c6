"""The quality gate on the pages: what will be judged, what was found, and why it is overridden."""

import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from branch_console.errors import ErrorKind
from branch_console.format.journals.written import GateOverride, override_note
from branch_console.jobs.progress import JobState, JobStep
from branch_console.procedures.compare.failing_rows import FailingRows
from branch_console.procedures.run.quality_gate import STAGE
from branch_console.quality.findings import GateReport
from branch_console.quality.gate import findings_table, judge
from branch_console.quality.rule_file import parse_rules
from branch_console.quality.rules import RuleResult
from branch_console.sql.answer import Answer
from branch_console_app import reads
from branch_console_app.judged_heads import KeptJudgement, read_judgement
from branch_console_app.models.parts.wording import prose
from branch_console_app.services import Services
from tests.console.pages import Console, Page, air_console, settings
from tests.console.pretend import NOW, PretendServices, air_warehouse, job, receipt
from tests.support.judged_rules import ORDERED, SAID

FLIGHTS = {"db": "air", "table": "flights", "how": "ff", "source": "backfill"}
RULES = parse_rules(
    "table: air.flights\nrules:\n"
    "  - {id: carrier, rule: not_null, columns: [carrier], severity: block}\n"
    "  - {id: delay, rule: in_range, column: dep_delay, min: -60}\n",
    "air.flights",
)
REPORT = judge(
    RULES,
    {
        "carrier": RuleResult(
            rule_id="carrier",
            rows=1000,
            failures=41,
            examples=('{"flight": "UA1", "carrier": null, "day": 8}',),
        ),
        "delay": RuleResult(rule_id="delay", rows=1000),
    },
    {"carrier": RuleResult(rule_id="carrier", rows=960)},
)

PASSED = judge(RULES, {each.id: RuleResult(rule_id=each.id, rows=1000) for each in RULES.rules}, {})


def gated(tmp_path: Path, role: str = "operator") -> Console:
    console = air_console(tmp_path, role)
    console.services.kept_rules = RULES
    return console


def test_rules_are_listed_as_not_judged_yet(tmp_path: Path) -> None:
    page = gated(tmp_path).open("merge", **FLIGHTS)
    assert "2 rules" in page.text
    (listed,) = [each.value for each in page.at.dataframe if "Condition" in each.value]
    assert list(listed["Condition"]) == ["carrier not null", "dep_delay >= -60"]
    assert list(listed["Severity"]) == ["block", "warn"]
    # They can be checked before somebody asks for the merge.
    query = dict(page.links())["Check the rules now"]
    assert "cmp_a=main" in query
    assert "cmp_tab=quality" in query


def test_rules_that_were_not_run_are_a_check_of_a_fast_forward(tmp_path: Path) -> None:
    page = gated(tmp_path).open("merge", **FLIGHTS)
    assert "**Quality rules:** 2 rules, not run yet." in page.text
    # The card on Summary and the list of checks have it.
    assert [text for text, _ in page.links()].count("Check the rules now") == 2
    assert "Checks (6 passed, 1 not run)" in [tab.label for tab in page.at.tabs]


def stopped(console: Console) -> Page:
    """Start a merge that the rules stop; return its page."""
    page = console.open("merge", **FLIGHTS, do="merge").click("ff-run")
    (call,) = console.services.sent
    judged = _judged(console.services, job_id=call.operation_id)
    known = judged.known_jobs[call.operation_id]
    judged.known_jobs[call.operation_id] = replace(known, name="fast_forward")
    return page.run()


def test_before_the_rules_ran_the_dialog_only_says_when_they_run(tmp_path: Path) -> None:
    page = gated(tmp_path).open("merge", **FLIGHTS, do="merge")
    # On its page, and in the dialog.
    assert page.text.count("**Quality rules:** 2 rules, not run yet.") > 1
    assert "gate-reason" not in [each.key for each in page.at.text_input]
    assert page.at.button(key="ff-run").label == "Merge into main"


def test_a_gate_that_is_red_is_the_verdict_with_its_rows(tmp_path: Path) -> None:
    page = stopped(gated(tmp_path))
    assert "**Blocked by rule `carrier`: 41 of 1,000 rows of the result fail it" in page.text
    assert page.has_button("merge-show_rows")
    assert page.has_button("merge-override")
    assert "Checks (1 failed)" in [tab.label for tab in page.at.tabs]
    assert "Failing rows (" in " ".join(each.label for each in page.at.expander)


UNKNOWN = judge(
    RULES,
    {
        each.id: RuleResult(rule_id=each.id, problem="Spark could not answer a query: EOFException")
        for each in RULES.rules
    },
    {},
)


@pytest.mark.parametrize("error", [ErrorKind.RULES_NOT_CHECKED, ErrorKind.GATE_FAILED])
def test_rules_that_could_not_be_checked_are_checked_again(
    tmp_path: Path, error: ErrorKind
) -> None:
    console = gated(tmp_path)
    console.open("merge", **FLIGHTS, do="merge").click("ff-run")
    (call,) = console.services.sent
    judged = _judged(console.services, UNKNOWN, job_id=call.operation_id)
    # An earlier release refused it like a merge that a rule blocks.
    is_new = error is ErrorKind.RULES_NOT_CHECKED
    judged.known_jobs[call.operation_id] = replace(
        judged.known_jobs[call.operation_id], name="fast_forward", error=error,
        state=JobState.FAILED if is_new else JobState.REFUSED,
    )  # fmt: skip
    page = console.open("merge", **FLIGHTS, merged=f"backfill-main:{call.operation_id}")
    assert "**The quality rules could not be checked.** Rule `carrier` was not" in page.text
    assert "`main` is unchanged." in page.text
    again = "merge-resume" if is_new else "merge-review"
    assert page.at.button(key=again).label == "Check again"
    assert page.has_button("merge-view_job")
    assert not page.has_button("merge-show_rows")
    # Only an operator who looks for it merges nevertheless.
    page = page.click("more-override")
    assert "gate-reason" in [each.key for each in page.at.text_input]
    assert page.at.button(key="ff-run").label == "Merge without checking the rules"
    # It says nothing of the merge for whoever opens it without that job.
    page = console.open("merge", **FLIGHTS)
    assert "could not be checked" not in page.text
    assert page.has_button("merge-merge")
    place = {"db": "air", "table": "flights", "branch": "backfill"}
    assert "blocked by" not in console.open("branches", **place).text


def test_a_page_opened_anew_knows_that_the_rules_stopped_these_heads(tmp_path: Path) -> None:
    console = gated(tmp_path)
    stopped(console)
    page = console.open("merge", **FLIGHTS)
    assert "**Blocked by rule `carrier`: 41 of 1,000 rows of the result fail it" in page.text
    assert page.has_button("merge-show_rows")
    # What other rules found says nothing of those that the table has now.
    console.services.kept_rules = replace(RULES, digest="other")
    page = console.open("merge", **FLIGHTS)
    assert "Blocked by rule" not in page.text
    assert page.has_button("merge-merge")


def test_a_merge_that_rules_of_the_time_stopped_is_overridden_where_it_was_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(RULES), "depends_on_time", True)
    console = gated(tmp_path)
    page = stopped(console)
    assert "**Blocked by rule `carrier`: 41 of 1,000 rows of the result fail it" in page.text
    assert page.has_button("merge-override")
    assert not page.has_button("merge-merge")
    # Somebody who opens the page later tries it: the rules may find something else by then.
    page = console.open("merge", **FLIGHTS)
    assert "Blocked by rule" not in page.text
    assert "and a rule depends on the time." in page.text
    assert page.has_button("merge-merge")


CLEAN = {"db": "air", "table": "flights", "source": "fix-delays"}


def run_before(
    console: Console,
    report: GateReport,
    *,
    name: str = "dry_run_merge",
    digest: str = RULES.digest,
    judged: tuple[str, ...] | None = None,
    finished_millis: int = NOW,
    **options: bool | str,
) -> Page:
    """Have somebody else's job run the rules on a merge; return the page of that merge."""
    services = console.services
    asked = {"table": "air.flights", "branch": "fix-delays", "target": "main"}
    plan = services.preview_merge(asked).plan
    job_id = services.start(name, {**asked, **options})
    heads = (plan.heads.ours, plan.heads.theirs)
    if judged is None:
        judged = tuple(head.identity.text for head in heads if head is not None)
    _judged(services, report, job_id)
    if not report.blocking:
        # A result is kept for a day by the clock of the page.
        passed = replace(
            services.known_jobs[job_id], state=JobState.DONE, error=None,
            finished_millis=time.time_ns() // 1_000_000,
        )  # fmt: skip
        services.known_jobs[job_id] = passed
    services.known_jobs[job_id] = replace(services.known_jobs[job_id], name=name)
    services.answers[job_id] = Answer(
        rows=findings_table(report), has_more=False, plan="", finished_millis=finished_millis,
        notes=(f"Rules {digest}: {report.verdict}.",), judged=judged,
    )  # fmt: skip
    return console.open("merge", **CLEAN)


def test_a_dry_run_that_the_rules_refused_is_known_at_the_plain_address(tmp_path: Path) -> None:
    page = run_before(gated(tmp_path), REPORT)
    assert "**Blocked by rule `carrier`: 41 of 1,000 rows of the result fail it" in page.text
    assert page.has_button("merge-show_rows")
    assert page.has_button("merge-override")
    assert "**Dry run:** stopped by rule `carrier`" in page.text
    assert "Dry run:** not done" not in page.text
    assert "Checks (2 failed)" in [tab.label for tab in page.at.tabs]


def test_rules_that_warn_are_told_in_the_same_words_on_the_card_and_the_page(
    tmp_path: Path,
) -> None:
    console, found = gated(tmp_path), {rule.id: RuleResult(rule_id=rule.id) for rule in RULES.rules}
    found["delay"] = RuleResult(rule_id="delay", rows=1000, failures=3)
    page = run_before(console, judge(RULES, found, {}))
    assert "**Quality rules:** 1 of 2 rules passed, `delay` warns in a dry run" in page.text
    card = console.open("branches", db="air", table="flights", branch="fix-delays").text
    said = "△ merge into `main`: 1 of 2 quality rules passed, `delay` warns"
    assert f":orange-badge[{said}]" in card


def test_rules_that_passed_are_not_called_not_run(tmp_path: Path) -> None:
    console = gated(tmp_path)
    assert "2 rules, not run yet" in console.open("merge", **CLEAN).text
    page = run_before(console, PASSED)
    assert "**Quality rules:** 2 of 2 rules passed in a dry run" in page.text
    assert "not run yet" not in page.text
    assert not page.has_button("check-rules")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"digest": "other"}, "with other rules."),
        ({"strict": True}, "with other options or decisions."),
    ],
)
def test_what_rules_found_for_another_state_of_a_merge_is_told_as_outdated(
    tmp_path: Path, given: dict[str, Any], words: str
) -> None:
    page = run_before(gated(tmp_path), REPORT, **given)
    assert "Blocked by rule" not in page.text
    assert page.has_button("merge-merge")
    said = "not run on the result as it is now. A dry run was stopped by rule `carrier`, "
    assert said in page.text
    assert words in page.text


@pytest.mark.parametrize(
    ("judged", "words"),
    [
        (("an earlier head", "another"), "on other commits"),
        # An earlier release kept no heads; they may be the same.
        ((), "perhaps on other commits"),
    ],
)
def test_what_rules_found_before_a_commit_is_told_as_outdated(
    tmp_path: Path, judged: tuple[str, ...], words: str
) -> None:
    page = run_before(gated(tmp_path), REPORT, judged=judged)
    assert re.search(
        rf"A dry run was stopped by rule `carrier`, [-\w ]+ \d\d:\d\d, {words}\.", page.text
    )
    assert page.has_button("merge-merge")


@pytest.mark.parametrize("judged", [("an earlier head", "another"), ()])
def test_what_rules_found_for_a_dropped_branch_of_the_same_name_is_not_told(
    tmp_path: Path, judged: tuple[str, ...]
) -> None:
    page = run_before(gated(tmp_path), REPORT, judged=judged, finished_millis=1)
    assert "**Quality rules:** 2 rules, not run yet." in page.text
    assert "was stopped" not in page.text


def test_a_dry_run_is_offered_where_rules_have_not_run(tmp_path: Path) -> None:
    page = gated(tmp_path).open("merge", **CLEAN).click("check-rules")
    assert page.has_button("run-dry")


def test_the_rows_that_fail_open_whatever_tab_is_open(tmp_path: Path) -> None:
    console = gated(tmp_path)
    run_before(console, REPORT)
    page = console.open("merge", **CLEAN, tab="checks")
    tables = sum("flight" in each.value for each in page.at.dataframe)
    page.click("merge-show_rows")
    shown = [each.value for each in page.at.dataframe if "flight" in each.value]
    assert len(shown) == tables + 1
    # A dialog is narrow: the column that fails is the first.
    assert ["carrier", "flight", "day"] in [list(each.columns) for each in shown]


def test_a_fast_forward_that_the_command_merge_ran_is_red_on_the_page_too(tmp_path: Path) -> None:
    console = gated(tmp_path)
    asked = {"table": "air.flights", "branch": "backfill", "target": "main"}
    decision = console.services.preview_merge(asked)
    job_id = console.services.start("merge_branch", {**asked, "plan_id": decision.plan.id})
    _judged(console.services, job_id=job_id)
    address = {"db": "air", "table": "flights", "source": "backfill"}
    page = console.open("merge", **address, merged=f"backfill-main:{job_id}")
    assert "**Blocked by rule `carrier`: 41 of 1,000 rows of the result fail it" in page.text
    assert not page.has_button("merge-merge")


def test_a_table_without_rules_has_no_gate(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("merge", **FLIGHTS)
    assert "2 rules" not in page.text
    assert not [each for each in page.at.text_input if each.key == "gate-reason"]


def test_the_reason_of_an_override_is_sent_with_the_command(tmp_path: Path) -> None:
    console = gated(tmp_path)
    page = stopped(console).click("merge-override")
    run = page.at.button(key="ff-run")
    assert (run.label, run.disabled) == ("Merge despite failing rules", True)
    # The dialog names the rule and the rows, and asks for one reason.
    (_, _, dialog) = page.text.rpartition("**Checks**")
    assert "Blocked by rule `carrier`: 41 of 1,000 rows of the result fail it" in dialog
    assert [each.label for each in page.at.text_input if "eason" in each.label] == ["Reason"]
    page.at.text_input(key="gate-reason").set_value("  Known, see 41 ")
    page.run().click("ff-run")
    _, call = console.services.sent
    assert call.arguments["override_gate"] == call.arguments["reason"] == "Known, see 41"


def test_only_an_operator_overrides(tmp_path: Path) -> None:
    console = gated(tmp_path, "approver")
    page = stopped(console).click("merge-override")
    assert page.at.text_input(key="gate-reason").disabled
    assert page.at.button(key="ff-run").disabled


def test_a_merge_that_overrode_a_rule_says_so_wherever_it_is_read(tmp_path: Path) -> None:
    console = gated(tmp_path)
    services = console.services
    console.open("merge", **FLIGHTS, do="merge").click("ff-run")
    (call,) = services.sent
    done, main = call.operation_id, services.listed[1].branches["main"].snapshots
    override = GateOverride(reason="Known, see 41", actor="ada", time_millis=NOW)
    services.receipts[done] = replace(
        receipt(done, main[-2], main[-1]), gate=override.on(REPORT.to_object()),
        notes=(override_note("ada", "Known, see 41"),),
    )  # fmt: skip
    services.known_jobs[done] = replace(
        services.known_jobs[done], state=JobState.DONE, receipt_id=done
    )
    branches = services.listed[1].branches
    branches["main"] = replace(branches["main"], snapshots=branches["backfill"].snapshots)
    page = console.open("merge", **FLIGHTS, merged=f"backfill-main:{done}")
    mark = "rule `carrier` overridden"
    assert f":orange-badge[:material/gpp_maybe: {mark}]" in page.text
    assert f"**Quality rules:** 1 of 2 rules passed; {mark} by ada: Known, see 41" in page.text
    page = console.open("receipt", db="air", table="flights", id=done)
    assert mark in page.text
    assert page.text.count("Known, see 41") == 1


def test_a_refused_job_shows_counts_and_rows(tmp_path: Path) -> None:
    services = air_warehouse(settings(tmp_path))
    page = Console(_judged(services)).open("job", id="9f2a00", db="air", table="flights")
    said = prose(
        "Rule 'carrier' fails now, and passed before: 41 of 1,000 rows break it; before: 0 of "
        "960 rows break it."
    )
    assert f"block \u2002 {said}" in page.text
    assert "pass \u2002 Rule `delay` passes" in page.text
    (rows,) = [each.value for each in page.at.dataframe if "flight" in each.value]
    assert list(rows["flight"]) == ["UA1"]


def test_a_failing_row_shows_where_it_has_no_value(tmp_path: Path) -> None:
    services = _judged(air_warehouse(settings(tmp_path)))
    page = Console(services).open("job", id="9f2a00", db="air", table="flights")
    (rows,) = [each.value for each in page.at.dataframe if "flight" in each.value]
    assert rows.to_dict("records") == [{"flight": "UA1", "carrier": "NULL", "day": 8}]


def test_rows_that_newly_fail_are_not_titled_as_the_first_of_all(tmp_path: Path) -> None:
    titles = {
        (3, True): "Rows that newly fail (3). In all, 25 fail, 22 before",
        (20, True): "Rows that newly fail (first 20). In all, 25 fail, 22 before",
        (20, False): "Failing rows (first 20 of 25)",
    }
    for (shown, shows_new), title in titles.items():
        rows = tuple(f'{{"flight": "UA{at}"}}' for at in range(shown))
        after = RuleResult(
            rule_id="carrier", rows=99, failures=25, examples=rows, shows_new=shows_new
        )
        before = RuleResult(rule_id="carrier", rows=90, failures=22)
        others = {"delay": RuleResult(rule_id="delay", rows=99)}
        report = judge(RULES, {"carrier": after, **others}, {"carrier": before})
        folder = tmp_path / f"{shown}-{shows_new}"
        services = _judged(air_warehouse(settings(folder)), report)
        page = Console(services).open("job", id="9f2a00", db="air", table="flights")
        assert title in [each.label for each in page.at.expander]


def test_failing_rows_show_values_of_several_kinds_as_they_are(tmp_path: Path) -> None:
    examples = (
        '{"flight": "UA1", "delay": "nan", "day": 8, "share": 1, "late": true, "at": {"k": "nan"}}',
        '{"flight": "UA2", "delay": 1.5, "day": 9, "share": 0.5, "late": false, "at": {"k": 2.5}}',
    )
    report = judge(
        RULES,
        {
            "carrier": RuleResult(rule_id="carrier", rows=9, failures=2, examples=examples),
            "delay": RuleResult(rule_id="delay", rows=9),
        },
        {},
    )
    services = _judged(air_warehouse(settings(tmp_path)), report)
    page = Console(services).open("job", id="9f2a00", db="air", table="flights")
    (rows,) = [each.value for each in page.at.dataframe if "flight" in each.value]
    assert rows.to_dict("list") == {
        "flight": ["UA1", "UA2"],
        "delay": ["nan", "1.5"],
        "day": [8, 9],
        "share": [1.0, 0.5],
        "late": [True, False],
        "at": ['{"k": "nan"}', '{"k": 2.5}'],
    }


def test_all_rows_that_fail_are_one_click_away(tmp_path: Path) -> None:
    services, query = air_warehouse(settings(tmp_path)), "SELECT * FROM `air`.`flights$branch_b`"
    services.failing = FailingRows(branch="b", queries={"carrier": query, "delay": "SELECT 1"})
    page = Console(_judged(services)).open("job", id="9f2a00", db="air", table="flights")
    links = [(text, at) for text, at in page.links() if text.startswith("Open in SQL")]
    # Nothing fails the other rule.
    [(text, at)] = links
    assert text == "Open in SQL: the rows of `b` that fail"
    assert parse_qs(at)["q"] == [query]


def test_a_query_that_reads_the_source_says_that_its_figures_may_differ(tmp_path: Path) -> None:
    services = air_warehouse(settings(tmp_path))
    note = "The counts are of the result of the merge. The query reads `b`: another"
    for is_judged in (True, False):
        services.failing = FailingRows(
            branch="b", queries={"carrier": "SELECT 1"}, is_judged=is_judged
        )
        page = Console(_judged(services)).open("job", id="9f2a00", db="air", table="flights")
        assert (note in page.text) is not is_judged


def test_a_query_that_is_too_long_for_an_address_is_shown(tmp_path: Path) -> None:
    services, query = air_warehouse(settings(tmp_path)), "SELECT '" + "x" * 5_000 + "'"
    services.failing = FailingRows(branch="b", queries={"carrier": query})
    page = Console(_judged(services)).open("job", id="9f2a00", db="air", table="flights")
    assert query in [each.value for each in page.at.code]
    assert not [text for text, _ in page.links() if text.startswith("Open in SQL")]


def test_what_newly_fails_comes_first_with_both_outcomes_and_counts(tmp_path: Path) -> None:
    services = air_warehouse(settings(tmp_path))
    page = Console(_judged(services, ORDERED)).open("job", id="9f2a00", db="air", table="flights")
    said = [prose(each) for each in SAID]
    assert all(each in page.text for each in said)
    places = [page.text.index(each) for each in said]
    assert places == sorted(places)


def _judged(
    services: PretendServices, report: GateReport = REPORT, job_id: str = "9f2a00"
) -> PretendServices:
    refused = job(job_id, state=JobState.REFUSED, error=ErrorKind.GATE_FAILED)
    if job_id in services.known_jobs:
        refused = replace(refused, arguments=services.known_jobs[job_id].arguments)
    step = JobStep(name=STAGE, started_millis=NOW, finished_millis=NOW, error="GATE_FAILED")
    services.known_jobs[job_id] = replace(refused, steps=(*refused.steps, step))
    note = f"Rules {RULES.digest}: {report.verdict}."
    services.answers[job_id] = Answer(
        rows=findings_table(report), has_more=False, plan="", notes=(note,)
    )
    return services


def test_a_branch_whose_head_was_judged_says_so_until_it_or_its_target_moves(
    tmp_path: Path,
) -> None:
    console = gated(tmp_path)
    (flights,) = (each for each in console.services.listed if each.identifier.table == "flights")
    heads = [flights.branches[name].head for name in ("main", "backfill")]
    console.services.known_jobs["c"] = job("c", state=JobState.DONE, name="check_rules")
    console.services.answers["c"] = Answer(
        rows=findings_table(REPORT), has_more=False, plan="",
        notes=(f"Rules {RULES.digest}: block.",), finished_millis=NOW,
        judged=tuple(head.identity.text for head in heads if head is not None),
    )  # fmt: skip
    place = {"db": "air", "table": "flights", "branch": "backfill"}
    badge = ":red-badge[✕ blocked by `carrier`]"
    page = console.open("branches", **place)
    assert page.text.count(badge) == 1  # in the list, below the branch that it is compared with
    on_card = ":red-badge[✕ merge into `main` is blocked by `carrier`]"
    assert f"{on_card} :gray[checked " in page.text
    # Its merge into another branch was never judged.
    assert "blocked by" not in console.open("branches", **place, br_vs="fix-delays").text
    main_card = console.open("branches", db="air", table="flights", branch="main").text
    assert main_card.count(badge) == 1
    console.services.kept_rules = replace(RULES, digest="other")
    assert "blocked by" not in console.open("branches", **place).text
    console.services.kept_rules = RULES
    main = flights.branches["main"]
    flights.branches["main"] = replace(main, snapshots=main.snapshots[:-1])
    assert "blocked by" not in console.open("branches", **place).text


def test_what_a_job_found_is_read_once_for_all_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    console, read = gated(tmp_path), []

    def counted(services: Services, job_id: str) -> KeptJudgement | None:
        read.append(job_id)
        return read_judgement(services, job_id)

    monkeypatch.setattr(reads, "read_judgement", counted)
    run_before(console, REPORT).run()
    assert "Blocked by rule" in console.open("merge", **CLEAN).text
    branches = {"db": "air", "table": "flights", "branch": "fix-delays"}
    assert "blocked by `carrier`" in console.open("branches", **branches).text
    assert read == [*console.services.answers]
