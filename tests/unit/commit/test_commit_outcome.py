"""What a try of a commit comes to: by what the store answers at each of its six places.

A try reads the head, looks whether an earlier one is in the history, sees whether the head is the
one that was asked for, prepares, publishes in its turn, and confirms.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pytest

from branch_console.commit.base.commit_message import CommitMessage
from branch_console.commit.snapshot.commit_outcome import (
    Landed,
    SnapshotState,
    Tried,
    TryAgain,
    Why,
    outcome_of,
)
from branch_console.commit.snapshot.live_file_tracker import LiveFileTracker
from branch_console.errors import PaimonError, StorageError
from branch_console.format.snapshot import SnapshotIdentity
from branch_console.storage.file_publisher import Published
from tests.support.commit_tables import CommitBench, data_files, message
from tests.support.meddler import meddled

Publish: TypeAlias = Callable[[str, bytes], Published]
Answer: TypeAlias = Callable[[CommitBench], Publish]

_MINE = (message(new_files=data_files(["mine"])),)
_NOT_THERE = (message(deleted_files=data_files(["nowhere"])),)


def won(bench: CommitBench) -> Publish:
    return bench.store.publisher.publish


def lost(bench: CommitBench) -> Publish:
    """Another writer has the number first."""

    def answer(path: str, data: bytes) -> Published:
        bench.append(f"other-{len(bench.table().snapshots.ids())}", user="other")
        return bench.store.publisher.publish(path, data)

    return answer


def unknown_and_absent(bench: CommitBench) -> Publish:
    return lambda _path, _data: Published.UNKNOWN


def unknown_and_there(bench: CommitBench) -> Publish:
    def answer(path: str, data: bytes) -> Published:
        bench.store.publisher.publish(path, data)
        return Published.UNKNOWN

    return answer


def failed_and_there(bench: CommitBench) -> Publish:
    def answer(path: str, data: bytes) -> Published:
        bench.store.publisher.publish(path, data)
        raise StorageError(f"{path}: the store did not answer (injected).")

    return answer


def failed_and_absent(bench: CommitBench) -> Publish:
    def answer(path: str, data: bytes) -> Published:
        raise StorageError(f"{path}: the store did not answer (injected).")

    return answer


def unknown_there_and_built_on(bench: CommitBench) -> Publish:
    """Nobody tells that it is there, and the next commit is built on it."""

    def answer(path: str, data: bytes) -> Published:
        bench.store.publisher.publish(path, data)
        bench.append("later", user="other")
        return Published.UNKNOWN

    return answer


def replaced(bench: CommitBench) -> Publish:
    """A writer that does not ask puts a snapshot of its own in its place."""

    def answer(path: str, data: bytes) -> Published:
        won = bench.store.publisher.publish(path, data)
        other = data.replace(b'"commitUser" : "me"', b'"commitUser" : "rude"')
        other = other.replace(b'"uuid" : "', b'"uuid" : "0')
        assert bench.store.publisher.replace(path, other)
        return won

    return answer


def base_gone(bench: CommitBench) -> Publish:
    """What it stands on is taken back meanwhile."""

    def answer(path: str, data: bytes) -> Published:
        head = bench.table().snapshots.latest_id()
        assert head is not None
        bench.store.remover.remove([bench.table().paths.snapshot(head)])
        return bench.store.publisher.publish(path, data)

    return answer


@dataclass(frozen=True, kw_only=True)
class Case:
    """What happens at which place, and what it comes to.

    Attributes:
        answers: To one publish each; more are won.
        outcome: The number of the snapshot, or the kind of the error.
        ids: The snapshots that are there at the end.
        keeps: Whether metadata comes to stay that no snapshot names.
    """

    place: str
    answers: Sequence[Answer] = ()
    messages: Sequence[CommitMessage] = _MINE
    seen_id: int | None = None
    guard_id: int | None = None
    earlier: bool = False
    retries: int = 3
    outcome: int | str
    ids: tuple[int, ...]
    keeps: bool = False


CASES = {
    "the head is read and it is won": Case(place="head", outcome=3, ids=(1, 2, 3)),
    "an earlier try is in the history": Case(
        place="earlier", earlier=True, seen_id=2, outcome=3, ids=(1, 2, 3)
    ),
    "an earlier try is not there": Case(place="earlier", seen_id=2, outcome=3, ids=(1, 2, 3)),
    "the guard holds": Case(place="guard", guard_id=2, outcome=3, ids=(1, 2, 3)),
    "the guard does not hold": Case(place="guard", guard_id=1, outcome="HEAD_MOVED", ids=(1, 2)),
    "the guard does not hold any more": Case(
        place="guard", guard_id=2, answers=(lost,), outcome="HEAD_MOVED", ids=(1, 2, 3)
    ),
    "what goes is not there": Case(
        place="prepare", messages=_NOT_THERE, outcome="COMMIT_CONFLICT", ids=(1, 2)
    ),
    "lost once": Case(place="publish", answers=(lost,), outcome=4, ids=(1, 2, 3, 4)),
    "lost each time": Case(
        place="publish",
        answers=(lost, lost),
        retries=1,
        outcome="COMMIT_CONFLICT",
        ids=(1, 2, 3, 4),
    ),
    "unknown and there": Case(
        place="publish", answers=(unknown_and_there,), outcome=3, ids=(1, 2, 3)
    ),
    "unknown and absent": Case(
        place="publish", answers=(unknown_and_absent,), outcome=3, ids=(1, 2, 3)
    ),
    "unknown, there, and the next is built on it": Case(
        place="publish", answers=(unknown_there_and_built_on,), outcome=3, ids=(1, 2, 3, 4)
    ),
    "unknown to the end, and there": Case(
        place="publish", answers=(unknown_and_there,), retries=0, outcome=3, ids=(1, 2, 3)
    ),
    "unknown to the end, and absent": Case(
        place="publish",
        answers=(unknown_and_absent,),
        retries=0,
        outcome="COMMIT_CONFLICT",
        ids=(1, 2),
        keeps=True,
    ),
    "an error and there": Case(
        place="publish", answers=(failed_and_there,), outcome=3, ids=(1, 2, 3)
    ),
    "an error to the end, and absent": Case(
        place="publish",
        answers=(failed_and_absent,),
        retries=0,
        outcome="STORE_UNREACHABLE",
        ids=(1, 2),
        keeps=True,
    ),
    "won and replaced": Case(place="confirm", answers=(replaced,), outcome=3, ids=(1, 2, 3)),
    "won on what is gone": Case(place="confirm", answers=(base_gone,), outcome=2, ids=(1, 2)),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_the_store_answers_is_what_a_commit_comes_to(case: Case, tmp_path: Path) -> None:
    bench = CommitBench(tmp_path, options={"commit.max-retries": str(case.retries)})
    bench.append("a")
    bench.append("b")
    if case.earlier:
        bench.committer().commit(_MINE, user="me", identifier=7)
    before = bench.manifest_names()
    committer = meddled(bench, *(each(bench) for each in case.answers))
    guard = None if case.guard_id is None else identity_of(bench, case.guard_id)
    outcome: int | str
    try:
        landed = committer.commit(
            case.messages, user="me", identifier=7, seen_id=case.seen_id, expected_head=guard
        )
        assert landed is not None
        outcome = landed.id
    except PaimonError as error:
        outcome = str(error.kind)
    assert (outcome, bench.table().snapshots.ids()) == (case.outcome, case.ids)
    assert bool(unnamed(bench) - before) == case.keeps


def identity_of(bench: CommitBench, snapshot_id: int) -> SnapshotIdentity:
    return bench.table().snapshots.get(snapshot_id).identity


def unnamed(bench: CommitBench) -> set[str]:
    """Files of metadata that no snapshot names."""
    table, named = bench.table(), set()
    for snapshot in table.snapshots.all():
        named |= {snapshot.base_manifest_list, snapshot.delta_manifest_list}
        named |= set(table.manifests(snapshot)["file_name"].to_pylist())
    return bench.manifest_names() - named


_AGAIN = {
    (Published.LOST, SnapshotState.NOT_LOOKED): Why.LOST,
    (Published.UNKNOWN, SnapshotState.NOT_LOOKED): Why.UNKNOWN,
    (Published.WON, SnapshotState.REPLACED): Why.REPLACED,
    (Published.WON, SnapshotState.WITHDRAWN): Why.BASE_LOST,
    (Published.WON, SnapshotState.STANDS): None,
    (None, SnapshotState.STANDS): None,
    (None, SnapshotState.REPLACED): Why.OTHER_REPLACED_OURS,
}


@pytest.mark.parametrize(("seen", "why"), _AGAIN.items(), ids=str)
def test_a_commit_stands_or_is_tried_again_and_the_reason_is_told(
    seen: tuple[Published | None, SnapshotState], why: Why | None, tmp_path: Path
) -> None:
    bench = CommitBench(tmp_path)
    snapshot = bench.append("a")
    tried = Tried(seen_id=0, may_have_landed=False, live=LiveFileTracker(bench.table(), None))
    match outcome_of(snapshot, tried, *seen):
        case Landed() as landed:
            assert (why, landed.snapshot) == (None, snapshot)
        case TryAgain() as again:
            assert (again.why, again.tried) == (why, tried)


@pytest.mark.parametrize("answer", Published)
def test_only_what_was_not_lost_may_be_in_the_history(answer: Published, tmp_path: Path) -> None:
    bench = CommitBench(tmp_path)
    head, afresh = bench.append("a"), LiveFileTracker(bench.table(), None)
    first = Tried(seen_id=None, may_have_landed=False, live=LiveFileTracker(bench.table(), None))
    error = StorageError("The store did not answer.")
    after = first.after(head, answer, error, afresh)
    assert (after.seen_id, after.failure) == (1, error)
    is_lost = answer is Published.LOST
    assert (after.may_have_landed, after.was_sent_here) == (not is_lost, not is_lost)
    assert after.live is (first.live if is_lost else afresh)
    # What was sent once stays so, whatever is lost after it.
    again = after.after(None, Published.LOST, None, afresh)
    assert (again.seen_id, again.may_have_landed) == (0, not is_lost)
    assert again.failure is None
