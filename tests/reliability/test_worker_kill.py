"""R12: kill -9 of a real worker in the middle of a fast-forward: the next worker ends it, once."""

import os
import shutil
import signal
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from branch_console.errors import Refused
from branch_console.format.manifest_entry import MANIFEST_ENTRY
from branch_console.jobs.client import JobClient
from branch_console.jobs.heartbeat import is_locked
from branch_console.jobs.progress import JobState, JobView, TargetMove, WorkerView
from branch_console.jobs.settings import JobSettings
from branch_console.procedures.call.call import Argument, ProcedureCall
from branch_console.procedures.call.permissions import Role
from branch_console.procedures.kept_receipts import read_receipt
from tests.support.branch_bench import BranchBench, tree
from tests.support.commit_tables import data_files, message

_MANY = 3_000
# More than the worker looks through by itself: Spark does, which takes long enough to be stopped.
_FILES = 300
_PATIENCE_SECONDS = 90


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    """A table with a branch that is two commits ahead; its data files exist."""
    root = tmp_path / "warehouse"
    root.mkdir()
    bench = BranchBench(root)
    _append(bench, ["a"], "main")
    _append(bench, ["b"], "main")
    bench.branch("dev")
    _append(bench, ["c", *(f"c{number}" for number in range(2, _FILES))], "dev")
    _append(bench, ["d"], "dev")
    return bench


@pytest.fixture
def client(bench: BranchBench, tmp_path: Path) -> Iterator[JobClient]:
    """Jobs of the table's warehouse; a worker that a test leaves behind is stopped."""
    settings = JobSettings(
        warehouse=bench.file_io.root,
        state_dir=str(tmp_path / "state"),
        spark_master="local[2]",
        spark_memory="1g",
    )
    client = JobClient(settings)
    yield client
    worker = client.worker()
    if worker is not None and worker.is_alive:
        os.kill(worker.process_id, signal.SIGTERM)
        _until(lambda: not _exists(worker.process_id), "the worker to stop")
    client.close()


def test_a_job_that_is_stopped_and_killed_again_and_again_is_done_once(
    bench: BranchBench, client: JobClient
) -> None:
    _grow(bench, _MANY)
    call = _call("fast_forward", branch="dev")
    job = client.start(call)
    assert client.start(call) == job
    assert len(client.list()) == 1, "a second click is the same job"
    client.start_worker()

    for number in (signal.SIGTERM, signal.SIGKILL):
        _until(lambda: _is_verifying(client, job), "the verification")
        _end(client, number)
        stopped = client.get(job)
        assert stopped.state is JobState.INTERRUPTED
        assert stopped.target_is is TargetMove.UNCHANGED
        assert bench.table().snapshots.latest_id() == 2
        _restart(client)

    copied = Path(bench.table().paths.snapshot(10))
    _until(lambda: _is_alive(client), "the worker")
    process_id = _worker(client).process_id
    # Copying takes a tenth of a second: nothing may stand between the sight and the kill.
    _until(copied.exists, "the first copies", pause=0)
    os.kill(process_id, signal.SIGKILL)
    _await_end(client)
    reached = bench.table().snapshots.latest_id()
    assert reached is not None
    assert 2 < reached < 4 + _MANY, "killed in the middle"
    cut_off = client.get(job)
    assert cut_off.state is JobState.INTERRUPTED
    assert cut_off.message.startswith("Publishing was cut off.")
    assert cut_off.target_is is TargetMove.UNKNOWN
    # What is there is a shorter fast-forward, which anybody may read.
    assert len(bench.table().live_files(bench.table().snapshots.get(4))) == 2 + _FILES

    _restart(client)
    done = client.wait(job, timeout_seconds=_PATIENCE_SECONDS)
    assert (done.state, done.target_is) == (JobState.DONE, TargetMove.MOVED), done.message
    assert [step.name for step in done.steps] == ["check heads", "verify files", "publish"]
    _check_done_once(bench, job)
    client.start(call)
    assert client.get(job).finished_millis == done.finished_millis


@pytest.mark.depth("full")
def test_what_is_cancelled_or_refused_leaves_the_target_as_it_was(
    bench: BranchBench, client: JobClient
) -> None:
    before = tree(Path(bench.file_io.root))
    job = client.start(_call("fast_forward", branch="dev"))
    client.start_worker()
    _until(lambda: _is_verifying(client, job), "the verification")
    cancelled = client.cancel(job, actor="test", role=Role.OPERATOR)
    assert (cancelled.state, cancelled.target_is) == (JobState.CANCELLED, TargetMove.UNCHANGED)
    # The worker is free for the next job; that one is refused, in a sentence.
    unknown = _run(client, branch="nowhere")
    assert (unknown.state, unknown.error) == (JobState.REFUSED, "BRANCH_NOT_FOUND")
    assert "Traceback" not in unknown.message

    file = Path(bench.path) / "bucket-0" / "data-d.parquet"
    content = file.read_bytes()
    file.unlink()
    missing = _run(client, branch="dev")
    assert (missing.state, missing.error) == (JobState.REFUSED, "FILES_MISSING")
    assert missing.target_is is TargetMove.UNCHANGED
    assert str(file) in missing.message
    file.write_bytes(content)
    assert tree(Path(bench.file_io.root)) == before

    client.resume(job, role=Role.OPERATOR)
    done = client.wait(job, timeout_seconds=_PATIENCE_SECONDS)
    assert done.state is JobState.DONE, done.message
    with pytest.raises(Refused):
        client.cancel(job, actor="test", role=Role.OPERATOR)
    _check_done_once(bench, job)


@pytest.mark.depth("full")
def test_a_worker_that_nobody_needs_ends_and_the_next_job_gets_another(
    bench: BranchBench, client: JobClient
) -> None:
    hasty = JobClient(replace(client.settings, idle_seconds=0.0))
    assert hasty.start_worker()
    _until(lambda: _is_alive(client), "the worker")
    # Whether these come before the worker ends, while it does or after: each is done.
    for number in range(2):
        job = hasty.start(_call("create_branch", branch=f"b{number}"))
        hasty.start_worker()
        done = hasty.wait(job, timeout_seconds=_PATIENCE_SECONDS)
        assert done.state is JobState.DONE, done.message
    _until(lambda: not is_locked(client.settings.lock_path), "the end")
    worker = client.worker()
    assert worker is not None
    assert not worker.is_alive
    hasty.close()


@pytest.mark.depth("full")
def test_a_job_store_that_is_removed_ends_its_worker_and_the_next_job_is_done(
    bench: BranchBench, client: JobClient
) -> None:
    assert client.start_worker()
    _until(lambda: _is_alive(client), "the worker")
    first = _worker(client)
    Path(client.settings.state_dir, "jobs.sqlite").unlink()
    # Another console, which knows nothing of what was there.
    other = JobClient(client.settings)
    job = other.start(_call("create_branch", branch="b"))
    assert "takes its jobs from another job store" in other.get(job).message or not _is_alive(other)
    _until(lambda: not _exists(first.process_id) or _is_served(other), "the end of the worker")
    other.start_worker()
    done = other.wait(job, timeout_seconds=_PATIENCE_SECONDS)
    assert done.state is JobState.DONE, done.message
    other.close()


def _append(bench: BranchBench, names: Sequence[str], branch: str) -> None:
    """Commit a data file of ten rows for each name; they are the same bytes."""
    folder = Path(bench.path) / "bucket-0"
    folder.mkdir(exist_ok=True)
    first, *others = (folder / f"data-{name}.parquet" for name in names)
    pq.write_table(pa.table({"id": pa.array(range(10), pa.int64())}), first)
    for other in others:
        shutil.copyfile(first, other)
    files = data_files(names)
    at = MANIFEST_ENTRY.get_field_index("file_size")
    sizes = pa.array([first.stat().st_size] * len(names), pa.int64())
    files = files.set_column(at, MANIFEST_ENTRY.field("file_size"), sizes)
    bench.committer(branch).commit([message(new_files=files)], user="ann", identifier=ord(names[0]))


def _grow(bench: BranchBench, count: int) -> None:
    """Put that many snapshots on the branch that change no file."""
    dev = bench.table("dev")
    head = dev.head()
    assert head is not None
    for number in range(1, count + 1):
        grown = replace(head, id=head.id + number, uuid=str(uuid.uuid4()), delta_record_count=0)
        Path(dev.paths.snapshot(grown.id)).write_text(grown.to_json())


def _call(name: str, **arguments: Argument) -> ProcedureCall:
    return ProcedureCall(
        name=name,
        arguments={"table": "db.t", **arguments},
        actor="ann",
        operation_id=uuid.uuid4().hex,
    )


def _run(client: JobClient, **arguments: Argument) -> JobView:
    job = client.start(_call("fast_forward", **arguments))
    return client.wait(job, timeout_seconds=_PATIENCE_SECONDS)


def _is_verifying(client: JobClient, job: str) -> bool:
    view, worker = client.get(job), client.worker()
    # Until a worker that is back has taken the job up, what its predecessor said stands. The
    # database of jobs keeps whole seconds.
    begun = -1 if worker is None else worker.started_millis // 1_000
    is_taken_up = 0 <= begun <= (view.started_millis or 0) // 1_000
    return is_taken_up and view.state is JobState.RUNNING and view.step == "verify files"


def _end(client: JobClient, number: signal.Signals) -> None:
    os.kill(_worker(client).process_id, number)
    _await_end(client)


def _await_end(client: JobClient) -> None:
    # A dead process lets go of its lock within milliseconds; nothing waits for a heartbeat.
    _until(lambda: not _is_alive(client) and not is_locked(client.settings.lock_path), "the end")


def _restart(client: JobClient) -> None:
    """Start a worker as another console would, which knows nothing of the first one."""
    fresh = JobClient(client.settings)
    assert fresh.start_worker()
    fresh.close()


def _worker(client: JobClient) -> WorkerView:
    worker = client.worker()
    assert worker is not None
    assert worker.is_alive
    return worker


def _is_served(client: JobClient) -> bool:
    worker = client.worker()
    return worker is not None and worker.is_alive and worker.other_store is None


def _is_alive(client: JobClient) -> bool:
    worker = client.worker()
    return worker is not None and worker.is_alive


def _check_done_once(bench: BranchBench, job: str) -> None:
    main, dev = bench.table(), bench.table("dev")
    assert main.snapshots.ids()[-1] == dev.snapshots.ids()[-1]
    for snapshot_id in dev.snapshots.ids():
        copied = Path(main.paths.snapshot(snapshot_id)).read_bytes()
        assert copied == Path(dev.paths.snapshot(snapshot_id)).read_bytes()
    events = [event for event in main.ledger.events() if event.operation_id == job]
    assert len(events) == 1
    receipt = read_receipt(bench.warehouse(), job)
    assert receipt.counts.files_verified == _FILES
    assert bench.live_names() == bench.live_names("dev")


def _exists(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{process_id}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"


def _until(condition: Callable[[], bool], what: str, *, pause: float = 0.05) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(pause)
