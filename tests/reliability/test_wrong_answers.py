"""Answers that a store loses or gets wrong, at every change; other writers; forks that are gone."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from branch_console.commit.journal import Journal
from branch_console.errors import CommitConflict, PaimonError, Refused, StorageError
from branch_console.format.journals.intent import Ending
from branch_console.procedures.merge.merge_kind import MergeKind
from branch_console.procedures.run.open_operation import find_receipt
from branch_console.table.file_store_table import FileStoreTable
from tests.reliability import states
from tests.reliability.operations import (
    COMMITS,
    MERGES,
    OPERATIONS,
    PICKS,
    ROW_MERGES,
    Operation,
    by_depth,
    call,
    recover,
)
from tests.reliability.worlds import TABLE, RowBench, World, ahead, copy_world
from tests.support.branch_bench import store_of, tree
from tests.support.examples import Examples
from tests.support.faulty_store import At, Fault, FaultyStore, Killed, What, When

_VERBS = {str(each) for each in MergeKind}

_ANSWERS = (What.SAY_UNKNOWN, What.SAY_LOST, What.FAIL)

T = TypeVar("T")


@pytest.mark.parametrize("what", _ANSWERS)
@pytest.mark.parametrize("operation", by_depth(OPERATIONS))
def test_answers_that_are_lost_or_wrong_are_looked_up(
    built: Callable[[World], Path],
    operation: Operation,
    what: What,
    seed: int,
    rng: random.Random,
    examples: Examples,
) -> None:
    # But for long runs each change gives one of the answers, as it is made or in its place: what is
    # drawn is the same for all.
    answers = random.Random(f"{seed} {operation.name}")
    # Of them every second is tried, and fewer of merges of rows, which take ten times as long.
    drawn = 500 if operation.rows is None else 240
    per_mille = examples(drawn, quick=drawn, long=1000)
    origin = built(operation.world)
    clean = copy_world(origin, origin.parent / "clean")
    counter = FaultyStore(inner=store_of(clean))
    operation.run(clean, counter.store)
    read = states.meaning if operation.is_commit else states.exact
    expected = read(clean / TABLE)

    for number, change in enumerate(counter.changes, 1):
        befalls = answers.choice(_ANSWERS), answers.choice((When.BEFORE, When.AFTER))
        for when in (When.BEFORE, When.AFTER):
            is_drawn = befalls == (what, when) or examples.depth == "long"
            if not is_drawn or rng.randrange(1000) >= per_mille:
                continue
            where = f"{what} {when} {number}: {change}"
            root = copy_world(origin, origin.parent / "faulty")
            faulty = FaultyStore(inner=store_of(root), fault=At(call=number, when=when, what=what))
            try:
                operation.run(root, faulty.store)
            except PaimonError:
                assert states.problems(root / TABLE) == [], where
                operation.run(root, None)
            assert read(root / TABLE) == expected, where
            assert states.problems(root / TABLE) == [], where


@pytest.mark.parametrize("operation", by_depth(COMMITS))
def test_a_commit_that_landed_unseen_keeps_its_manifests(
    built: Callable[[World], Path], operation: Operation
) -> None:
    origin = built(operation.world)
    landing = _landing(operation, origin)
    root = copy_world(origin, origin.parent / "unseen")
    faulty = FaultyStore(
        inner=store_of(root), fault=At(call=landing, when=When.AFTER, what=What.SAY_UNKNOWN)
    )
    _answer_nothing_afterwards(faulty)
    with pytest.raises(StorageError):
        operation.run(root, faulty.store)
    assert states.problems(root / TABLE) == []
    operation.run(root, None)
    assert states.meaning(root / TABLE) == states.meaning(origin.parent / "clean" / TABLE)


@pytest.mark.parametrize("operation", by_depth(COMMITS))
def test_a_commit_that_was_never_sent_leaves_nothing_though_nobody_can_look(
    built: Callable[[World], Path], operation: Operation
) -> None:
    origin = built(operation.world)
    last = _landing(operation, origin) - 1
    root = copy_world(origin, origin.parent / "unsent")
    before = states.unreferenced(root / TABLE)
    faulty = FaultyStore(
        inner=store_of(root), fault=At(call=last, when=When.BEFORE, what=What.SAY_LOST)
    )
    _answer_nothing_afterwards(faulty)
    with pytest.raises(StorageError):
        operation.run(root, faulty.store)
    assert states.unreferenced(root / TABLE) == before


class _ShortLists(FaultyStore):
    """Leaves the last name out of every listing of the snapshots of a branch."""

    def read(self, what: str, path: str, call: Callable[[], T]) -> tuple[T, What | None]:
        if what == "list" and path.endswith("/snapshot"):
            return call(), What.PARTIAL
        return super().read(what, path, call)


@pytest.mark.parametrize("operation", by_depth([*MERGES, *ROW_MERGES, *PICKS]))
def test_what_landed_stays_whole_where_a_listing_leaves_it_out_afterwards(
    built: Callable[[World], Path], operation: Operation
) -> None:
    origin = built(operation.world)
    landed = _killed_behind_landing(operation, origin)
    operation.run(landed, _ShortLists(inner=store_of(landed)).store)
    assert states.problems(landed / TABLE) == []
    assert states.meaning(landed / TABLE) == states.meaning(origin.parent / "clean" / TABLE)


@pytest.mark.parametrize("operation", by_depth([*MERGES, *ROW_MERGES, *PICKS]))
def test_what_landed_is_told_so_though_what_it_was_made_of_has_expired(
    built: Callable[[World], Path], operation: Operation
) -> None:
    landed = _killed_behind_landing(operation, built(operation.world))
    table = RowBench(landed).table()
    journal = Journal(store_of(landed), table.paths)
    merges = [each for each in journal.unfinished() if each.procedure in _VERBS]
    assert len(merges) == 1
    _expire(table)
    recover(landed)
    end = journal.end_of(merges[0].operation_id)
    assert end is not None
    assert end.ending is Ending.DONE
    receipt = find_receipt(RowBench(landed).table(), merges[0].operation_id)
    assert receipt is not None
    assert [each.after_id for each in receipt.moves] == [table.snapshots.latest_id()]
    assert states.problems(landed / TABLE) == []


def test_a_merge_of_which_nobody_can_tell_whether_it_landed_takes_nothing_back(
    built: Callable[[World], Path],
) -> None:
    landed = _killed_behind_landing(MERGES[0], built(MERGES[0].world))
    RowBench(landed).add("later")
    table = RowBench(landed).table()
    _expire(table)
    receipt = recover(landed)
    assert "has expired. Compare the rows before trying again" in " ".join(receipt.notes)
    end = Journal(store_of(landed), table.paths).end_of("op")
    assert end is not None
    assert end.ending is Ending.STOPPED
    assert states.problems(landed / TABLE) == []


def _expire(table: FileStoreTable) -> None:
    for snapshot_id in table.snapshots.ids()[:-1]:
        Path(table.paths.snapshot(snapshot_id)).unlink()


def _killed_behind_landing(operation: Operation, origin: Path) -> Path:
    """A copy of a world in which an operation was cut off before it said that it had landed."""
    landing = _landing(operation, origin)
    landed = copy_world(origin, origin.parent / "landed")
    killed = FaultyStore(inner=store_of(landed), fault=At(call=landing, when=When.AFTER))
    with pytest.raises(Killed):
        operation.run(landed, killed.store)
    return landed


def _landing(operation: Operation, origin: Path) -> int:
    """Which change of an operation publishes its snapshot; leaves what it ends as in `clean`."""
    counter = FaultyStore(inner=store_of(copy_world(origin, origin.parent / "clean")))
    operation.run(origin.parent / "clean", counter.store)
    return next(i for i, each in enumerate(counter.changes, 1) if "/snapshot-" in each)


def _answer_nothing_afterwards(faulty: FaultyStore) -> None:
    """Let nobody tell what landed once the fault was there: no question for names is answered."""

    def draw(kind: str) -> Fault | None:
        is_asked = kind in {"list", "look"} and faulty.faults
        return Fault(what=What.FAIL) if is_asked else None

    faulty.draw = draw


def test_a_writer_in_between_stops_a_fast_forward_and_loses_nothing(memory_path: Path) -> None:
    root = memory_path / "between"
    root.mkdir()
    ahead(root)
    fast_forward = call("fast_forward", branch="dev")
    counter = FaultyStore(inner=store_of(copy_world(root, memory_path / "count")))
    fast_forward(memory_path / "count", counter.store)
    last = next(i for i, each in enumerate(counter.changes, 1) if each.endswith("/snapshot-4"))

    def commit_on_main() -> None:
        bench = RowBench(root)
        new = bench.message(new_files=bench.files("etl"))
        bench.committer().commit([new], user="etl", identifier=1)

    faulty = FaultyStore(inner=store_of(root), meanwhile={last: commit_on_main})
    with pytest.raises(CommitConflict, match="snapshot-4 was written by somebody else"):
        fast_forward(root, faulty.store)
    bench = RowBench(root)
    assert bench.table().snapshots.get(4).commit_user == "etl"
    assert "data-etl.parquet" in bench.live_names()
    journal = Journal(store_of(root), bench.table().paths)
    end = journal.end_of("op")
    assert end is not None
    assert end.ending is Ending.STOPPED
    assert journal.unfinished() == ()


def test_a_branch_whose_fork_is_gone_is_taken_back_by_recovery(memory_path: Path) -> None:
    root = memory_path / "gone"
    root.mkdir()
    ahead(root)
    before = set(tree(root))
    # Killed right behind the intent and the claim; then the tag and its snapshot go.
    faulty = FaultyStore(inner=store_of(root), fault=At(call=3))
    with pytest.raises(Killed):
        call("create_branch", branch="new", tag="v1")(root, faulty.store)
    paths = RowBench(root).table().paths
    store_of(root).remover.remove([paths.tag("v1"), paths.snapshot(2)])
    recover(root)
    bench = RowBench(root)
    assert bench.table().branches.names() == ("dev",)
    added = set(tree(root)) - before
    assert all("branch-lineage/" in name for name in added)
    assert not any("claim" in name for name in added)


def test_a_tag_made_since_keeps_the_schema_that_it_needs(memory_path: Path) -> None:
    root = memory_path / "tagged"
    root.mkdir()
    ahead(root)
    call("fast_forward", branch="dev")(root, None)
    RowBench(root).tag("kept")
    before = states.exact(root / TABLE)
    with pytest.raises(Refused, match="need schemas that would leave"):
        call("undo", by="undo", operation="op")(root, None)
    assert states.exact(root / TABLE) == before
