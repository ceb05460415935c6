"""The SQL page: what each state says, what Run sends, and how rows are shown and taken away."""

import datetime as dt
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from branch_console.errors import FormatError
from branch_console.jobs.progress import JobState, JobView, WorkerView
from branch_console.sql.answer import Answer, StateRead
from branch_console_app.models.parts.query_answer import (
    Asked,
    branches_read,
    for_screen,
    session_words,
    tables_named,
    text_for_address,
    to_csv,
)
from tests.console.pages import Console, Page, settings
from tests.console.pretend import NOW, PretendServices, air_warehouse, job

SQL = "SELECT *\nFROM air.flights"


@pytest.fixture
def services(tmp_path: Path) -> PretendServices:
    return air_warehouse(settings(tmp_path))


def query_job(state: JobState, **changes: Any) -> JobView:
    found = job("9f2a00", state=state, statement=f"USE BRANCH `dev`; {SQL}", name="query")
    return replace(found, **changes)


def open_run(services: PretendServices, state: JobState, **changes: Any) -> Page:
    services.known_jobs["9f2a00"] = query_job(state, **changes)
    return Console(services).open("sql", q=SQL, id="9f2a00", branch="dev")


def editor(page: Page) -> Any:
    (found,) = page.at.text_area
    return found


def test_an_empty_page_offers_statements_over_tables_that_there_are(
    services: PretendServices,
) -> None:
    page = Console(services).open("sql")
    labels = [label for label, _ in page.links()]
    assert any("SELECT * FROM air." in label for label in labels)
    assert any("VERSION AS OF" in label for label in labels)
    assert "History" not in page.text
    services.listed.clear()
    assert "No table to read yet." in Console(services).open("sql").text


def test_the_statements_offered_name_only_what_can_be_read(services: PretendServices) -> None:
    flights = next(each for each in services.listed if each.identifier.table == "flights")
    main = flights.branches["main"]
    flights.branches = {
        "main": replace(main, snapshots=main.snapshots[2:]),
        "half-made": replace(main, name="half-made", error=FormatError("Torn.", path="/w/x")),
    }
    place = {"db": "air", "table": "flights", "branch": "half-made"}
    labels = [label for label, _ in Console(services).open("sql", **place).links()]
    assert not any("$branch_" in label for label in labels)
    (earlier,) = (label for label in labels if "VERSION AS OF" in label)
    assert f"VERSION AS OF {main.snapshots[2].id} " in earlier
    flights.branches = {"main": replace(main, snapshots=())}
    labels = [label for label, _ in Console(services).open("sql", **place).links()]
    assert not any("VERSION AS OF" in label for label in labels)


def test_run_starts_a_job_with_the_statement_and_the_branch(services: PretendServices) -> None:
    page = Console(services).open("sql", branch="dev")
    editor(page).input(f"{SQL};\n")
    page.click("sql-run")
    (call,) = services.sent
    assert (call.name, dict(call.arguments)) == ("query", {"sql": SQL, "branch": "dev"})
    assert call.statement == f"USE BRANCH `dev`; {SQL}"
    query = page.at.query_params
    assert (query["q"], query["id"], query["branch"]) == (SQL, call.operation_id, "dev")


def test_what_writes_asks_once_and_names_the_branch(services: PretendServices) -> None:
    text = "DELETE FROM air.flights WHERE flight = 7"
    page = Console(services).open("sql", q=text, branch="dev").click("sql-run")
    assert "**This changes `air.flights` on `dev`.**" in page.text
    assert services.sent == []
    page.click("sql-write")
    (call,) = services.sent
    assert call.name == "delete_rows"
    assert (call.arguments["sql"], call.arguments["table"]) == (text, "air.flights$branch_dev")
    assert page.at.query_params["id"] == call.operation_id


def test_a_drop_says_that_all_branches_go_and_asks_for_an_operator(tmp_path: Path) -> None:
    services = air_warehouse(settings(tmp_path, "editor"))
    page = Console(services).open("sql", q="DROP TABLE air.flights").click("sql-run")
    assert "**This drops `air.flights` with all its branches and tags.**" in page.text
    assert "leaves everything as it is" not in page.text
    button = page.at.button(key="sql-write")
    assert button.disabled
    assert "This asks for an operator" in button.help


def test_a_viewer_reads_and_does_not_write(tmp_path: Path) -> None:
    services = air_warehouse(settings(tmp_path, "viewer"))
    page = Console(services).open("sql", q="DROP TABLE air.flights").click("sql-run")
    assert page.at.button(key="sql-write").disabled


def test_statements_about_branches_lead_to_their_pages(services: PretendServices) -> None:
    text = "MERGE BRANCH dev ON TABLE air.flights"
    page = Console(services).open("sql", q=text).click("sql-run")
    assert "This statement is about branches or databases." in page.text
    assert services.sent == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("SELEC * FROM air.flights", "The statement was not run."),
        ("DELETE FROM air.flights WHERE flight = 7", "This changes `air.flights` on `dev`."),
    ],
)
def test_no_answer_is_shown_below_another_statement(
    services: PretendServices, text: str, told: str
) -> None:
    page = open_run(services, JobState.FAILED, message="Spark is down.")
    assert "The statement failed." in page.text
    editor(page).input(text)
    page = page.click("sql-run")
    assert told in page.text
    assert "The statement failed." not in page.text


def started(services: PretendServices) -> tuple[Page, str]:
    """Run a statement that goes on running; return its page and the id of its job."""
    page = Console(services).open("sql", q=SQL, branch="dev").click("sql-run")
    (operation,) = services.known_jobs
    becomes(services, operation, JobState.RUNNING)
    return page.run(), operation


def becomes(services: PretendServices, operation: str, state: JobState) -> None:
    services.known_jobs[operation] = replace(services.known_jobs[operation], state=state)


def answered(services: PretendServices, operation: str) -> None:
    rows = pa.table({"id": range(3)})
    services.answers[operation] = Answer(rows=rows, has_more=False, plan="")
    becomes(services, operation, JobState.DONE)


def test_a_semicolon_at_the_end_makes_no_other_statement(services: PretendServices) -> None:
    page, operation = started(services)
    editor(page).input(f"{SQL};\n")
    page = page.click("sql-run")
    assert page.at.query_params["id"] == operation
    assert "Runs for" in page.text
    assert "The query that runs" not in page.text
    answered(services, operation)
    assert "**3 rows**" in page.run().text


def test_a_query_that_runs_stays_in_view_below_another_statement(
    services: PretendServices,
) -> None:
    page, operation = started(services)
    editor(page).input("SELEC 1")
    page = page.click("sql-run")
    assert "The statement was not run." in page.text
    assert "**The query that runs:** `SELECT * FROM air.flights`" in page.text
    assert "Runs for" in page.text
    assert page.has_button("sql-cancel")
    answered(services, operation)
    page = page.run()
    assert "Runs for" not in page.text
    assert not page.has_button("sql-cancel")
    assert "3 rows" not in page.text
    page = page.click("sql-back")
    assert editor(page).value == SQL
    assert "**3 rows**" in page.text


def test_a_second_click_is_the_same_run_until_that_has_ended(services: PretendServices) -> None:
    console = Console(services)
    for _ in range(2):
        console.open("sql", q=SQL).click("sql-run")
    assert len({call.operation_id for call in services.sent}) == 1
    (operation,) = services.known_jobs
    services.known_jobs[operation] = replace(services.known_jobs[operation], state=JobState.FAILED)
    console.open("sql", q=SQL).click("sql-run")
    assert len({call.operation_id for call in services.sent}) == 2


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "Write a statement first."),
        ("SELECT *\nFRM air.flights", "Line 2, column 5"),
        ("SELECT reflect('a', 'b')", "calls any method of Java"),
    ],
)
def test_a_slip_is_told_before_anything_is_sent(
    services: PretendServices, text: str, told: str
) -> None:
    page = Console(services).open("sql", q=text).click("sql-run")
    assert told in page.text.replace("\\", "")
    assert services.sent == []


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (JobState.QUEUED, "The query is queued; no worker runs."),
        (JobState.RUNNING, "Runs for"),
        (JobState.REFUSED, "**The statement failed.** Line 1, column 8"),
        (JobState.FAILED, "**The statement failed.**"),
        (JobState.CANCELLED, "**The query was cancelled.** No row is kept."),
        (JobState.INTERRUPTED, "The worker stopped in the middle."),
        (JobState.DONE, "The rows of this query are not kept any more"),
    ],
)
def test_each_state_is_said(services: PretendServices, state: JobState, words: str) -> None:
    page = open_run(services, state, message="Line 1, column 8: no such column.")
    assert words in page.text.replace("\\", "")
    assert editor(page).value == SQL
    assert page.has_button("sql-cancel") == (state.can_cancel and not state.is_over)


def test_a_query_waits_for_a_worker_that_is_there(services: PretendServices) -> None:
    services.seen_worker = WorkerView(
        id="w", process_id=1, host="local", started_millis=NOW, heartbeat_millis=NOW,
        is_alive=True, spark="warm", job="other",
    )  # fmt: skip
    assert "is queued behind another job." in open_run(services, JobState.QUEUED).text


def test_cancel_cancels_the_run(services: PretendServices) -> None:
    page = open_run(services, JobState.RUNNING).click("sql-cancel")
    assert "The query was cancelled." in page.text


def test_an_answer_tells_rows_time_states_and_notes(services: PretendServices) -> None:
    rows = pa.table({"id": range(1_500), "text": ["<b onclick=alert(1)>x</b>"] * 1_500})
    services.answers["9f2a00"] = Answer(
        rows=rows,
        has_more=True,
        plan="== Physical Plan ==",
        reads=(
            StateRead(table="air.flights", branch="dev", snapshot_id=7, asked="v1"),
            StateRead(table="air.planes", branch="main", snapshot_id=None),
        ),
        notes=("air.planes has no branch 'dev': main is read.",),
        started_millis=NOW,
        finished_millis=NOW + 1_250,
    )
    page = open_run(services, JobState.DONE)
    text = page.text.replace("\\", "")
    assert "**at least 1,500 rows** in 1.2 s" in text
    assert "`air.flights` on `dev` at snapshot 7 (v1)" in text
    assert "`air.planes` on `main`" in text
    assert "air.planes has no branch `dev`: main is read." in text
    assert "The first 1,000 rows; the files hold 1,500." in text
    assert "== Physical Plan ==" in text
    (grid,) = page.at.dataframe
    assert len(grid.value) == 1_000
    assert grid.value["text"][0] == "<b onclick=alert(1)>x</b>"
    assert len(page.at.get("download_button")) == 2


def test_no_row_is_said_with_the_columns(services: PretendServices) -> None:
    rows = pa.table({"id": pa.array([], pa.int64())})
    services.answers["9f2a00"] = Answer(rows=rows, has_more=False, plan="")
    page = open_run(services, JobState.DONE)
    assert "No row. The columns are id." in page.text


def test_an_unknown_run_keeps_the_statement(services: PretendServices) -> None:
    page = Console(services).open("sql", q=SQL, id="nope")
    assert "**Run `nope` was not found.**" in page.text
    assert editor(page).value == SQL


def test_the_history_leads_back_to_each_run(services: PretendServices) -> None:
    page = open_run(services, JobState.FAILED)
    links = dict(page.links())
    assert "id=9f2a00" in links["`SELECT * FROM air.flights`"]
    assert "branch=dev" in links["`SELECT * FROM air.flights`"]
    # An address without the statement still shows it: the run knows it.
    assert editor(Console(services).open("sql", id="9f2a00")).value == SQL


def test_what_a_job_says_of_itself_is_the_statement() -> None:
    assert Asked.of_statement(SQL) == Asked(text=SQL, branch="main")
    assert Asked.of_statement(f"USE BRANCH `fix-it`; {SQL}") == Asked(text=SQL, branch="fix-it")
    assert Asked.of_statement("CALL sys.undo(table => 'a.b', operation => 'x')") is None
    assert Asked.of_statement("SELECT FROM FROM") is None
    assert text_for_address("x" * 5_000) is None
    assert [each.full_name for each in tables_named("SELECT * FROM a.`b$branch_c`, a.b, c.d")] == [
        "a.b",
        "c.d",
    ]
    assert tables_named("SELECT * FRM") == ()


@pytest.mark.parametrize(
    ("text", "branch", "read", "words"),
    [
        ("SELECT * FROM air.flights", "main", ("main",), None),
        (
            "SELECT * FROM air.flights",
            "dev",
            ("dev",),
            "Reads `air.flights` on `dev`, the branch chosen above.",
        ),
        ("SELECT * FROM air.`flights$branch_main`", "dev", ("main",), None),
        (
            "SELECT * FROM air.flights a, air.`flights$branch_fix` b, air.planes c",
            "dev",
            ("dev", "fix"),
            "Reads `air.flights` on `dev`, the branch chosen above; `air.planes`, without this "
            "branch, on `main`.",
        ),
        ("SELECT * FROM air.nope", "dev", ("dev",), None),
        (
            "SELECT * FROM air.nope, air.planes",
            "dev",
            ("dev",),
            "Reads `air.planes`, without this branch, on `main`.",
        ),
        ("SELECT 1", "dev", ("dev",), None),
        ("SELECT * FRM", "dev", ("dev",), None),
    ],
)
def test_a_query_says_which_branches_it_reads(
    text: str, branch: str, read: tuple[str, ...], words: str | None
) -> None:
    asked = Asked(text=text, branch=branch)
    assert branches_read(asked) == read
    assert session_words(asked, {"air.flights": ("dev", "fix"), "air.planes": ()}) == words


def test_the_page_says_what_is_read_on_the_branch_above(services: PretendServices) -> None:
    page = Console(services).open("sql", q="SELECT * FROM air.flights", branch="fix-delays")
    assert "Reads `air.flights` on `fix-delays`, the branch chosen above." in page.text
    named = "SELECT * FROM air.`flights$branch_main`"
    page = Console(services).open("sql", q=named, branch="fix-delays")
    assert "the branch chosen above" not in page.text


def test_the_history_names_the_branch_that_a_query_names(services: PretendServices) -> None:
    text = "USE BRANCH `dev`; SELECT * FROM air.`flights$branch_backfill`"
    services.known_jobs["9f2a00"] = job("9f2a00", state=JobState.DONE, statement=text, name="query")
    page = Console(services).open("sql", branch="dev")
    lines = page.text.splitlines()
    assert "backfill" in lines
    assert "dev" not in lines


def test_values_are_shown_and_taken_away_as_they_are() -> None:
    zone = dt.UTC
    rows = pa.table(
        {
            "big": pa.array([2**53 + 1, None], pa.int64()),
            "small": pa.array([1, None], pa.int64()),
            "decimal": pa.array([Decimal("1.50"), None], pa.decimal128(5, 2)),
            "bytes": pa.array([b"\x00\xff", None]),
            "list": pa.array([[1, None], None], pa.list_(pa.int32())),
            "row": pa.array([{"a": "x", "b": b"\x01"}, None]),
            "text": pa.array(["", None]),
            "time": pa.array([dt.datetime(2026, 1, 1, tzinfo=zone), None]),
            "lasted": pa.array([dt.timedelta(days=1), None]),
            "nothing": pa.nulls(2),
        }
    )
    shown = for_screen(rows).to_pylist()
    assert shown[0] == {
        "big": "9007199254740993", "small": 1, "decimal": "1.50", "bytes": "00ff",
        "list": "[1, null]", "row": '{"a": "x", "b": "01"}', "text": "",
        "time": dt.datetime(2026, 1, 1, tzinfo=zone), "lasted": "1 day, 0:00:00", "nothing": None,
    }  # fmt: skip
    assert set(shown[1].values()) == {None}
    lines = to_csv(rows.drop_columns(["time", "lasted"])).decode().splitlines()
    assert lines == [
        '"big","small","decimal","bytes","list","row","text","nothing"',
        '9007199254740993,1,1.50,"00ff","[1, null]","{""a"": ""x"", ""b"": ""01""}","",',
        ",,,,,,,",
    ]
