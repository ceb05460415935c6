"""Fast-forward: what the page says of a plan, and the command that it sends."""

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from threading import Event
from urllib.parse import parse_qs, urlencode

import pytest

from branch_console.errors import ErrorKind, StorageError
from branch_console.jobs.progress import JobState
from branch_console.operations.branch_requests import FastForwardRequest
from branch_console.procedures.call.call import Argument
from branch_console_app import reads
from branch_console_app.models.parts.wording import bare
from branch_console_app.reads import Begun
from branch_console_app.widgets.merge import checking
from branch_console_app.widgets.parts import patience
from tests.console.pages import Console, Page, air_console, settings
from tests.console.pretend import NOW, air_warehouse, job, receipt, snapshot

FLIGHTS = {"db": "air", "table": "flights", "how": "ff"}
BACKFILL = {**FLIGHTS, "source": "backfill", "do": "merge"}


def test_a_legal_one_says_what_arrives_and_that_nothing_goes(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("merge", **FLIGHTS, source="backfill")
    assert (
        "**`main` has no commits since `backfill` branched off: a fast-forward adds the 2"
        in page.text
    )
    assert "Nothing: every snapshot, schema and tag stays." in page.text
    assert "Net rows +41,208" in page.text
    assert "Undo brings it back\\." in page.text
    assert page.has_button("merge-merge")
    assert not page.has_button("ff-force")


def test_its_changes_lead_to_the_rows_between_both_snapshots(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("merge", **{**BACKFILL, "do": ""}, tab="changes")
    (query,) = (query for label, query in page.links() if label == "Rows that `backfill` changed")
    assert "cmp_a=main%40" in query
    assert "cmp_b=backfill%40" in query
    assert "cmp_tab=rows" in query
    assert any(label == "Rows and files" for label, _ in page.links())


def test_running_it_sends_one_command_and_follows_its_job(tmp_path: Path) -> None:
    console = air_console(tmp_path)
    plan = console.services.preview_fast_forward(
        console.services.listed[1].identifier, "backfill", "main"
    )
    page = console.open("merge", **BACKFILL).click("ff-run")
    (call,) = console.services.sent
    assert call.name == "fast_forward"
    assert dict(call.arguments) == {
        "table": "air.flights",
        "branch": "backfill",
        "target": "main",
        "plan_id": plan.id,
    }
    assert page.at.query_params["merged"] == f"backfill-main:{call.operation_id}"
    assert "**Merging: checking the data files.**" in page.text


def test_the_reason_for_it_goes_with_the_command(tmp_path: Path) -> None:
    console = air_console(tmp_path)
    page = console.open("merge", **BACKFILL)
    page.at.text_input(key="do-reason").input("Late flights of May")
    page.run().click("ff-run")
    (call,) = console.services.sent
    assert call.arguments["reason"] == "Late flights of May"


def _fast_forwarded(console: Console, page: Page, rescue_branch: str | None = None) -> None:
    """Fast-forward main to backfill on a page that is open, or replace it, with a rescue branch."""
    services = console.services
    page.click("ff-run")
    (call,) = services.sent
    done, branches = call.operation_id, services.listed[1].branches
    before, source = branches["main"].snapshots[-1], branches["backfill"]
    services.receipts[done] = replace(
        receipt(done, before, source.snapshots[-1]), rescue_branch=rescue_branch
    )
    services.known_jobs[done] = replace(
        services.known_jobs[done], state=JobState.DONE, receipt_id=done
    )
    branches["main"] = replace(source, name="main")


def _passed(page: Page) -> set[str]:
    """The checks that passed, as sentences."""
    lines = (each.removeprefix(":green[✓] ") for each in page.text.splitlines() if "✓" in each)
    return {bare(each) for each in lines if each.endswith(".")}


def test_a_done_one_keeps_the_checks_that_it_had(tmp_path: Path) -> None:
    console = air_console(tmp_path)
    branches = console.services.listed[1].branches
    before, head = (branches[name].snapshots[-1].id for name in ("main", "backfill"))
    page = console.open("merge", **BACKFILL)
    passed = _passed(page)
    assert f"Merge base: snapshot {before}, which both branches contain." in passed
    _fast_forwarded(console, page)
    page.run()
    assert "**What was merged**" in page.text
    # Who may merge now is no condition of a merge that is done; every other line stays.
    assert passed - _passed(page) == {"main is not protected, and you may merge into it."}
    assert _passed(page) < passed
    assert f"Checks ({len(passed) - 1} passed)" in [tab.label for tab in page.at.tabs]
    assert f"Merge base: snapshot {head}" not in bare(page.text)


def test_a_target_that_was_replaced_is_not_said_to_be_continued(tmp_path: Path) -> None:
    console = air_console(tmp_path)
    page = console.open("merge", **BACKFILL)
    assert "contains every commit and schema of" in page.text
    _fast_forwarded(console, page, rescue_branch="rescue-9f2a")
    page.run()
    assert "**What was merged**" in page.text
    assert "contains every commit and schema of" not in page.text
    assert "Merge base:" not in page.text


def test_a_done_one_fails_no_check_for_whoever_may_only_look(tmp_path: Path) -> None:
    console = air_console(tmp_path)
    page = console.open("merge", **BACKFILL)
    _fast_forwarded(console, page)
    console.services.settings = settings(tmp_path, "viewer")
    page.run()
    assert "**What was merged**" in page.text
    assert "You may not merge into" not in page.text
    assert not [tab.label for tab in page.at.tabs if "failed" in tab.label]


def test_a_done_one_is_shown_while_its_states_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    console = air_console(tmp_path)
    page = console.open("merge", **BACKFILL)
    _fast_forwarded(console, page)
    monkeypatch.setattr(patience, "_PATIENCE_SECONDS", 0.05)
    monkeypatch.setattr(reads, "begin_comparison", lambda *_: Begun(Future(), lambda diff: diff))
    page.run()
    # The summary counts rows, the changes list partitions: both wait for the comparison.
    assert page.text.count("The manifests of both states are compared.") == 2
    assert "**What was merged**" in page.text
    assert "**Commits that `main` got**" in page.text


def test_two_tabs_make_one_job(tmp_path: Path) -> None:
    console = air_console(tmp_path)
    tabs = [console.open("merge", **BACKFILL) for _ in range(2)]
    for tab in tabs:
        tab.click("ff-run")
    assert len({call.operation_id for call in console.services.sent}) == 1
    assert len(console.services.known_jobs) == 1


@pytest.mark.parametrize(
    ("stands", "said", "buttons"),
    [
        (
            JobState.RUNNING,
            "**Merging (started by bo): checking the data files, 12 of 40.**",
            ("view_job", "cancel"),
        ),
        (JobState.INTERRUPTED, "**The merge that bo started ", ("resume", "view_job")),
    ],
)
def test_a_merge_that_somebody_else_started_is_the_merge_of_this_page(
    stands: JobState, said: str, buttons: tuple[str, str], tmp_path: Path
) -> None:
    console = air_console(tmp_path)
    of = {"table": "air.flights", "branch": "backfill", "target": "main"}
    console.services.known_jobs["other"] = replace(job("other"), state=stands, arguments=of)
    if stands is JobState.RUNNING:
        running = job("other", state=JobState.RUNNING)
        console.services.known_jobs["other"] = replace(running, arguments=of)
    known = console.services.known_jobs["other"]
    console.services.known_jobs["other"] = replace(known, actor="bo")
    page = console.open("merge", db="air", table="flights", source="backfill")
    assert said in page.text
    assert all(page.has_button(f"merge-{name}") for name in buttons)
    assert not page.has_button("merge-merge")
    assert page.at.query_params["merged"] == "backfill-main:other"
    # A merge the other way round, or of another branch, is none of it.
    other = console.open("merge", db="air", table="flights", source="fix-delays")
    assert "merged" not in other.at.query_params


def test_after_a_job_has_ended_the_same_plan_is_a_new_job(tmp_path: Path) -> None:
    console = air_console(tmp_path)
    console.open("merge", **BACKFILL).click("ff-run")
    ((job_id, first),) = console.services.known_jobs.items()
    failed = replace(first, state=JobState.FAILED, finished_millis=NOW)
    console.services.known_jobs[job_id] = failed
    console.open("merge", **BACKFILL).click("ff-run")
    assert len(console.services.known_jobs) == 2


def test_a_page_that_was_left_for_a_job_has_its_address_again(tmp_path: Path) -> None:
    console = air_console(tmp_path)
    page = console.open("merge", **BACKFILL).click("ff-run")
    left = dict(page.at.query_params)
    job = dict(page.click("merge-view_job").at.query_params)
    assert job["left"] == f"merge?{urlencode(left)}"
    back = console.open("merge", **job)
    assert dict(back.at.query_params) == left
    assert console.open("job", **job).at.query_params["id"] == job["id"]
    assert console.open("branches", **job).at.query_params["branch"] == "main"


def test_a_moved_target_is_refused_with_what_it_would_remove(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("merge", **FLIGHTS, source="fix-delays")
    assert "It would remove 3 commits of `main`. Merge instead." in page.text
    assert page.at.button(key="merge-remedy").label == "Merge instead"
    assert "`TARGET_MOVED`" in page.text
    assert "3 commits, net +17,100 rows, by etl." in page.text
    assert not page.has_button("ff-run")


def test_replacing_needs_the_typed_name(tmp_path: Path) -> None:
    console = air_console(tmp_path)
    page = console.open("merge", **FLIGHTS, source="fix-delays")
    assert page.at.button(key="ff-force").disabled
    page.at.text_input[0].set_value("main")
    page.run()
    assert not page.at.button(key="ff-force").disabled
    page.click("ff-force")
    (call,) = console.services.sent
    assert call.request(FastForwardRequest).force


def test_another_typed_name_does_not_do(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("merge", **FLIGHTS, source="fix-delays")
    page.at.text_input[0].set_value("Main")
    page.run()
    assert page.at.button(key="ff-force").disabled


def test_a_viewer_sees_the_preview_and_which_role_is_needed(tmp_path: Path) -> None:
    page = air_console(tmp_path, role="viewer").open("merge", **FLIGHTS, source="backfill")
    assert not page.has_button("merge-merge")
    assert "**Ready.** You are a viewer; merging into `main` takes an editor." in page.text
    assert "You may not merge into `main`. This asks for an editor" in page.text


def test_an_editor_may_not_replace(tmp_path: Path) -> None:
    page = air_console(tmp_path, role="editor").open("merge", **FLIGHTS, source="fix-delays")
    assert "This asks for an operator; you are an editor." in page.text


def test_an_even_branch_has_nothing_to_do(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("merge", **FLIGHTS, source="audit")
    assert "**`main` already has every change of `audit`.**" in page.text
    assert not page.has_button("ff-run")


def test_an_unknown_source_is_not_found(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("merge", **FLIGHTS, source="typo")
    assert "**Branch `typo` was not found.**" in page.text
    assert "No name is close. The first 5 of" in page.text
    assert any("source=main" in query for label, query in page.links() if label == "`main`")
    assert not page.has_button("ff-run")


def test_an_unknown_target_is_not_found_and_those_there_are_lead_to_the_same_merge(
    tmp_path: Path,
) -> None:
    page = air_console(tmp_path).open("merge", **FLIGHTS, source="backfill", target="auditt")
    assert "**Branch `auditt` was not found.**" in page.text
    assert "Merge flights" in page.text
    (query,) = (query for label, query in page.links() if label == "`audit`")
    assert parse_qs(query)["target"] == ["audit"]
    assert parse_qs(query)["source"] == ["backfill"]


def test_a_target_that_has_gone_since_its_table_was_read_is_not_found(tmp_path: Path) -> None:
    console = air_console(tmp_path)
    console.open("table", db="air", table="flights")
    del console.services.listed[1].branches["audit"]
    page = console.open_soon("merge", **FLIGHTS, source="backfill", target="audit")
    assert "**Branch `audit` was not found.**" in page.text


def test_conflicts_of_a_branch_that_is_not_there_are_not_found(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("conflicts", db="air", table="flights", source="fix-delay")
    assert "**Branch `fix-delay` was not found.**" in page.text
    assert any("source=fix-delays" in query for _, query in page.links())


def test_a_broken_source_is_a_card(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("merge", **FLIGHTS, source="half-made")
    assert "**The preview cannot be made; nothing changed.**" in page.text
    assert "Checking what" not in page.text


@pytest.mark.parametrize("how", ["ff", "auto"])
def test_a_check_that_takes_long_can_be_cancelled_and_its_answer_never_shows(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    console, answers = air_console(tmp_path), Event()
    name = "preview_fast_forward" if how == "ff" else "preview_merge"
    plan = getattr(console.services, name)

    def slowly(*given: object) -> object:
        answers.wait()
        return plan(*given)

    monkeypatch.setattr(console.services, name, slowly)
    monkeypatch.setattr(checking, "PATIENCE_SECONDS", 0.1)
    page = console.open("merge", **{**FLIGHTS, "how": how}, source="backfill")
    assert "**Checking what `backfill` would change in `main`.**" in page.text
    page.click("check-cancel")
    answers.set()
    for _ in range(3):
        assert (
            "**The check of what `backfill` would change in `main` was cancelled.** "
            "Nothing was changed." in page.text
        )
        assert not page.has_button("check-cancel")
        assert not page.has_button("merge-merge")
        page.run()
    monkeypatch.setattr(checking, "PATIENCE_SECONDS", 30)
    page.click("check-check")
    assert "was cancelled" not in page.text
    assert "fast-forward" in page.text
    assert page.has_button("merge-merge")


def test_a_check_that_takes_long_is_shown_when_it_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    console, answers = air_console(tmp_path), Event()
    plan = console.services.preview_fast_forward

    def slowly(*given: str) -> object:
        answers.wait()
        return plan(*given)

    monkeypatch.setattr(console.services, "preview_fast_forward", slowly)
    monkeypatch.setattr(checking, "PATIENCE_SECONDS", 0.1)
    page = console.open("merge", **FLIGHTS, source="backfill")
    assert not page.has_button("merge-merge")
    answers.set()
    monkeypatch.setattr(checking, "PATIENCE_SECONDS", 30)
    assert page.run().has_button("merge-merge")


def test_a_page_stays_while_its_merge_is_checked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    console, answers = air_console(tmp_path), Event()
    plan = console.services.preview_merge

    def slowly(arguments: Mapping[str, Argument]) -> object:
        answers.wait()
        return plan(arguments)

    def look(*, waits: bool) -> Page:
        monkeypatch.setattr(checking, "PATIENCE_SECONDS", 30 if waits else 0.1)
        return page.run()

    answers.set()
    page = console.open("merge", **{**FLIGHTS, "how": "three-way"}, source="backfill")
    tabs = [tab.label for tab in page.at.tabs]
    assert tabs
    monkeypatch.setattr(console.services, "preview_merge", slowly)
    for _ in range(2):
        answers.clear()
        for _ in range(2):
            look(waits=False)
            assert [tab.label for tab in page.at.tabs] == tabs
            assert page.has_button("merge-merge")
            assert "Checking what" not in page.text
            assert not page.has_button("check-cancel")
        answers.set()
        look(waits=True)
        assert [tab.label for tab in page.at.tabs] == tabs
        assert page.has_button("merge-merge")
    # What is known of heads that have moved is not shown.
    answers.clear()
    source = console.services.listed[1].branches["backfill"]
    source.snapshots = (*source.snapshots, snapshot("later", source.snapshots[-1].id + 1))
    look(waits=False)
    assert "**Checking what `backfill` would change in `main`.**" in page.text
    assert not page.at.tabs
    answers.set()
    look(waits=True)
    assert [tab.label for tab in page.at.tabs] == tabs


def test_without_a_source_the_page_asks_for_one(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("merge", **FLIGHTS)
    assert "**Choose one of the branches below to merge.**" in page.text
    review = [query for label, query in page.links() if label == "Review"]
    assert any("source=backfill" in query for query in review)
    # A branch that cannot be read leads to its reason, not to a merge.
    (why,) = [query for label, query in page.links() if label == "See why"]
    assert "branch=half-made" in why


def test_a_branch_without_a_commit_is_said_to_have_none(tmp_path: Path) -> None:
    console = air_console(tmp_path)
    branches = console.services.listed[1].branches
    branches["fresh"] = replace(branches["backfill"], name="fresh", snapshots=())
    page = console.open("merge", **FLIGHTS)
    assert "no commit yet" in page.text
    page = console.open("merge", **FLIGHTS, source="backfill")
    (picker,) = (each for each in page.at.selectbox if each.label == "Source")
    assert "fresh (no commit yet)" in picker.options


def test_rescue_branches_are_no_sources_before_they_are_asked_for(tmp_path: Path) -> None:
    console = air_console(tmp_path)
    branches = console.services.listed[1].branches
    branches["rescue-7f"] = replace(branches["backfill"], name="rescue-7f")
    page = console.open("merge", **FLIGHTS)
    assert not any("source=rescue-7f" in query for _, query in page.links())
    assert page.at.toggle(key="merge-rescues").label == "Rescue branches (1)"
    page.at.toggle(key="merge-rescues").set_value(True)
    assert any("source=rescue-7f" in query for _, query in page.run().links())


def test_a_hundred_branches_to_merge_are_listed_by_the_page(tmp_path: Path) -> None:
    console = air_console(tmp_path)
    branches = console.services.listed[1].branches
    for number in range(100):
        name = f"trial-{number:03d}"
        branches[name] = replace(branches["backfill"], name=name)

    def listed(**view: str) -> set[str]:
        links = console.open("merge", **FLIGHTS, **view).links()
        sources = (query.partition("source=")[2] for label, query in links if label == "Review")
        return {source.partition("&")[0] for source in sources}

    assert "trial-000" in listed()
    assert len(listed()) <= 24
    assert "trial-030" in listed(mrg_p="2")
    assert not listed() & listed(mrg_p="2")


def test_a_table_with_main_only_has_nothing_to_bring(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("merge", db="air", table="carriers")
    assert "has no branch besides main" in page.text


def test_swapping_turns_the_address_round(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("merge", **FLIGHTS, source="backfill").click("ff-swap")
    assert page.at.query_params["source"] == "main"
    assert page.at.query_params["target"] == "backfill"


def test_a_job_that_does_not_start_changes_nothing(tmp_path: Path) -> None:
    services = air_warehouse(settings(tmp_path))
    services.refuses = StorageError("The job store is locked.", kind=ErrorKind.STORE_UNREACHABLE)
    page = Console(services).open("merge", **BACKFILL).click("ff-run")
    assert "**The job was not started; nothing changed.**" in page.text
    assert services.sent == []


def test_the_same_command_for_other_surfaces(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("merge", **FLIGHTS, source="backfill")
    assert (
        "branch-console fast-forward air.flights backfill --to main --warehouse"
        in page.unfold("same_as_fast-forward").text
    )
    assert (
        "CALL sys.fast_forward(branch => 'backfill', table => 'air.flights', target => 'main');"
        in page.text
    )


def test_the_path_on_top_names_the_source_that_is_chosen(tmp_path: Path) -> None:
    page = air_console(tmp_path).open(
        "merge", **FLIGHTS, branch="backfill", snap="backfill:12", source="backfill"
    )
    (box,) = (each for each in page.at.selectbox if each.label == "Source")
    (other,) = (name for name in box.options if name.startswith("archive-2012"))
    box.select(other)
    query = page.run().at.query_params
    assert (query["source"], query["branch"]) == ("archive-2012", "archive-2012")
    assert "snap" not in query
    for swapped in ("main", "archive-2012"):
        query = page.click("ff-swap").at.query_params
        assert (query["source"], query["branch"]) == (swapped, swapped)


def test_a_rescue_branch_with_nothing_new_is_released_and_not_dropped(tmp_path: Path) -> None:
    console = air_console(tmp_path)
    branches = console.services.listed[1].branches
    main = branches["main"]
    branches["rescue-0a"] = replace(main, name="rescue-0a", snapshots=main.snapshots[:5])
    page = console.open("merge", **FLIGHTS, source="rescue-0a")
    assert "`main` already has every change of `rescue-0a`." in page.text
    assert not page.has_button("merge-drop_source")
    query = page.click("merge-release_source").at.query_params
    assert (query["do"], query["what"]) == ("release-branch", "rescue-0a")
