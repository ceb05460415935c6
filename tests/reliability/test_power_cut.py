"""R2: the power goes at any sync of any operation; what was answered is there, nothing is torn.

The images are made from what the real publisher, mover and remover bring down to the disk.
"""

import os
import random
import shutil
from pathlib import Path

import pytest

from branch_console.storage import durable, file_system
from tests.reliability import states
from tests.reliability.operations import OPERATIONS, Operation, by_depth, recovered_twice
from tests.reliability.worlds import TABLE, RowBench, copy_world
from tests.support.crash_clone import CrashClone, Image, Luck, write_image
from tests.support.examples import Examples
from tests.support.repeatable import Repeatable

_SEEDS, _SEEDS_IN_QUICK, _SEEDS_AT_NIGHT = 35, 10, 20_000
# Merges of rows take ten times as long, and most of what they sync others sync as well.
_SEEDS_OF_ROWS = 15
_SEEDS_OF_COPIES = 15
_FEW_IN_QUICK = 3
_FEW_AT_NIGHT = 5_000
_COPIES = {"create from head", "fast-forward", "force", "drop", "replace main", "cut back"}


@pytest.fixture
def syncs_file_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are synced with their file system as soon as there are two, whatever it is."""
    monkeypatch.setattr(durable, "MANY", 2)
    monkeypatch.setattr(file_system, "suits_one_sync", lambda _: True)


@pytest.mark.usefixtures("syncs_file_systems")
@pytest.mark.parametrize(
    "operation", by_depth([each for each in OPERATIONS if each.name in _COPIES])
)
def test_what_is_synced_with_its_file_system_outlives_a_power_cut_too(
    operation: Operation,
    memory_path: Path,
    repeatable: Repeatable,
    examples: Examples,
    rng: random.Random,
) -> None:
    seeds = [
        rng.randrange(1 << 30)
        for _ in range(examples(_SEEDS_OF_COPIES, quick=_FEW_IN_QUICK, long=_FEW_AT_NIGHT))
    ]
    _cut_and_recover(operation, memory_path, repeatable, seeds)


@pytest.mark.parametrize("operation", by_depth(OPERATIONS))
def test_what_was_answered_outlives_a_power_cut_and_the_rest_is_all_or_nothing(
    operation: Operation,
    memory_path: Path,
    repeatable: Repeatable,
    examples: Examples,
    rng: random.Random,
) -> None:
    if operation.rows is None:
        number = examples(_SEEDS, quick=_SEEDS_IN_QUICK, long=_SEEDS_AT_NIGHT)
    else:
        number = examples(_SEEDS_OF_ROWS, quick=_FEW_IN_QUICK, long=_FEW_AT_NIGHT)
    seeds = [rng.randrange(1 << 30) for _ in range(number)]
    _cut_and_recover(operation, memory_path, repeatable, seeds)


def _cut_and_recover(
    operation: Operation, memory_path: Path, repeatable: Repeatable, seeds: list[int]
) -> None:
    origin = memory_path / "origin"
    shutil.rmtree(origin, ignore_errors=True)
    origin.mkdir()
    operation.world(origin)
    read = states.meaning if operation.is_commit else states.exact
    root = copy_world(origin, memory_path / "counted")
    with CrashClone(root) as counter:
        _answered_before(root)
        before = counter.syncs
        operation.run(root, None)
        last = counter.syncs

    # A quarter of the images are taken when the caller has the answer.
    due = {seed: random.Random(seed).choice((last + 1, *[0] * 3)) for seed in seeds}
    due = {seed: at or random.Random(seed).randint(before + 1, last) for seed, at in due.items()}
    images: dict[int, Image] = {}

    root = copy_world(origin, memory_path / "watched")
    clone: CrashClone

    def take(number: int) -> None:
        chances = {seed: random.Random(seed) for seed, at in due.items() if at == number}
        lucks = ((each.choice(list(Luck)), each) for each in chances.values())
        images.update(zip(chances, clone.images(lucks), strict=True))

    with CrashClone(root, take) as clone:
        _answered_before(root)
        old = read(root / TABLE)
        operation.run(root, None)
        take(last + 1)
    new = read(root / TABLE)
    legal = [old, new]
    for run in operation.between:
        other = copy_world(origin, memory_path / "between")
        _answered_before(other)
        run(other, None)
        legal.append(read(other / TABLE))

    seen, ends = set(), set()
    for seed, at in due.items():
        where = f"--seed of the image: {seed}, power cut at sync {at - before} of {last - before}"
        state = (at > last, frozenset(images[seed].items()))
        if state in seen:
            continue
        seen.add(state)
        image = memory_path / "image"
        shutil.rmtree(image, ignore_errors=True)
        write_image(images[seed], image)
        if at > last:
            assert read(image / TABLE) == new, where
        repeatable.begin(f"{operation.name}, recovery")
        recovered_twice(image)
        end = states.fingerprint(image / TABLE, leftovers=False)
        if end not in ends:
            ends.add(end)
            assert states.problems(image / TABLE) == [], where
            assert read(image / TABLE) in legal, where
            repeatable.begin(f"{operation.name}, repeated")
            operation.run(image, None)
            assert read(image / TABLE) == new, where


def _answered_before(root: Path) -> None:
    """Changes whose answers have arrived, so that no crash may lose them."""
    bench = RowBench(root)
    branch = "dev" if bench.table().branches.exists("dev") else "main"
    bench.tag("kept", branch)
    if branch == "dev":
        bench.add("z", branch="dev")


def test_a_store_that_forgets_to_sync_is_found_out(
    memory_path: Path, monkeypatch: pytest.MonkeyPatch, rng: random.Random
) -> None:
    append = OPERATIONS[0]
    root, image = memory_path / "forgetful", memory_path / "forgotten"
    root.mkdir()
    append.world(root)
    old = states.meaning(root / TABLE)
    with CrashClone(root) as clone:
        with monkeypatch.context() as forgetful:
            forgetful.setattr(os, "fsync", lambda _: None)
            append.run(root, None)
        (left,) = clone.images([(Luck.NONE, rng)])
    write_image(left, image)
    assert states.meaning(root / TABLE) != old
    assert states.meaning(image / TABLE) == old
