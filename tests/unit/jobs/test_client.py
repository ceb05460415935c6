"""Jobs as seen from outside, with no worker: what a page shows while nobody works."""

import errno
import json
import os
import socket
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from dbos import DBOS
from sqlalchemy.exc import OperationalError

from branch_console.errors import (
    ErrorKind,
    FormatError,
    NotAllowed,
    NotFound,
    Refused,
    StorageError,
)
from branch_console.jobs.client import JobClient
from branch_console.jobs.heartbeat import (
    FRESH_MILLIS,
    Heartbeat,
    is_locked,
    worker_lock,
    write_heartbeat,
)
from branch_console.jobs.job_store import answering, prepare_store
from branch_console.jobs.progress import JobState
from branch_console.jobs.results import KeptAnswers
from branch_console.jobs.settings import JobSettings
from branch_console.jobs.store_identity import store_identity
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.permissions import Role
from branch_console.sql.answer import Answer

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
    cancelled = client.cancel("op-1", actor="ann", role=Role.VIEWER)
    assert (cancelled.state, cancelled.error) == (JobState.CANCELLED, ErrorKind.CANCELLED)
    with pytest.raises(Refused, match="is cancelled; only a job that has not begun to publish"):
        client.cancel("op-1", actor="ann", role=Role.VIEWER)
    assert client.resume("op-1", role=Role.OPERATOR).state is JobState.QUEUED
    with pytest.raises(Refused, match="nothing to resume"):
        client.resume("op-1", role=Role.OPERATOR)


def test_a_viewer_cancels_what_is_his_own_and_an_editor_all(client: JobClient) -> None:
    client.start(call())
    with pytest.raises(NotAllowed, match="cancel a job that somebody else started") as caught:
        client.cancel("op-1", actor="bob", role=Role.VIEWER)
    assert caught.value.kind is ErrorKind.ROLE_REQUIRED
    assert client.get("op-1").state is JobState.QUEUED
    assert client.cancel("op-1", actor="bob", role=Role.EDITOR).state is JobState.CANCELLED


def test_a_job_goes_on_only_for_who_may_do_what_it_may(client: JobClient) -> None:
    client.start(replace(call(), role=Role.APPROVER))
    client.cancel("op-1", actor="ann", role=Role.APPROVER)
    for role in (Role.VIEWER, Role.EDITOR):
        with pytest.raises(NotAllowed, match="it asks for approver"):
            client.resume("op-1", role=role)
    assert client.get("op-1").state is JobState.CANCELLED
    assert client.resume("op-1", role=Role.APPROVER).state is JobState.QUEUED


def test_a_store_that_was_removed_is_told_and_the_next_job_goes_to_the_one_that_is_there(
    client: JobClient,
) -> None:
    client.start(call())
    Path(client.settings.state_dir, "jobs.sqlite").unlink()
    with pytest.raises(NotFound, match="removed or replaced meanwhile; the jobs in it are gone"):
        client.get("op-1")
    client.start(call("op-2"))
    other = JobClient(client.settings)
    assert [job.id for job in other.list()] == ["op-2"]
    other.close()


def test_a_store_is_made_though_the_worker_of_a_removed_one_takes_files_of_it_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = JobSettings(warehouse=str(tmp_path), state_dir=str(tmp_path / "state"))
    told = ["disk I/O error", "disk I/O error"]

    def migrate(url: str) -> None:
        if told:
            raise OperationalError("CREATE", {}, sqlite3.OperationalError(told.pop()))
        made.append(url)

    made: list[str] = []
    monkeypatch.setattr(DBOS, "migrate", migrate)
    prepare_store(settings)
    assert made == [settings.jobs_url]
    told += ["disk I/O error"] * 3
    with pytest.raises(StorageError, match="disk I/O error"):
        prepare_store(settings)
    told[:] = ["unable to open database file"]
    with pytest.raises(StorageError, match="unable to open"):
        prepare_store(settings)
    assert told == []


def test_a_worker_of_another_store_runs_none_of_these_jobs(client: JobClient) -> None:
    client.start(call())
    settings = client.settings
    write_heartbeat(
        settings.heartbeat_path, heartbeat(NOW, host="elsewhere", store="db:5432/other 7")
    )
    job = client.get("op-1")
    assert (job.state, job.error) == (JobState.QUEUED, ErrorKind.NO_WORKER)
    assert job.message == (
        f"Queued, but worker {os.getpid()} on elsewhere takes its jobs from another job store, "
        "db:5432/other. Give both the same setting job_store, or stop that worker."
    )
    write_heartbeat(
        settings.heartbeat_path,
        heartbeat(NOW, host="elsewhere", store=store_identity(settings)),
    )
    assert client.get("op-1").message == "Queued."


def test_only_the_owner_may_look_at_jobs_and_what_is_kept_beside_them(tmp_path: Path) -> None:
    folder = tmp_path / "state" / "wh"
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    (folder / "jobs.sqlite").touch(0o644)
    client = JobClient(JobSettings(warehouse="/nowhere", state_dir=str(folder)))
    client.start(call())
    client.close()
    with worker_lock(client.settings.lock_path):
        write_heartbeat(client.settings.heartbeat_path, heartbeat(NOW))
    KeptAnswers(folder=client.settings.answers_path).keep(
        "op-1", Answer(rows=pa.table({"secret": [1]}), has_more=False, plan="")
    )
    found = [folder, *folder.rglob("*")]
    assert {each.name for each in found} >= {"jobs.sqlite", "worker.json", "worker.lock", "answers"}
    for each in found:
        assert oct(each.stat().st_mode & 0o777) == ("0o700" if each.is_dir() else "0o600"), each


@pytest.mark.parametrize(
    "error",
    [
        OperationalError("INSERT", {}, sqlite3.OperationalError("database or disk is full")),
        OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/state/jobs.sqlite"),
    ],
)
def test_a_full_disk_is_told_as_one(error: Exception) -> None:
    settings = JobSettings(warehouse="/nowhere", state_dir="/state")
    with pytest.raises(StorageError) as caught, answering(settings):
        raise error
    assert caught.value.message == (
        "There is no room left for the jobs in /state/jobs.sqlite: the disk is full. Nothing was "
        "changed. Free some space, then try again."
    )


def test_the_password_of_a_store_is_not_told() -> None:
    settings = JobSettings(
        warehouse="/nowhere", state_dir="/s", database_url="postgresql://ann:secret@db:5433/jobs"
    )
    assert store_identity(settings) == "db:5433/jobs"


def test_an_unknown_job_is_told(client: JobClient) -> None:
    for ask in (
        client.get,
        partial(client.cancel, actor="ann", role=Role.OPERATOR),
        partial(client.resume, role=Role.OPERATOR),
    ):
        with pytest.raises(NotFound) as caught:
            ask("nope")
        assert caught.value.kind is ErrorKind.JOB_NOT_FOUND


def test_without_a_worker_there_is_no_worker(client: JobClient) -> None:
    assert client.worker() is None


def test_a_database_that_does_not_answer_is_an_error_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "jobs.sqlite").write_bytes(b"this is no database, and long enough to tell" * 50)
    client = JobClient(JobSettings(warehouse="/nowhere", state_dir=str(tmp_path)))
    for ask in (client.list, client.has_work, lambda: client.start(call())):
        with pytest.raises(StorageError) as caught:
            ask()
        assert caught.value.message == (
            f"The job store {tmp_path}/jobs.sqlite cannot be used: file is not a database. Move "
            "that file away and a new one is made, without the jobs so far."
        )


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


def heartbeat(millis: int, host: str | None = None, store: str = "") -> Heartbeat:
    return Heartbeat(
        id="w",
        process_id=os.getpid(),
        host=host or socket.gethostname(),
        started_millis=NOW - 60_000,
        heartbeat_millis=millis,
        spark="warm",
        store=store,
        job=None,
    )
