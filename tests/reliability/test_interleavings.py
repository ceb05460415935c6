"""R6: every order in which two actors can take their steps, and samples of those of three.

Whatever the order, the end is one that the same actors reach one after the other.
"""

import random
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path
from typing import Final, TypeAlias

import pytest

from branch_console.commit.base.commit_message import CommitMessage
from branch_console.commit.base.commit_queue import NoQueue
from branch_console.commit.schema.schema_commit import change_schema, set_options
from branch_console.commit.snapshot.file_store_commit import FileStoreCommit
from branch_console.errors import CommitConflict, Refused
from branch_console.format.snapshot import Snapshot
from branch_console.table.file_store_table import FileStoreTable
from tests.reliability import states
from tests.reliability.worlds import TABLE, RowBench, World, copy_world
from tests.support.branch_bench import NOW
from tests.support.examples import Examples
from tests.support.schedule import Actor, Phase, all_schedules, phased, play

Run: TypeAlias = Callable[[Path, Actor], object]

_PHASES: Final = len(Phase)
_ALL: Final = 924
_SAMPLES, _SAMPLES_IN_QUICK, _SAMPLES_AT_NIGHT = 150, 50, 200_000
_FORWARDS, _FORWARDS_IN_QUICK = 60, 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """An actor that commits; `act` is given its committer, its bench and what names the commit."""

    name: str
    act: Callable[[FileStoreCommit, RowBench, str], object]
    told: list[int] = field(default_factory=list)

    def run(self, root: Path, actor: Actor, number: int) -> object:
        """Commit through a store that stops at each phase."""
        bench = RowBench(root)
        store = phased(bench.store, actor)
        table = FileStoreTable.open(store.files, bench.path, bench.identifier)

        def callback(snapshot: Snapshot) -> None:
            actor.stop(Phase.CALLBACK)
            self.told.append(snapshot.id)

        # Names are those of every other schedule: what is equal is decoded once.
        names = random.Random(f"{self.name}{number}")
        commit = FileStoreCommit(
            table,
            store,
            clock=lambda: NOW,
            new_uuid=lambda: str(uuid.UUID(int=names.getrandbits(128), version=4)),
            sleep=lambda _: None,
            queue=NoQueue(),
            callbacks=[callback],
        )
        return self.act(commit, bench, f"{self.name}{number}")


def two_files(root: Path) -> None:
    """A table of two files."""
    bench = RowBench(root)
    bench.add("a")
    bench.add("b")
    # What the actors are about to write is there already: the files of a commit come first.
    bench.files(*(f"{kind}{number}" for kind in ("append", "overwrite") for number in range(3)))
    bench.files("compact0", "compact1", "compact2")


def a_branch_ahead(root: Path) -> None:
    """The same with a branch that is two snapshots ahead."""
    two_files(root)
    bench = RowBench(root)
    bench.branch("dev")
    bench.add("c", branch="dev")
    bench.add("d", branch="dev")


def two_sides(root: Path) -> None:
    """The same, and main went on as well."""
    a_branch_ahead(root)
    bench = RowBench(root)
    bench.add("x")
    bench.alter("dev")


def _append(commit: FileStoreCommit, bench: RowBench, name: str) -> object:
    return commit.commit(_new(bench, name), user=name)


def _overwrite(commit: FileStoreCommit, bench: RowBench, name: str) -> object:
    return commit.overwrite(_new(bench, name), user=name)


def _compact(commit: FileStoreCommit, bench: RowBench, name: str) -> object:
    if name not in _messages:
        files = bench.files(name)
        _messages[name] = bench.message(compact_before=bench.files("a"), compact_after=files)
    return commit.commit([_messages[name]], user=name)


# What each actor commits, made once: the worlds are copies of one.
_messages: dict[str, CommitMessage] = {}


def _new(bench: RowBench, name: str) -> list[CommitMessage]:
    if name not in _messages:
        _messages[name] = bench.message(new_files=bench.files(name))
    return [_messages[name]]


ACTS: Final = {"append": _append, "overwrite": _overwrite, "compact": _compact}


@pytest.mark.parametrize(
    ("pair", "in_ci"),
    [
        (("append", "overwrite"), _ALL // 2),
        (("append", "append"), 60),
        (("compact", "compact"), 60),
    ],
    ids=str,
)
def test_two_commits_in_any_order_end_as_one_after_the_other(
    pair: tuple[str, str],
    in_ci: int,
    built: Callable[[World], Path],
    examples: Examples,
    rng: random.Random,
) -> None:
    origin = built(two_files)
    serial = _serial_ends(origin, pair)
    schedules = list(all_schedules(_PHASES))
    assert len(schedules) == _ALL
    for order in rng.sample(schedules, min(_ALL, examples(in_ci))):
        _check(origin, pair, order, serial)


def test_three_commits_in_many_orders_end_as_one_after_the_other(
    built: Callable[[World], Path], examples: Examples, rng: random.Random
) -> None:
    origin = built(two_files)
    for _ in range(examples(_SAMPLES, quick=_SAMPLES_IN_QUICK, long=_SAMPLES_AT_NIGHT)):
        kinds = sorted(rng.choices(list(ACTS), k=3))
        order = [number for number in range(3) for _ in Phase]
        rng.shuffle(order)
        _check(origin, kinds, order, _serial_ends(origin, kinds))


def test_a_commit_and_a_fast_forward_in_any_order_lose_nothing(
    built: Callable[[World], Path], examples: Examples, rng: random.Random
) -> None:
    origin = built(a_branch_ahead)
    old = states.exact(origin / TABLE)
    schedules = list(all_schedules(_PHASES))
    for order in _some(schedules, examples, rng):
        root = copy_world(origin, origin.parent / "played")
        writer = Writer(name="append", act=_append)

        def forward(actor: Actor, root: Path = root) -> object:
            bench = RowBench(root)
            return bench.call("fast_forward", store=phased(bench.store, actor), branch="dev")

        ours, theirs = play(
            order, [lambda actor, root=root, writer=writer: writer.run(root, actor, 0), forward]
        )
        table = root / TABLE
        where = f"schedule {order}: {ours.phases}, {theirs.phases}"
        assert ours.error is None, where
        assert states.problems(table) == [], where
        live = states.live(table)
        assert {"data-append0.parquet", "data-a.parquet", "data-b.parquet"} <= live, where
        new = states.exact(table)
        assert {name: new.get(name) for name in old} == old, where
        if theirs.error is None:
            assert {"data-c.parquet", "data-d.parquet"} <= live, where
        else:
            # Too late from the start, or overtaken: then it is shorter, and says so.
            assert isinstance(theirs.error, (Refused, CommitConflict)), where


@pytest.mark.parametrize("is_copied", [False, True], ids=["shared", "copied"])
def test_a_commit_and_a_merge_in_any_order_lose_nothing_and_leave_nothing(
    built: Callable[[World], Path], examples: Examples, rng: random.Random, is_copied: bool
) -> None:
    world = built(two_sides)
    origin = copy_world(world, world.parent / "origin")
    if is_copied:
        # Other engines would expire dev in spite of a fence.
        bench = RowBench(origin)
        ineffective = set_options({"consumer.expiration-time": "9 d"})
        change_schema(bench.table("dev"), bench.store, [ineffective], now_millis=NOW)
    old = states.exact(origin / TABLE)
    data = states.data_files(origin / TABLE)
    schedules = list(all_schedules(_PHASES))
    for order in _some(schedules, examples, rng):
        root = copy_world(origin, origin.parent / "played")
        writer = Writer(name="append", act=_append)

        def merge(actor: Actor, root: Path = root) -> object:
            bench = RowBench(root)
            return bench.call("merge_branch", store=phased(bench.store, actor), branch="dev")

        ours, theirs = play(
            order, [lambda actor, root=root, writer=writer: writer.run(root, actor, 0), merge]
        )
        table = root / TABLE
        where = f"schedule {order}: {ours.phases}, {theirs.phases}"
        assert ours.error is None, where
        assert states.problems(table) == [], where
        new = states.exact(table)
        assert {name: new.get(name) for name in old} == old, where
        copies = {Path(each).name for each in states.data_files(table) - data}
        expected = {f"data-{name}.parquet" for name in ("append0", "a", "b", "x")}
        if theirs.error is None:
            assert len(copies) == (2 if is_copied else 0), where
            brought = copies or {"data-c.parquet", "data-d.parquet"}
            assert states.live(table) == expected | brought, where
        else:
            # It was overtaken, and took back what it had made.
            assert isinstance(theirs.error, (Refused, CommitConflict)), where
            assert copies == set(), where
            assert states.live(table) == expected, where
            # Its schema stays where the other one came to write with it: a reader needs it.
            main = states.branches_of(table)["main"]
            assert main.head is not None
            used = {0, states.reading(table, main.head).point.schema_id}
            assert main.schemas.keys() == used, where


def _some(
    schedules: Sequence[Sequence[int]], examples: Examples, rng: random.Random
) -> list[Sequence[int]]:
    count = examples(_FORWARDS, quick=_FORWARDS_IN_QUICK, long=_ALL)
    return rng.sample(schedules, count)


def test_a_commit_alone_stops_at_each_phase_once(built: Callable[[World], Path]) -> None:
    for kind in ACTS:
        root = copy_world(built(two_files), built(two_files).parent / "alone")
        writer = Writer(name=kind, act=ACTS[kind])
        (actor,) = play([], [lambda actor, root=root, writer=writer: writer.run(root, actor, 0)])
        assert actor.phases == list(Phase), kind


End: TypeAlias = tuple[frozenset[str], tuple[bool, ...]]
_ends: dict[tuple[str, ...], set[End]] = {}


def _serial_ends(origin: Path, kinds: Sequence[str]) -> set[End]:
    """What the actors reach one after the other, in each order."""
    key = tuple(kinds)
    if key not in _ends:
        _ends[key] = set()
        for order in permutations(range(len(kinds))):
            turns = [number for number in order for _ in range(4 * _PHASES)]
            end, _ = _play(origin, kinds, turns)
            _ends[key].add(end)
    return _ends[key]


def _check(origin: Path, kinds: Sequence[str], order: Sequence[int], serial: set[End]) -> None:
    end, told = _play(origin, kinds, order)
    table = origin.parent / "played" / TABLE
    where = f"schedule {tuple(order)} of {kinds}"
    assert end in serial, where
    assert states.problems(table) == [], where
    assert not states.unreferenced(table), f"C17: {where}"
    points = [
        states.reading(table, data).point
        for data in states.branches_of(table)["main"].snapshots.values()
    ]
    for number, has_landed in enumerate(end[1]):
        own = [each.id for each in points if each.user == f"{kinds[number]}{number}"]
        assert len(own) == has_landed, where
        assert told[number] == own, f"C28: {where}"


def _play(origin: Path, kinds: Sequence[str], order: Sequence[int]) -> tuple[End, list[list[int]]]:
    root = copy_world(origin, origin.parent / "played")
    writers = [Writer(name=kind, act=ACTS[kind]) for kind in kinds]

    def work(number: int) -> Callable[[Actor], object]:
        return lambda actor: writers[number].run(root, actor, number)

    actors = play(order, [work(number) for number in range(len(kinds))])
    for actor in actors:
        if actor.error is not None and not isinstance(actor.error, CommitConflict):
            raise actor.error
    end = (states.live(root / TABLE), tuple(actor.error is None for actor in actors))
    return end, [writer.told for writer in writers]
