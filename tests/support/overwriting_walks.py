"""Walks of partitions that are overwritten, one or all at once."""

from dataclasses import dataclass, field
from typing import ClassVar

from branch_console.diff.lineage import ROW_OPERATION
from branch_console.merge.plan import MergeVerdict, Plan, verdict_of
from tests.support.keyless_walks import MixedWalk
from tests.support.merge_walk import BRANCHES


@dataclass(frozen=True)
class Overwrite:
    """Partitions that were replaced, and the rows that went with that."""

    partitions: frozenset[bytes]
    gone: frozenset[str]


@dataclass
class OverwritingWalk(MixedWalk):
    """An overwrite takes away what the other side put into its partitions.

    What came by a merge takes away just what it took away there.
    """

    partition_keys: ClassVar[tuple[str, ...]] = ("pt",)
    overwrites: dict[int, Overwrite] = field(default_factory=dict)
    did: dict[str, frozenset[int]] = field(default_factory=dict)
    knows: dict[str, frozenset[int]] = field(default_factory=dict)
    came_from: dict[str, frozenset[str]] = field(default_factory=dict)
    overwrote: int = 0

    def start(self) -> None:
        self.did = dict.fromkeys(BRANCHES, frozenset())
        self.knows = dict.fromkeys(BRANCHES, frozenset())
        super().start()

    def overwrite(self, branch: str, first: int, second: int) -> None:
        """Replace a partition, or all of them, by more rows than there were, and record it."""
        live = self.live(branch)
        if first % 3:
            live = self.in_a_partition(live, second)
        if not live.num_rows:
            return
        gone = frozenset(self.shown(branch, live))
        partitions = frozenset(live["partition"].to_pylist())
        name = self.new_rows(branch, len(gone) + 1, min(partitions))
        number = next(self.numbers)
        self.overwrites[number] = Overwrite(partitions, gone)
        self.did[branch] |= {number}
        self.knows[branch] |= {number}
        self.kill(branch, gone)
        self.bench.committer(branch).overwrite(
            [self.message(new_files=self.entries(name))],
            partitions=sorted(partitions),
            user="bob",
            identifier=next(self.numbers),
            properties={ROW_OPERATION: "OVERWRITE"},
        )
        self.overwrote += 1
        assert self.content(branch) == self.model(branch)

    def updated(self, branch: str, rows: frozenset[str], old: object) -> str:
        name = super().updated(branch, rows, old)
        known = rows.union(*(self.came_from.get(each, ()) for each in rows))
        self.came_from |= dict.fromkeys(self.rows[name], known)
        return name

    def merged(self, source: str, target: str) -> object:
        both = (self.seen[source] | self.seen[target]) - self.dead(source, target)
        return sorted(both - self.overruled(source, target))

    def overruled(self, source: str, target: str) -> frozenset[str]:
        """The rows that an overwrite of either side takes away from the other one."""
        new = [self.overwrites[each] for each in self.did[source] - self.knows[target]]
        replaced = frozenset[bytes]().union(*(each.partitions for each in new))
        ours = {
            row
            for row in self.seen[target] - self.seen[source]
            if self.partition_of[row] in replaced
        }
        # Changes of rows that the target replaced are dropped with them.
        old = [self.overwrites[each] for each in self.did[target] - self.knows[source]]
        gone = frozenset[str]().union(*(each.gone for each in old))
        theirs = {
            row
            for row in self.seen[source] - self.seen[target]
            if not gone.isdisjoint(self.came_from.get(row, ()))
        }
        return frozenset(ours | theirs)

    def run(self, source: str, target: str, plan: Plan) -> None:
        super().run(source, target, plan)
        if verdict_of(plan) is MergeVerdict.FAST_FORWARD:
            self.did[target] |= self.did[source]

    def take_over(self, source: str, target: str) -> None:
        self.kill(target, self.overruled(source, target))
        self.knows[target] |= self.knows[source]
        super().take_over(source, target)

    @property
    def partition_of(self) -> dict[str, bytes]:
        return {row: self.lies_in[name] for name, rows in self.rows.items() for row in rows}
