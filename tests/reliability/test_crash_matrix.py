"""R1: a kill at every change of every operation, and of recovery: each state is the old or the new.

Processes are killed by a signal at any moment too, which no store made for tests stands in for.

What the tests leave behind is opened by both Java versions and pypaimon, each distinct state once;
in a full run the three share the states.
"""

import contextlib
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from branch_console.commit.journal import Journal
from branch_console.diff.changes.file_history import original_name
from branch_console.format.receipt import Receipt
from branch_console.storage.table_paths import TablePaths
from tests.reliability import states
from tests.reliability.operations import (
    EVERYTHING,
    MERGE_UNDOS,
    MERGES,
    PICKS,
    ROW_MERGES,
    TRIALS,
    UNDOS,
    Operation,
    Run,
    before,
    by_depth,
    leave_behind,
    recover,
    recovered_twice,
    see_that_nothing_is_left,
)
from tests.reliability.worlds import TABLE, RowBench, World, ahead, copy_world, key_of
from tests.support.branch_bench import store_of, tree
from tests.support.examples import Examples
from tests.support.faulty_store import At, FaultyStore, Killed, When
from tests.support.java_child import Read, read_with_java
from tests.support.pypaimon_peer import Pypaimon
from tests.support.repeatable import Repeatable
from tests.support.warehouses import each_version

T = TypeVar("T")

pytestmark = pytest.mark.xdist_group("crash matrix")

_ROOT = Path(__file__).resolve().parents[2]
_KILLS, _KILLS_AT_NIGHT, _KILLS_OF_ROWS_AT_NIGHT = 1, 500, 200

on_everything = pytest.mark.parametrize("operation", by_depth(EVERYTHING))


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

    def share(self, part: int, examples: Examples) -> Mapping[str, tuple[str, ...]]:
        """The branches of the states that a reader opens: of many, those of a full run, a third."""
        if examples.depth != "full":
            return self.branches
        return dict(list(self.branches.items())[part::3])


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
def clean(operation: Operation, built: Callable[[World], Path], repeatable: Repeatable) -> Clean:
    origin = built(operation.world)
    root = copy_world(origin, origin.parent / "clean")
    counter = FaultyStore(inner=store_of(root))
    repeatable.begin(f"{operation.name}, run")
    receipt = operation.run(root, counter.store)
    legal = [_state(operation, origin)]
    for number, run in enumerate(operation.between):
        other = copy_world(origin, origin.parent / "between")
        repeatable.begin(f"{operation.name}, between {number}")
        run(other, None)
        legal.append(_state(operation, other))
    legal.append(_state(operation, root))
    return Clean(origin=origin, root=root, receipt=receipt, changes=counter.changes, legal=legal)


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """Looks at each distinct state once that kills of an operation and of its recovery leave."""

    operation: Operation
    clean: Clean
    museum: Museum
    repeatable: Repeatable
    _shared: Mapping[int, bytes] = field(init=False)
    _killed: set[bytes] = field(default_factory=set)
    _recovered: set[bytes] = field(default_factory=set)
    _ends: set[bytes] = field(default_factory=set)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_shared", states.digests(self.clean.origin))

    def kill(self, number: int, when: When) -> Path:
        """Kill the operation at a change."""
        root = copy_world(self.clean.origin, self.clean.origin.parent / "killed")
        faulty = FaultyStore(inner=store_of(root), fault=At(call=number, when=when))
        self.repeatable.begin(f"{self.operation.name}, run")
        with pytest.raises(Killed):
            self.operation.run(root, faulty.store)
        return root

    def kill_recovery(self, cut_off: Path, number: int, when: When) -> Path:
        """Kill the recovery of a copy at a change."""
        root = copy_world(cut_off, cut_off.parent / "twice")
        faulty = FaultyStore(inner=store_of(root), fault=At(call=number, when=when))
        self.repeatable.begin(f"{self.operation.name}, recovery")
        with pytest.raises(Killed):
            recover(root, faulty.store)
        return root

    def is_new(self, root: Path) -> bool:
        """Whether no kill has left these bytes yet: what follows would be the same."""
        print_of_it = states.fingerprint(root / TABLE, shared=self._shared)
        is_new = print_of_it not in self._killed
        self._killed.add(print_of_it)
        return is_new

    def recover(self, root: Path, where: str, run: str = "recovery") -> list[str]:
        """Recover, check what comes of it and of repeating the operation; return the changes."""
        counter = FaultyStore(inner=store_of(root))
        self.repeatable.begin(f"{self.operation.name}, {run}")
        recover(root, counter.store)
        # Most recoveries end with the same bytes, and from these everything that follows is known.
        all_of_it = states.fingerprint(root / TABLE, shared=self._shared)
        if all_of_it in self._recovered:
            return counter.changes
        self._recovered.add(all_of_it)
        see_that_nothing_is_left(root)
        print_of_it = states.fingerprint(root / TABLE, leftovers=False, shared=self._shared)
        if print_of_it not in self._ends:
            self._ends.add(print_of_it)
            _check_end(self.operation, self.clean, root, where)
            self.museum.keep(root, whole=True)
            self.repeatable.begin(f"{self.operation.name}, repeated")
            _check_repeated(self.operation, self.clean, root, where)
        return counter.changes


@on_everything
def test_killed_at_any_change_and_in_its_recovery_a_table_is_old_or_new_and_can_be_made_new(
    operation: Operation,
    clean: Clean,
    museum: Museum,
    repeatable: Repeatable,
    rng: random.Random,
    examples: Examples,
) -> None:
    sweep = Sweep(operation=operation, clean=clean, museum=museum, repeatable=repeatable)
    swept: set[tuple[str, ...]] = set()
    last = len(clean.changes)
    points = [
        (number, when)
        for number in range(1, last + 1)
        for when in When
        if examples.depth == "long"
        # What lies there after a change lies there before the next one.
        or (number == last if when is When.AFTER else when is _met(number))
    ]
    # Merges of rows take ten times as long: of their recoveries a full run kills every twentieth.
    if operation.rows is None:
        per_mille = examples(200, quick=125, long=1000)
    else:
        per_mille = examples(50, quick=25, long=1000)
    for number, when in points:
        where = f"killed {when} change {number}: {clean.changes[number - 1]}"
        root = sweep.kill(number, when)
        if not sweep.is_new(root):
            continue
        museum.keep(root, whole=False)
        cut_off = copy_world(root, root.parent / "cut_off")
        changes = sweep.recover(root, where)
        # What two recoveries have yet to do is swept once where they end with the same changes.
        for left in _some(range(1, len(changes) + 1), rng, per_mille):
            rest = tuple(_relative(each) for each in changes[left - 1 :])
            if rest in swept:
                continue
            swept.add(rest)
            for at in (When.BEFORE, When.TORN) if examples.depth == "long" else (_met(left),):
                twice = sweep.kill_recovery(cut_off, left, at)
                if sweep.is_new(twice):
                    again = f"recovery of {where} killed {at} {left}: {rest[0]}"
                    sweep.recover(twice, again, run="second recovery")
    museum.keep(clean.origin, whole=True)
    museum.keep(clean.root, whole=True)


def test_the_print_of_a_copy_is_that_of_its_bytes(built: Callable[[World], Path]) -> None:
    origin = built(ahead)
    shared = states.digests(origin)
    copy = copy_world(origin, origin.parent / "copy")
    prints = {states.fingerprint(copy / TABLE, shared=shared), states.fingerprint(origin / TABLE)}
    assert prints == {states.fingerprint(copy / TABLE)}
    (changed,) = (copy / TABLE / "schema").glob("schema-0")
    data = changed.read_bytes()
    changed.unlink()
    changed.write_bytes(data[:-1] + b" ")
    (copy / TABLE / "schema" / "half.tmp").write_bytes(data)
    for leftovers in (True, False):
        found = states.fingerprint(copy / TABLE, leftovers=leftovers, shared=shared)
        assert found not in prints
        prints.add(found)


@pytest.mark.parametrize("operation", by_depth([*MERGES, *ROW_MERGES, *PICKS]))
def test_a_merge_that_was_killed_and_overtaken_is_taken_back_or_carried_over_it(
    operation: Operation,
    clean: Clean,
    repeatable: Repeatable,
    rng: random.Random,
    examples: Examples,
) -> None:
    folder = clean.origin.parent
    legal = []
    for end in (clean.origin, clean.root):
        root = copy_world(end, folder / "overtaken")
        _overtake(root)
        legal.append(_left(root))
    points = list(range(1, len(clean.changes) + 1))
    per_mille = examples(250, quick=100, long=1000)
    for number in _some(points, rng, per_mille):
        where = f"killed before change {number}: {clean.changes[number - 1]}"
        root = copy_world(clean.origin, folder / "killed")
        _kill(operation, root, number, repeatable)
        _overtake(root)
        recovered_twice(root)
        left = _left(root)
        if left not in legal:
            # The other commit touches nothing of it, and the merge stands on that.
            merged = legal[1]
            assert Counter(user for _, user, *_ in left[0]) == Counter(
                user for _, user, *_ in merged[0]
            ), where
            assert sorted(left[2]) == sorted(merged[2]), where
        assert states.unreferenced(root / TABLE) == states.unreferenced(clean.origin / TABLE), where
        assert states.problems(root / TABLE) == [], where


@pytest.mark.parametrize("operation", by_depth(ROW_MERGES))
def test_a_merge_that_was_killed_twice_leaves_the_rows_of_neither_run(
    operation: Operation,
    clean: Clean,
    repeatable: Repeatable,
    rng: random.Random,
    examples: Examples,
) -> None:
    folder = clean.origin.parent
    files = [states.data_and_index_files(each / TABLE) for each in (clean.origin, clean.root)]
    begins = next(
        number for number, each in enumerate(clean.changes, 1) if each.endswith("/intent-op.json")
    )
    # The first run had all but begun; the second has, with rows of its own.
    firsts = {begins, *_some(range(1, begins), rng, examples(100, long=1000))}
    later = range(begins + 1, len(clean.changes) + 1)
    for first in sorted(firsts):
        once = copy_world(clean.origin, folder / "once")
        _kill(operation, once, first, repeatable)
        for second in sorted({later[0], *_some(later, rng, examples(100, long=1000))}):
            where = f"killed before change {first}, then before change {second}"
            root = copy_world(once, folder / "twice")
            _kill(operation, root, second, repeatable)
            recovered_twice(root)
            assert states.problems(root / TABLE) == [], where
            assert states.data_and_index_files(root / TABLE) in files, where
            assert states.rows(root / TABLE) in map(list, operation.rows or ()), where


@pytest.mark.parametrize(("operation", "trial"), TRIALS, ids=[each.name for each, _ in TRIALS])
def test_a_dry_run_that_was_killed_leaves_no_rows_but_those_that_a_merge_takes(
    operation: Operation, trial: Run, clean: Clean, repeatable: Repeatable
) -> None:
    folder = clean.origin.parent
    tried = copy_world(clean.origin, folder / "tried")
    counter = FaultyStore(inner=store_of(tried))
    trial(tried, counter.store)
    origin, merged, kept = (
        states.data_and_index_files(each / TABLE) for each in (clean.origin, clean.root, tried)
    )
    assert len(kept) > len(origin)
    for number, change in enumerate(counter.changes, 1):
        where = f"killed before change {number}: {change}"
        root = copy_world(clean.origin, folder / "killed")
        _kill(replace(operation, run=trial), root, number, repeatable)
        recovered_twice(root)
        assert states.data_and_index_files(root / TABLE) in (origin, kept), where
        operation.run(root, None)
        assert states.data_and_index_files(root / TABLE) == merged, where
        assert _state(operation, root) == clean.new, where


def _kill(operation: Operation, root: Path, number: int, repeatable: Repeatable) -> None:
    """Kill an operation before one of its changes, and let its process be dead."""
    faulty = FaultyStore(inner=store_of(root), fault=At(call=number))
    repeatable.begin(f"{operation.name}, run {number}")
    with pytest.raises(Killed):
        operation.run(root, faulty.store)
    leave_behind(root)


def _overtake(root: Path) -> None:
    """Commit to main as another engine does, which knows of no merge."""
    bench = RowBench(root)
    message = bench.message(new_files=bench.files("z"))
    bench.committer().commit([message], user="etl", identifier=7)


def _left(
    root: Path,
) -> tuple[list[tuple[Any, ...]], dict[str, bytes], list[tuple[int, str, int]], list[str]]:
    """What is left of a merge: all but schemas of main, which whoever overtook may have used."""
    table = root / TABLE
    commits = [
        (name, said.user, said.kind, said.files, said.hidden)
        for name, said in states.meaning(table).items()
        if isinstance(said, states.Point)
    ]
    others = {name: data for name, data in states.exact(table).items() if name[:5] != "main "}
    return commits, others, states.rows(table), _files(root)


@pytest.fixture(scope="module")
def forks() -> Iterator["subprocess.Popen[str]"]:
    """Does each operation in a process that has just been forked."""
    command = [sys.executable, "-m", "tests.support.kill_child"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=_ROOT
    ) as child:
        yield child
        child.kill()


@pytest.mark.parametrize("operation", by_depth(EVERYTHING, every_kind="long"))
def test_a_process_that_is_really_killed_leaves_the_old_or_the_new_table(
    operation: Operation,
    clean: Clean,
    forks: "subprocess.Popen[str]",
    rng: random.Random,
    examples: Examples,
) -> None:
    started = time.monotonic()
    assert _do_and_kill(forks, operation, clean.origin.parent, None) == 0
    longest = time.monotonic() - started
    ends = []
    at_night = _KILLS_AT_NIGHT if operation.rows is None else _KILLS_OF_ROWS_AT_NIGHT
    for _ in range(examples(_KILLS, long=at_night)):
        after = rng.uniform(0, longest)
        status = _do_and_kill(forks, operation, clean.origin.parent, after)
        assert status in (0, signal.SIGKILL)
        ends.append(status)
        root = clean.origin.parent / "forked"
        where = f"killed after {after * 1_000:.1f} of {longest * 1_000:.1f} ms"
        recovered_twice(root)
        _check_end(operation, clean, root, where)
        operation.run(root, None)
        assert _state(operation, root) == clean.new, where
        assert states.problems(root / TABLE) == [], where
    print(f"{ends.count(signal.SIGKILL)} of {len(ends)} were killed on the way")


def _do_and_kill(
    forks: "subprocess.Popen[str]", operation: Operation, folder: Path, after: float | None
) -> int:
    """Do an operation on a copy of its world, and kill who does it after so many seconds."""
    root = copy_world(folder / operation.world.__name__, folder / "forked")
    assert forks.stdin is not None
    assert forks.stdout is not None
    forks.stdin.write(json.dumps({"operation": operation.name, "root": str(root)}) + "\n")
    forks.stdin.flush()
    pid = int(forks.stdout.readline())
    if after is not None:
        time.sleep(after)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return int(forks.stdout.readline())


@pytest.mark.parametrize("operation", by_depth([*UNDOS, *MERGE_UNDOS]))
def test_undo_brings_back_the_same_bytes(operation: Operation, clean: Clean) -> None:
    old = before(clean.origin) / TABLE
    if operation.is_commit:
        # What was rolled back by a new snapshot is brought back by another one.
        assert states.live(clean.root / TABLE) == states.live(old)
        return
    restored = states.exact(clean.root / TABLE)
    rescued = {name: data for name, data in restored.items() if name.startswith("rescue-")}
    assert {name: restored[name] for name in restored.keys() - rescued.keys()} == states.exact(old)


@each_version
def test_java_opens_every_state_lists_its_branches_and_reads_them(
    museum: Museum, version: str, examples: Examples
) -> None:
    kept = museum.share(0 if version == "1.4.2" else 1, examples)
    reads = [
        Read(table=f"db.{name}" if branch == "main" else f"db.{name}$branch_{branch}")
        for name, branches in kept.items()
        for branch in branches
    ]
    lists = [Read(table=f"db.{name}$branches") for name in kept]
    answers = read_with_java(version, museum.root, [*reads, *lists])
    for name, branches in kept.items():
        table = museum.root / "db.db" / name
        listed = sorted(row[0] for row in answers[Read(table=f"db.{name}$branches")])
        assert listed == sorted(set(states.branches_of(table)) - {"main"}), name
        for branch in branches:
            suffix = "" if branch == "main" else f"$branch_{branch}"
            rows = answers[Read(table=f"db.{name}{suffix}")]
            assert isinstance(rows, list), (name, branch, rows)
            assert sorted(row[:3] for row in rows) == states.rows(table, branch), (name, branch)


@pytest.mark.depth("full")
def test_pypaimon_reads_every_state(museum: Museum, examples: Examples) -> None:
    with Pypaimon(museum.root) as peer:
        for name, branches in museum.share(2, examples).items():
            for branch in branches:
                suffix = "" if branch == "main" else f"$branch_{branch}"
                rows = peer.rows(f"db.{name}{suffix}")
                expected = states.rows(museum.root / "db.db" / name, branch)
                assert sorted(tuple(row[:3]) for row in rows) == expected, (name, branch)


def _check_end(operation: Operation, clean: Clean, root: Path, where: str) -> None:
    assert states.problems(root / TABLE) == [], where
    assert _state(operation, root) in clean.legal, where
    if operation.rows is not None:
        is_new = _state(operation, root) == clean.new
        assert states.rows(root / TABLE) == list(operation.rows[is_new]), where
    else:
        for branch in states.branches_of(root / TABLE):
            assert states.rows(root / TABLE, branch) == _named(root / TABLE, branch), where
    ledger = states.ledger(root / TABLE)
    assert not [name for name in ledger if name.startswith("intent-rows-")], where
    if not operation.is_bare_commit:
        is_new = _state(operation, root) == clean.new
        like = clean.root if is_new else clean.origin
        assert _files(root) == _files(like), where
    if operation in (*MERGES, *ROW_MERGES, *PICKS):
        assert states.unreferenced(root / TABLE) == states.unreferenced(clean.origin / TABLE), where
    # A name may stay claimed by whoever died before giving it back; the next one takes it over.
    journal = Journal(store_of(root), TablePaths(table=str(root / TABLE)))
    for name, holder in ledger.items():
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
    # Steps of an entry that is gone are nobody's: its id is never used again.
    nobodys = ("claim-", "step-rows-")
    return {name: data for name, data in files.items() if not name.startswith(nobodys)}


def _state(operation: Operation, root: Path) -> object:
    return (states.meaning if operation.is_commit else states.exact)(root / TABLE)


def _files(root: Path) -> list[str]:
    return states.data_and_index_files(root / TABLE)


def _met(number: int) -> When:
    """How all but long runs meet a change: by turns before it, and in it.

    A change that is torn leaves what the one before it left, and half a file.
    """
    return When.TORN if number % 2 == 0 else When.BEFORE


def _some(points: Iterable[T], rng: random.Random, per_mille: int) -> list[T]:
    return [each for each in points if rng.randrange(1000) < per_mille]


def _relative(change: str) -> str:
    what, _, path = change.rpartition(" ")
    return f"{what} {path.rpartition(str(TABLE))[2]}"


def _named(table: Path, branch: str) -> list[tuple[int, str, int]]:
    """The rows of live files that hold the one of their name."""
    # A copy holds the row of the file that it was made of.
    names = (
        original_name(name).removeprefix("data-").removesuffix(".parquet")
        for name in states.live(table, branch)
    )
    return sorted((key_of(name), name, 0) for name in names)
