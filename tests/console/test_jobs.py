"""Jobs and receipts: what is said in each state, and the commands that are sent."""

from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from branch_console.errors import ErrorKind
from branch_console.format.receipt import Counts
from branch_console.jobs.progress import JobState, WorkerView
from branch_console.merge.catalog.catalog_steps import StepKind
from branch_console.merge.catalog.merged_part import MergedPart
from branch_console.procedures.call.call import Argument
from branch_console.procedures.undo.undo import UndoChance
from tests.console.pages import Console, Page, air_console, settings
from tests.console.pretend import NOW, PretendServices, air_warehouse, job, preview, receipt

FLIGHTS = {"db": "air", "table": "flights"}


def open_job(tmp_path: Path, state: JobState, error: ErrorKind | None = None) -> Page:
    services = air_warehouse(settings(tmp_path))
    services.known_jobs["9f2a00"] = job("9f2a00", state=state, error=error)
    return Console(services).open("job", id="9f2a00", db="air", table="flights")


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (JobState.QUEUED, "is queued; no worker has reported"),
        (JobState.RUNNING, "**Job `9f2a00` runs.**"),
        (JobState.PUBLISHING, "**Job `9f2a00` runs.**"),
        (JobState.DONE, "**Job `9f2a00` is done.**"),
        (JobState.REFUSED, "**Job `9f2a00` was refused.**"),
        (JobState.FAILED, "**Job `9f2a00` failed.**"),
        (JobState.CANCELLED, "**Job `9f2a00` was cancelled.**"),
        (JobState.INTERRUPTED, "**Job `9f2a00` stopped in the middle.**"),
    ],
)
def test_each_state_is_said(tmp_path: Path, state: JobState, words: str) -> None:
    assert words in open_job(tmp_path, state).text


@pytest.mark.parametrize("state", list(JobState))
def test_only_what_may_be_done_is_offered(tmp_path: Path, state: JobState) -> None:
    page = open_job(tmp_path, state)
    assert page.has_button("job-cancel") == (state.can_cancel and not state.is_over)
    assert page.has_button("job-resume") == (state.can_resume or state is JobState.INTERRUPTED)
    labels = [label for label, _ in page.links()]
    assert ("Receipt" in labels) == (state is JobState.DONE)


@pytest.mark.parametrize("actor", ["ada", "bob"])
def test_a_viewer_is_told_why_the_job_of_another_person_cannot_be_cancelled(
    tmp_path: Path, actor: str
) -> None:
    services = air_warehouse(replace(settings(tmp_path), role="viewer", actor=actor))
    services.known_jobs["9f2a00"] = job("9f2a00", state=JobState.RUNNING)
    page = Console(services).open("job", id="9f2a00", db="air", table="flights")
    reason = "This asks for an editor; you are a viewer."
    assert page.text.count(reason) == (0 if actor == "ada" else 1)


def test_a_merge_of_the_catalog_has_a_line_for_each_object(tmp_path: Path) -> None:
    services = air_warehouse(settings(tmp_path))
    known = job("9f2a00", state=JobState.PUBLISHING, name="merge_catalog_branch")
    services.known_jobs["9f2a00"] = replace(known, done=1, total=3)
    services.parts_of_jobs["9f2a00"] = tuple(
        MergedPart(
            operation_id=f"9f2a00-{name}", object_id=name, kind=StepKind.MERGE_CONTENT, name=name
        )
        for name in ("air.flights", "air.planes", "lab.notes")
    )
    console = Console(services)
    page = console.open("job", id="9f2a00")
    assert "**Databases and tables** :gray[1 of 3 done]" in page.text
    for line in (
        ":green[✓] air\\.flights :gray[merge content]",
        ":blue[▸] air\\.planes",
        ":gray[○] lab\\.notes",
    ):
        assert line in page.text, line
    services.known_jobs["9f2a00"] = replace(known, name="merge_branch", done=1, total=3)
    assert "**Databases and tables**" not in console.open("job", id="9f2a00").text


def open_ended(
    services: PretendServices,
    name: str,
    state: JobState = JobState.DONE,
    message: str = "",
    **arguments: Argument,
) -> Page:
    """The page of a job that has ended."""
    ended = job("9f2a00", state=state, name=name)
    table = None if name == "merge_catalog_branch" else ended.table
    services.known_jobs["9f2a00"] = replace(ended, message=message or ended.message, table=table)
    services.asked_of_jobs["9f2a00"] = arguments
    return Console(services).open("job", id="9f2a00", db="air", table="flights")


@pytest.mark.parametrize("state", list(JobState))
def test_what_only_looks_runs_again_as_a_new_job(tmp_path: Path, state: JobState) -> None:
    services = air_warehouse(settings(tmp_path))
    services.known_jobs["9f2a00"] = job("9f2a00", state=state, name="check_rules")
    page = Console(services).open("job", id="9f2a00", db="air", table="flights")
    assert page.has_button("job-again") == state.is_over
    if state.is_over:
        page.click("job-again")
        (call,) = services.sent
        assert call.name == "check_rules"
        assert call.operation_id != "9f2a00"
        assert page.at.query_params["id"] == call.operation_id


def test_a_drop_runs_again_only_from_its_preview_with_the_name_typed(tmp_path: Path) -> None:
    services = air_warehouse(settings(tmp_path))
    services.previews["drop_branch"] = preview("drop_branch", typed_name="fix-delays")
    given = {"branch": "fix-delays", "reason": "done with it", "plan_id": "of then"}
    page = open_ended(services, "drop_branch", **given).click("job-again")
    assert services.sent == []
    assert "Something changes\\." in page.text
    assert page.at.button(key="run-drop_branch").disabled
    page.at.text_input(key="typed-drop_branch").set_value("fix-delays")
    page.run().click("run-drop_branch")
    (call,) = services.sent
    told = {"table": "air.flights", "branch": "fix-delays", "reason": "done with it"}
    assert dict(call.arguments) == {**told, "plan_id": "5f0c7a"}
    assert page.at.query_params["id"] == call.operation_id
    assert "do" not in page.at.query_params


def test_what_its_branch_is_gone_for_is_not_offered_again(tmp_path: Path) -> None:
    page = open_ended(air_warehouse(settings(tmp_path)), "drop_branch", branch="gone")
    assert not page.has_button("job-again")
    assert "Branch `gone` is gone, so this cannot be run again." in page.text


def test_a_fast_forward_leads_to_its_preview_again(tmp_path: Path) -> None:
    given = {"branch": "fix-delays", "target": "main", "force": True}
    services, refused = air_warehouse(settings(tmp_path)), JobState.REFUSED
    page = open_ended(services, "fast_forward", refused, **given)
    assert not page.has_button("job-again")
    (query,) = (each for label, each in page.links() if label.startswith("Run again: "))
    for each in ("source=fix-delays", "target=main", "how=ff", "table=flights"):
        assert each in query


@pytest.mark.parametrize("name", ["merge_branch", "fast_forward", "merge_catalog_branch"])
def test_a_merge_that_is_done_is_not_offered_again(tmp_path: Path, name: str) -> None:
    given = {"branch": "fix-delays", "target": "main"}
    said = "'fix-delays' was merged into 'main': main@2. air.a: done. Tag 'branch-pin-9f' stays."
    page = open_ended(air_warehouse(settings(tmp_path)), name, message=said, **given)
    assert not page.has_button("job-again")
    assert not [label for label, _ in page.links() if label.startswith("Run again: ")]
    assert "`fix-delays` was merged into `main`" in page.text
    assert ("branch-pin-9f" in page.text) == (name != "merge_catalog_branch")
    # It may have been undone, or its source have new commits: the page of the merge knows.
    (query,) = (each for label, each in page.links() if label == "Look at the merge")
    place = "of=catalog" if name == "merge_catalog_branch" else "table=flights"
    for each in ("source=fix-delays", "target=main", place):
        assert each in query


def test_a_merge_of_a_database_leads_to_its_page(tmp_path: Path) -> None:
    given = {"branch": "fix-delays", "target": "main", "database": "air"}
    page = open_ended(air_warehouse(settings(tmp_path)), "merge_catalog_branch", **given)
    (query,) = (each for label, each in page.links() if label == "Look at the merge")
    assert "of=database" in query
    assert "db=air" in query


@pytest.mark.parametrize("branch", ["fix-delays", "gone"])
def test_of_a_merge_that_is_done_no_button_is_refused(tmp_path: Path, branch: str) -> None:
    services = air_warehouse(settings(tmp_path, role="viewer"))
    page = open_ended(services, "merge_branch", branch=branch, target="main")
    assert "ROLE_REQUIRED" not in page.text
    assert "cannot be run again" not in page.text
    labels = [label for label, _ in page.links()]
    assert ("Look at the merge" in labels) == (branch != "gone")


def test_a_statement_that_wrote_leads_to_the_editor_again(tmp_path: Path) -> None:
    given = {"sql": "DELETE FROM air.flights", "branch": "fix-delays"}
    page = open_ended(air_warehouse(settings(tmp_path)), "delete_rows", **given)
    assert not page.has_button("job-again")
    (query,) = (each for label, each in page.links() if label.startswith("Run again: "))
    assert "q=DELETE+FROM+air.flights" in query
    assert "branch=fix-delays" in query


def test_the_log_is_read_once_it_is_opened(tmp_path: Path) -> None:
    services = air_warehouse(settings(tmp_path))
    services.known_jobs["9f2a00"] = job("9f2a00", state=JobState.DONE)
    services.log = "INFO started\nWARNING slow store\n"
    console = Console(services)
    page = console.open("job", id="9f2a00", db="air", table="flights")
    assert "slow store" not in page.text
    assert "WARNING slow store" in page.unfold("jb_log").text


def test_a_cancelled_job_is_cancelled(tmp_path: Path) -> None:
    page = open_job(tmp_path, JobState.RUNNING).click("job-cancel")
    assert "was cancelled" in page.text


def test_a_failed_job_resumes(tmp_path: Path) -> None:
    page = open_job(tmp_path, JobState.FAILED).click("job-resume")
    assert "is queued" in page.text


def test_a_job_that_compared_leads_to_what_it_found(tmp_path: Path) -> None:
    services = air_warehouse(settings(tmp_path))
    given = {"table": "air.flights", "a": "main@2:aaaa", "b": "dev"}
    for name, tab in (("compare_states", "rows"), ("compare_quality", "quality")):
        services.sent.append(services.call(name, given, name))
        services.known_jobs[name] = job(name, state=JobState.DONE, name=name)
        page = Console(services).open("job", id=name, db="air", table="flights")
        (query,) = (each for label, each in page.links() if label == "Look at the comparison")
        assert "cmp_a=main%402%3Aaaaa" in query
        assert "cmp_b=dev" in query
        assert f"cmp_tab={tab}" in query
        assert "table=flights" in query


def test_the_code_of_a_refusal_is_told(tmp_path: Path) -> None:
    page = open_job(tmp_path, JobState.REFUSED, ErrorKind.HEAD_MOVED)
    assert "`HEAD_MOVED`" in page.text


def test_the_steps_are_listed_with_their_times(tmp_path: Path) -> None:
    page = open_job(tmp_path, JobState.DONE)
    assert ":green[✓] check heads :gray[40 ms]" in page.text
    assert ":green[✓] verify files :gray[4\\.2 s]" in page.text.replace("4.2", "4\\.2")


def test_an_unknown_job_is_not_found(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("job", id="nope")
    assert "**Job `nope` was not found.**" in page.text
    assert "`JOB_NOT_FOUND`" in page.text


def test_the_list_shows_every_job_and_filters_by_state(tmp_path: Path) -> None:
    services = air_warehouse(settings(tmp_path))
    for number, state in enumerate(JobState):
        services.known_jobs[f"{number}000000000"] = job(f"{number}000000000", state=state)
    console = Console(services)
    assert console.open("jobs").text.count("verify files") == len(JobState) - 1
    found = {
        group: len([label for label, _ in page.links() if label == "Fast-forward a branch"])
        for group in ("Running", "Finished", "Failed")
        for page in [console.open("jobs", jb_state=group)]
    }
    assert found == {"Running": 5, "Finished": 2, "Failed": 2}


def test_jobs_are_called_what_a_person_would_call_them(tmp_path: Path) -> None:
    services = air_warehouse(settings(tmp_path))
    services.known_jobs["0000"] = job("0000", state=JobState.DONE)
    console = Console(services)
    assert "Fast-forward a branch of `air.flights`" in console.open("job", id="0000").text
    given = {"branch": "fix-delays", "target": "main"}
    services.known_jobs["0001"] = replace(job("0001", name="merge_branch"), arguments=given)
    listed = console.open("jobs", jb_kind="Merge a branch")
    assert "Merge `fix-delays` into `main`" in [label for label, _ in listed.links()]
    services.known_jobs["0002"] = replace(
        job("0002", name="check_rules", table="air.flights$branch_fix-delays"),
        arguments={"a": "main", "b": "fix-delays"},
    )
    checked = console.open("jobs", jb_kind="Check rules")
    assert "Check the rules on `fix-delays`" in [label for label, _ in checked.links()]
    assert "air\\.flights" in checked.text
    assert "branch\\_fix" not in checked.text
    title = "Merge `fix-delays` into `main` of `air.flights`"
    assert title in console.open("job", id="0001").text


def test_no_job_yet_is_said(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("jobs")
    assert "No job yet." in page.text
    assert "no worker yet" in page.text


def test_the_worker_is_told(tmp_path: Path) -> None:
    services = air_warehouse(settings(tmp_path))
    services.seen_worker = WorkerView(
        id="w", process_id=4711, host="local", started_millis=NOW, heartbeat_millis=NOW,
        is_alive=True, spark="warm", job=None,
    )  # fmt: skip
    page = Console(services).open("jobs")
    assert "worker alive" in page.text
    assert "Spark warm" in page.text
    assert "process 4711 on local" in page.text


def test_a_receipt_tells_heads_counts_and_who(tmp_path: Path) -> None:
    services = air_warehouse(settings(tmp_path))
    main = services.listed[1].branches["main"].snapshots
    services.receipts["9f2a00"] = receipt("9f2a00", main[-2], main[-1])
    page = Console(services).open("receipt", id="9f2a00", db="air", table="flights")
    assert "`main`: snapshot 11" in page.text
    assert "→ snapshot 12" in page.text
    assert "41,208" in page.text
    assert "ada" in page.text
    assert "CALL sys.fast_forward" in page.text


def test_a_receipt_leads_to_the_comparison_of_before_and_after(tmp_path: Path) -> None:
    services = air_warehouse(settings(tmp_path))
    main = services.listed[1].branches["main"].snapshots
    services.receipts["9f2a00"] = receipt("9f2a00", main[-2], main[-1])
    page = Console(services).open("receipt", id="9f2a00", db="air", table="flights")
    (query,) = (each for label, each in page.links() if label == "Compare before and after")
    asked = parse_qs(query)
    assert asked["cmp_a"] == [f"main@11:{main[-2].identity.short}"]
    assert asked["cmp_b"] == [f"main@12:{main[-1].identity.short}"]
    assert asked["table"] == ["flights"]
    # The snapshots cannot be read here: it says so, and the receipt stays whole.
    assert "The rows that changed cannot be counted any more" in page.text
    assert page.has_button("undo")


def test_a_receipt_counts_rows_that_changed_where_the_records_are_as_many_as_before(
    tmp_path: Path,
) -> None:
    services = air_warehouse(settings(tmp_path))
    main = services.listed[1].branches["main"].snapshots
    told = receipt("9f2a00", main[-2], main[-1])
    # Deletion vectors hide rows, and no record leaves.
    services.receipts["9f2a00"] = replace(told, counts=Counts(snapshots_added=1))
    page = Console(services).open("receipt", id="9f2a00", **FLIGHTS)
    # The pretended snapshots cannot be read, so it is seen that somebody asked.
    assert "The rows that changed cannot be counted" in page.text
    services.receipts["9f2a00"] = replace(told, counts=Counts(tags_added=1))
    page = Console(services).open("receipt", id="9f2a00", **FLIGHTS)
    assert "The rows that changed" not in page.text


def test_a_long_reason_is_cut_and_leaves_the_buttons_in_view(tmp_path: Path) -> None:
    services = air_warehouse(settings(tmp_path))
    main = services.listed[1].branches["main"].snapshots
    told = receipt("9f2a00", main[-2], main[-1])
    long = "Diverted flights have no delay. " * 35
    statement = told.statement.replace("branch =>", f"reason => '{long}', branch =>")
    services.receipts["9f2a00"] = replace(told, statement=statement)
    page = Console(services).open("receipt", id="9f2a00", **FLIGHTS)
    shown = [each.value for each in page.at.markdown if "Diverted flights" in each.value]
    first, whole = sorted(shown, key=len)
    assert first.startswith(":small[:gray[Reason]]")
    assert len(first) < 300
    assert whole.count("Diverted flights") == 35


def test_a_receipt_names_the_rescue_branch_as_what_it_made_then(tmp_path: Path) -> None:
    console = air_console(tmp_path)
    before, head = console.services.listed[1].branches["main"].snapshots[-2:]
    console.services.receipts["9f2a"] = replace(
        receipt("9f2a", before, head), rescue_branch="rescue-1"
    )
    page = console.open("receipt", db="air", table="flights", id="9f2a")
    # The branch may have been released since.
    assert "What was replaced went to rescue branch `rescue-1`." in page.text
    # Then its state cannot be compared, and a link would lead to an error.
    assert "Compare before and after" not in dict(page.links())
    branches = console.services.listed[1].branches
    branches["rescue-1"] = branches["main"]
    page = console.open("receipt", db="air", table="flights", id="9f2a")
    assert "Compare before and after" in dict(page.links())


def test_a_receipt_offers_undo_only_where_it_would_run(tmp_path: Path) -> None:
    services = air_warehouse(settings(tmp_path))
    main = services.listed[1].branches["main"].snapshots
    services.receipts["9f2a00"] = receipt("9f2a00", main[-2], main[-1])
    console = Console(services)
    page = console.open("receipt", id="9f2a00", **FLIGHTS)
    assert page.has_button("undo")
    assert "Done by ada on 20 Nov, " in page.text
    assert ":green-badge[:material/check: done]" in page.text
    told = "Operation 9f2a00 was undone already, by operation 77."
    services.undo_chances["9f2a00"] = UndoChance(obstacle=told, undone_by="77")
    page = console.open("receipt", id="9f2a00", **FLIGHTS)
    assert not page.has_button("undo")
    assert not page.has_button("revert")
    assert "**Undone.**" in page.text
    (query,) = (each for label, each in page.links() if label == "See that receipt")
    assert "id=77" in query


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("CALL sys.undo(operation => '9f2a00')", "Undone by bo on 20 Nov, "),
        ("CALL sys.revert(snapshot => 12)", "Reverted in snapshot 12 by bo on 20 Nov, "),
    ],
)
def test_the_receipt_of_what_was_undone_says_who_did_and_has_no_green_done(
    tmp_path: Path, statement: str, words: str
) -> None:
    services = air_warehouse(settings(tmp_path))
    main = services.listed[1].branches["main"].snapshots
    services.receipts["9f2a00"] = receipt("9f2a00", main[-2], main[-1])
    undo = replace(services.receipts["9f2a00"], operation_id="77", actor="bo", statement=statement)
    services.receipts["77"] = undo
    services.undo_chances["9f2a00"] = UndoChance(obstacle="It was undone.", undone_by="77")
    page = Console(services).open("receipt", id="9f2a00", **FLIGHTS)
    assert words in page.text
    assert "done]" not in page.text
    assert "Operation 9f2a00 was undone" not in page.text


def test_a_receipt_that_is_not_there_is_said(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("receipt", id="nope")
    assert "**The receipt of `nope` cannot be shown.**" in page.text
    assert "`OPERATION_NOT_FOUND`" in page.text
