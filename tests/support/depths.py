"""How much of the suite a run does: `quick` for a newcomer, `full` in CI, `long` at night.

A depth scales what the randomised tests try. The marker `depth` keeps a test, or one of its cases,
out of the runs below: `@pytest.mark.depth("full")` stays out of quick ones, `"long"` out of CI too.
"""

import json
import os
from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import settings

from tests.support.examples import Examples

# A multiple of what CI tries, from the least to the most.
_SHARES: Final = {"quick": 0.1, "full": 1.0, "long": 100.0}
_DEPTHS: Final = tuple(_SHARES)
PROFILE: Final = "branch console"
"""Of hypothesis, once the depth of a run is known."""

_WAITING: Final = pytest.StashKey[Counter[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("branch console")
    group.addoption(
        "--depth",
        choices=_DEPTHS,
        default="full" if os.environ.get("CI") == "true" else "quick",
        help="how many cases the randomised tests try, and which tests run",
    )
    group.addoption(
        "--write-depths", type=Path, metavar="FILE", help="write the lowest depth of each test"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "depth(least): run at this depth and beyond: full or long")
    config.stash[_WAITING] = Counter()
    depth = config.getoption("--depth")
    if depth == "long" and config.getoption("timeout") is None:
        # A test of a long run may take hours.
        config.option.timeout = 0
    settings.register_profile(
        PROFILE,
        max_examples=max(10, round(100 * _SHARES[depth])),
        derandomize=depth == "full",
        deadline=None,
        print_blob=True,
    )
    settings.load_profile(PROFILE)


@pytest.fixture(scope="session")
def examples(pytestconfig: pytest.Config) -> Examples:
    """From the number of cases that a full run tries to that of this run."""
    depth = pytestconfig.getoption("--depth")
    return Examples(depth=depth, share=_SHARES[depth])


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if path := config.getoption("--write-depths"):
        path.write_text(json.dumps(_of_functions(items)))
    depth = _DEPTHS.index(config.getoption("--depth"))
    waiting = [item for item in items if _DEPTHS.index(least_depth(item)) > depth]
    if waiting:
        config.stash[_WAITING].update(map(least_depth, waiting))
        config.hook.pytest_deselected(items=waiting)
        left_out = set(waiting)
        items[:] = [item for item in items if item not in left_out]


def least_depth(item: pytest.Item) -> str:
    """Return the lowest depth that runs a test: of several markers the deepest one holds."""
    named = [name for mark in item.iter_markers("depth") for name in mark.args if name in _DEPTHS]
    return max(named, key=_DEPTHS.index, default=_DEPTHS[0])


def _of_functions(items: Iterable[pytest.Item]) -> dict[str, str]:
    """The depth of each test function: the first at which one of its cases runs."""
    least: dict[str, str] = {}
    for item in items:
        name = item.nodeid.partition("[")[0]
        least[name] = min(least.get(name, _DEPTHS[-1]), least_depth(item), key=_DEPTHS.index)
    return least


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("depth"):
        if mark.kwargs or len(mark.args) != 1 or mark.args[0] not in _DEPTHS:
            given = ", ".join(map(repr, mark.args)) or "nothing"
            raise pytest.UsageError(
                f"The test did not run: its marker depth has {given}."
                f" Give it one of {', '.join(_DEPTHS)}."
            )


def pytest_sessionfinish(session: pytest.Session) -> None:
    # Only the workers of xdist collect; each of them collects everything.
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["waiting"] = dict(session.config.stash[_WAITING])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    told = getattr(node, "workeroutput", {}).get("waiting", {})
    node.config.stash[_WAITING] |= Counter(told)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None and not hasattr(config, "workerinput"):
        for line in _lines(config.stash.get(_WAITING, Counter())):
            terminal.write_line(line)


def _lines(waiting: Counter[str]) -> Iterable[str]:
    for depth, count in sorted(waiting.items(), key=lambda each: -_DEPTHS.index(each[0])):
        noun = "test waits" if count == 1 else "tests wait"
        yield f"{count} {noun} for `--depth {depth}`"


def by_night(cases: Iterable[str], *, but: Collection[str]) -> list[Any]:
    """Return the cases as parameters of a test: those that are not named run at depth long only."""
    night = pytest.mark.depth("long")
    return [name if name in but else pytest.param(name, marks=night) for name in cases]
