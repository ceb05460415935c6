"""Where the time of a run goes, and the order that keeps it short.

A run over several folders ends with a table: tests, processor seconds and wall seconds of each
folder beside its budget, the slowest tests and the longest group that one worker runs alone. Being
over a budget fails nothing. How long tests took is kept in `durations.json` in pytest's cache; the
next run begins with what takes longest.
"""

import json
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.processor_time import Stopwatch, processor_seconds

# Core-seconds at depth quick and full: 4.4 and 13.2 minutes of two cores, without the starts.
BUDGETS: Final = {
    "unit": (96, 144),
    "golden": (18, 24),
    "console": (66, 96),
    "property": (42, 150),
    "spark": (84, 300),
    "interop": (96, 240),
    "newest Paimon": (0, 180),
    "reliability": (84, 270),
    "browser": (30, 120),
    "benchmarks": (12, 60),
}
_DEPTHS: Final = ("quick", "full")
_SLOWEST: Final = 20
# What is shorter is not worth a line in the file that is kept.
_KEPT_FROM_SECONDS: Final = 0.1
# What others do during a test that is shorter counts for the next that is not.
_LOOK_FROM_SECONDS: Final = 0.1
_FILE: Final = "durations.json"


@dataclass(slots=True)
class _Took:
    """What one test took, set-up and tear-down with it."""

    wall: float = 0.0
    cpu: float = 0.0
    group: str | None = None


@dataclass(slots=True)
class _Run:
    """What one run found; the workers of xdist tell the process that began it."""

    started: float = field(default_factory=time.monotonic)
    tests: dict[str, _Took] = field(default_factory=lambda: defaultdict(_Took))
    outcomes: Counter[str] = field(default_factory=Counter)
    failed: list[str] = field(default_factory=list)
    watch: Stopwatch = field(default_factory=Stopwatch)
    # The wall seconds of the phases of the test that runs.
    wall: float = 0.0


_RUN: Final = pytest.StashKey[_Run]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("branch console").addoption(
        "--report", type=Path, metavar="FILE", help="write what the run was and found, as JSON"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_RUN] = _Run()
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Listener(config))


def pytest_collection_finish(session: pytest.Session) -> None:
    session.config.stash[_RUN].watch.lap(looks_at_others=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[Any]:
    report = yield
    run = item.config.stash[_RUN]
    run.wall += report.duration
    if report.when == "teardown":
        report.cpu = run.watch.lap(looks_at_others=run.wall >= _LOOK_FROM_SECONDS)
        run.wall = 0.0
    return report


class _Listener:
    """Adds up what a run reports, in the process that began it, and tells it at the end."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._run = config.stash[_RUN]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        name, group = split_group(report.nodeid)
        took = self._run.tests[name]
        took.group = group
        took.wall += report.duration
        took.cpu += getattr(report, "cpu", 0.0)
        if report.when == "call" or report.outcome != "passed":
            self._run.outcomes[report.outcome] += 1
        if report.failed:
            self._run.failed.append(name)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        depth = self._config.getoption("--depth")
        if len({row_of(name) for name in self._run.tests}) > 1:
            terminalreporter.section(f"where the time of this run went, depth {depth}")
            elapsed = time.monotonic() - self._run.started
            for line in _table(self._run.tests, depth, elapsed, processor_seconds()):
                terminalreporter.write_line(line)

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        _keep(self._config, self._run.tests)
        if path := self._config.getoption("--report"):
            path.write_text(json.dumps(self._report(int(exitstatus)), indent=1))

    def _report(self, exit_status: int) -> dict[str, Any]:
        run = self._run
        return {
            "depth": self._config.getoption("--depth"),
            "seed": self._config.getoption("--seed", default=None),
            "paimon": self._config.getoption("--paimon", default=None),
            "exit status": exit_status,
            "seconds": round(time.monotonic() - run.started, 1),
            "outcomes": dict(run.outcomes),
            "failed": run.failed,
            "folders": {
                row: {
                    "tests": len(took),
                    "processor seconds": round(sum(one.cpu for one in took), 1),
                    "wall seconds": round(sum(one.wall for one in took), 1),
                }
                for row, took in _by_row(run.tests).items()
            },
        }


def split_group(node_id: str) -> tuple[str, str | None]:
    """Return a test's own name and the group that xdist appends to it."""
    at = node_id.rfind("@")
    return (node_id[:at], node_id[at + 1 :]) if at > node_id.rfind("]") else (node_id, None)


def row_of(name: str) -> str:
    """Return the row of the table that a test belongs to: its folder."""
    if "/test_newest_paimon.py::" in name:
        return "newest Paimon"
    parts = name.partition("::")[0].split("/")
    return parts[1] if parts[0] == "tests" and len(parts) > 2 else parts[0]


def kept_seconds(config: pytest.Config) -> Mapping[str, float]:
    """Return the wall seconds of tests in the last runs of this depth; none of a fresh clone."""
    return _read(config).get(config.getoption("--depth"), {})


def _keep(config: pytest.Config, tests: Mapping[str, _Took]) -> None:
    if getattr(config, "cache", None) is None:
        return
    kept = _read(config)
    of_depth = kept.setdefault(config.getoption("--depth"), {})
    for name, took in tests.items():
        of_depth[name] = round(took.wall, 2)
    kept[config.getoption("--depth")] = {
        name: seconds for name, seconds in of_depth.items() if seconds >= _KEPT_FROM_SECONDS
    }
    _path(config).write_text(json.dumps(kept, indent=0))


def _read(config: pytest.Config) -> dict[str, dict[str, float]]:
    if getattr(config, "cache", None) is None:
        return {}
    try:
        kept: dict[str, dict[str, float]] = json.loads(_path(config).read_text())
    except (OSError, ValueError):
        return {}  # nothing is kept yet, or another run is just writing it
    return kept


def _path(config: pytest.Config) -> Path:
    assert config.cache is not None
    return config.cache.mkdir("branch-console") / _FILE


def _by_row(tests: Mapping[str, _Took]) -> dict[str, list[_Took]]:
    rows: dict[str, list[_Took]] = {row: [] for row in BUDGETS}
    for name, took in tests.items():
        rows.setdefault(row_of(name), []).append(took)
    return {row: took for row, took in rows.items() if took}


def _table(
    tests: Mapping[str, _Took], depth: str, elapsed: float, cpu_of_all: float
) -> Iterator[str]:
    yield f"{'folder':<16}{'tests':>7}{'CPU s':>8}{'wall s':>8}{'budget':>8}"
    for row, took in _by_row(tests).items():
        cpu, wall = sum(one.cpu for one in took), sum(one.wall for one in took)
        budget = _budget(row, depth)
        over = f"  {cpu - budget:.0f} s over" if budget is not None and cpu > budget else ""
        bound = "" if budget is None else budget
        yield f"{row:<16}{len(took):>7}{cpu:>8.0f}{wall:>8.0f}{bound:>8}{over}"
    of_tests = sum(one.cpu for one in tests.values())
    yield f"{'outside tests':<16}{'':>7}{max(0.0, cpu_of_all - of_tests):>8.0f}"
    yield f"{'all':<16}{len(tests):>7}{max(of_tests, cpu_of_all):>8.0f}{elapsed:>8.0f}"
    groups: defaultdict[str, list[float]] = defaultdict(list)
    for took in tests.values():
        if took.group is not None:
            groups[took.group].append(took.wall)
    if groups:
        group, seconds = max(groups.items(), key=lambda each: sum(each[1]))
        yield f"The longest group: {group}, {len(seconds)} tests in {sum(seconds):.0f} s of wall"
    yield f"The {_SLOWEST} slowest:  CPU s  wall s"
    slowest = sorted(tests.items(), key=lambda each: -max(each[1].wall, each[1].cpu))
    for name, took in slowest[:_SLOWEST]:
        yield f"{'':<16}{took.cpu:>8.1f}{took.wall:>8.1f}  {name}"


def _budget(row: str, depth: str) -> int | None:
    if row not in BUDGETS or depth not in _DEPTHS:
        return None
    return BUDGETS[row][_DEPTHS.index(depth)]
