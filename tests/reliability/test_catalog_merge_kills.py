"""K4: a catalog merge that was cut off, taken up and woken again is all there, or not at all.

Our own reader judges here; Paimon's does in `tests/interop/test_catalog_merge_kills.py`.
"""

from pathlib import Path
from random import Random

import pytest

from tests.support.catalog_kill_sweeps import (
    sweep_kills,
    sweep_late_preparations,
    sweep_recoverers,
    sweep_recoveries,
    sweep_sleepers,
)
from tests.support.catalog_kills import MergeKills, spread, spring_cleaning
from tests.support.examples import Examples

_ALL = 1_000_000


@pytest.fixture(scope="module")
def kills(memory_path: Path) -> MergeKills:
    """A merge of five tables and two databases, and what it does."""
    spring_cleaning(memory_path / "origin")
    return MergeKills(origin=memory_path / "origin")


def test_a_kill_at_any_change_leaves_all_of_a_merge_or_nothing(
    kills: MergeKills, examples: Examples
) -> None:
    numbers = spread(len(kills.changes), examples(5, quick=2, long=_ALL))
    assert sweep_kills(kills, numbers).keys() == {True, False}


def test_a_kill_of_its_recovery_leaves_all_of_a_merge_or_nothing(
    kills: MergeKills, examples: Examples, rng: Random
) -> None:
    numbers = spread(len(kills.changes), examples(2, quick=1, long=_ALL))
    sweep_recoveries(kills, numbers, rng, most=examples(1, long=8))


def test_two_that_recover_at_once_leave_all_of_a_merge_or_nothing(
    kills: MergeKills, examples: Examples, monkeypatch: pytest.MonkeyPatch, rng: Random
) -> None:
    numbers = spread(len(kills.changes), examples(3, quick=1, long=_ALL))
    sweep_recoverers(kills, numbers, rng, monkeypatch)


def test_a_runner_that_wakes_up_after_its_recovery_changes_nothing_of_it(
    kills: MergeKills, examples: Examples, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = spread(len(kills.changes), examples(4, quick=1, long=_ALL))
    ends = sweep_sleepers(kills, sorted({*points, kills.decides}), monkeypatch)
    assert ends.keys() == {True, False}


def test_what_a_runner_prepares_after_its_recovery_is_ended_though_it_dies(
    kills: MergeKills, examples: Examples, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(kills.begins) > 1
    numbers = kills.begins[-examples(1, quick=1, long=_ALL) :]
    assert sweep_late_preparations(kills, numbers, monkeypatch).keys() == {False}
