"""A model of publishing and merging, small enough that every state of it can be visited.

A branch is a history of snapshots. A writer does its operations one after the other: it reads the
heads, publishes under the next id, looks for itself where the answer was lost or the id was taken,
and answers. It may die between any two steps; whoever repeats the operation begins by looking.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import product
from typing import Any, Final, NamedTuple

BRANCHES: Final = ("main", "dev")


class Broken(StrEnum):
    """Ways to build it wrong, each of which a law must catch."""

    OVERWRITES = "a publish replaces what has its id"
    KEEPS_BASE = "a merge does not move the base"
    ANSWERS_EARLY = "the answer is given before the publish"
    LOOKS_NOT = "whose answer was lost tries again without a look"


class Operation(NamedTuple):
    """A commit to `target`, or a merge of `source` into it."""

    target: str
    source: str | None = None


OPERATIONS: Final = tuple(
    Operation(target, source)
    for target in BRANCHES
    for source in (None, *(each for each in BRANCHES if each != target))
)


class Snapshot(NamedTuple):
    """What one snapshot brought: by whom, which changes, and up to where it merged which branch."""

    operation: int
    changes: frozenset[int]
    merged: tuple[str, int] | None = None


History = tuple[Snapshot, ...]


class Step(StrEnum):
    """Where a writer is in its operation."""

    BEGIN = "begin"
    PUBLISH = "publish"
    LOOK = "look"
    ANSWER = "answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """A writer: what it has yet to do, and what it read."""

    left: tuple[int, ...]
    step: Step = Step.BEGIN
    seen: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The store, the writers, and who was told that an operation is done."""

    histories: tuple[History, ...]
    writers: tuple[Writer, ...]
    answered: frozenset[int] = frozenset()
    deaths: int = 0


def visit_all(
    first: Any,
    violation: Callable[[Any], str | None],
    following: Callable[[Any], Iterable[Any]],
    visited: set[Any],
) -> str | None:
    """Visit every state that can be reached; return how one broke a law, if any did."""
    waiting = [first]
    while waiting:
        state = waiting.pop()
        if state in visited:
            continue
        visited.add(state)
        if found := violation(state):
            return found
        waiting.extend(following(state))
    return None


@dataclass(frozen=True, kw_only=True)
class Model:
    """A plan of operations for some writers, and how publishing works.

    Attributes:
        operations: All operations; their place is their id.
        deals: For each writer its operations, in order.
        deaths: How often a writer may die, or an answer may get lost.
    """

    operations: tuple[Operation, ...]
    deals: tuple[tuple[int, ...], ...]
    deaths: int = 1
    broken: Broken | None = None
    visited: set[State] = field(default_factory=set)

    def visit(self) -> str | None:
        """Visit every state that can be reached; return how a law was broken, None if it holds."""
        first = State(
            histories=((),) * len(BRANCHES),
            writers=tuple(Writer(left=deal) for deal in self.deals),
        )
        return visit_all(first, self.violation, self.next, self.visited)

    def next(self, state: State) -> Iterator[State]:
        """Every state that one step of one writer leads to."""
        for number, writer in enumerate(state.writers):
            if not writer.left:
                continue
            yield from self._steps(state, number, writer)
            if state.deaths < self.deaths and writer.step is not Step.BEGIN:
                # Who repeats the operation starts with a look: it has the id, and read nothing.
                died = replace(writer, step=Step.LOOK)
                yield self._with(replace(state, deaths=state.deaths + 1), number, died)

    def violation(self, state: State) -> str | None:
        """The law that a state breaks, in a sentence."""
        for name, history in zip(BRANCHES, state.histories, strict=True):
            changes = [each for snapshot in history for each in snapshot.changes]
            if len(changes) != len(set(changes)):
                return f"MergeOnce: {name} has a change twice: {history}"
            bases = [snapshot.merged[1] for snapshot in history if snapshot.merged]
            if bases != sorted(bases):
                return f"BaseMonotone: {name} went back to an older base: {history}"
        for operation in state.answered:
            history = state.histories[BRANCHES.index(self.operations[operation].target)]
            if not any(each.operation == operation for each in history):
                return f"NoLostAck: operation {operation} was answered and is not there: {state}"
        return None

    def _steps(self, state: State, number: int, writer: Writer) -> Iterator[State]:
        operation = writer.left[0]
        target = BRANCHES.index(self.operations[operation].target)
        history = state.histories[target]
        match writer.step:
            case Step.BEGIN:
                seen = tuple(len(each) for each in state.histories)
                told = replace(state, answered=state.answered | {operation})
                early = self.broken is Broken.ANSWERS_EARLY
                reading = replace(writer, step=Step.PUBLISH, seen=seen)
                yield self._with(told if early else state, number, reading)
            case Step.PUBLISH:
                at = writer.seen[target]
                if at < len(history) and self.broken is not Broken.OVERWRITES:
                    yield self._with(state, number, replace(writer, step=Step.LOOK))
                    return
                grown = (*history[:at], self._snapshot(state, operation, writer.seen))
                histories = tuple(
                    grown if each == target else old for each, old in enumerate(state.histories)
                )
                published = replace(state, histories=histories)
                yield self._with(published, number, replace(writer, step=Step.ANSWER))
                if state.deaths < self.deaths:
                    lost = replace(published, deaths=state.deaths + 1)
                    yield self._with(lost, number, replace(writer, step=Step.LOOK))
            case Step.LOOK:
                is_there = any(each.operation == operation for each in history)
                looks = self.broken is not Broken.LOOKS_NOT
                step = Step.ANSWER if is_there and looks else Step.BEGIN
                yield self._with(state, number, replace(writer, step=step, seen=()))
            case Step.ANSWER:
                told = replace(state, answered=state.answered | {operation})
                yield self._with(told, number, Writer(left=writer.left[1:]))

    def _snapshot(self, state: State, number: int, seen: tuple[int, ...]) -> Snapshot:
        operation = self.operations[number]
        if operation.source is None:
            return Snapshot(number, frozenset({number}))
        source, target = (BRANCHES.index(each) for each in (operation.source, operation.target))
        ours = state.histories[target][: seen[target]]
        theirs = state.histories[source][: seen[source]]
        base = max((each.merged[1] for each in ours if each.merged), default=0)
        # What the source itself got from the target is no change of the source.
        own = (snapshot.changes for snapshot in theirs[base:] if snapshot.merged is None)
        changes = frozenset().union(*own)
        upto = base if self.broken is Broken.KEEPS_BASE else len(theirs)
        return Snapshot(number, changes, (operation.source, upto))

    def _with(self, state: State, number: int, writer: Writer) -> State:
        writers = (*state.writers[:number], writer, *state.writers[number + 1 :])
        return replace(state, writers=writers)


def deals(operations: int, writers: int) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Every way to give operations to writers, each in order."""
    for owners in product(range(writers), repeat=operations):
        if owners[0] == 0:  # writers are alike
            yield tuple(
                tuple(each for each in range(operations) if owners[each] == writer)
                for writer in range(writers)
            )
