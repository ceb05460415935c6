"""Jobs as seen from outside, with no worker: what a page shows while nobody works."""

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.errors import ErrorKind, FormatError, NotFound, Refused, StorageError
from core.jobs.client import JobClient
from core.jobs.heartbeat import FRESH_MILLIS, Heartbeat, is_locked, worker_lock, write_heartbeat
from core.jobs.progress import JobState
from core.jobs.settings import JobSettings
from core.procedures.call import ProcedureCall

NOW = 1_700_000_000_000


@pytest.fixture
def client(tmp_path: Path) -> Iterator[JobClient]:
    client = JobClient(
        JobSettings(warehouse="/nowhere", state_dir=str(tmp_path / "state")), clock=lambda: NOW
    )
    yield client
    client.close()


def call(operation_id: str = "op-1", **arguments: str) -> ProcedureCall:
    return ProcedureCall(
        name="fast_forward",
        arguments={"table": "db.t", "branch": "dev", **arguments},
        actor="ann",
        operation_id=operation_id,
    )


def test_a_started_job_is_queued_and_says_that_nobody_works(client: JobClient) -> None:
    assert client.start(call()) == "op-1"
    job = client.get("op-1")
    assert job.state is JobState.QUEUED
    assert job.error is ErrorKind.NO_WORKER
    assert job.message == "Queued; no worker is running. Start one: branch-console worker."
    assert job.statement == "CALL sys.fast_forward(branch => 'dev', table => 'db.t')"
    assert (job.name, job.actor, job.table, job.created_millis) == (
        "fast_forward",
        "ann",
        "db.t",
        NOW,
    )
    assert (job.done, job.total, job.receipt_id, job.finished_millis) == (0, None, None, None)


def test_the_same_operation_is_the_same_job(client: JobClient) -> None:
    client.start(call())
    client.start(call())
    client.start(call("op-2"))
    assert {job.id for job in client.list()} == {"op-1", "op-2"}


def test_jobs_are_listed_by_page_and_by_table(client: JobClient) -> None:
    for number in range(5):
        client.start(call(f"op-{number}", table="db.a" if number % 2 else "db.b"))
    assert len(client.list(limit=3)) == 3
    assert len(client.list(limit=3, offset=3)) == 2
    assert {job.id for job in client.list(table="db.a")} == {"op-1", "op-3"}


def test_a_queued_job_can_be_cancelled_and_go_on(client: JobClient) -> None:
    client.start(call())
    cancelled = client.cancel("op-1")
    assert (cancelled.state, cancelled.error) == (JobState.CANCELLED, ErrorKind.CANCELLED)
    with pytest.raises(Refused, match="is cancelled; only a job that has not begun to publish"):
        client.cancel("op-1")
    assert client.resume("op-1").state is JobState.QUEUED
    with pytest.raises(Refused, match="nothing to resume"):
        client.resume("op-1")


def test_an_unknown_job_is_told(client: JobClient) -> None:
    for ask in (client.get, client.cancel, client.resume):
        with pytest.raises(NotFound) as caught:
            ask("nope")
        assert caught.value.kind is ErrorKind.JOB_NOT_FOUND


def test_without_a_worker_there_is_no_worker(client: JobClient) -> None:
    assert client.worker() is None


def test_a_database_that_does_not_answer_is_an_error_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "jobs.sqlite").write_bytes(b"this is no database, and long enough to tell" * 50)
    client = JobClient(JobSettings(warehouse="/nowhere", state_dir=str(tmp_path)))
    with pytest.raises(StorageError, match="does not answer"):
        client.list()


def test_the_settings_survive_the_pipe_to_the_worker() -> None:
    settings = JobSettings(
        warehouse="s3://lake/wh",
        state_dir="/var/lib/bc",
        store_options={"key": "secret"},
        database_url="postgresql://db/jobs",
        spark_conf={"spark.executor.cores": "2"},
    )
    assert JobSettings.from_json(settings.to_json()) == settings
    assert settings.jobs_url == "postgresql://db/jobs"


class TestHeartbeat:
    def test_it_counts_while_it_is_fresh_and_its_lock_is_held(
        self, client: JobClient, tmp_path: Path
    ) -> None:
        settings = client.settings
        with worker_lock(settings.lock_path):
            write_heartbeat(settings.heartbeat_path, heartbeat(NOW - FRESH_MILLIS))
            worker = client.worker()
            assert worker is not None
            assert worker.is_alive
            write_heartbeat(settings.heartbeat_path, heartbeat(NOW - FRESH_MILLIS - 1))
            assert client.worker().is_alive is False  # type: ignore[union-attr]
        write_heartbeat(settings.heartbeat_path, heartbeat(NOW))
        assert client.worker().is_alive is False, "its process is gone"  # type: ignore[union-attr]

    def test_on_another_machine_only_its_age_counts(self, client: JobClient) -> None:
        settings = client.settings
        Path(settings.state_dir).mkdir()
        write_heartbeat(settings.heartbeat_path, heartbeat(NOW, host="elsewhere"))
        assert client.worker().is_alive  # type: ignore[union-attr]

    def test_a_torn_one_is_none(self, client: JobClient) -> None:
        Path(client.settings.state_dir).mkdir()
        client.settings.heartbeat_path.write_text('{"id": "w"')
        assert client.worker() is None

    def test_one_worker_at_a_time(self, tmp_path: Path) -> None:
        lock = tmp_path / "worker.lock"
        with worker_lock(lock):
            assert is_locked(lock)
            with pytest.raises(Refused, match="A worker already runs"), worker_lock(lock):
                pass
        assert not is_locked(lock)
        assert not is_locked(tmp_path / "none")


class TestCall:
    def test_it_survives_its_json(self) -> None:
        original = ProcedureCall(
            name="create_branch",
            arguments={"table": "db.t", "branch": "it's", "empty": True, "snapshot": 7},
            actor="ann",
            operation_id="x",
            role="editor",
        )
        assert ProcedureCall.from_json(original.to_json()) == original
        assert original.statement == (
            "CALL sys.create_branch(branch => 'it\\'s', empty => true, snapshot => 7, "
            "table => 'db.t')"
        )

    @pytest.mark.parametrize("text", ["", "[]", "{}", json.dumps({"name": "x"})])
    def test_what_is_no_call_is_told(self, text: str) -> None:
        with pytest.raises(FormatError):
            ProcedureCall.from_json(text)


def heartbeat(millis: int, host: str | None = None) -> Heartbeat:
    return Heartbeat(
        id="w",
        process_id=os.getpid(),
        host=host or socket.gethostname(),
        started_millis=NOW - 60_000,
        heartbeat_millis=millis,
        spark="warm",
        job=None,
    )
