"""The merge page: each verdict in words, what settles a conflict, the command that is sent."""

from concurrent.futures import Future
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from threading import Event
from typing import Any

import pyarrow as pa
import pytest

from branch_console.diff.three_way import ThreeWay
from branch_console.errors import ErrorKind
from branch_console.format.identifier import Identifier
from branch_console.format.receipt import Counts
from branch_console.jobs.progress import JobState
from branch_console.merge.conflict import Conflict, ConflictKind, Subject, Take
from branch_console.merge.file_moves import Block
from branch_console.merge.plan import MergeVerdict, PlanCost, ThreeWayPlan, blocks_of
from branch_console.operations.isolation import Isolation
from branch_console.procedures.call.consequence import blocks
from branch_console.procedures.undo.undo import UndoChance
from branch_console_app import reads
from branch_console_app.models.parts.wording import NOT_READ, bare, moment
from branch_console_app.reads import Begun
from branch_console_app.widgets.merge import bar
from branch_console_app.widgets.parts import patience
from tests.console.pages import Console, air_console, settings
from tests.console.pretend import (
    NEW_FILES,
    merge_plan,
    preview,
    receipt,
    snapshot,
    unpinned,
)

FLIGHTS = {"db": "air", "table": "flights"}
FIX = {**FLIGHTS, "source": "fix-delays"}
PUBLISH = ("How to begin", "Merge now")
DIALOG = {**FIX, "do": "merge"}


def conflict(*takes: Take, subject: str = "dep_delay") -> Conflict:
    return Conflict(
        kind=ConflictKind.FILE_RULE,
        rule="update.insert",
        subject=Subject(table="air.flights", name=subject),
        sides=ThreeWay(base="", ours="added rows", theirs="updated rows"),
        settle_with=takes,
    )


def planned(console: Console, verdict: MergeVerdict, **parts: Any) -> Console:
    """Have the merge of fix-delays come out in some way."""
    flights = console.services.listed[1]
    branches = flights.branches
    console.services.merges["fix-delays"] = merge_plan(
        flights, branches["fix-delays"], branches["main"], verdict=verdict, **parts
    )
    return console


def test_a_clean_merge_tells_what_moves(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("merge", **FIX)
    assert (
        "**No conflicts. `fix-delays` (3 commits) becomes one new snapshot of `main`.**"
        in page.text
    )
    assert "Base snapshot 9, target `main` at snapshot 12, source `fix-delays` at snapshot 12" in (
        page.text
    )
    assert "Rows added +20" in page.text
    assert "Data to copy 0 B" in page.text
    assert not page.has_button("run-dry")
    page.click("merge-merge")
    assert not page.has_button("run-merge_branch")
    assert not page.at.button(key="run-dry").disabled
    assert not page.choose(*PUBLISH).at.button(key="run-merge_branch").disabled
    assert (
        "branch-console merge fix-delays --table air.flights --to main --warehouse"
        in page.unfold("same_as_merge").text
    )


def test_running_it_sends_one_command_and_follows_its_job_in_place(tmp_path: Path) -> None:
    console = air_console(tmp_path)
    page = console.open("merge", **DIALOG, isolation="snapshot").choose(*PUBLISH)
    page.at.text_input(key="do-reason").set_value("checked")
    page = page.run().click("run-merge_branch")
    (call,) = console.services.sent
    assert call.name == "merge_branch"
    arguments = dict(call.arguments)
    assert arguments.pop("plan_id")
    assert arguments == {
        "table": "air.flights",
        "branch": "fix-delays",
        "target": "main",
        "isolation": "snapshot",
        "reason": "checked",
        "heads": "12:12",
    }
    assert page.at.query_params["merged"] == f"fix-delays-main:{call.operation_id}"
    assert "**Merging: checking the data files.**" in page.text
    assert "do" not in page.at.query_params
    job = page.click("merge-view_job")
    assert job.at.query_params["id"] == call.operation_id


def test_the_buttons_of_a_job_change_with_its_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    console = air_console(tmp_path)
    page = console.open("merge", **DIALOG, isolation="snapshot").choose(*PUBLISH)
    page = page.click("run-merge_branch")
    (call,) = console.services.sent
    # What the tab draws while it follows the job, and where it asks for the whole page.
    again: list[str] = []
    monkeypatch.setattr(bar.st, "rerun", lambda: again.append("page"))
    followed: list[tuple[Any, ...]] = []
    follow = bar._follow
    monkeypatch.setattr(bar, "_follow", lambda *given: (followed.append(given), follow(*given)))
    page = page.run()
    assert page.has_button("merge-cancel")
    known = console.services.known_jobs
    monkeypatch.setattr(reads, "job", known.__getitem__)
    monkeypatch.setattr(reads, "worker", lambda: None)
    follow(*followed[-1])
    assert again == []
    known[call.operation_id] = replace(known[call.operation_id], state=JobState.INTERRUPTED)
    follow(*followed[-1])
    assert again == ["page"]
    page = page.run()
    assert "**The merge that ada started " in page.text
    assert " ago was cut off while checking the data files: no worker runs.**" in page.text
    assert page.has_button("merge-resume")
    assert not page.has_button("merge-cancel")
    # Somebody else resumed it: "Resume" is taken away again.
    known[call.operation_id] = replace(known[call.operation_id], state=JobState.RUNNING)
    follow(*followed[-1])
    assert again == ["page", "page"]
    assert not page.run().has_button("merge-resume")


def test_a_run_may_plan_again_and_leads_back_where_it_was_refused(tmp_path: Path) -> None:
    console = air_console(tmp_path)
    page = console.open("merge", **DIALOG, isolation="snapshot").choose(*PUBLISH)
    page.at.selectbox(key="merge-wait").select("Try again for five minutes")
    page = page.run().click("run-merge_branch")
    (call,) = console.services.sent
    assert call.agreement.plan_again
    assert call.arguments["wait"] == "5min"
    assert call.arguments["decisions"] == call.arguments["plan_id"]
    known = console.services.known_jobs
    refused = replace(known[call.operation_id], state=JobState.REFUSED, error=ErrorKind.HEAD_MOVED)
    known[call.operation_id] = refused
    links = dict(console.open("job", **FLIGHTS, id=call.operation_id).links())
    back = links["Run again: merge a branch"]
    assert {"source=fix-delays", "isolation=snapshot"} <= set(back.split("&"))


def test_after_a_dry_run_its_result_is_what_is_published(tmp_path: Path) -> None:
    console = air_console(tmp_path)
    page = console.open("merge", **DIALOG).click("run-dry")
    (dry,) = console.services.sent
    known = console.services.known_jobs
    known[dry.operation_id] = replace(known[dry.operation_id], state=JobState.DONE)
    page = page.run()
    assert "**Dry run passed.** `main` is unchanged" in page.text
    page.click("merge-publish")
    assert "Puts the result of the dry run on `main` as it is." in page.text
    assert page.at.button(key="run-merge_branch").label == "Merge this result"
    page.click("run-merge_branch")
    assert [each.name for each in console.services.sent] == ["dry_run_merge", "merge_branch"]
    assert len({each.arguments["plan_id"] for each in console.services.sent}) == 1


def test_a_staged_result_can_be_discarded_and_the_draft_goes_on(tmp_path: Path) -> None:
    console = air_console(tmp_path)
    page = console.open("merge", **DIALOG).click("run-dry")
    (dry,) = console.services.sent
    known = console.services.known_jobs
    known[dry.operation_id] = replace(known[dry.operation_id], state=JobState.DONE)
    page.run().click("merge-discard")
    assert console.services.discarded == [dry.arguments["plan_id"]]
    assert "dry" not in page.at.query_params
    assert "**No conflicts." in page.text
    assert page.has_button("merge-merge")


def test_more_swaps_a_draft_and_closes_it(tmp_path: Path) -> None:
    console = air_console(tmp_path)
    page = console.open("merge", **FIX).click("more-swap")
    found = page.at.query_params
    assert (found["source"], found["target"]) == ("main", "fix-delays")
    page = console.open("merge", **FIX).click("more-close")
    assert "source" not in page.at.query_params
    assert "Choose one of the branches below" in page.text
    labels = [each.proto.popover.label for each in page.at.get("popover")]
    assert "Merge type: automatic" in labels


def test_each_branch_in_the_head_opens_a_choice_of_another(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("merge", **FIX)
    opens = {each.proto.popover.label: each for each in page.at.get("popover")}
    (source,) = (each for each in opens if each.startswith("**`fix-delays`** :gray[(3 ahead"))
    assert opens["**`main`**"].proto.popover.help == "Choose another target"
    assert opens[source].proto.popover.help == "Choose another source"
    (box,) = (each for each in page.at.selectbox if each.label == "Source")
    box.select(next(each for each in box.options if each.startswith("backfill"))).run()
    assert page.at.query_params["source"] == "backfill"
    assert page.at.query_params["branch"] == "backfill"


def test_the_commits_of_the_source_are_listed_once_their_tab_is_open(tmp_path: Path) -> None:
    def commits(**query: str) -> list[int]:
        page = air_console(tmp_path).open("merge", **FIX, **query)
        frames = [each.value for each in page.at.dataframe if "Committed by" in each.value]
        return [int(each) for frame in frames for each in frame["Snapshot"]]

    assert commits() == []
    assert commits(tab="changes") == [12, 11, 10]


def test_a_moved_target_makes_the_preview_stale(tmp_path: Path) -> None:
    console = air_console(tmp_path)
    page = console.open("merge", **DIALOG).choose(*PUBLISH)
    main = console.services.listed[1].branches["main"]
    main.snapshots = (*main.snapshots, snapshot("late", 13, user="bob"))
    page.click("run-merge_branch")
    moved = "`main` got 1 snapshot (13, the newest by `bob`) since you opened this page."
    assert f"**{moved}**" in page.text
    assert console.services.sent == []
    assert not page.has_button("run-merge_branch")
    page.click("merge-plan-again")
    assert "at snapshot 13" in page.text
    page.click("run-merge_branch") if page.has_button("run-merge_branch") else page.choose(
        *PUBLISH
    ).click("run-merge_branch")
    assert len(console.services.sent) == 1


def test_another_choice_is_another_preview(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("merge", **FIX)
    page.at.query_params["strict"] = "1"
    page.run()
    assert "since you opened this page" not in page.text
    assert page.has_button("merge-merge")


def test_what_blocks_the_command_is_the_verdict_with_its_remedy(tmp_path: Path) -> None:
    console = air_console(tmp_path)
    console.services.previews["merge_branch"] = preview(
        "merge_branch", blocks("Another job is at work on main.", ErrorKind.BRANCH_IN_USE)
    )
    page = console.open("merge", **DIALOG)
    assert not page.has_button("run-dry")
    assert not page.has_button("merge-merge")
    assert "Another job is at work on main" in page.text
    assert page.at.button(key="merge-remedy").label == "View jobs"


def test_each_thing_in_the_way_is_told_with_a_remedy_before_anything_is_settled(
    tmp_path: Path,
) -> None:
    def refused(kind: ErrorKind) -> Any:
        return lambda console: planned(
            console, MergeVerdict.REFUSED, blocks=(Block(kind=kind, text="So it is."),)
        )

    def at_risk(console: Console) -> Console:
        console.services.listed[1].branches["fix-delays"].findings = (
            unpinned("Its base tag is gone."),
        )
        return console

    def busy(console: Console) -> Console:
        console.services.previews["merge_branch"] = preview(
            "merge_branch", blocks("Another job is at work.", ErrorKind.BRANCH_IN_USE)
        )
        return console

    def schemas(console: Console) -> Console:
        found = replace(conflict(Take.OURS), kind=ConflictKind.COLUMN_TYPE)
        return planned(console, MergeVerdict.CONFLICTS, moves=NEW_FILES, conflicts=(found,))

    cells: dict[str, tuple[Any, str, str | None]] = {
        "no base": (refused(ErrorKind.NO_COMMON_HISTORY), "✕", "Compare both branches"),
        "a hole": (refused(ErrorKind.SNAPSHOT_NOT_FOUND), "✕", "Compare both branches"),
        "empty target": (refused(ErrorKind.BRANCH_EMPTY), "✕", "Fast-forward instead"),
        "not served": (refused(ErrorKind.UNSUPPORTED), "✕", "Compare both branches"),
        "another job": (busy, "✕", "View jobs"),
        "schemas collide": (schemas, "✕", "Compare both branches"),
        "at risk": (at_risk, "!", "Pin the branch"),
        "nothing": (lambda console: console, "✓", None),
    }
    for name, (prepare, mark, remedy) in cells.items():
        console = prepare(air_console(tmp_path))
        plan = console.services.merges.get("fix-delays")
        stops = [blocks(each.text, each.kind) for each in blocks_of(plan)] if plan else []
        console.services.previews.setdefault("merge_branch", preview("merge_branch", *stops))
        page = console.open("merge", **FIX)
        labels = [each.label for each in page.at.button]
        assert mark in page.text, name
        assert remedy is None or remedy in labels, (name, labels)
    assert "Merge base: snapshot 9, which both branches contain." in page.text
    assert "`merge_branch` would do this merge only where" in page.text


def test_a_viewer_sees_the_preview_and_which_role_is_needed(tmp_path: Path) -> None:
    page = air_console(tmp_path, role="viewer").open("merge", **DIALOG)
    assert not page.has_button("run-dry")
    assert "**Ready.** You are a viewer; merging into `main` takes an editor." in page.text


def test_conflicts_are_listed_and_an_option_is_offered_that_was_tried(tmp_path: Path) -> None:
    console = air_console(tmp_path)
    found = (
        conflict(Take.SCOPE_PARTITION, Take.ISOLATION_SNAPSHOT),
        conflict(Take.OURS, Take.THEIRS, subject="carrier"),
        conflict(subject="origin"),
    )
    planned(console, MergeVerdict.CONFLICTS, moves=NEW_FILES, conflicts=found)
    plan = console.services.merges["fix-delays"]
    assert isinstance(plan, ThreeWayPlan)
    # Only isolation helps, and with one conflict of three.
    console.services.merges_with = {"isolation": replace(plan, conflicts=found[1:])}
    page = console.open("merge", **FIX, tab="conflicts")
    assert "**3 conflicts to settle, in `dep_delay`, `carrier` and `origin`.**" in page.text
    assert "`CONFLICTS_OPEN`" in page.text
    assert "`update.insert`" in page.text
    assert "main added rows" in page.text
    assert "fix\\-delays updated rows" in page.text
    assert "take ours or theirs" in page.text
    assert "change one of the branches" in page.text
    assert "This settles 1 of 3 conflicts." in page.text
    labels = [each.label for each in page.at.button if each.label.startswith("Settle:")]
    # The button that stays in view names what is explained below it, and is there once.
    assert labels == ["Settle: keep added rows as they are"]
    assert page.at.button(key="settle-conflicts").proto.type == "primary"
    (rows,) = [query for label, query in page.links() if label.startswith("Rows that")]
    assert "cmp_tab=rows" in rows
    assert not page.has_button("run-merge_branch")
    page = console.open("merge", **FIX)
    assert page.at.button(key="settle-conflicts").label == "Settle 3 conflicts"
    page.click("settle-conflicts")
    page.click("settle-conflicts")
    assert page.at.query_params["isolation"] == "snapshot"
    console.services.merges_with = {"isolation": replace(plan, conflicts=())}
    page = console.open("merge", **FIX, isolation="snapshot")
    assert "Conflicts (3, all settled)" in [tab.label for tab in page.at.tabs]


def test_a_thousand_conflicts_come_page_by_page(tmp_path: Path) -> None:
    console = planned(
        air_console(tmp_path),
        MergeVerdict.CONFLICTS,
        moves=NEW_FILES,
        conflicts=tuple(conflict(subject=f"column-{number}") for number in range(1000)),
    )
    page = console.open("merge", **FIX)
    assert "1,000 conflicts" in page.text
    assert "Conflicts (1,000)" in [tab.label for tab in page.at.tabs]
    assert "column\\-24" in page.text
    assert "column\\-25" not in page.text


def test_what_only_rows_can_tell_is_a_job(tmp_path: Path) -> None:
    cost = PlanCost(files_added=2, records_added=20, buckets_to_compare=4)
    console = planned(air_console(tmp_path), MergeVerdict.UNDECIDED, moves=NEW_FILES, cost=cost)
    page = console.open("merge", **FIX)
    assert "**Both sides changed the same part of the table.**" in page.text
    assert f"Rows changed {NOT_READ}" in page.text
    page.click("merge-compare")
    assert [call.name for call in console.services.sent] == ["compare_rows"]
    assert "**Comparing rows.** Nothing is changed." in page.text
    assert page.has_button("merge-cancel")


def test_files_of_which_both_deleted_rows_are_told_before_they_are_written_again(
    tmp_path: Path,
) -> None:
    cost = PlanCost(files_added=2, records_added=20, is_of_rows=True, files_joined=3)
    console = planned(air_console(tmp_path), MergeVerdict.CLEAN, moves=NEW_FILES, cost=cost)
    page = console.open("merge", **FIX)
    assert "3 data files of which both sides changed rows will be rewritten" in page.text
    assert "no row is read or written" not in page.text
    assert "Data files rewritten 3" in page.text
    # Rows that are left of a rewritten file are among these, so they are not rows added.
    assert "Records in added files 20 or more" in page.text
    assert "Rows added" not in page.text
    assert "Rows removed" not in page.text
    assert "Both sides changed rows of the same file" in page.text
    assert page.has_button("merge-merge")


def test_a_refused_merge_says_why_and_where_to_look(tmp_path: Path) -> None:
    console = planned(
        air_console(tmp_path),
        MergeVerdict.REFUSED,
        blocks=(Block(kind=ErrorKind.NO_COMMON_HISTORY, text="They share no snapshot."),),
    )
    page = console.open("merge", **FIX)
    assert "**`fix-delays` cannot be merged into `main`.**" in page.text
    assert "`NO_COMMON_HISTORY`" in page.text
    assert "Snapshots side by side" in dict(page.links())
    assert not page.has_button("run-merge_branch")


def test_an_even_branch_has_nothing_to_do(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("merge", **FLIGHTS, source="audit", tab="changes")
    assert "**`main` already has every change of `audit`.**" in page.text
    assert not page.has_button("run-merge_branch")
    assert "None: `audit` is at that snapshot." in page.text
    assert "expiry" not in page.text


def test_automatic_is_a_fast_forward_where_the_target_did_not_move(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("merge", **FLIGHTS, source="backfill")
    assert (
        "**`main` has no commits since `backfill` branched off: a fast-forward adds the 2"
        in page.text
    )
    page.click("merge-merge")
    assert page.has_button("ff-run")


def test_a_refused_fast_forward_leads_to_the_merge(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("merge", **FIX, how="ff")
    links = dict(page.links())
    assert "source=fix-delays" in links["Merge three ways"]
    assert "how" not in links["Merge three ways"]
    assert "source=main" in links["Merge `main` into `fix-delays` first"]


def test_a_diverged_branch_leads_to_its_merge(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("branches", **FLIGHTS, branch="fix-delays")
    page.click("review-merge")
    assert page.at.query_params["source"] == "fix-delays"


def test_a_broken_branch_is_a_card(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("merge", **FLIGHTS, source="half-made")
    assert "**The preview cannot be made; nothing changed.**" in page.text
    assert "branch=half-made" in dict(page.links())["See why `half-made` cannot be read"]


@pytest.mark.parametrize("name", ["scope", "isolation"])
def test_an_option_that_there_is_not_is_said(tmp_path: Path, name: str) -> None:
    page = air_console(tmp_path).open("merge", **FIX, **{name: "typo"})
    assert "`INVALID_ARGUMENT`" in page.text
    assert not page.has_button("run-merge_branch")


def test_a_way_that_there_is_not_is_said(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("merge", **FIX, how="typo")
    assert "There is no merge type `typo`." in page.text
    (address,) = [address for label, address in page.links() if label == "Review the merge"]
    assert "source=" in address
    assert "how=" not in address


def test_the_receipt_of_a_merge_offers_undo(tmp_path: Path) -> None:
    console = air_console(tmp_path)
    main = console.services.listed[1].branches["main"]
    told = receipt("m" * 32, main.snapshots[-2], main.snapshots[-1])
    console.services.receipts["m" * 32] = replace(told, counts=Counts(snapshots_added=1))
    page = console.open("receipt", **FLIGHTS, id="m" * 32)
    assert page.has_button("undo")


def test_a_receipt_says_how_long_its_job_ran_and_when_the_operation_started(
    tmp_path: Path,
) -> None:
    console = air_console(tmp_path)
    services = console.services
    console.open("merge", **DIALOG).choose(*PUBLISH).click("run-merge_branch")
    (merge,) = services.sent
    done, main = merge.operation_id, services.listed[1].branches["main"].snapshots
    kept = replace(receipt(done, main[-2], main[-1]), counts=Counts(snapshots_added=1))
    services.receipts[done] = kept
    known = services.known_jobs
    known[done] = replace(
        known[done], state=JobState.DONE, started_millis=kept.finished_millis - 8_000,
        finished_millis=kept.finished_millis,
    )  # fmt: skip
    started = f"Started]]  \n{moment(kept.started_millis, UTC)}"
    shown = bare(console.open("receipt", **FLIGHTS, id=done).text)
    assert "Job ran for]]  \n8.0 s, preparation included" in shown
    assert started in shown
    # Its operation had begun before: the job was cut off, and taken up again a day later.
    known[done] = replace(known[done], started_millis=kept.started_millis + 1)
    shown = bare(console.open("receipt", **FLIGHTS, id=done).text)
    assert "Job ran for" not in shown
    assert started in shown


def test_an_undo_of_the_merge_page_stays_there_and_says_who_took_the_merge_back(
    tmp_path: Path,
) -> None:
    console = air_console(tmp_path)
    services = console.services
    page = console.open("merge", **DIALOG).choose(*PUBLISH).click("run-merge_branch")
    (merge,) = services.sent
    before, after = services.listed[1].branches["main"].snapshots[-2:]
    done, known = merge.operation_id, services.known_jobs
    services.receipts[done] = receipt(done, before, after)
    known[done] = replace(known[done], state=JobState.DONE, receipt_id=done)
    planned(console, MergeVerdict.UP_TO_DATE)
    page = page.run()
    # Nothing is left to merge, so that the page shows the figures of the receipt.
    assert "**What was merged**" in page.text
    assert "Data files checked" in page.text
    assert f"`main`: snapshot {before.id} " in page.text
    assert [tab.label for tab in page.at.tabs if "Conflicts" in tab.label] == []
    # What it brought is told by its receipt: today's plan has nothing left to bring.
    assert "**Commits that `main` got**" in page.text
    assert "**Commits of** `fix-delays`" not in page.text
    assert "Compare before and after" in [label for label, _ in page.links()]
    page = page.click("undo")
    assert ": done by ada, " in page.text
    page = page.click("run-undo")
    undo = services.sent[-1].operation_id
    assert "do" not in page.at.query_params
    assert "**Taking the merge back: " in page.text, page.text[:1500]

    known[undo] = replace(known[undo], state=JobState.DONE, receipt_id=undo)
    kept = replace(receipt(undo, after, before), rescue_branch="rescue-9f2a")
    services.receipts[undo] = kept
    services.undo_chances[done] = UndoChance(obstacle="It was undone.", undone_by=undo)
    planned(console, MergeVerdict.CLEAN)
    page = page.run()
    assert "**What was merged**" not in page.text
    assert f"**Merged into `main` as snapshot {after.id}, undone by ada " in page.text
    assert (
        f"`main` went back to snapshot {before.id}. What the undo removed went to rescue branch "
        "`rescue-9f2a`." in page.text
    )
    page = page.click("merge-review")
    assert not {"merged", "undo"} & set(page.at.query_params)
    assert page.has_button("merge-merge")


def _checks(console: Console, **view: str) -> set[str]:
    """The lines of the checks, without what may be said of their results in other words."""
    (_, _, text) = bare(console.open("merge", **FIX, tab="checks", **view).text).partition("Checks")
    names = ("Conflicts:", "Row comparison:", "Quality rules:", "Dry run:", "Merge base:")
    others = ("started from is kept", "on both sides", "No other job", "you may merge into it")
    return {each for each in (*names, *others) if each in text}


def _merged(console: Console, *, plan_id: str = "5f0c7a", **receipt_parts: Any) -> str:
    """Merge fix-delays, with the plan that it has now still known; return the operation."""
    services = console.services
    console.open("merge", **DIALOG).choose(*PUBLISH).click("run-merge_branch")
    (merge,) = services.sent
    done, main = merge.operation_id, services.listed[1].branches["main"].snapshots
    services.receipts[done] = replace(
        receipt(done, main[-2], main[-1]), plan_id=plan_id, **receipt_parts
    )
    services.known_jobs[done] = replace(
        services.known_jobs[done], state=JobState.DONE, receipt_id=done
    )
    plan = services.merges["fix-delays"]
    assert isinstance(plan, ThreeWayPlan)
    services.merged_plans[done] = plan
    planned(console, MergeVerdict.UP_TO_DATE)
    return done


def test_a_merge_that_is_done_has_the_checks_that_it_had_before(tmp_path: Path) -> None:
    console = planned(air_console(tmp_path), MergeVerdict.CLEAN)
    before = _checks(console)
    assert {"Conflicts:", "Dry run:", "Merge base:", "on both sides"} <= before
    finding = {
        "rule": "code", "severity": "block", "asked": "code not null", "verdict": "pass",
        "said": "Passes.", "examples": [], "partitions": [],
    }  # fmt: skip
    done = _merged(console, gate={"verdict": "pass", "findings": [finding]})
    view = {"merged": f"fix-delays-main:{done}"}
    # Who may merge now is no condition of a merge that is done.
    after = before - {"you may merge into it"} | {"Quality rules:"}
    assert _checks(console, **view) == after
    text = bare(console.open("merge", **FIX, tab="checks", **view).text)
    assert "Conflicts: none." in text
    assert "Quality rules: 1 of 1 rule passed on the result, before it was merged." in text
    assert "Dry run: not done; the merge built and checked its result itself." in text


def test_a_done_merge_fails_no_check_for_whoever_may_only_look(tmp_path: Path) -> None:
    console = planned(air_console(tmp_path), MergeVerdict.CLEAN)
    view = {"merged": f"fix-delays-main:{_merged(console)}"}
    console.services.settings = settings(tmp_path, "viewer")
    page = console.open("merge", **FIX, **view)
    assert "**What was merged**" in page.text
    assert "You may not merge into" not in page.text
    assert not [tab.label for tab in page.at.tabs if "failed" in tab.label]


def test_a_done_merge_leaves_out_checks_that_are_not_known(tmp_path: Path) -> None:
    console = planned(air_console(tmp_path), MergeVerdict.CLEAN)
    view = {"merged": f"fix-delays-main:{_merged(console)}"}
    console.services.merged_plans.clear()
    assert "Dry run:" not in _checks(console, **view)


def test_a_done_merge_counts_the_conflicts_of_the_plan_that_ran(tmp_path: Path) -> None:
    compared = PlanCost(files_added=2, records_added=20, buckets_to_compare=1, is_of_rows=True)
    console = planned(air_console(tmp_path), MergeVerdict.CLEAN)
    done = _merged(console, plan_id="made-again")
    plan = console.services.merged_plans[done]
    console.services.merged_plans[done] = replace(plan, cost=compared)
    view = {"merged": f"fix-delays-main:{done}"}
    # Nobody knows the conflicts: the merge had to compare rows, and may have settled some.
    found = _checks(console, **view)
    assert "Row comparison:" in found
    assert "Conflicts:" not in found
    # The run planned again: what it found is under the plan of the receipt.
    console.services.conflicts_of_plans["made-again"] = pa.table({"take": ["theirs"] * 3})
    text = bare(console.open("merge", **FIX, tab="checks", **view).text)
    assert "Conflicts: 3 conflicts, all settled." in text


@pytest.mark.parametrize("is_known", [True, False])
def test_a_done_merge_is_planned_again_once_however_often_its_page_is_drawn(
    is_known: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    console = planned(air_console(tmp_path), MergeVerdict.CLEAN)
    done = _merged(console)
    plan, asked = console.services.merged_plans[done] if is_known else None, list[str]()

    def find(table: Identifier, operation_id: str) -> ThreeWayPlan | None:
        asked.append(operation_id)
        return plan

    monkeypatch.setattr(console.services, "merged_plan", find)
    page = console.open("merge", **FIX, tab="checks", merged=f"fix-delays-main:{done}")
    for _ in range(3):
        assert ("Dry run:" in bare(page.run().text)) is is_known
    assert asked == [done]


def test_a_merge_that_is_not_done_has_no_plan_to_find_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    console = planned(air_console(tmp_path), MergeVerdict.CLEAN)
    done, asked = _merged(console), list[str]()
    known = console.services.known_jobs
    known[done] = replace(known[done], state=JobState.RUNNING)
    monkeypatch.setattr(
        console.services, "merged_plan", lambda _, operation_id: asked.append(operation_id)
    )
    console.open("merge", **FIX, merged=f"fix-delays-main:{done}")
    assert not asked


def test_a_done_merge_is_shown_before_its_manifests_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    console, answers = planned(air_console(tmp_path), MergeVerdict.CLEAN), Event()
    done = _merged(console)
    find = console.services.merged_plan

    def find_slowly(table: Identifier, operation_id: str) -> ThreeWayPlan | None:
        assert answers.wait(30)
        return find(table, operation_id)

    monkeypatch.setattr(console.services, "merged_plan", find_slowly)
    monkeypatch.setattr(patience, "_PATIENCE_SECONDS", 0.05)
    page = console.open("merge", **FIX, tab="checks", merged=f"fix-delays-main:{done}")
    assert "**Merged into `main` as snapshot " in page.text
    assert "**What was merged**" in page.text
    assert "The manifests of the merge are read for its checks." in page.text
    assert "Dry run:" not in bare(page.text)
    answers.set()
    monkeypatch.setattr(patience, "_PATIENCE_SECONDS", 30)
    text = bare(page.run().text)
    assert "Dry run: not done; the merge built and checked its result itself." in text
    assert "The manifests of the merge are read" not in text


def test_a_done_merge_is_shown_while_its_states_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    console = planned(air_console(tmp_path), MergeVerdict.CLEAN)
    done = _merged(console)
    monkeypatch.setattr(patience, "_PATIENCE_SECONDS", 0.05)
    monkeypatch.setattr(reads, "begin_comparison", lambda *_: Begun(Future(), lambda diff: diff))
    page = console.open("merge", **FIX, tab="changes", merged=f"fix-delays-main:{done}")
    # The summary counts rows, the changes list partitions: both wait for the comparison.
    assert page.text.count("The manifests of both states are compared.") == 2
    assert "**What was merged**" in page.text
    assert "**Commits that `main` got**" in page.text


def test_a_done_merge_gives_no_cause_for_commits_that_it_cannot_list(tmp_path: Path) -> None:
    console = planned(air_console(tmp_path), MergeVerdict.CLEAN)
    main = console.services.listed[1].branches["main"].snapshots
    # Its head went back: another history was forced on it.
    done = _merged(console, moves=receipt("any", main[-1], main[-2]).moves)
    page = console.open("merge", **FIX, tab="changes", merged=f"fix-delays-main:{done}")
    assert "They cannot be listed." in page.text
    assert "expiry" not in page.text


def test_a_done_merge_whose_option_may_have_settled_conflicts_says_not_none(
    tmp_path: Path,
) -> None:
    console = planned(air_console(tmp_path), MergeVerdict.CLEAN)
    done = _merged(console)
    plan = console.services.merged_plans[done]
    rules = replace(plan.rules, isolation=Isolation.SNAPSHOT)
    console.services.merged_plans[done] = replace(plan, rules=rules)
    found = _checks(console, merged=f"fix-delays-main:{done}")
    assert "Dry run:" in found
    assert "Conflicts:" not in found
