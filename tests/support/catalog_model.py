"""A model of merging several tables at once, small enough that every state of it can be visited.

One entry of a journal is the commit point. What was to be published on each table is written down
in it, so that whoever comes after a death finishes all tables, or takes all back where one moved.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from tests.support.publish_model import visit_all

TABLES: Final = ("a", "b")
MERGE: Final = "a merge of all tables"


class BrokenCatalog(StrEnum):
    """Ways to build it wrong, each of which the law must catch."""

    TABLE_BY_TABLE = "each table is published for itself, without a journal"
    KEEPS_HALF = "where one table moved, the others stay merged"
    FORGETS = "who comes after a death begins anew, without a look at the journal"


class Entry(StrEnum):
    """What the journal says of a merge."""

    BEGUN = "begun"
    DONE = "done"
    TAKEN_BACK = "taken back"


class Step(StrEnum):
    """Where a writer is in its merge."""

    LOOK = "look"
    BEGIN = "begin"
    PUBLISH = "publish"
    TAKE_BACK = "take back"
    ANSWER = "answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Journalled:
    """A merge in the journal, and the length of each history that it was decided on."""

    entry: Entry
    heads: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """A writer: what it has yet to do, and what it remembers."""

    left: tuple[int, ...]
    step: Step = Step.LOOK
    heads: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Histories hold operations; one that is taken back stands there a second time, negative."""

    histories: tuple[tuple[int, ...], ...]
    journal: tuple[Journalled | None, ...]
    writers: tuple[Writer, ...]
    answered: frozenset[int] = frozenset()
    deaths: int = 0


@dataclass(frozen=True, kw_only=True)
class CatalogModel:
    """Operations for some writers: commits to one table, by its name, and merges.

    Attributes:
        operations: All of them by number, from 1.
        deals: For each writer its operations, in order.
        deaths: How often a writer may die.
    """

    operations: Mapping[int, str]
    deals: tuple[tuple[int, ...], ...]
    deaths: int = 1
    broken: BrokenCatalog | None = None
    visited: set[State] = field(default_factory=set)

    def visit(self) -> str | None:
        """Visit every state that can be reached; return how a law was broken, if one was."""
        first = State(
            histories=((),) * len(TABLES),
            journal=(None,) * (len(self.operations) + 1),
            writers=tuple(Writer(left=deal) for deal in self.deals),
        )
        return visit_all(first, self.violation, self.next, self.visited)

    def violation(self, state: State) -> str | None:
        """How a state breaks the law: what the journal tells of a merge holds for every table."""
        for number, what in self.operations.items():
            if what != MERGE:
                continue
            if any(history.count(number) > 1 for history in state.histories):
                return f"MergeOnce: a table was merged twice: {state}"
            holds = [number in each and -number not in each for each in state.histories]
            told = state.journal[number]
            entry = None if told is None else told.entry
            if number in state.answered and entry is not Entry.TAKEN_BACK and not all(holds):
                return f"AtomicCatalogMerge: it was answered, and some tables lack it: {state}"
            if entry is Entry.DONE and not all(holds):
                return f"AtomicCatalogMerge: it is done, and some tables lack it: {state}"
            if entry in (None, Entry.TAKEN_BACK) and any(holds):
                return f"AtomicCatalogMerge: nothing was merged, and some tables hold it: {state}"
        return None

    def next(self, state: State) -> Iterator[State]:
        """Every state that one step of one writer leads to."""
        for at, writer in enumerate(state.writers):
            if not writer.left:
                continue
            number = writer.left[0]
            what = self.operations[number]
            if what != MERGE:
                yield self._with(self._put(state, TABLES.index(what), number), at, _done(writer))
                continue
            yield self._step(state, at, writer, number)
            if state.deaths < self.deaths and writer.step is not Step.LOOK:
                forgetting = self.broken is BrokenCatalog.FORGETS
                step = Step.BEGIN if forgetting else Step.LOOK
                died = replace(state, deaths=state.deaths + 1)
                yield self._with(died, at, Writer(left=writer.left, step=step))

    def _step(self, state: State, at: int, writer: Writer, number: int) -> State:
        told = state.journal[number]
        match writer.step:
            case Step.LOOK:
                if told is None:
                    return self._with(state, at, replace(writer, step=Step.BEGIN))
                open_step = Step.PUBLISH if told.entry is Entry.BEGUN else Step.ANSWER
                return self._with(state, at, replace(writer, step=open_step, heads=told.heads))
            case Step.BEGIN:
                heads = tuple(len(each) for each in state.histories)
                if self.broken is not BrokenCatalog.TABLE_BY_TABLE:
                    state = _noted(state, number, Journalled(entry=Entry.BEGUN, heads=heads))
                return self._with(state, at, replace(writer, step=Step.PUBLISH, heads=heads))
            case Step.PUBLISH:
                return self._publish(state, at, writer, number)
            case Step.TAKE_BACK:
                return self._take_back(state, at, writer, number)
            case Step.ANSWER:
                return self._with(
                    replace(state, answered=state.answered | {number}), at, _done(writer)
                )

    def _publish(self, state: State, at: int, writer: Writer, number: int) -> State:
        for table, history in enumerate(state.histories):
            place = writer.heads[table]
            if len(history) == place:
                return self._put(state, table, number)
            if history[place] != number:
                return self._with(state, at, replace(writer, step=Step.TAKE_BACK))
        if self.broken is not BrokenCatalog.TABLE_BY_TABLE:
            state = _noted(state, number, Journalled(entry=Entry.DONE, heads=writer.heads))
        return self._with(state, at, replace(writer, step=Step.ANSWER))

    def _take_back(self, state: State, at: int, writer: Writer, number: int) -> State:
        for table, history in enumerate(state.histories):
            is_left = number in history and -number not in history
            if is_left and self.broken is not BrokenCatalog.KEEPS_HALF:
                return self._put(state, table, -number)
        entry = Journalled(entry=Entry.TAKEN_BACK, heads=writer.heads)
        return self._with(_noted(state, number, entry), at, replace(writer, step=Step.ANSWER))

    def _put(self, state: State, table: int, number: int) -> State:
        histories = list(state.histories)
        histories[table] = (*histories[table], number)
        return replace(state, histories=tuple(histories))

    def _with(self, state: State, at: int, writer: Writer) -> State:
        writers = (*state.writers[:at], writer, *state.writers[at + 1 :])
        return replace(state, writers=writers)


def _noted(state: State, number: int, entry: Journalled) -> State:
    journal = (*state.journal[:number], entry, *state.journal[number + 1 :])
    return replace(state, journal=journal)


def _done(writer: Writer) -> Writer:
    return Writer(left=writer.left[1:])
