"""What a table with branches should hold: dictionaries from key to version, and no files at all."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

Rows: TypeAlias = Mapping[int, int]
"""The version of the row of each key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What one commit left; `token` tells commits apart, whichever branches hold them."""

    token: int
    rows: Rows


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelBranch:
    """One branch.

    Attributes:
        history: States by snapshot id.
        inherited: Those before its fork, which lie on the branches that it was made from.
        tags: States by tag name.
        columns: Columns that were added, in order.
        stands_on: The branch that keeps its fork readable; None for an empty branch and for main.
    """

    history: Mapping[int, State] = field(default_factory=dict)
    inherited: Mapping[int, State] = field(default_factory=dict)
    tags: Mapping[str, State] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    stands_on: str | None = None

    @property
    def head_id(self) -> int | None:
        """The newest snapshot id."""
        return max(self.history, default=None)

    @property
    def rows(self) -> Rows:
        """What a reader finds."""
        return self.history[self.head_id].rows if self.head_id is not None else {}

    def with_commit(self, token: int, rows: Rows) -> "ModelBranch":
        """The branch after one more commit."""
        number = (self.head_id or 0) + 1
        return replace(self, history={**self.history, number: State(token=token, rows=rows)})

    @property
    def line(self) -> Mapping[int, State]:
        """All states that the head was built on, on whatever branches they lie."""
        return {**self.inherited, **self.history}

    def holds(self, state: State) -> bool:
        """Whether the head is a state or was built on it."""
        return any(each.token == state.token for each in self.line.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class TruthModel:
    """A table: its branches by name, main among them. A change gives another model.

    `rescued_from` are the branches that rescue branches stand on: what was dropped can come back.
    """

    branches: Mapping[str, ModelBranch]
    rescued_from: frozenset[str] = frozenset()

    def with_branch(self, name: str, branch: ModelBranch) -> "TruthModel":
        """The table with a branch made or changed."""
        return replace(self, branches={**self.branches, name: branch})

    def without(self, name: str) -> "TruthModel":
        """The table without a branch."""
        left = {each: branch for each, branch in self.branches.items() if each != name}
        stood_on = {self.branches[name].stands_on} - {None, name}
        return TruthModel(branches=left, rescued_from=(self.rescued_from | stood_on) - {name})

    def renamed(self, name: str, to: str) -> "TruthModel":
        """The table with a branch under another name."""
        moved = {to if each == name else each: branch for each, branch in self.branches.items()}
        return TruthModel(
            branches={
                each: replace(branch, stands_on=to) if branch.stands_on == name else branch
                for each, branch in moved.items()
            },
            rescued_from=frozenset(to if each == name else each for each in self.rescued_from),
        )

    def branched(self, name: str, source: str, state_id: int | None) -> "TruthModel":
        """The table with a new branch, from a snapshot of another one or empty."""
        origin = self.branches[source]
        if state_id is None:
            return self.with_branch(name, ModelBranch(columns=origin.columns))
        made = ModelBranch(
            history={state_id: origin.history[state_id]},
            inherited={n: each for n, each in origin.line.items() if n < state_id},
            columns=origin.columns,
            stands_on=source,
        )
        return self.with_branch(name, made)

    def can_forward(self, source: str, target: str) -> bool | None:
        """Whether a fast-forward is legal; None where there is nothing to do or to compare."""
        theirs, ours = self.branches[source], self.branches[target]
        if theirs.head_id is None or ours.head_id is None:
            return None
        if ours.holds(theirs.history[theirs.head_id]):
            return None
        if theirs.columns[: len(ours.columns)] != ours.columns:
            return None  # a change of the schema alone is no commit
        return theirs.holds(ours.history[ours.head_id])

    def forwarded(self, source: str, target: str) -> "TruthModel":
        """The table with the target at the head of the source."""
        theirs, ours = self.branches[source], self.branches[target]
        new = {n: each for n, each in theirs.line.items() if n > (ours.head_id or 0)}
        moved = replace(ours, history={**ours.history, **new}, columns=theirs.columns)
        return self.with_branch(target, moved)

    def has_dependents(self, name: str) -> bool:
        """Whether another branch stands on this one, be it one that was dropped."""
        return name in self.rescued_from or any(
            branch.stands_on == name for branch in self.branches.values()
        )
