"""A model of publishing a catalog merge, small enough that every state of it can be visited.

The commit point is the next version of the target; after it each table gets one snapshot, and a
mark that is made once decides whether the merge goes forward or back. A runner and those who
recover it work at once, sleep as long as they like and may die; other engines commit in between.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple

from tests.support.publish_model import visit_all

MERGE: Final = 1
_REVERT: Final = -MERGE
FITTING: Final = 2
"""A commit of another engine behind which the merge of that table still fits."""
CLASHING: Final = 3
"""A commit of another engine that the merge of that table conflicts with."""

_TABLES: Final = 2


class BrokenPublish(StrEnum):
    """Ways to build it wrong, each of which a law must catch."""

    NO_FENCE = "recovery rolls back without a void version"
    NO_MARK = "who turns back tells nobody"
    NO_LATE_LOOK = "recovery believes an end, and does not look for late publishes"
    TWO_MARKS = "going forward and turning back do not exclude each other"
    NO_OWN_LOOK = "what an earlier runner published is not looked for"


class Step(StrEnum):
    """What an actor does next."""

    LOOK = "look"
    COMMIT = "commit"
    VOID = "void"
    CHECK = "check"
    PUBLISH = "publish"
    LOOK_AFTER = "look after"
    GO_FORWARD = "mark forward"
    TURN = "mark back"
    TAKE_BACK = "take back"
    END = "end"
    DONE = "done"


class Actor(NamedTuple):
    """A runner, or somebody who recovers: what it does next, and what it has read.

    Attributes:
        seen: The number of versions, or of snapshots of the table that it is at.
        how: How it believes that the operation ends.
    """

    recovers: bool
    step: Step = Step.LOOK
    table: int = 0
    seen: int = 0
    how: str = ""


class State(NamedTuple):
    """All that is on the disk, who is at work, and what others have yet to commit.

    Attributes:
        expects: The lengths of the histories that the commit point names.
        tired: How often an actor may give up to go forward, though it could.
        is_last: Whether the last recovery began, which comes when all others are done or dead.
    """

    versions: tuple[str, ...]
    expects: tuple[int, ...]
    histories: tuple[tuple[int, ...], ...]
    mark: str
    end: str
    actors: tuple[Actor, ...]
    foreign: tuple[tuple[int, int], ...]
    deaths: int
    tired: int
    is_last: bool = False


@dataclass(frozen=True, kw_only=True)
class PublishModel:
    """One merge of two tables.

    Attributes:
        recoverers: How many recover while the runner may be at work.
        foreign: Commits of others: to which table, and of which kind.
        deaths: How many of the actors may die.
        tired: How often an actor may give up to go forward, though it could.
    """

    recoverers: int = 1
    foreign: tuple[tuple[int, int], ...] = ()
    deaths: int = 1
    tired: int = 1
    broken: BrokenPublish | None = None
    visited: set[State] = field(default_factory=set)

    def visit(self) -> str | None:
        """Visit every state that can be reached; return how a law was broken, if one was."""
        actors = (Actor(recovers=False), *[Actor(recovers=True)] * self.recoverers)
        first = State(
            versions=(),
            expects=(),
            histories=((),) * _TABLES,
            mark="",
            end="",
            actors=actors,
            foreign=self.foreign,
            deaths=self.deaths,
            tired=self.tired,
        )
        return visit_all(first, self.violation, self.next, self.visited)

    def violation(self, state: State) -> str | None:
        """The law that a state breaks: all or nothing holds wherever nobody is at work."""
        for history in state.histories:
            if history.count(MERGE) - history.count(_REVERT) not in (0, 1):
                return f"MergeOnce: a table was merged twice: {state}"
        is_quiet = all(each.step is Step.DONE for each in state.actors)
        if not is_quiet or (state.deaths < self.deaths and not state.is_last):
            return None
        holds = [_holds(each) for each in state.histories]
        if any(holds) != all(holds):
            return f"AtomicCatalogMerge: some tables hold it, some do not: {state}"
        if (state.end == "done") != all(holds):
            return f"AtomicCatalogMerge: its end is {state.end!r}: {state}"
        if "merged" in state.versions and ("turned back" in state.versions) == all(holds):
            return f"AtomicCatalogMerge: the ledger tells otherwise: {state}"
        return None

    def next(self, state: State) -> Iterator[State]:
        """Every state that one step of one actor, or of another engine, leads to."""
        for number, (table, kind) in enumerate(state.foreign):
            left = state.foreign[:number] + state.foreign[number + 1 :]
            yield _with_snapshot(state._replace(foreign=left), table, kind)
        for at, actor in enumerate(state.actors):
            if actor.step is Step.DONE:
                continue
            yield from self._step(state, at, actor)
            if state.deaths:
                died = state._replace(deaths=state.deaths - 1)
                yield _with(died, at, actor._replace(step=Step.DONE))
        if not state.is_last and all(each.step is Step.DONE for each in state.actors):
            yield state._replace(actors=(Actor(recovers=True),), is_last=True)

    def _step(self, state: State, at: int, actor: Actor) -> Iterator[State]:
        match actor.step:
            case Step.LOOK:
                yield _with(state, at, self._looked(state, actor))
            case Step.COMMIT:
                # The heads are those of now: a verify that finds them moved decides anew.
                if len(state.versions) != actor.seen:
                    yield _with(state, at, actor._replace(step=Step.LOOK))
                    return
                heads = tuple(map(len, state.histories))
                made = state._replace(versions=(*state.versions, "merged"), expects=heads)
                yield _with(made, at, actor._replace(step=Step.CHECK, table=0))
            case Step.VOID:
                if len(state.versions) != actor.seen:
                    yield _with(state, at, actor._replace(step=Step.LOOK))
                    return
                if self.broken is not BrokenPublish.NO_FENCE:
                    state = state._replace(versions=(*state.versions, "void"))
                yield _with(state, at, actor._replace(step=Step.END, how="rolled back"))
            case Step.CHECK:
                yield from self._check(state, at, actor)
            case Step.PUBLISH:
                if len(state.histories[actor.table]) != actor.seen:
                    yield _with(state, at, actor._replace(step=Step.CHECK))
                    return
                made = _with_snapshot(state, actor.table, MERGE)
                yield _with(made, at, actor._replace(step=Step.LOOK_AFTER))
            case Step.LOOK_AFTER:
                is_back = state.mark == "back"
                after = actor._replace(step=Step.TAKE_BACK) if is_back else _onward(actor)
                yield _with(state, at, after)
            case Step.GO_FORWARD:
                mark = state.mark or "forward"
                if self.broken in (BrokenPublish.TWO_MARKS, BrokenPublish.NO_MARK):
                    mark = state.mark
                step = Step.TAKE_BACK if mark == "back" else Step.END
                yield _with(state._replace(mark=mark), at, actor._replace(step=step, how="done"))
            case Step.TURN:
                mark = state.mark or "back"
                if self.broken is BrokenPublish.NO_MARK:
                    yield _with(state, at, actor._replace(step=Step.TAKE_BACK))
                    return
                step = Step.TAKE_BACK if mark == "back" else Step.LOOK
                yield _with(state._replace(mark=mark), at, actor._replace(step=step))
            case Step.TAKE_BACK:
                yield self._take_back(state, at, actor)
            case Step.END:
                ended = state._replace(end=state.end or actor.how)
                yield _with(ended, at, actor._replace(step=Step.DONE))

    def _looked(self, state: State, actor: Actor) -> Actor:
        """What an actor does that knows nothing but its operation."""
        if state.mark == "back" and not (state.end and self.broken is BrokenPublish.NO_LATE_LOOK):
            return actor._replace(step=Step.TAKE_BACK)
        if state.end:
            return actor._replace(step=Step.DONE)
        if "void" in state.versions:
            return actor._replace(step=Step.END, how="rolled back")
        if "merged" in state.versions:
            return actor._replace(step=Step.CHECK, table=0)
        step = Step.VOID if actor.recovers else Step.COMMIT
        return actor._replace(step=step, seen=len(state.versions))

    def _check(self, state: State, at: int, actor: Actor) -> Iterator[State]:
        """Look at the mark and at the table that is next."""
        history = state.histories[actor.table]
        if state.mark == "back":
            yield _with(state, at, actor._replace(step=Step.TAKE_BACK))
        elif _holds(history) and self.broken is not BrokenPublish.NO_OWN_LOOK:
            yield _with(state, at, _onward(actor))
        elif CLASHING in history[state.expects[actor.table] :]:
            yield _with(state, at, actor._replace(step=Step.TURN))
        else:
            yield _with(state, at, actor._replace(step=Step.PUBLISH, seen=len(history)))
            if state.tired:
                # It planned the table again too often, or for too long.
                tired = state._replace(tired=state.tired - 1)
                yield _with(tired, at, actor._replace(step=Step.TURN))

    def _take_back(self, state: State, at: int, actor: Actor) -> State:
        for table in reversed(range(_TABLES)):
            history = state.histories[table]
            if not _holds(history):
                continue
            if history[-1] != MERGE:
                return _with_snapshot(state, table, _REVERT)
            histories = list(state.histories)
            histories[table] = history[:-1]
            return state._replace(histories=tuple(histories))
        if "turned back" not in state.versions:
            return state._replace(versions=(*state.versions, "turned back"))
        return _with(state, at, actor._replace(step=Step.END, how="turned back"))


def _holds(history: tuple[int, ...]) -> bool:
    return history.count(MERGE) > history.count(_REVERT)


def _onward(actor: Actor) -> Actor:
    """What comes behind a table that holds the merge."""
    if actor.table + 1 < _TABLES:
        return actor._replace(step=Step.CHECK, table=actor.table + 1)
    return actor._replace(step=Step.GO_FORWARD)


def _with_snapshot(state: State, table: int, snapshot: int) -> State:
    histories = list(state.histories)
    histories[table] = (*histories[table], snapshot)
    return state._replace(histories=tuple(histories))


def _with(state: State, at: int, actor: Actor) -> State:
    return state._replace(actors=(*state.actors[:at], actor, *state.actors[at + 1 :]))
