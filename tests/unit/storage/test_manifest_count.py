"""Whoever waits for a decision is told how many manifests it has read, whatever thread reads."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from branch_console.procedures.call.manifest_progress import with_manifest_progress
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.preview import preview_call
from branch_console.storage.file_io import FileIO
from branch_console.storage.manifest_count import counting_manifests, note_read, want_manifests
from branch_console.storage.parallel_io import asking, both, map_parallel
from tests.support import plain_store  # noqa: F401 - registers its scheme
from tests.support.read_counts import branched
from tests.unit.procedures.test_planned_once import call_of

FAR = FileIO.for_url("memory://far")
PATHS = [f"manifest-{number}" for number in range(200)]


class Follower:
    """Keeps what was reported, and by how many threads."""

    def __init__(self) -> None:
        self.reports: list[tuple[int, int]] = []
        self.threads: set[int] = set()

    def __call__(self, read: int, wanted: int) -> None:
        self.reports.append((read, wanted))
        self.threads.add(threading.get_ident())


@contextmanager
def followed() -> Iterator[Follower]:
    follower = Follower()
    with counting_manifests(follower):
        yield follower


def note_all() -> None:
    for path in PATHS:
        note_read(path)


def in_many_threads() -> None:
    # Sixteen calls wait for each other, so that a thread of its own makes each.
    together = threading.Barrier(16, timeout=30)

    def read(path: str) -> None:
        if path in PATHS[:16]:
            together.wait()
        note_read(path)

    map_parallel(FAR, read, PATHS)


def beside_another() -> None:
    both(FAR, lambda: None, note_all)


def when_asked() -> None:
    with asking(FAR) as ask:
        ask(note_all)


@pytest.mark.parametrize("read", [in_many_threads, beside_another, when_asked])
def test_what_other_threads_read_is_counted_one_by_one(read: Callable[[], None]) -> None:
    with followed() as follower:
        want_manifests(PATHS)
        read()
    assert follower.reports == [(done, len(PATHS)) for done in range(len(PATHS) + 1)]
    assert len(follower.threads) > 1


def test_a_manifest_counts_once_and_other_files_do_not_count() -> None:
    with followed() as follower:
        want_manifests(["a", "b"])
        note_read("a")
        note_read("a")
        note_read("a list of manifests")
        want_manifests(["a", "c"])
        note_read("a")
    assert follower.reports == [(0, 2), (1, 2), (1, 3)]


def test_each_follower_is_told_of_its_own_reading_alone() -> None:
    with followed() as outer:
        want_manifests(["a"])
        with followed() as inner:
            want_manifests(["b"])
        other = threading.Thread(target=want_manifests, args=(["c"],))
        other.start()
        other.join()
    want_manifests(["d"])
    assert outer.reports == [(0, 1)]
    assert inner.reports == [(0, 1)]


@pytest.mark.parametrize("scheme", ["", "plain://"])
def test_a_merge_counts_the_manifests_that_it_reads_and_none_that_it_remembers(
    scheme: str, tmp_path: Path
) -> None:
    bench = branched(tmp_path, diverged=True)
    for number in range(4):
        bench.append(f"theirs-{number}", branch="dev")
    warehouse = Warehouse.open(f"{scheme}{tmp_path}", read_only=True)
    call, follower = call_of("merge_branch", {"branch": "dev"}), Follower()
    with_manifest_progress(lambda: preview_call(warehouse, call), follower)
    # One manifest of each of the five commits of the branch and the one of main.
    assert follower.reports[-1] == (6, 6)
    assert follower.reports == sorted(follower.reports)
    assert len(follower.threads) > 1 or not scheme
    again = Follower()
    with_manifest_progress(lambda: preview_call(warehouse, call), again)
    assert again.reports == []
