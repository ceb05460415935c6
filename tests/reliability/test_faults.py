"""R3: stores that fail and lie at random calls. Nothing acknowledged is lost, nothing is broken."""

import contextlib
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, TypeVar

import pytest

from branch_console.errors import PaimonError, StorageError
from tests.reliability import states
from tests.reliability.operations import (
    OPERATIONS,
    ROW_MERGES,
    Operation,
    by_depth,
    leave_behind,
    recovered_twice,
)
from tests.reliability.worlds import TABLE, World, copy_world
from tests.support.branch_bench import store_of
from tests.support.examples import Examples
from tests.support.faulty_store import Fault, FaultyStore, Killed, What, When
from tests.support.repeatable import Repeatable

T = TypeVar("T")

_PARTS: Final = 4
_SEEDS: Final = 250
_SEEDS_IN_QUICK: Final = 50
_SEEDS_AT_NIGHT: Final = 100_000
_CHANGES: Final = (
    Fault(what=What.FAIL),
    Fault(what=What.FAIL, when=When.AFTER),
    Fault(what=What.SAY_UNKNOWN),
    Fault(what=What.SAY_UNKNOWN, when=When.AFTER),
    Fault(what=What.SAY_LOST),
    Fault(what=What.SAY_LOST, when=When.AFTER),
    Fault(what=What.KILL),
    Fault(what=What.KILL, when=When.AFTER),
    Fault(what=What.KILL, when=When.TORN),
)
_READS: Final = {
    "list": (Fault(what=What.FAIL), Fault(what=What.STALE), Fault(what=What.PARTIAL)),
    "read": (Fault(what=What.FAIL), Fault(what=What.SHORT)),
    "look": (Fault(what=What.FAIL),),
}


@pytest.mark.parametrize("part", range(_PARTS))
def test_a_store_that_fails_and_lies_loses_nothing_and_breaks_nothing(
    part: int,
    built: Callable[[World], Path],
    repeatable: Repeatable,
    examples: Examples,
    rng: random.Random,
) -> None:
    count = examples(
        _SEEDS // _PARTS, quick=_SEEDS_IN_QUICK // _PARTS, long=_SEEDS_AT_NIGHT // _PARTS
    )
    for seed in (rng.randrange(1 << 30) for _ in range(count)):
        chance = random.Random(seed)
        operation = chance.choice(OPERATIONS)
        origin = built(operation.world)
        new = _clean(operation, origin)
        # Whatever the seed, an operation draws the same names: what is equal is decoded once.
        repeatable.begin(operation.name)
        _weather_one(origin, new, operation, chance, seed)


class _WeakStore(FaultyStore):
    """Gives a false answer, or none, to one read of what tasks read: data files and vectors."""

    at = 0
    lie = What.FAIL
    reads = 0

    def read(self, what: str, path: str, call: Callable[[], T]) -> tuple[T, What | None]:
        if what == "read" and (path.endswith(".parquet") or "/index/" in path):
            self.reads += 1
            if self.reads == self.at:
                if self.lie is What.FAIL:
                    raise StorageError(f"{path}: the store did not answer (injected).")
                return call(), self.lie
        return super().read(what, path, call)


@pytest.mark.parametrize("lie", [What.FAIL, What.SHORT])
@pytest.mark.parametrize("operation", by_depth(ROW_MERGES))
def test_rows_that_are_read_wrong_once_change_nothing_or_come_out_right(
    operation: Operation,
    lie: What,
    built: Callable[[World], Path],
    repeatable: Repeatable,
    rng: random.Random,
    examples: Examples,
) -> None:
    origin = built(operation.world)
    assert operation.rows is not None
    old, new = _read(operation, origin), _clean(operation, origin)
    ends = (
        (old, states.data_and_index_files(origin / TABLE)),
        (new, _files_of_clean[origin, operation.name]),
    )
    counted = _WeakStore(inner=store_of(copy_world(origin, origin.parent / "weak")))
    repeatable.begin(operation.name)
    operation.run(origin.parent / "weak", counted.store)
    assert counted.reads
    per_mille = examples(250, quick=250, long=1000)
    for number in range(1, counted.reads + 1):
        if rng.randrange(1000) >= per_mille:
            continue
        root = copy_world(origin, origin.parent / "weak")
        weak = _WeakStore(inner=store_of(root))
        weak.at, weak.lie = number, lie
        repeatable.begin(operation.name)
        with contextlib.suppress(PaimonError):
            operation.run(root, weak.store)
        assert _read(operation, root) in (old, new), f"read {number}"
        recovered_twice(root)
        # A merge that had begun is finished; of any other nothing is left.
        end = (_read(operation, root), states.data_and_index_files(root / TABLE))
        assert end in ends, f"read {number}"
        operation.run(root, None)
        assert _read(operation, root) == new, f"read {number}"
        assert states.rows(root / TABLE) == list(operation.rows[1]), f"read {number}"


def _weather_one(
    origin: Path, new: Mapping[str, object], operation: Operation, chance: random.Random, seed: int
) -> None:
    root = copy_world(origin, origin.parent / "stormy")
    old = _read(operation, root)
    rate = chance.choice((0.01, 0.05, 0.2))
    weather = FaultyStore(inner=store_of(root), draw=_weather(chance, rate))
    tries: list[str] = []

    def where() -> str:
        told = (*tries, *weather.faults)
        return f"seed {seed}, {operation.name}:\n" + "\n".join(told)

    for _ in range(chance.randint(1, 3)):
        try:
            operation.run(root, weather.store)
        except Killed:
            tries.append("killed")
            weather.is_dead = False
            leave_behind(root)
        except PaimonError as error:
            tries.append(f"raised {error.message}")
            if operation.is_bare_commit and not _may_leave_files(weather.faults):
                assert not states.unreferenced(root / TABLE), f"C17: {where()}"
        else:
            tries.append("done")
            # Acknowledged: nothing may be missing, now or later.
            _check_done(operation, root, new, weather.faults, where)
            break
        assert _broken(root, old) == [], where()
    recovered_twice(root)
    assert states.problems(root / TABLE) == [], where()
    _check_nothing_lost(old, new, _read(operation, root), where)
    try:
        operation.run(root, None)
    except PaimonError as error:
        tries.append(f"finally raised {error.message}")
        # A false answer may stop an operation for good; what stands then is old, and whole.
        assert _was_lied_to(weather.faults), where()
    else:
        _check_done(operation, root, new, weather.faults, where)
        if not operation.is_bare_commit and not _was_lied_to(weather.faults):
            left = states.data_and_index_files(root / TABLE)
            assert left == _files_of_clean[origin, operation.name], where()
    assert states.problems(root / TABLE) == [], where()
    _check_nothing_lost(old, new, _read(operation, root), where)


def _read(operation: Operation, root: Path) -> Mapping[str, object]:
    return (states.meaning if operation.is_commit else states.exact)(root / TABLE)


_cleans: dict[tuple[Path, str], Mapping[str, object]] = {}
_files_of_clean: dict[tuple[Path, str], list[str]] = {}


def _clean(operation: Operation, origin: Path) -> Mapping[str, object]:
    """What the operation makes of its world in good weather."""
    key = (origin, operation.name)
    if key not in _cleans:
        root = copy_world(origin, origin.parent / "clean")
        operation.run(root, None)
        _cleans[key] = _read(operation, root)
        _files_of_clean[key] = states.data_and_index_files(root / TABLE)
    return _cleans[key]


def _check_done(
    operation: Operation,
    root: Path,
    new: Mapping[str, object],
    faults: list[str],
    where: Callable[[], str],
) -> None:
    if _was_lied_to(faults) and not operation.is_bare_commit:
        return  # what was asked for depends on what a listing said
    assert _read(operation, root) == new, where()


def _weather(chance: random.Random, rate: float) -> Callable[[str], Fault | None]:
    def draw(kind: str) -> Fault | None:
        if chance.random() >= rate:
            return None
        return chance.choice(_READS.get(kind, _CHANGES))

    return draw


def _check_nothing_lost(
    old: Mapping[str, object],
    new: Mapping[str, object],
    found: Mapping[str, object],
    where: Callable[[], str],
) -> None:
    """I12: what a branch held it holds, or a rescue branch does, or it was meant to go."""
    for name, held in old.items():
        rescued = [name.replace("main ", f"rescue-{by} ", 1) for by in ("op", "undo")]
        is_kept = held in [found.get(each) for each in (name, *rescued)]
        assert is_kept or found.get(name) == new.get(name), f"{name} is gone: {where()}"


def _broken(root: Path, old: Mapping[str, object]) -> list[str]:
    """What is broken before recovery: not a branch that was not there and is half made."""
    found = states.problems(root / TABLE)
    return [each for each in found if f"{each.partition(':')[0]} exists" in old]


def _may_leave_files(faults: list[str]) -> bool:
    """Whether orphan cleaning has to help: a clean-up failed, too, or the outcome is unknown.

    A store that fails once it has taken a list may have taken the snapshot behind it as well.
    """
    took_list = f"{What.FAIL} {When.AFTER} publish "
    return _was_lied_to(faults) or any(
        " remove " in each
        or "/snapshot/snapshot-" in each
        or each.startswith(str(What.KILL))
        or (each.startswith(took_list) and "/manifest/manifest-list-" in each)
        for each in faults
    )


def _was_lied_to(faults: list[str]) -> bool:
    lies = (What.STALE, What.PARTIAL, What.SHORT)
    return any(each.startswith(lies) for each in faults)
