"""Rows of a worker that is told to stop while Spark, which takes seconds, is starting."""

from pathlib import Path
from typing import Any

import pytest

import branch_console.jobs.warm_rows
from branch_console.errors import ErrorKind, PaimonError
from branch_console.jobs.settings import JobSettings
from branch_console.jobs.warm_rows import WarmRows
from branch_console.storage.file_io import FileIO


class PretendSession:
    def __init__(self) -> None:
        self.runs = self.cancelled = 0
        self.is_alive = True

    def run(self, *_: Any, **__: Any) -> None:
        self.runs += 1

    def cancel(self) -> None:
        self.cancelled += 1


@pytest.fixture
def rows(tmp_path: Path) -> WarmRows:
    settings = JobSettings(warehouse=str(tmp_path), state_dir=str(tmp_path / "state"))
    return WarmRows(settings, FileIO.for_url(str(tmp_path)))


def test_what_waits_for_spark_to_start_is_cancelled_and_the_next_run_is_not(
    rows: WarmRows, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = PretendSession()

    def start(_: object) -> PretendSession:
        assert rows.state == "starting"
        rows.cancel()
        return session

    monkeypatch.setattr(branch_console.jobs.warm_rows, "open_session", start)
    with pytest.raises(PaimonError) as stopped:
        rows._session.run()  # type: ignore[call-arg]
    assert stopped.value.kind is ErrorKind.CANCELLED
    assert (rows.state, session.runs) == ("warm", 0)
    rows._session.run()  # type: ignore[call-arg]
    assert session.runs == 1


def test_who_ends_starts_no_spark_any_more(rows: WarmRows, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        branch_console.jobs.warm_rows, "open_session", lambda _: pytest.fail("started")
    )
    rows.end()
    with pytest.raises(PaimonError) as stopped:
        rows._session.run()  # type: ignore[call-arg]
    assert stopped.value.kind is ErrorKind.CANCELLED
    assert rows.state == "cold"
