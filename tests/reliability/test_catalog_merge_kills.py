"""K4: a catalog merge that was cut off, taken up and woken again is all there, or not at all."""

from functools import partial
from pathlib import Path
from random import Random

import pytest

from branch_console.errors import PaimonError
from tests.support.branch_bench import store_of
from tests.support.catalog_bench import CatalogBench
from tests.support.catalog_kills import (
    MergeKills,
    killing,
    machines_apart,
    outcome,
    recover_with,
    spread,
    spring_cleaning,
)
from tests.support.examples import Examples
from tests.support.faulty_store import At, FaultyStore, Killed, When

_ALL = 1_000_000


@pytest.fixture(scope="module")
def kills(memory_path: Path) -> MergeKills:
    """A merge of five tables and two databases, and what it does."""
    spring_cleaning(memory_path / "origin")
    return MergeKills(origin=memory_path / "origin")


def test_a_kill_at_any_change_leaves_all_of_a_merge_or_nothing(
    kills: MergeKills, examples: Examples
) -> None:
    endings: set[bool] = set()
    for number in spread(len(kills.changes), examples(5, quick=2, long=_ALL)):
        for when in (When.BEFORE, When.AFTER):
            where = f"{when} {number}: {kills.changes[number - 1]}"
            world = kills.killed("killed", number, when)
            world.recover()
            endings.add(kills.check(world, where))
            kills.check_again(world, where)
    assert endings == {True, False}


def test_a_kill_of_its_recovery_leaves_all_of_a_merge_or_nothing(
    kills: MergeKills, examples: Examples, rng: Random
) -> None:
    for number in spread(len(kills.changes), examples(2, quick=1, long=_ALL)):
        world = kills.killed("killed", number, When.AFTER)
        counter = FaultyStore(inner=store_of(world.root))
        recover_with(world, counter)
        count = len(counter.changes)
        for second in rng.sample(range(1, count + 1), min(count, examples(1, long=8))):
            where = f"{number}: {kills.changes[number - 1]}, then {counter.changes[second - 1]}"
            world = kills.killed("killed", number, When.AFTER)
            with pytest.raises(Killed):
                recover_with(world, killing(world, second, When.BEFORE))
            world.recover()
            kills.check(world, where)
            kills.check_again(world, where)


def test_two_that_recover_at_once_leave_all_of_a_merge_or_nothing(
    kills: MergeKills, examples: Examples, monkeypatch: pytest.MonkeyPatch, rng: Random
) -> None:
    for number in spread(len(kills.changes), examples(3, quick=1, long=_ALL)):
        world = kills.killed("killed", number, When.AFTER)
        counter = FaultyStore(inner=store_of(world.root))
        recover_with(world, counter)
        if not counter.changes:
            continue
        at = rng.randrange(len(counter.changes)) + 1
        where = f"{number}: {kills.changes[number - 1]}, another at {counter.changes[at - 1]}"
        world = kills.killed("killed", number, When.AFTER)
        with machines_apart(monkeypatch):
            store = _while_another_recovers(world, at)
            recover_with(world, store)
            assert not store.meanwhile, where
        kills.check(world, where)
        kills.check_again(world, where)


def test_a_runner_that_wakes_up_after_its_recovery_changes_nothing_of_it(
    kills: MergeKills, examples: Examples, monkeypatch: pytest.MonkeyPatch
) -> None:
    endings = set()
    points = spread(len(kills.changes), examples(4, quick=1, long=_ALL))
    for number in sorted({*points, kills.decides}):
        where = f"{number}: {kills.changes[number - 1]}"
        world = kills.copy("asleep")
        with machines_apart(monkeypatch):
            store = _while_another_recovers(world, number)
            told = outcome(partial(kills.run, world, store))
        world.now += 3_600_000
        world.recover()
        is_new = kills.check(world, where)
        assert is_new or isinstance(told, PaimonError), where
        endings.add(is_new)
        kills.check_again(world, where)
    assert endings == {True, False}


def test_what_a_runner_prepares_after_its_recovery_is_ended_though_it_dies(
    kills: MergeKills, examples: Examples, monkeypatch: pytest.MonkeyPatch
) -> None:
    begins = [
        number
        for number, each in enumerate(kills.changes, start=1)
        if "/branch-lineage/intent-" in each and number < kills.decides
    ]
    assert len(begins) > 1
    for number in begins[-examples(1, quick=1, long=_ALL) :]:
        where = f"{number}: {kills.changes[number - 1]}"
        world = kills.copy("asleep")
        with machines_apart(monkeypatch):
            store = _while_another_recovers(world, number)
            store.fault = At(call=number, when=When.AFTER)
            with pytest.raises(Killed):
                kills.run(world, store)
        assert any("had been taken back" in each for each in world.recover().notes), where
        assert not kills.check(world, where)
        kills.check_again(world, where)


def _while_another_recovers(world: CatalogBench, number: int) -> FaultyStore:
    """A store before whose change another process recovers all there is."""
    other = CatalogBench(root=world.root, now=world.now)
    return FaultyStore(inner=store_of(world.root), meanwhile={number: other.recover})
