"""R1: a kill at every change of every operation, and of recovery: each state is the old or the new.

What the tests leave behind is opened by both Java versions and pypaimon, each distinct state once.
"""

import hashlib
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import TypeAlias, TypeVar

import pytest

from core.commit.journal import Journal
from core.diff.logical_log import original_name
from core.format.receipt import Receipt
from core.storage.table_paths import TablePaths
from tests.reliability import states
from tests.reliability.operations import (
    COMMITS,
    MERGE_UNDOS,
    OPERATIONS,
    UNDOS,
    Operation,
    before,
    recover,
    recovered_twice,
)
from tests.reliability.worlds import TABLE, World, copy_world, key_of
from tests.support.branch_bench import store_of, tree
from tests.support.faulty_store import At, FaultyStore, Killed, When
from tests.support.java_child import Read, read_with_java
from tests.support.pypaimon_peer import Pypaimon

T = TypeVar("T")
Examples: TypeAlias = Callable[[int], int]

pytestmark = pytest.mark.xdist_group("crash matrix")

_each_operation = pytest.mark.parametrize("operation", OPERATIONS, ids=attrgetter("name"))


@dataclass(kw_only=True)
class Museum:
    """Every distinct state that a test came across, kept as a table of one warehouse."""

    root: Path
    branches: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _known: set[str] = field(default_factory=set)

    def keep(self, root: Path, *, whole: bool) -> None:
        """Keep a state; the branches of one that is not `whole` may yet be half made."""
        table = root / TABLE
        files = {
            name: data for name, data in tree(table).items() if not name.startswith("branch-lin")
        }
        digest = hashlib.sha256(repr((whole, sorted(files.items()))).encode()).hexdigest()
        if digest in self._known:
            return
        self._known.add(digest)
        name = f"s{len(self._known)}"
        copy_world(table, self.root / "db.db" / name)
        self.branches[name] = tuple(states.branches_of(table)) if whole else ("main",)


@pytest.fixture(scope="module")
def museum(memory_path: Path) -> Museum:
    """The states that the tests of this module have come across so far."""
    root = memory_path / "museum"
    (root / "db.db").mkdir(parents=True)
    return Museum(root=root)


@dataclass(frozen=True, kw_only=True)
class Clean:
    """An operation carried out without a fault."""

    origin: Path
    root: Path
    receipt: object
    changes: list[str]
    legal: list[object]

    @property
    def new(self) -> object:
        return self.legal[-1]


@pytest.fixture
def clean(operation: Operation, built: Callable[[World], Path]) -> Clean:
    origin = built(operation.world)
    root = copy_world(origin, origin.parent / "clean")
    counter = FaultyStore(inner=store_of(root))
    receipt = operation.run(root, counter.store)
    legal = [_state(operation, origin)]
    for run in operation.between:
        other = copy_world(origin, origin.parent / "between")
        run(other, None)
        legal.append(_state(operation, other))
    legal.append(_state(operation, root))
    return Clean(origin=origin, root=root, receipt=receipt, changes=counter.changes, legal=legal)


@_each_operation
def test_killed_at_any_change_a_table_is_old_or_new_and_repeating_it_makes_it_new(
    operation: Operation, clean: Clean, museum: Museum, rng: random.Random, examples: Examples
) -> None:
    points = [(number, when) for number in range(1, len(clean.changes) + 1) for when in When]
    for number, when in _some(points, rng, examples):
        where = f"killed {when} change {number}: {clean.changes[number - 1]}"
        root = _killed(operation, clean, number, when)
        museum.keep(root, whole=False)
        recovered_twice(root)
        _check_end(operation, clean, root, where)
        museum.keep(root, whole=True)
        _check_repeated(operation, clean, root, where)
    museum.keep(clean.origin, whole=True)
    museum.keep(clean.root, whole=True)


@_each_operation
def test_recovery_that_is_killed_itself_is_recovered(
    operation: Operation, clean: Clean, museum: Museum, rng: random.Random, examples: Examples
) -> None:
    swept: set[tuple[str, ...]] = set()
    for number in range(1, len(clean.changes) + 1):
        root = _killed(operation, clean, number, When.AFTER)
        counter = FaultyStore(inner=store_of(copy_world(root, root.parent / "counted")))
        recover(root.parent / "counted", counter.store)
        # What two recoveries have yet to do is swept once where they end with the same changes.
        for left in range(1, len(counter.changes) + 1):
            rest = tuple(_relative(each) for each in counter.changes[left - 1 :])
            if rest in swept or not _some([left], rng, examples):
                continue
            swept.add(rest)
            for when in (When.BEFORE, When.TORN):
                where = f"recovery of {number} killed {when} {left}: {rest[0]}"
                twice = copy_world(root, root.parent / "twice")
                faulty = FaultyStore(inner=store_of(twice), fault=At(call=left, when=when))
                with pytest.raises(Killed):
                    recover(twice, faulty.store)
                recovered_twice(twice)
                _check_end(operation, clean, twice, where)
                museum.keep(twice, whole=True)
                _check_repeated(operation, clean, twice, where)


@pytest.mark.parametrize("operation", [*UNDOS, *MERGE_UNDOS], ids=attrgetter("name"))
def test_undo_brings_back_the_same_bytes(operation: Operation, clean: Clean) -> None:
    old = before(clean.origin) / TABLE
    if operation.is_commit:
        # What was rolled back by a new snapshot is brought back by another one.
        assert states.live(clean.root / TABLE) == states.live(old)
        return
    restored = states.exact(clean.root / TABLE)
    rescued = {name: data for name, data in restored.items() if name.startswith("rescue-")}
    assert {name: restored[name] for name in restored.keys() - rescued.keys()} == states.exact(old)


@pytest.mark.parametrize("version", ["1.4.2", "2.0.0"])
def test_java_opens_every_state_lists_its_branches_and_reads_them(
    museum: Museum, version: str
) -> None:
    reads = [
        Read(table=f"db.{name}" if branch == "main" else f"db.{name}$branch_{branch}")
        for name, branches in museum.branches.items()
        for branch in branches
    ]
    lists = [Read(table=f"db.{name}$branches") for name in museum.branches]
    answers = read_with_java(version, museum.root, [*reads, *lists])
    for name, branches in museum.branches.items():
        table = museum.root / "db.db" / name
        listed = sorted(row[0] for row in answers[Read(table=f"db.{name}$branches")])
        assert listed == sorted(set(states.branches_of(table)) - {"main"}), name
        for branch in branches:
            suffix = "" if branch == "main" else f"$branch_{branch}"
            rows = answers[Read(table=f"db.{name}{suffix}")]
            assert isinstance(rows, list), (name, branch, rows)
            assert sorted(row[:3] for row in rows) == _rows(table, branch), (name, branch)


def test_pypaimon_reads_every_state(museum: Museum) -> None:
    with Pypaimon(museum.root) as peer:
        for name, branches in museum.branches.items():
            for branch in branches:
                suffix = "" if branch == "main" else f"$branch_{branch}"
                rows = peer.rows(f"db.{name}{suffix}")
                expected = _rows(museum.root / "db.db" / name, branch)
                assert sorted(tuple(row[:3]) for row in rows) == expected, (name, branch)


def _killed(operation: Operation, clean: Clean, number: int, when: When) -> Path:
    root = copy_world(clean.origin, clean.origin.parent / "killed")
    faulty = FaultyStore(inner=store_of(root), fault=At(call=number, when=when))
    with pytest.raises(Killed):
        operation.run(root, faulty.store)
    return root


def _check_end(operation: Operation, clean: Clean, root: Path, where: str) -> None:
    assert states.problems(root / TABLE) == [], where
    assert _state(operation, root) in clean.legal, where
    if operation not in COMMITS:
        is_new = _state(operation, root) == clean.new
        like = clean.root if is_new else clean.origin
        assert states.data_files(root / TABLE) == states.data_files(like / TABLE), where
    # A name may stay claimed by whoever died before giving it back; the next one takes it over.
    journal = Journal(store_of(root), TablePaths(table=str(root / TABLE)))
    for name, holder in states.ledger(root / TABLE).items():
        if name.startswith("claim-"):
            assert journal.end_of(holder.decode()) is not None, f"{where}: {name} is never free"


def _check_repeated(operation: Operation, clean: Clean, root: Path, where: str) -> None:
    receipt = operation.run(root, None)
    assert _state(operation, root) == clean.new, where
    assert states.problems(root / TABLE) == [], where
    ledger, expected = _records(root), _records(clean.root)
    assert ledger.keys() == expected.keys(), where
    if isinstance(receipt, Receipt):
        assert isinstance(clean.receipt, Receipt)
        assert receipt.counts == clean.receipt.counts, where
        if not operation.is_commit:
            assert receipt.moves == clean.receipt.moves, where
            assert ledger == expected, where


def _records(root: Path) -> dict[str, bytes]:
    files = states.ledger(root / TABLE)
    return {name: data for name, data in files.items() if not name.startswith("claim-")}


def _state(operation: Operation, root: Path) -> object:
    return (states.meaning if operation.is_commit else states.exact)(root / TABLE)


def _some(points: list[T], rng: random.Random, examples: Examples) -> list[T]:
    share = examples(1000) / 1000
    return [each for each in points if rng.random() < share]


def _relative(change: str) -> str:
    what, _, path = change.rpartition(" ")
    return f"{what} {path.rpartition(str(TABLE))[2]}"


def _rows(table: Path, branch: str) -> list[tuple[int, str, int]]:
    # A copy holds the row of the file that it was made of.
    names = (
        original_name(name).removeprefix("data-").removesuffix(".parquet")
        for name in states.live(table, branch)
    )
    return sorted((key_of(name), name, 0) for name in names)
