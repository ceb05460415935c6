"""Queries of the command line beside a worker: it answers them, and Ctrl-C cancels them."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from branch_console.errors import ErrorKind
from branch_console.jobs import warm_rows
from branch_console.jobs.progress import JobState, JobView, WorkerView
from branch_console.jobs.results import KeptAnswers
from branch_console.procedures.call.call import Argument
from branch_console.sql.answer import Answer, StateRead
from branch_console_app.cli import jobs
from branch_console_app.cli.exit_codes import FAILED, STOPPED
from branch_console_app.services import Services
from tests.console.pretend import job
from tests.support.branch_bench import BranchBench
from tests.support.command_line import CommandLine

_ROWS = pa.table({"id": [1, 2, 3]})
_WORKER = WorkerView(
    id="w",
    process_id=7,
    host="here",
    started_millis=0,
    heartbeat_millis=1,
    is_alive=True,
    spark="warm",
    job=None,
)


class Beside:
    """A worker that a test pretends, and the calls that it was given."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[Mapping[str, Argument]] = []
        self.cancelled: list[str] = []
        self.view: WorkerView | None = _WORKER
        self.ends = job("j1", state=JobState.DONE, name="query")
        self.own_spark = 0
        beside = self

        def start(
            services: Services, name: str, arguments: Mapping[str, Argument], _: str | None = None
        ) -> str:
            beside.asked.append({"name": name, **arguments})
            kept = KeptAnswers(folder=services.job_settings.answers_path)
            reads = (StateRead(table="db.t", branch="main", snapshot_id=1),)
            most = int(str(arguments.get("limit", 1)))
            rows = _ROWS.slice(0, most)
            more = most < _ROWS.num_rows
            kept.keep("j1", Answer(rows=rows, has_more=more, plan="", reads=reads, notes=("Why.",)))
            return "j1"

        def cancel(_services: Services, job_id: str) -> JobView:
            beside.cancelled.append(job_id)
            return beside.ends

        class OwnSpark:
            def __init__(self, *_: Any) -> None:
                beside.own_spark += 1
                raise RuntimeError("Spark of this process")

        monkeypatch.setattr(Services, "start", start)
        monkeypatch.setattr(Services, "cancel_job", cancel)
        monkeypatch.setattr(Services, "worker", lambda _: beside.view)
        monkeypatch.setattr(Services, "job", lambda _services, _id: beside.ends)
        monkeypatch.setattr(warm_rows, "WarmRows", OwnSpark)


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    bench = BranchBench(tmp_path / "warehouse")
    bench.append("base")
    return bench


@pytest.fixture
def beside(console: CommandLine, monkeypatch: pytest.MonkeyPatch) -> Beside:
    return Beside(monkeypatch)


@pytest.mark.parametrize("text", ["SELECT 1", "SELECT * FROM db.t", "EXPLAIN SELECT 1"])
def test_a_free_worker_answers_a_query(console: CommandLine, beside: Beside, text: str) -> None:
    found = console.json("sql", text)
    assert (found["rows"], found["notes"]) == ([{"id": 1}, {"id": 2}, {"id": 3}], ["Why."])
    assert found["reads"][0]["snapshot_id"] == 1
    some = console("sql", text, "--limit", "2")
    assert [line.strip() for line in some.lines[:3]] == ["id", "1", "2"]
    assert ("more rows" in some.out, some.err) == (True, "Why.\n")
    assert [each["sql"] for each in beside.asked] == [text, text]
    assert beside.own_spark == 0


@pytest.mark.parametrize(
    "view",
    [
        None,
        replace(_WORKER, is_alive=False),
        replace(_WORKER, job="somebody's"),
        replace(_WORKER, other_store="another"),
    ],
    ids=["none", "dead", "busy", "of another store"],
)
def test_no_other_worker_is_waited_for(
    console: CommandLine, beside: Beside, view: WorkerView | None
) -> None:
    beside.view, beside.ends = view, job("somebody's", state=JobState.RUNNING)
    assert console("sql", "SELECT * FROM db.t").code == FAILED
    assert (beside.asked, beside.own_spark) == ([], 1)


def test_a_worker_that_has_just_ended_a_job_is_free(console: CommandLine, beside: Beside) -> None:
    beside.view = replace(_WORKER, job="j1")
    assert console("sql", "SELECT * FROM db.t").code == 0
    assert (len(beside.asked), beside.own_spark) == (1, 0)


def test_the_error_of_the_worker_ends_the_command_as_one_of_this_process(
    console: CommandLine, beside: Beside
) -> None:
    message = "Line 1, column 15: There is no table db.x."
    ended = job("j1", state=JobState.REFUSED, message=message, error=ErrorKind.TABLE_NOT_FOUND)
    beside.ends = replace(ended, error_class="NotFound", error_facts={"table": "db.x"})
    found = console("sql", "SELECT * FROM db.x", "--json")
    error = found.document["error"]
    assert (found.code, error["code"]) == (FAILED, "TABLE_NOT_FOUND")
    assert (error["message"], error["facts"]["table"]) == (message, "db.x")


@pytest.mark.parametrize(
    "command", [("sql", "SELECT 1"), ("compare", "db.t", "main", "dev", "--rows")]
)
def test_ctrl_c_cancels_what_is_waited_for(
    console: CommandLine,
    bench: BranchBench,
    beside: Beside,
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...],
) -> None:
    bench.branch("dev")
    bench.append("theirs", branch="dev")

    def stop(*_: object) -> JobView:
        raise KeyboardInterrupt

    monkeypatch.setattr(jobs, "follow_job", stop)
    assert console(*command).code == STOPPED
    assert beside.cancelled == ["j1"]
