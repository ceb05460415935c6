"""The suite's own machinery: what a depth runs, and what a run tells of itself."""

import gc
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from xdist.remote import Producer

from tests.support import processor_time, quick_java
from tests.support.longest_first import LongestFirst
from tests.support.shared_bytecode import from_part, modules_of

_ROOT = Path(__file__).parents[2]
_TESTS_OF_EACH_DEPTH = """
import pytest

def test_always(): ...

@pytest.mark.depth("full")
def test_in_ci(): ...

@pytest.mark.depth("full")
@pytest.mark.parametrize("case", [1, pytest.param(2, marks=pytest.mark.depth("long"))])
def test_cases(case): ...
"""
_TEST_OF_NO_DEPTH = """
import pytest

@pytest.mark.depth("ci")
def test_of_an_old_name(): ...
"""


def _run(folder: Path, text: str, *options: str) -> str:
    """What pytest prints of a file of tests, with the plugins of the suite that are named."""
    (folder / "test_it.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", *options]
    own = ("CI", "PYTEST_ADDOPTS")
    environment = {name: os.environ[name] for name in os.environ if name not in own}
    run = subprocess.run(
        [*command, "-c", os.devnull, f"--rootdir={folder}", str(folder)],
        cwd=_ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return run.stdout + run.stderr


_LONG_WAITS = "1 test waits for `--depth long`"
_FULL_WAITS = "2 tests wait for `--depth full`"


@pytest.mark.depth("full")
@pytest.mark.parametrize(
    ("depth", "end"),
    [
        ("quick", ["1 passed, 3 deselected", _LONG_WAITS, _FULL_WAITS]),
        ("full", ["3 passed, 1 deselected", _LONG_WAITS]),
        ("long", ["4 passed"]),
    ],
)
def test_a_depth_leaves_out_what_is_marked_deeper_and_says_so(
    depth: str, end: list[str], tmp_path: Path
) -> None:
    options = ("-n", "0", "-p", "tests.support.depths", "--depth", depth)
    said = _run(tmp_path, _TESTS_OF_EACH_DEPTH, *options).splitlines()[-len(end) :]
    assert [line.partition(" in ")[0] for line in said] == end


@pytest.mark.depth("full")
def test_the_workers_tell_what_waits(tmp_path: Path) -> None:
    said = _run(tmp_path, _TESTS_OF_EACH_DEPTH, "-n", "1", "-p", "tests.support.depths")
    assert said.endswith("2 tests wait for `--depth full`\n")


def test_a_depth_that_is_not_there_fails_the_test(tmp_path: Path) -> None:
    said = _run(tmp_path, _TEST_OF_NO_DEPTH, "-n", "0", "-p", "tests.support.depths")
    assert "its marker depth has 'ci'. Give it one of quick, full, long." in said
    assert "1 error" in said


_TESTS_OF_TWO_FOLDERS = """
import time

def test_at_once(): ...

def test_slow():
    time.sleep(0.2)

def test_wrong():
    raise AssertionError
"""


def test_a_run_tells_where_its_time_went_and_keeps_it(tmp_path: Path) -> None:
    for folder in ("unit", "golden"):
        file = tmp_path / "tests" / folder / f"test_{folder}.py"
        file.parent.mkdir(parents=True)
        file.write_text(_TESTS_OF_TWO_FOLDERS)
    plugins = [
        option for name in ("depths", "durations") for option in ("-p", f"tests.support.{name}")
    ]
    said = _run(tmp_path, "", "-n", "0", *plugins, f"--report={tmp_path / 'report.json'}")

    rows = {line.split()[0]: line.split()[1:] for line in said.splitlines() if line.strip()}
    assert rows["unit"][0] == rows["golden"][0] == "3"
    assert (rows["unit"][-1], rows["golden"][-1]) == ("96", "18")
    assert rows["all"][0] == "6"
    assert "test_golden.py::test_slow" in said.partition("20 slowest")[2]

    kept = json.loads(next(tmp_path.rglob("durations.json")).read_text())
    assert list(kept) == ["quick"]
    slow = {f"tests/{folder}/test_{folder}.py::test_slow" for folder in ("unit", "golden")}
    assert set(kept["quick"]) == slow

    report = json.loads((tmp_path / "report.json").read_text())
    assert report["depth"] == "quick"
    assert report["outcomes"] == {"passed": 4, "failed": 2}
    assert report["failed"] == [
        f"tests/{name}/test_{name}.py::test_wrong" for name in ("golden", "unit")
    ]


class _Worker:
    """A worker of xdist that runs what it is sent when it is told to."""

    def __init__(self, name: str) -> None:
        self.gateway = SimpleNamespace(id=name)
        self.sent: list[int] = []
        self.shutting_down = False

    def send_runtest_some(self, indices: list[int]) -> None:
        self.sent += indices

    def shutdown(self) -> None:
        self.shutting_down = True


def _scheduled(names: list[str], kept: dict[str, float]) -> tuple[LongestFirst, list[_Worker]]:
    config: Any = SimpleNamespace(
        getvalue=lambda _: ["popen"] * 2, option=SimpleNamespace(loadscopereorder=True)
    )
    scheduler = LongestFirst(config, Producer("test", enabled=False), kept)
    workers: list[Any] = [_Worker("a"), _Worker("b")]
    for worker in workers:
        scheduler.add_node(worker)
        scheduler.add_node_collection(worker, names)
    scheduler.schedule()
    return scheduler, workers


def test_what_takes_longest_begins_first_and_keeps_only_the_shortest_waiting() -> None:
    # xdist itself would begin with the group of two, and put one test of minutes behind the other.
    names = ["short", "x@pair", "y@pair", "minute", "shorter", "three minutes@alone", "soon"]
    kept = {"short": 0.2, "x": 1.0, "y": 1.0, "minute": 60.0, "shorter": 0.1, "soon": 0.3}
    scheduler, (a, b) = _scheduled(names, {**kept, "three minutes": 180.0})
    assert [names[index] for index in a.sent] == ["three minutes@alone", "shorter"]
    assert [names[index] for index in b.sent] == ["minute", "short"]
    scheduler.mark_test_complete(b, names.index("minute"))
    assert [names[index] for index in b.sent] == ["minute", "short", "x@pair", "y@pair"]


def test_a_worker_that_dies_gives_its_tests_back() -> None:
    names = [f"test {number}" for number in range(6)]
    scheduler, (a, b) = _scheduled(names, {"test 0": 9.0, "test 1": 8.0})
    scheduler.mark_test_complete(a, a.sent[0])
    assert scheduler.remove_node(a) == names[a.sent[1]]
    while scheduler.has_pending:
        scheduler.mark_test_complete(b, b.sent[len(b.sent) - _pending(scheduler, b)])
    assert sorted({*a.sent, *b.sent}) == list(range(6))


def _pending(scheduler: LongestFirst, worker: Any) -> int:
    return scheduler._pending_of(scheduler.assigned_work[worker])


@pytest.mark.parametrize(("took", "said"), [(970, "within"), (975, "3 s over")])
def test_the_judge_of_a_whole_run_knows_the_machine(took: int, said: str) -> None:
    program = _ROOT / ".ci" / "calibrate.py"
    run = subprocess.run(
        [sys.executable, program, "--judge", str(took), "0.90"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout == f"all took {took} s, {said} 18 min x 0.90 = 972 s\n"


needs_proc = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux tells children that still run"
)


@contextmanager
def _busy_child() -> Iterator[None]:
    """A child that has used 0.3 s of processor time, and waits until the block is over."""
    work = "while time.process_time() < 0.3: pass"
    busy = f"import sys, time\n{work}\nprint(flush=True)\nsys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", busy], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        yield


def _alone(measure: Callable[[], None]) -> None:
    """Run a function of this module in a process of which no other child ends meanwhile."""
    name = measure.__name__
    program = f"from tests.unit.test_suite import {name}; {name}()"
    subprocess.run([sys.executable, "-c", program], cwd=_ROOT, check=True, timeout=60)


@needs_proc
def test_the_time_of_a_child_counts_while_it_runs_and_after() -> None:
    _alone(_while_a_child_runs_and_after)


def _while_a_child_runs_and_after() -> None:
    before = processor_time.processor_seconds()
    with _busy_child():
        while_it_runs = processor_time.processor_seconds() - before
    after = processor_time.processor_seconds() - before
    # Seconds are sums of ticks, each process's rounded by itself.
    assert 0.2 < while_it_runs <= after + 0.05


@needs_proc
def test_what_a_child_does_between_two_looks_is_told_once_with_the_second() -> None:
    _alone(_between_two_looks)


def _between_two_looks() -> None:
    watch = processor_time.Stopwatch()
    with _busy_child():
        without, with_it = (watch.lap(looks_at_others=looks) for looks in (False, True))
    assert without < 0.1
    assert with_it > 0.2
    # It has ended, and its seconds are those of who waited for it.
    assert watch.lap(looks_at_others=True) < 0.1


@needs_proc
def test_a_child_that_ends_between_two_looks_is_counted_once() -> None:
    _alone(_ends_between_two_looks)


def _ends_between_two_looks() -> None:
    watch = processor_time.Stopwatch()
    with _busy_child():
        assert watch.lap(looks_at_others=True) > 0.2
    assert watch.lap(looks_at_others=False) < 0.1


def test_a_thread_that_ends_while_children_are_looked_for_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for thread, children in (("1", "7 8"), ("2", None), ("3", "9")):
        (tmp_path / "5" / "task" / thread).mkdir(parents=True)
        if children is not None:
            (tmp_path / "5" / "task" / thread / "children").write_text(children)
    monkeypatch.setattr(processor_time, "_PROCESSES", tmp_path)
    assert sorted(processor_time._children(5)) == [7, 8, 9]
    assert processor_time._children(6) == []
    gc.collect()  # what was left open warns, and warnings are errors


def test_a_java_is_told_of_the_classes_of_spark_once_they_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = tmp_path / "of spark.jsa"
    monkeypatch.setattr(quick_java, "spark_classes", lambda: written)
    assert quick_java.options_of_spark() == " ".join(quick_java.OPTIONS)
    written.touch()
    assert f'-XX:SharedArchiveFile="{written}"' in quick_java.options_of_spark()


def test_each_worker_begins_to_import_with_a_part_of_its_own() -> None:
    names = ["a", "b", "c", "d", "e"]
    assert [from_part(names, number, 2) for number in range(2)] == [
        names,
        ["c", "d", "e", "a", "b"],
    ]
    assert {from_part(names, number, 4)[0] for number in range(4)} == {"a", "b", "c", "d"}


def test_modules_are_imported_by_the_names_that_collecting_gives_them() -> None:
    assert __name__ in modules_of([_ROOT / "tests" / "unit"], _ROOT)
