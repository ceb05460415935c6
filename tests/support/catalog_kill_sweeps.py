"""Sweeps of a catalog merge that is cut off: each begins at these of its changes.

Each of them sees all or nothing at its ends, by whatever reads them, and returns how often either.
"""

from collections import Counter
from collections.abc import Iterable
from functools import partial
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
)
from tests.support.faulty_store import At, FaultyStore, Killed, When


def sweep_kills(kills: MergeKills, numbers: Iterable[int]) -> Counter[bool]:
    """Kill the merge before and after each change, and recover."""
    ends: Counter[bool] = Counter()
    for number in numbers:
        for when in (When.BEFORE, When.AFTER):
            where = f"{when} {number}: {kills.changes[number - 1]}"
            world = kills.killed("killed", number, when)
            world.recover()
            ends[_end(kills, world, where)] += 1
    return ends


def sweep_recoveries(
    kills: MergeKills, numbers: Iterable[int], rng: Random, *, most: int
) -> Counter[bool]:
    """Kill the merge, then its recovery at up to so many of its changes, and recover."""
    ends: Counter[bool] = Counter()
    for number in numbers:
        changes = _changes_of_recovery(kills, number)
        for second in rng.sample(range(1, len(changes) + 1), min(len(changes), most)):
            where = f"{number}: {kills.changes[number - 1]}, then {changes[second - 1]}"
            world = kills.killed("killed", number, When.AFTER)
            with pytest.raises(Killed):
                recover_with(world, killing(world, second, When.BEFORE))
            world.recover()
            ends[_end(kills, world, where)] += 1
    return ends


def sweep_recoverers(
    kills: MergeKills, numbers: Iterable[int], rng: Random, patch: pytest.MonkeyPatch
) -> Counter[bool]:
    """Kill the merge, and have another process recover it in the middle of its recovery."""
    ends: Counter[bool] = Counter()
    for number in numbers:
        changes = _changes_of_recovery(kills, number)
        if not changes:
            continue
        at = rng.randrange(len(changes)) + 1
        where = f"{number}: {kills.changes[number - 1]}, another at {changes[at - 1]}"
        world = kills.killed("killed", number, When.AFTER)
        with machines_apart(patch):
            store = _while_another_recovers(world, at)
            recover_with(world, store)
            assert not store.meanwhile, where
        ends[_end(kills, world, where)] += 1
    return ends


def sweep_sleepers(
    kills: MergeKills, numbers: Iterable[int], patch: pytest.MonkeyPatch
) -> Counter[bool]:
    """Suspend the runner before each change, recover, and wake it."""
    ends: Counter[bool] = Counter()
    for number in numbers:
        where = f"{number}: {kills.changes[number - 1]}"
        world = kills.copy("asleep")
        with machines_apart(patch):
            store = _while_another_recovers(world, number)
            told = outcome(partial(kills.run, world, store))
        world.now += 3_600_000
        world.recover()
        is_new = _end(kills, world, where)
        assert is_new or isinstance(told, PaimonError), where
        ends[is_new] += 1
    return ends


def sweep_late_preparations(
    kills: MergeKills, numbers: Iterable[int], patch: pytest.MonkeyPatch
) -> Counter[bool]:
    """Suspend the runner before each change, recover, wake it, and kill it behind that change."""
    ends: Counter[bool] = Counter()
    for number in numbers:
        where = f"{number}: {kills.changes[number - 1]}"
        world = kills.copy("asleep")
        with machines_apart(patch):
            store = _while_another_recovers(world, number)
            store.fault = At(call=number, when=When.AFTER)
            with pytest.raises(Killed):
                kills.run(world, store)
        assert any("had been taken back" in each for each in world.recover().notes), where
        ends[_end(kills, world, where)] += 1
    return ends


def _end(kills: MergeKills, world: CatalogBench, where: str) -> bool:
    """See that all or nothing is there, and all once the merge is run again; return which."""
    is_new = kills.check(world, where)
    kills.check_again(world, where)
    return is_new


def _changes_of_recovery(kills: MergeKills, number: int) -> list[str]:
    """What a recovery changes that nobody disturbs, of a merge that was killed after a change."""
    world = kills.killed("killed", number, When.AFTER)
    counter = FaultyStore(inner=store_of(world.root))
    recover_with(world, counter)
    return counter.changes


def _while_another_recovers(world: CatalogBench, number: int) -> FaultyStore:
    """A store before whose change another process recovers all there is."""
    other = CatalogBench(root=world.root, now=world.now)
    return FaultyStore(inner=store_of(world.root), meanwhile={number: other.recover})
