"""Acts on branches that are over soon: the page where they were asked for tells them."""

from dataclasses import replace
from pathlib import Path

import pytest

from branch_console.errors import FormatError
from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console.jobs.progress import JobState
from branch_console.operations.argument import Argument
from branch_console.procedures.undo.undo import UndoChance
from branch_console_app.widgets.parts import act_here
from tests.console.pages import Console, Page, settings
from tests.console.pretend import NOW, PretendServices, air_warehouse, job, receipt

OF = {"table": "air.flights"}
FIX = {"db": "air", "table": "flights", "branch": "fix-delays"}


@pytest.fixture
def services(tmp_path: Path) -> PretendServices:
    return air_warehouse(settings(tmp_path))


def asked(services: PretendServices, do: str, run: str, **typed: str) -> tuple[Page, str]:
    """The page after an act was confirmed in its dialog, and the id of its job."""
    page = Console(services).open("branches", **FIX, do=do)
    for key, text in typed.items():
        page.at.text_input(key=f"do-{key}").set_value(text)
        page.run()
    page.click(run)
    return page, services.sent[-1].operation_id


def ends(services: PretendServices, job_id: str, state: JobState, **arguments: Argument) -> None:
    """End a job that the page follows."""
    ended = job(job_id, state=state, name=services.sent[-1].name, message="It ended.")
    services.known_jobs[job_id] = replace(ended, arguments={**OF, **arguments})


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs of the pretended warehouse began long ago; no page gives up on them here."""
    monkeypatch.setattr(act_here, "_PATIENCE_MILLIS", 10**15)


@pytest.mark.usefixtures("patient")
def test_a_created_branch_is_told_where_it_was_asked_for(services: PretendServices) -> None:
    page, job_id = asked(services, "create-branch", "run-create_branch", name="sandbox")
    assert page.at.query_params["act"] == job_id
    assert "do" not in page.at.query_params
    assert "**Create branch `sandbox`**" in page.text
    assert any(label == "View job" and job_id in query for label, query in page.links())
    flights = services.listed[1].branches
    flights["sandbox"] = replace(flights["fix-delays"], name="sandbox")
    ends(services, job_id, JobState.DONE, branch="sandbox", from_branch="fix-delays")
    page.run()
    assert page.at.query_params["branch"] == "sandbox"
    assert "Branch `sandbox` created." in page.text
    assert any(label == "Receipt" and job_id in query for label, query in page.links())
    assert page.has_button("instead-act")


@pytest.mark.usefixtures("patient")
def test_an_act_that_ends_while_the_page_is_drawn_turns_to_its_branch(
    services: PretendServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, job_id = asked(services, "create-branch", "run-create_branch", name="sandbox")
    flights = services.listed[1].branches
    flights["sandbox"] = replace(flights["fix-delays"], name="sandbox")
    running = services.known_jobs[job_id]
    ends(services, job_id, JobState.DONE, branch="sandbox", from_branch="fix-delays")
    first = iter([running])
    monkeypatch.setattr(services, "job", lambda each: next(first, services.known_jobs[each]))
    page.run()
    assert page.at.query_params["branch"] == "sandbox"
    assert "Branch `sandbox` created." in page.text


@pytest.mark.usefixtures("patient")
def test_only_on_the_created_branch_is_offered_to_drop_it(services: PretendServices) -> None:
    page, job_id = asked(services, "create-branch", "run-create_branch", name="sandbox")
    flights = services.listed[1].branches
    flights["sandbox"] = replace(flights["fix-delays"], name="sandbox")
    ends(services, job_id, JobState.DONE, branch="sandbox", from_branch="fix-delays")
    page.run()
    page.at.selectbox(key="branch-picker-branches-sandbox").set_value("fix-delays")
    page.run()
    assert page.at.query_params["branch"] == "fix-delays"
    assert not page.has_button("instead-act")
    page.at.selectbox(key="branch-picker-branches-fix-delays").set_value("sandbox")
    page.run()
    page.click("instead-act")
    assert page.at.query_params["do"] == "drop-branch"
    assert page.has_button("run-drop_branch")
    # What is gone is not offered to be dropped, and nothing else in its place.
    del flights["sandbox"]
    page = Console(services).open("branches", **FIX | {"branch": "main"}, act=job_id)
    assert not page.has_button("instead-act")


@pytest.mark.usefixtures("patient")
def test_protection_of_one_branch_is_offered_there_and_of_a_pattern_nowhere(
    services: PretendServices,
) -> None:
    page, job_id = asked(services, "protect-branch", "run-protect_branch")
    ends(services, job_id, JobState.DONE, branch="fix-delays", protected=True)
    page.run()
    assert "Branch `fix-delays` is now protected." in page.text
    assert page.has_button("instead-act")
    page, job_id = asked(services, "protect-branch", "run-protect_branch")
    ends(services, job_id, JobState.DONE, branch="fix-*", protected=True)
    page.run()
    assert "Branches `fix-*` are now protected." in page.text
    assert page.at.query_params["branch"] == "fix-delays"
    assert not page.has_button("instead-act")


@pytest.mark.usefixtures("patient")
def test_a_renamed_branch_is_shown_under_its_new_name_with_undo(services: PretendServices) -> None:
    page, job_id = asked(services, "rename-branch", "run-rename_branch", name="delays")
    flights = services.listed[1].branches
    flights["delays"] = replace(flights.pop("fix-delays"), name="delays")
    ends(services, job_id, JobState.DONE, branch="fix-delays", to="delays")
    page.run()
    assert page.at.query_params["branch"] == "delays"
    assert "Branch `fix-delays` renamed to `delays`." in page.text
    page.click("undo-act")
    assert page.at.query_params["do"] == "undo"
    assert page.at.query_params["what"] == job_id


@pytest.mark.usefixtures("patient")
def test_a_release_is_told_on_the_tab_that_asked_for_it(services: PretendServices) -> None:
    branches = services.listed[1].branches
    branches["rescue-7f"] = replace(branches["audit"], name="rescue-7f")
    services.stored = FormatError("A manifest is broken.", path="/w/m")
    page = Console(services).open(
        "maintenance", **FIX, mt_tab="Rescue", do="release-branch", what="rescue-7f"
    )
    page.click("run-release_branch")
    job_id = services.sent[-1].operation_id
    del branches["rescue-7f"]
    ends(services, job_id, JobState.DONE, branch="rescue-7f")
    page.run()
    assert page.at.query_params["act"] == job_id
    assert page.at.query_params["branch"] == "fix-delays"
    assert "Branch `rescue-7f` released." in page.text
    assert "No operation keeps anything." in page.text


@pytest.mark.usefixtures("patient")
def test_undo_is_not_offered_where_it_would_not_run(services: PretendServices) -> None:
    page, job_id = asked(services, "drop-branch", "run-drop_branch")
    services.undo_chances[job_id] = UndoChance(obstacle="Its name is taken.")
    del services.listed[1].branches["fix-delays"]
    ends(services, job_id, JobState.DONE, branch="fix-delays")
    page.run()
    assert page.at.query_params["branch"] == "main"
    assert "Branch `fix-delays` dropped." in page.text
    assert not page.has_button("undo-act")


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("state", [JobState.FAILED, JobState.REFUSED])
def test_what_does_not_end_well_goes_on_to_its_job(
    services: PretendServices, state: JobState
) -> None:
    page, job_id = asked(services, "drop-branch", "run-drop_branch")
    ends(services, job_id, state)
    page.run()
    assert page.at.query_params["id"] == job_id
    assert "act" not in page.at.query_params


def test_what_takes_long_goes_on_to_its_job(services: PretendServices) -> None:
    page, job_id = asked(services, "drop-branch", "run-drop_branch")
    assert page.at.query_params["id"] == job_id


def test_who_goes_back_to_an_earlier_act_stays_there(services: PretendServices) -> None:
    ended = job("9f2a00", state=JobState.DONE, name="rename_branch")
    services.known_jobs["9f2a00"] = replace(
        ended, arguments={**OF, "branch": "old", "to": "backfill"}
    )
    page = Console(services).open("branches", **FIX, act="9f2a00")
    assert page.at.query_params["branch"] == "fix-delays"
    assert "Branch `old` renamed to `backfill`." in page.text


@pytest.mark.parametrize(
    ("name", "arguments", "branch"),
    [
        ("create_branch", {"branch": "backfill"}, "backfill"),
        ("create_branch", {"branch": "sandbox"}, "fix-delays"),
        ("rename_branch", {"branch": "old", "to": "backfill"}, "backfill"),
        ("pin_branch", {"branch": "backfill"}, "backfill"),
        ("drop_branch", {"branch": "backfill"}, None),
        ("merge_branch", {"branch": "backfill"}, None),
    ],
)
def test_a_job_leads_to_its_branch_by_its_present_name(
    services: PretendServices, name: str, arguments: dict[str, Argument], branch: str | None
) -> None:
    renamed = LineageEvent(
        id="r", branch="fix-delays", operation_id="c" * 32, actor="bo", kind=LineageKind.RENAMED,
        source_branch="sandbox", time_millis=NOW,
    )  # fmt: skip
    services.listed[1] = replace(services.listed[1], events=(renamed,))
    services.known_jobs["9f2a00"] = replace(
        job("9f2a00", state=JobState.DONE, name=name), arguments={**OF, **arguments}
    )
    page = Console(services).open("job", id="9f2a00", db="air", table="flights")
    label = "Branches" if branch is None else f"Branch `{branch}`"
    (query,) = (query for each, query in page.links() if each == label and "branch=" in query)
    assert f"branch={branch or 'main'}" in query


def test_a_job_offers_the_undo_that_its_dialog_promised(services: PretendServices) -> None:
    main = services.listed[1].branches["main"].snapshots
    services.known_jobs["9f2a00"] = job("9f2a00", state=JobState.DONE, name="rename_branch")
    services.receipts["9f2a00"] = receipt("9f2a00", main[-2], main[-1])
    page = Console(services).open("job", id="9f2a00", db="air", table="flights").click("undo-act")
    page.click("run-undo")
    assert services.sent[-1].arguments["operation"] == "9f2a00"
    services.undo_chances["9f2a00"] = UndoChance(obstacle="There are newer commits.")
    page = Console(services).open("job", id="9f2a00", db="air", table="flights")
    assert not page.has_button("undo-act")
