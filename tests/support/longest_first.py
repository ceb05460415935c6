"""The order in which xdist hands tests out: what takes longest begins first.

A group runs in one worker from its first test to its last, so a long one that begins late is waited
for at the end. xdist sorts groups by the number of their tests, which tells nothing of a test that
takes minutes, and it puts the next group behind whatever a worker is busy with, however long that
takes. How long tests take is known from earlier runs, or guessed by the table below.
"""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final

import pytest
from xdist.scheduler import LoadGroupScheduling

from tests.support.durations import kept_seconds, split_group

# Wall seconds of a test, of its file or its folder; only their order counts.
_GUESSES: Final = {
    "tests/interop/test_newest_paimon.py": 150.0,
    "tests/reliability/test_commit_storm.py": 25.0,
    "tests/reliability/test_object_store.py": 10.0,
    "tests/reliability/test_state_machine.py": 60.0,
    "tests/reliability/test_worker_kill.py": 12.0,
    "tests/spark/test_other_sessions.py": 20.0,
    "tests/spark/test_spark_ends.py": 6.0,
    "tests/console/test_serving.py": 12.0,
    "tests/benchmarks": 5.0,
    "tests/browser": 3.0,
    "tests/property": 1.5,
    "tests/reliability": 1.0,
    "tests/spark": 2.0,
    "tests/interop": 0.6,
    "tests/console": 0.2,
}
_ELSE_SECONDS: Final = 0.03
# What a worker may have before it, for something long to be put behind it.
_SOON_SECONDS: Final = 2.0


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadGroupScheduling | None:
    if config.getoption("dist") != "loadgroup":
        return None
    return LongestFirst(config, log, kept_seconds(config))


def expected_seconds(name: str, kept: Mapping[str, float]) -> float:
    """Return what a test took in an earlier run, else what tests of its place take."""
    if name in kept:
        return kept[name]
    file = name.partition("::")[0]
    folder = "/".join(file.split("/")[:2])
    return _GUESSES.get(file, _GUESSES.get(folder, _ELSE_SECONDS))


class LongestFirst(LoadGroupScheduling):
    """Hands out the longest groups and tests first, and something short to who is at a long one."""

    def __init__(self, config: pytest.Config, log: Any, kept: Mapping[str, float]) -> None:
        super().__init__(config, log)
        self._kept = kept
        self._is_sorted = False

    def _assign_work_unit(self, node: Any) -> None:
        if not self._is_sorted:
            longest_first = sorted(self.workqueue.items(), key=lambda unit: -self._seconds(unit[1]))
            self.workqueue = OrderedDict(longest_first)
            self._is_sorted = True
        # A worker runs a test when it knows the next one. That one waits for it, and no other
        # worker can take it: behind a test of minutes it must not be a group of minutes.
        waits = sum(map(self._seconds, self.assigned_work[node].values()))
        if waits > _SOON_SECONDS:
            self.workqueue.move_to_end(next(reversed(self.workqueue)), last=False)
        super()._assign_work_unit(node)

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        name = self.registered_collections[node][item_index]
        super().mark_test_complete(node, item_index, duration)
        # All units of a worker are counted after each of its tests.
        scope = self._split_scope(name)
        if all(self.assigned_work[node][scope].values()):
            del self.assigned_work[node][scope]

    def remove_node(self, node: Any) -> str | None:
        self._is_sorted = False
        crashed: str | None = super().remove_node(node)
        return crashed

    def _seconds(self, unit: Mapping[str, bool]) -> float:
        return sum(
            expected_seconds(split_group(name)[0], self._kept)
            for name, is_done in unit.items()
            if not is_done
        )
