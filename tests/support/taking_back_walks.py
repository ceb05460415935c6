"""Walks that take things back too: a snapshot is reverted, a merge undone, and snapshots expire."""

from dataclasses import dataclass, field
from typing import TypeAlias

from branch_console.commit.base.commit_message import CommitMessage
from branch_console.errors import NotFound, Refused
from branch_console.merge.plan import Plan
from tests.support.branch_bench import tree
from tests.support.keyless_walks import Death, MixedWalk
from tests.support.lifecycle import run
from tests.support.merge_walk import BRANCHES

Known: TypeAlias = tuple[frozenset[str], frozenset[Death], frozenset[Death]]
"""What a branch knows: the rows it has seen, how some went, and which of that was taken back."""


@dataclass
class _Merged:
    """A merge that may be undone: what the branch knew before, and its files of then."""

    operation: str
    known: Known
    files: dict[str, bytes]


@dataclass
class TakingBackWalk(MixedWalk):
    """A row that is brought back lives again wherever that is known."""

    effects: dict[str, tuple[frozenset[str], frozenset[str]]] = field(default_factory=dict)
    merges: dict[str, _Merged] = field(default_factory=dict)
    reverted: int = 0
    undone: int = 0

    def commit(self, branch: str, part: CommitMessage) -> None:
        before = self.shown(branch, self.live(branch))
        self.merges.pop(branch, None)
        super().commit(branch, part)
        self.note(branch, before)

    def run(self, source: str, target: str, plan: Plan) -> None:
        before, files = self.shown(target, self.live(target)), self.branch_files(target)
        known = (self.seen[target], self.deaths[target], self.taken_back[target])
        super().run(source, target, plan)
        self.note(target, before)
        if self.branch_files(target) != files:
            self.merges[target] = _Merged(self.last_operation, known, files)

    def note(self, branch: str, before: list[str]) -> None:
        """Keep which rows came and went with the head."""
        head, after = self.bench.table(branch).head(), self.shown(branch, self.live(branch))
        assert head is not None
        came, went = frozenset(after) - frozenset(before), frozenset(before) - frozenset(after)
        self.effects.setdefault(head.delta_manifest_list, (came, went))

    def merged(self, source: str, target: str) -> object:
        """As the model has it, but for rows that both sides deleted and one brought back."""
        expected, open_rows = super().merged(source, target), self.both_ways(source, target)
        assert isinstance(expected, list)
        shown = frozenset(self.shown(target, self.live(target)))
        return sorted((frozenset(expected) - open_rows) | (open_rows & shown))

    def both_ways(self, source: str, target: str) -> frozenset[str]:
        """Rows that live or do not: one way to go was taken back, and another one was not."""
        seen = self.seen[source] | self.seen[target]
        back = self.taken_back[source] | self.taken_back[target]
        return seen & self.dead(source, target) & {row for row, _ in back}

    def take_over(self, source: str, target: str) -> None:
        super().take_over(source, target)
        self.bring_back(target, frozenset(self.shown(target, self.live(target))))

    def bring_back(self, branch: str, rows: frozenset[str]) -> None:
        self.taken_back[branch] |= {each for each in self.deaths[branch] if each[0] in rows}

    def revert(self, branch: str, first: int, _: int) -> None:
        """Revert one of the newest snapshots."""
        table = self.bench.table(branch)
        held = list(table.snapshots.walk())[:4]
        undone = held[first % len(held)]
        if undone is held[-1] or undone.delta_manifest_list not in self.effects:
            return
        came, went = self.effects[undone.delta_manifest_list]
        before, rows = tree(self.root), self.shown(branch, self.live(branch))
        try:
            self.bench.call(
                "revert",
                operation=f"revert-{next(self.numbers)}",
                table="db.t" if branch == "main" else f"db.t$branch_{branch}",
                snapshot=undone.id,
                rows=self.engine(),
            )
        except Refused:
            assert undone is not held[0], "nothing stands in the way of what was done last"
            assert self.without_ledger(tree(self.root)) == self.without_ledger(before), "I10"
            return
        self.reverted += 1
        self.merges.pop(branch, None)
        self.kill(branch, came & frozenset(rows))
        self.bring_back(branch, went)
        assert self.content(branch) == self.model(branch), f"{branch} without {undone.id}"
        self.note(branch, rows)

    def undo(self, branch: str, *_: int) -> None:
        """Undo the merge that the head came by."""
        merged = self.merges.pop(branch, None)
        if merged is None:
            return
        head, before = self.bench.table(branch).head(), tree(self.root)
        try:
            run(self.bench, "undo", f"undo-{next(self.numbers)}", operation=merged.operation)
        except Refused:
            assert head is not None
            others = (self.bench.table(each) for each in BRANCHES if each != branch)
            held = (one.snapshots.find(head.id) for one in others)
            assert any(one is not None and one.identity.same_as(head.identity) for one in held)
            assert self.without_ledger(tree(self.root)) == self.without_ledger(before), "I10"
            return
        self.undone += 1
        self.seen[branch], self.deaths[branch], self.taken_back[branch] = merged.known
        assert self.content(branch) == self.model(branch), "I8"
        assert self.branch_files(branch) == merged.files, "I8"


@dataclass
class ForgettingWalk(TakingBackWalk):
    """Snapshots expire as well: then a merge or a revert may be refused, but never go wrong."""

    def expire(self, branch: str, first: int, second: int) -> None:
        self.merges.pop(branch, None)
        super().expire(branch, first, second)

    def revert(self, branch: str, first: int, second: int) -> None:
        try:
            super().revert(branch, first, second)
        except NotFound:
            assert self.has_expired
