"""The resolver on a real table with real conflicts; only the worker is left out."""

from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from branch_console.errors import NotFound
from branch_console.format.identifier import Identifier
from branch_console.jobs.progress import JobState, JobView
from branch_console.merge.conflict import ConflictKind
from branch_console.merge.policy import Policy, PolicyChoice, Settle
from branch_console.merge.policy_draft import (
    with_column_rule,
    with_kind_rule,
    with_table_rule,
)
from branch_console.procedures.browse.conflicts import read_row_conflicts
from branch_console.procedures.call.call import Argument
from branch_console_app.models.merge.resolver import TAKE, Decider, decided, edits_of
from branch_console_app.models.parts.wording import bare
from branch_console_app.services import Services
from branch_console_app.settings import Settings
from branch_console_app.widgets.merge import checking
from tests.console.pages import Console, Page, settings
from tests.console.pretend import job
from tests.support.branch_bench import BranchBench
from tests.support.commit_tables import data_files, message
from tests.support.contested_table import NAME, ContestedTable

PLACE = {"db": "air", "table": "delays", "source": "fix-delays"}
NOTES = {**PLACE, "cf_kind": "changed on both", "cf_col": "note", "cf_part": "day=2013-03-08"}
ASKED: dict[str, Argument] = {"table": NAME, "branch": "fix-delays", "target": "main"}
OF_BEFORE = ("compared first", "after the row comparison", "at least", "not counted", "to compare")

NewConsole = Callable[..., Console]


@pytest.fixture
def table(tmp_path: Path) -> ContestedTable:
    return ContestedTable(tmp_path / "warehouse", flights=3)


@pytest.fixture
def console(table: ContestedTable, tmp_path: Path) -> NewConsole:
    """The console of somebody over the table, whose rows were compared."""
    table.call("compare_rows", branch="fix-delays", target="main")

    def of(actor: str = "ada", role: str = "operator") -> Console:
        given = {"warehouse": str(table.folder), "state_dir": str(tmp_path / "state")}
        settings = Settings.from_environment({**given, "actor": actor, "role": role}, {})
        services: Any = Services(settings)
        return Console(services)

    return of


def lines(page: Page) -> list[tuple[Any, ...]]:
    """Key, column, result, take and who decided, of the conflicts that are listed."""
    (frame,) = (each.value for each in page.at.data_editor if "Decision" in each.value)
    columns = ("Key", "Column", "Result", "Decision", "Decided by")
    return [tuple(row[name] for name in columns) for _, row in frame.iterrows()]


def columns(page: Page) -> list[str]:
    """The columns that the list of conflicts shows."""
    (shown,) = (each for each in page.at.data_editor if "Decision" in each.value)
    return list(shown.proto.column_order)


def test_rules_settle_down_to_the_last_conflict_and_then_the_merge_goes_on(
    console: NewConsole,
) -> None:
    page = console().open("conflicts", **NOTES)
    assert "**8 of 8 conflicts open.**" in page.text
    assert "Back to the merge" in dict(page.links())
    assert not page.has_button("resolve-continue")
    assert lines(page) == [("2013-03-08 · 0", "note", "", "undecided", "")]
    page.click("rest-theirs")
    where = lines(page)[0][-1]
    assert where.startswith("where base.`day` is not null")
    assert lines(page) == [("2013-03-08 · 0", "note", "measured", "source", where)]
    # What was settled for the whole group can be changed where it was settled.
    assert page.at.button(key="rest-theirs").disabled
    page.click("rest-ours")
    assert lines(page)[0][2:4] == ("<b>by hand</b>", "target")
    assert page.at.button(key="rest-ours").disabled
    page.click("rest-theirs")

    page.at.selectbox(key="rule-column-column").set_value("dep_delay")
    page.at.selectbox(key="rule-take-True").set_value("max")
    page.run()
    assert "Settles **4 conflicts**." in page.text
    page.click("rule-keep")
    assert "**3 of 8 conflicts open.**" in page.text

    page.choose("New rule", "condition")
    page.at.text_input(key="rule-when").set_value("flight > 'x")
    page.at.selectbox(key="rule-take-False").set_value("ours")
    page.run()
    assert "**This rule cannot be used.**" in page.text
    assert not page.has_button("rule-keep")
    page.at.text_input(key="rule-when").set_value("flight >= 0")
    page.run()
    assert "**8 conflicts match.** Settles **3 conflicts**, changes 5 settled ones." not in (
        page.text
    )
    assert "**8 conflicts match.** Settles **3 conflicts**, changes 4 settled ones." in (page.text)
    page.click("rule-keep")
    split = "1 takes the source, 7 take the target."
    assert f"**All 8 conflicts settled.** {split}" in page.text
    assert "Back to the merge" not in dict(page.links())
    onward = page.at.button(key="resolve-continue")
    assert (onward.label, onward.proto.type) == ("Continue to merge", "primary")

    merge = console().open("merge", **PLACE)
    assert f"**All 8 conflicts settled.** {split}" in merge.text
    assert f"**All 8 conflicts are settled; {split}**" in merge.text
    assert merge.at.button(key="settle-conflicts").label == "Change decisions"
    merge.click("merge-merge")
    assert not merge.at.button(key="run-dry").disabled
    page.click("rule-drop-1")
    assert "**3 of 8" in page.text
    # Who looks at the merge is told that what settles its conflicts is another policy now.
    merge.click("run-dry")
    assert "Somebody has changed what settles the conflicts" in merge.text
    assert not merge.has_button("run-dry")
    merge.click("merge-plan-again")
    assert not merge.has_button("run-dry")
    # The verdict and its button follow what the comparison has found, and nothing says otherwise.
    assert "**3 conflicts to settle" in merge.text
    assert merge.at.button(key="settle-conflicts").label == "Settle 3 conflicts"
    assert not merge.has_button("merge-compare")
    assert "o compare" not in merge.text


def test_the_summary_says_what_a_comparison_and_a_dry_run_found(
    console: NewConsole, table: ContestedTable
) -> None:
    def summary() -> str:
        return bare(console().open("merge", **PLACE).text)

    found = summary()
    assert "Conflicts 8" in found
    assert "Once all conflicts are settled, a dry run counts the data files that change" in found
    assert [phrase for phrase in OF_BEFORE if phrase in found] == []

    services: Any = console().services
    seen = services.resolution(ASKED).draft
    wanted = with_table_rule(Policy(), NAME, PolicyChoice.parse("theirs"))
    services.save_draft(ASKED, seen, wanted)
    settled = summary()
    assert "Conflicts settled 8" in settled
    tabs = [tab.label for tab in console().open("merge", **PLACE).at.tabs]
    assert "Conflicts (8, all settled)" in tabs
    assert "Rows were compared; all 8 conflicts are settled." in settled
    assert "A dry run counts the data files that change, and their records." in settled

    policy = services.resolution(ASKED).draft.policy.to_yaml()
    table.call("dry_run_merge", branch="fix-delays", target="main", policy=policy)
    staged = summary()
    assert "4 data files are added to main: +12 records in files." in staged
    assert "Data files +4" in staged
    assert "Source files added 2" in staged
    assert "New files written 2" in staged
    assert [phrase for phrase in OF_BEFORE if phrase in staged] == []


def test_the_second_of_two_people_is_told_and_nothing_of_either_is_lost(
    console: NewConsole,
) -> None:
    ada, bob = console("ada"), console("bob")
    page = ada.open("conflicts", **NOTES)
    services: Any = bob.services
    seen = services.resolution(ASKED).draft
    of_note = with_column_rule(Policy(), NAME, "note", PolicyChoice.parse("ours"))
    services.save_draft(ASKED, seen, of_note)
    # Ada's page is from before: her rule is of something else, and both stand.
    page.click("rest-theirs")
    assert "The choice was not kept" not in page.text
    assert lines(page)[0][2:4] == ("measured", "source")
    assert "`note`" in page.text
    page.at.selectbox(key="rule-column-column").set_value("note")
    page.at.selectbox(key="rule-take-True").set_value("theirs")
    page.run()
    seen = services.resolution(ASKED).draft
    services.save_draft(
        ASKED, seen, with_column_rule(seen.policy, NAME, "note", PolicyChoice.parse("base"))
    )
    page.click("rule-keep")
    assert "**The choice was not kept.**" in page.text
    assert "column air\\.delays note, as base" in page.text
    kept = services.resolution(ASKED).draft.policy.for_table(NAME)[-1]
    assert [str(rule.take) for rule in kept.columns] == ["base"]


def test_a_link_to_an_earlier_plan_says_so_and_keeps_decisions(
    console: NewConsole, table: ContestedTable
) -> None:
    ada = console()
    services: Any = ada.services
    seen = services.resolution(ASKED)
    services.save_draft(
        ASKED, seen.draft, with_column_rule(Policy(), NAME, "note", PolicyChoice.parse("ours"))
    )
    table.write("main", delay=9, note="later")
    page = ada.open("conflicts", **PLACE, plan=seen.plan.id)
    assert "**This link is out of date:" in page.text
    assert "Kept: 1 decision" in page.text
    assert not page.has_button("rule-keep")
    page.click("resolve-plan-again")
    assert "**Rows were not compared yet.**" in page.text
    assert page.has_button("merge-compare")


def test_a_file_settles_the_same_cells_and_one_of_another_table_is_refused(
    console: NewConsole,
) -> None:
    page = console().open("conflicts", **NOTES)
    text = "version: 1\ntables: {air.delays: {columns: {note: ours}}}\n"
    for given, says in (
        ("version: 1\ntables: {air.flights: {take: ours}}\n", "has no rules for air"),
        ("version: 1\ntables: {air.delays: {take: mine}}\n", "Line 2"),
        (text, "**6 of 8 conflicts open.**"),
    ):
        page.at.file_uploader[0].upload("policy.yaml", given.encode())
        page.run()
        assert says in page.text
    assert lines(page)[0][2:] == ("<b>by hand</b>", "target", "column note")
    services: Any = console().services
    assert services.resolution(ASKED).draft.policy.to_yaml().endswith("note: ours\n")
    lines_to_copy = page.unfold("same_as_conflicts").text
    assert (
        "branch-console conflicts fix-delays --table air.delays --to main --policy" in lines_to_copy
    )
    assert "`policy.yaml` is the policy file of these decisions: download it" in lines_to_copy


def test_a_kind_is_settled_in_every_table(console: NewConsole) -> None:
    page = console().open("conflicts", **NOTES).choose("New rule", "kind")
    page.at.selectbox(key="rule-kind").set_value("deleted and changed")
    page.at.selectbox(key="rule-take-False").set_value("ours")
    page = page.run().click("rule-keep")
    assert "**6 of 8 conflicts open.**" in page.text
    page.click("rule-drop-0")
    assert "**8 of 8 conflicts open.**" in page.text


def test_all_groups_are_settled_at_once_and_a_decision_made_before_stays(
    console: NewConsole,
) -> None:
    console().open("conflicts", **NOTES).click("rest-ours")
    page = console().open("conflicts", **PLACE)
    assert "**Settle all 7 open conflicts:**" in page.text
    page.click("rest-theirs")
    assert "**All 8 conflicts settled.**" in page.text
    assert {each[3] for each in lines(page)} >= {"target", "source"}, lines(page)
    page.click("resolve-undo")
    assert "**7 of 8 conflicts open.**" in page.text


def test_buttons_for_all_count_what_they_settle_and_lead_on_from_the_rest(
    console: NewConsole, table: ContestedTable
) -> None:
    services: Any = console().services
    seen = services.resolution(ASKED)
    kept = read_row_conflicts(table.warehouse, Identifier.parse(NAME), seen.plan.id)
    assert kept is not None
    decider = Decider(
        table=NAME, schema=table.warehouse.table(NAME).schema(), actor="bob", time_millis=1
    )
    at = kept["column"].to_pylist().index("note")
    chosen = decided(Policy(), kept, edits_of({at: {TAKE: "source"}}), decider)
    services.save_draft(ASKED, seen.draft, chosen)
    table.write("main", delay=9, note="later")
    table.call("compare_rows", branch="fix-delays", target="main")

    page = console().open("conflicts", **PLACE)
    assert "**8 of 8 conflicts open.**" in page.text
    assert "**Settle 7 of 8 open conflicts:**" in page.text
    page.click("rest-theirs")
    # No rule decides where somebody decided on other values.
    for place in (PLACE, NOTES):
        page = console().open("conflicts", **place)
        assert "**1 of 8 conflicts open.**" in page.text
        assert "Decide again on 1 conflict under *To be checked again*" in page.text
        assert not page.has_button("rest-theirs")


def test_a_wide_rule_stops_only_the_buttons_that_would_change_what_it_settled(
    console: NewConsole,
) -> None:
    services: Any = console().services

    def page_with(kind: ConflictKind) -> Page:
        seen = services.resolution(ASKED).draft
        rule = with_kind_rule(seen.policy, kind, PolicyChoice.parse("theirs"))
        services.save_draft(ASKED, seen, rule)
        return console().open("conflicts", **PLACE)

    page = page_with(ConflictKind.ADD_ADD)
    assert "**Settle all 8 open conflicts:**" in page.text
    button = page.at.button(key="rest-ours")
    assert not button.disabled
    assert button.help == "Saved as one rule for the whole table; decisions made before stay"
    page = page_with(ConflictKind.DELETE_MODIFY)
    assert "**Settle all 6 open conflicts:**" in page.text
    for side in ("ours", "base"):
        button = page.at.button(key=f"rest-{side}")
        assert button.disabled
        assert button.help == (
            "Another rule has settled 2 conflicts in another way, and this button would change "
            "them. Change that rule, or settle the open conflicts group by group."
        )
    # Whoever takes the source for all changes nothing about those that have it already.
    settled = {line[:4] for line in lines(page) if line[3] == "source"}
    page.click("rest-theirs")
    assert "**All 8 conflicts settled.**" in page.text
    assert settled <= {line[:4] for line in lines(page)}
    page.click("resolve-undo")
    page.click("rule-drop-1")
    page.click("rest-ours")
    assert "**All 8 conflicts settled.**" in page.text


def test_a_group_of_which_a_rule_settled_a_part_is_settled_without_a_change_of_that(
    console: NewConsole,
) -> None:
    services: Any = console().services
    seen = services.resolution(ASKED).draft
    newest = PolicyChoice(how=Settle.NEWEST, by="note")
    services.save_draft(ASKED, seen, with_table_rule(seen.policy, NAME, newest))
    page = console().open("conflicts", **{**NOTES, "cf_col": "dep_delay"})
    # Of the other flight neither side has a newer note.
    assert [line[2:4] for line in lines(page)] == [("7", "newest by note"), ("", "undecided")]
    assert "**Settle all 1 in this group:**" in page.text
    ours = page.at.button(key="rest-ours")
    assert ours.disabled
    assert ours.help == (
        "Another rule has settled 1 conflict in another way, and this button would change it. "
        "Change that rule instead."
    )
    page.click("rest-theirs")
    assert [line[2:4] for line in lines(page)] == [("7", "source"), ("8", "source")]


@pytest.mark.parametrize("part", [{"cf_col": "note"}, {"cf_part": "day=2013-03-08"}])
def test_a_part_of_the_conflicts_is_offered_no_rule_for_the_whole_table(
    part: dict[str, str], console: NewConsole
) -> None:
    page = console().open("conflicts", **PLACE, **part)
    assert "conflicts listed." in page.text
    assert "open conflicts:**" not in page.text
    assert not page.has_button("rest-ours")


def test_a_viewer_sees_conflicts_and_which_role_settles_them(console: NewConsole) -> None:
    page = console("eve", "viewer").open("conflicts", **NOTES)
    assert "This asks for an editor; you are a viewer." in page.text
    assert page.at.button(key="rest-ours").disabled
    assert not page.has_button("rule-keep")


def test_foreign_text_is_shown_not_run(console: NewConsole) -> None:
    page = console().open("conflicts", **NOTES)
    page.choose("New rule", "condition")
    page.at.text_input(key="rule-when").set_value("ours.note is not null")
    page.at.selectbox(key="rule-take-False").set_value("ours")
    page.run()
    assert "\\<b\\>by hand\\</b\\>" in page.text


def test_what_is_decided_on_stands_in_the_grid_and_base_and_who_decided_are_asked_for(
    console: NewConsole,
) -> None:
    page = console().open("conflicts", **PLACE, cf_kind="changed on both", cf_col="dep_delay")
    decided_on = ["Key", "Column", "Target", "Source", "Decision", "Result"]
    assert columns(page) == decided_on
    # The day is told once where all have the same; else it is a part of each key.
    assert "Key: day · flight" in page.text
    assert {line[0] for line in lines(page)} >= {"2013-03-08 · 0", "2013-03-09 · 1"}
    group = "dep_delay · changed on both · day=2013-03-08 · 2 of 2 open"
    boxes = [each for each in page.at.selectbox if each.label == "Conflicts"]
    assert group in boxes[0].options
    page.at.checkbox(key="cf_base").check()
    page.at.checkbox(key="cf_by").check()
    page.run()
    assert columns(page) == [*decided_on[:2], "Base", *decided_on[2:], "Decided by"]

    page = console().open("conflicts", **{**NOTES, "cf_col": "dep_delay"})
    assert "Key: flight; day \\= 2013" in page.text
    assert [line[0] for line in lines(page)] == ["0", "1"]


def test_the_last_decision_is_taken_back_and_what_others_decided_stays(
    console: NewConsole,
) -> None:
    ada, bob = console("ada"), console("bob")
    page = ada.open("conflicts", **NOTES)
    assert not page.has_button("resolve-undo")
    page.click("rest-theirs")
    page.at.selectbox(key="rule-column-column").set_value("dep_delay")
    page.at.selectbox(key="rule-take-True").set_value("max")
    page.run().click("rule-keep")
    assert "**3 of 8 conflicts open.**" in page.text
    services: Any = bob.services
    seen = services.resolution(ASKED).draft
    kind = with_kind_rule(seen.policy, ConflictKind.DELETE_MODIFY, PolicyChoice.parse("ours"))
    services.save_draft(ASKED, seen, kind)
    page.click("resolve-undo")
    assert "**5 of 8 conflicts open.**" in page.text
    page.click("resolve-undo")
    assert "**6 of 8 conflicts open.**" in page.text
    assert not page.has_button("resolve-undo")


def test_without_a_merge_the_page_leads_to_one(console: NewConsole) -> None:
    page = console().open("conflicts", db="air", table="delays")
    assert "Conflicts belong to a merge" in page.text


@pytest.fixture
def ranked(tmp_path: Path) -> Services:
    """The services of a table whose rows a sequence field ranks."""
    folder = tmp_path / "ranked"
    table = ContestedTable(folder, flights=3, options={"sequence.field": "dep_delay"})
    table.call("compare_rows", branch="fix-delays", target="main")
    asked = {"warehouse": str(folder), "state_dir": str(tmp_path / "state"), "actor": "ada"}
    return Services(Settings.from_environment({**asked, "role": "operator"}, {}))


def test_a_group_of_another_column_can_be_settled_before_the_sequence_field_is(
    ranked: Any,
) -> None:
    page = Console(ranked).open("conflicts", **NOTES)
    assert "**Settle all 1 in this group:**" in page.text
    for side in ("ours", "theirs", "base"):
        assert not page.at.button(key=f"rest-{side}").disabled, side
    page.click("rest-ours")
    assert "**7 of 8 conflicts open.**" in page.text


def test_a_group_that_has_no_conflict_is_said_to_have_none(ranked: Any) -> None:
    page = Console(ranked).open("conflicts", **{**NOTES, "cf_part": "day=1999-01-01"})
    assert not page.at.exception
    assert not page.has_button("rest-ours")


def test_no_side_is_offered_whose_rows_a_sequence_field_hides(ranked: Any) -> None:
    services = ranked
    page = Console(services).open("conflicts", **PLACE)
    # The source has the greater delays: of the target's rows readers see those alone that it
    # deleted, and notes go with whatever row is seen.
    assert "**Settle all 8 open conflicts:**" in page.text
    ours = page.at.button(key="rest-ours")
    assert ours.help.startswith("Settles 4 of them only: readers would not see its rows")
    page.click("rest-ours")
    assert "**4 of 8 conflicts open.**" in page.text
    assert "decision for another row has no effect and settles nothing" in page.text
    assert "**Settle all 4 open conflicts:**" in page.text
    assert "this button would change them" in page.at.button(key="rest-theirs").help
    page = Console(services).open("conflicts", **PLACE, cf_col="dep_delay", cf_state="open")
    assert {line[2:] for line in lines(page)} == {
        ("", "undecided", "table air.delays: no effect, readers would not see it")
    }
    assert "Decided by" in columns(page)
    merge = Console(services).open("merge", **PLACE, target="main")
    assert "4 conflicts" in merge.text
    assert "conflicts settled" not in merge.text


def test_a_check_from_before_a_decision_is_not_taken_for_a_new_one(
    console: NewConsole, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, answers = console(), Event()
    plan = opened.services.preview_merge

    def slowly(arguments: Mapping[str, Argument]) -> object:
        found = plan(arguments)
        answers.wait()
        return found

    monkeypatch.setattr(opened.services, "preview_merge", slowly)
    monkeypatch.setattr(checking, "PATIENCE_SECONDS", 0.1)
    page = opened.open("merge", **NOTES)
    assert page.has_button("check-cancel")
    page.go("conflicts").click("rest-theirs")
    assert "**7 of 8 conflicts open.**" in page.text
    answers.set()
    monkeypatch.setattr(checking, "PATIENCE_SECONDS", 30)
    page.go("merge")
    assert "**7 conflicts to settle" in page.text


def test_a_comparison_that_was_cut_off_says_so_and_is_resumed(
    table: ContestedTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    services = Services(settings(tmp_path, warehouse=table.folder))
    known: dict[str, JobView] = {}

    def start(name: str, arguments: Mapping[str, Argument], key: str) -> str:
        known[key] = job(key, name=name, state=JobState.INTERRUPTED)
        return key

    def find_job(job_id: str) -> JobView:
        if job_id not in known:
            raise NotFound(f"There is no job {job_id}.")
        return known[job_id]

    def resume(job_id: str) -> None:
        known[job_id] = job(job_id, state=JobState.RUNNING)

    monkeypatch.setattr(services, "start", start)
    monkeypatch.setattr(services, "job", find_job)
    monkeypatch.setattr(services, "resume_job", resume)
    page = Console(services).open("conflicts", **PLACE).click("merge-compare")  # type: ignore[arg-type]
    (job_id,) = known
    assert "**The job that ada started " in page.text
    assert " ago was cut off while checking the data files: no worker runs.**" in page.text
    assert "Comparing rows." not in page.text
    assert page.has_button(f"cancel-{job_id}")
    page.click(f"resume-{job_id}")
    assert "**Comparing rows.**" in page.text
    assert not page.has_button(f"resume-{job_id}")


def test_a_merge_that_is_refused_says_why_and_offers_no_comparison(tmp_path: Path) -> None:
    options = {"bucket": "1", "merge-engine": "aggregation", "write-only": "true"}
    options |= {"fields.name.aggregate-function": "listagg"}
    bench = BranchBench(tmp_path / "warehouse", primary_keys=["id"], options=options)
    for branch, name in (("main", "base"), ("dev", "theirs"), ("main", "mine")):
        if branch == "dev":
            bench.branch("dev")
        files = data_files([name], keys=(0, 99))
        bench.committer(branch).commit([message(new_files=files)], user="bob", identifier=1)
    page = Console(Services(settings(tmp_path))).open("conflicts", db="db", table="t", source="dev")
    assert "cannot be merged into" in page.text
    assert "aggregate function" in page.text
    assert not page.has_button("merge-compare")
    assert "Back to the merge" in dict(page.links())
