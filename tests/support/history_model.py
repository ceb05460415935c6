"""What merges, picks, reverts and rollbacks leave of rows: a graph of states, and no files at all.

Each write of a row gets a new version, so that a version tells by which write it came.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

Rows: TypeAlias = Mapping[int, int]
"""The version of the row of each key."""
Known: TypeAlias = frozenset[tuple[int, int]]
"""Keys with a version, or with the complement of one: that it was deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What one commit left.

    Attributes:
        parents: What it builds on, over merges too.
        known: What was taken in and not taken back, though it may have been deleted since.
        is_reverting: Of a revert, and of one that was picked, the state that it took back and the
            one before that.
    """

    rows: Rows
    parents: tuple[str, ...] = ()
    known: Known = frozenset()
    takes_back: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreeWayRows:
    """What is left of three states, and the keys that both sides changed otherwise."""

    rows: Rows
    conflicts: frozenset[int]


@dataclass(slots=True)
class HistoryModel:
    """All states by the names of their commits."""

    states: dict[str, State] = field(default_factory=dict)

    def commit(self, name: str, rows: Rows, on: str | None) -> None:
        """Rows were written, or files were written again."""
        if on is None:
            self._add(name, State(rows=rows))
            return
        before = self.states[on]
        gone = {(key, ~version) for key, version in before.rows.items() if key not in rows}
        self._add(name, State(rows=rows, parents=(on,), known=before.known | gone))

    def merge(self, name: str, rows: Rows, ours: str, theirs: str) -> None:
        """All of two histories is known, whatever is left of it, but for what one took back."""
        mine, other = self.states[ours].known, self.states[theirs].known
        in_base = frozenset[tuple[int, int]]().union(
            *(self.states[each].known for each in self.bases(ours, theirs))
        )
        known = (mine & other) | ((mine | other) - in_base)
        self._add(name, State(rows=rows, parents=(ours, theirs), known=known))

    def pick(self, name: str, rows: Rows, ours: str, before: str, theirs: str) -> None:
        """What one commit brought is known; what it took back is not any more."""
        picked, held = self.states[theirs], self.states[ours].known
        brought = picked.known - self.states[before].known
        known = held | {each for each in brought if _holds(rows, *each)}
        if picked.takes_back is not None:
            known -= self._brought(*picked.takes_back)
        state = State(rows=rows, parents=(ours,), known=known, takes_back=picked.takes_back)
        self._add(name, state)

    def revert(self, name: str, rows: Rows, ours: str, undone: str, before: str) -> None:
        """What a commit brought is as if it had never come, what it took is known again."""
        known = self.states[ours].known - self._brought(undone, before)
        known |= self._brought(before, undone)
        state = State(rows=rows, parents=(ours,), known=known, takes_back=(undone, before))
        self._add(name, state)

    def roll_back(self, name: str, ours: str, then: str) -> None:
        """Nothing is known of what came since then."""
        old = self.states[then]
        self._add(name, State(rows=old.rows, parents=(ours,), known=old.known))

    def has_taken(self, state: str, before: str, picked: str) -> bool:
        """Whether what a commit wrote has come to a state, on whatever way."""
        brought = {each for each in self._brought(picked, before) if each[1] >= 0}
        return picked in self.ancestors(state) or (
            bool(brought) and brought <= self.states[state].known
        )

    def ancestors(self, name: str) -> frozenset[str]:
        """A state and all that it builds on."""
        found: set[str] = set()
        reached = [name]
        while reached:
            each = reached.pop()
            if each not in found:
                found.add(each)
                reached += self.states[each].parents
        return frozenset(found)

    def bases(self, ours: str, theirs: str) -> list[str]:
        """The best common ancestors of two states."""
        common = self.ancestors(ours) & self.ancestors(theirs)
        older = {each for one in common for each in self.ancestors(one) - {one}}
        return sorted(common - older)

    def merged(
        self, base: str, ours: str, theirs: str, *, knows: bool = True, again: bool = False
    ) -> ThreeWayRows:
        """The three-way merge of states, by row.

        Args:
            base: The state that both are compared with.
            ours: The state of the target.
            theirs: That of the source.
            knows: Whether what both took in on their own counts as if they had it from the base.
            again: Whether that is so too of what the base had known, and given up.
        """
        then, mine, other = (self.states[each].rows for each in (base, ours, theirs))
        if knows:
            told = () if again else self.ancestors(base)
            taken = {**then, **self._taken_by_both(told, ours, theirs)}
            then = {key: version for key, version in taken.items() if version >= 0}
        rows: dict[int, int] = {}
        conflicts = set()
        for key in then.keys() | mine.keys() | other.keys():
            old, left, right = then.get(key), mine.get(key), other.get(key)
            if left not in (right, old) and right != old:
                conflicts.add(key)
            version = right if left == old else left
            if version is not None:
                rows[key] = version
        return ThreeWayRows(rows=rows, conflicts=frozenset(conflicts))

    def _taken_by_both(self, told: Iterable[str], ours: str, theirs: str) -> dict[int, int]:
        both = self.states[ours].known & self.states[theirs].known
        both = both.difference(*(self.states[each].known for each in told))
        # Of several versions of a row the newest one was taken in last, its delete after it.
        return dict(sorted(both, key=lambda each: (max(each[1], ~each[1]), -each[1])))

    def _brought(self, state: str, before: str) -> Known:
        return self.states[state].known - self.states[before].known

    def _add(self, name: str, state: State) -> None:
        assert name not in self.states, "a commit has a name of its own"
        there = frozenset(state.rows.items())
        known = (state.known | there) - {(key, ~version) for key, version in there}
        self.states[name] = State(
            rows=state.rows, parents=state.parents, known=known, takes_back=state.takes_back
        )


def _holds(rows: Rows, key: int, version: int) -> bool:
    return rows.get(key) == version if version >= 0 else key not in rows
