"""A commit storm: processes that commit to one table at once, and what they say came of it."""

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from branch_console.table.file_store_table import FileStoreTable

_ROOT: Final = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What one process is to do.

    Attributes:
        table: The path of the table below the warehouse.
        pause_millis: The longest pause before a publish.
        queues: Whether it waits for its turn, as processes of one machine do.
        partitioned: Whether its files are of the partition of its number.
        writer: The module of `tests.support` that the process runs.
        python: Its interpreter, if it is not ours.
    """

    url: str
    table: str
    number: int
    commits: int
    seed: int
    pause_millis: float = 4.0
    queues: bool = True
    partitioned: bool = False
    options: dict[str, str] = field(default_factory=dict)
    writer: str = "storm_child"
    python: str | None = None

    @property
    def user(self) -> str:
        """The commit user of the process."""
        return f"writer-{self.number}"

    def to_json(self) -> str:
        """The task as an argument of a command."""
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> "Task":
        """The task of an argument."""
        return Task(**json.loads(text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a process says of one of its commits: the snapshot that it became, or an error."""

    user: str
    identifier: int
    snapshot_id: int | None
    uuid: str | None
    millis: float
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Storm:
    """A storm that is over."""

    told: tuple[Told, ...]
    seconds: float

    @property
    def failed(self) -> list[str]:
        """What the commits that failed say."""
        return [f"{each.user}-{each.identifier}: {each.error}" for each in self.told if each.error]

    def describe(self) -> str:
        """Rates and waits in a line."""
        times = sorted(each.millis for each in self.told)
        share = {name: times[round(part * (len(times) - 1))] for name, part in _SHARES.items()}
        waits = ", ".join(f"{name} {millis:.0f} ms" for name, millis in share.items())
        rate = len(self.told) / self.seconds
        return f"{len(self.told)} commits in {self.seconds:.1f} s: {rate:.0f}/s, {waits}"


_SHARES: Final = {"p50": 0.5, "p99": 0.99, "max": 1.0}


def run_storm(tasks: Sequence[Task]) -> Storm:
    """Run a process for each task, all at once from the moment when all are ready."""
    processes = [_start(task) for task in tasks]
    try:
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n", _complaint(process)
        began = time.perf_counter()
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        # Read one after the other: what a process says meanwhile waits in its pipe.
        outputs = [process.communicate() for process in processes]
        seconds = time.perf_counter() - began
    finally:
        for process in processes:
            process.kill()
    for task, process, (_, complaint) in zip(tasks, processes, outputs, strict=True):
        assert process.returncode == 0, f"{task.user}: {complaint[-4000:]}"
    told = [
        Told(user=task.user, **json.loads(line))
        for task, (lines, _) in zip(tasks, outputs, strict=True)
        for line in lines.splitlines()
    ]
    return Storm(told=tuple(told), seconds=seconds)


def check_history(table: FileStoreTable, told: Sequence[Told], *, before: int = 0) -> None:
    """Assert that each acknowledged commit is in the history once, as it was told; no gaps.

    Args:
        table: The table after the storm.
        told: Of all who wrote to it.
        before: How many snapshots there were before.
    """
    snapshots = table.snapshots.all()
    assert [each.id for each in snapshots] == list(range(1, before + len(told) + 1))
    made = snapshots[before:]
    counts = Counter((each.commit_user, each.commit_identifier) for each in made)
    assert counts == {(each.user, each.identifier): 1 for each in told}, "lost or duplicated"
    by_id = {each.id: each for each in made}
    for each in told:
        assert each.snapshot_id is not None
        snapshot = by_id[each.snapshot_id]
        own = (snapshot.uuid, snapshot.commit_user, snapshot.commit_identifier)
        assert own == (each.uuid, each.user, each.identifier)
    totals = [each.total_record_count for each in snapshots]
    deltas = [each.delta_record_count for each in snapshots]
    assert totals == [sum(deltas[: number + 1]) for number in range(len(deltas))]


def _start(task: Task) -> "subprocess.Popen[str]":
    module = f"tests.support.{task.writer}"
    return subprocess.Popen(
        [task.python or sys.executable, "-m", module, task.to_json()],
        cwd=_ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _complaint(process: "subprocess.Popen[str]") -> str:
    _, complaint = process.communicate()
    return complaint[-4000:]
