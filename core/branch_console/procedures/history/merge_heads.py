"""The heads and merge base of two branches, over merges too."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from branch_console.diff.branch_trace import BranchTrace
from branch_console.diff.changes.virtual_base import Base, JoinedBase
from branch_console.diff.history_move import SnapshotSet
from branch_console.diff.lineage import MERGE_SOURCE, Lineage, build_lineage, merge_source
from branch_console.diff.merge_base import best_common_ancestors
from branch_console.diff.three_way import ThreeWay
from branch_console.errors import ErrorKind, FormatError, NotFound
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.snapshot import Snapshot, SnapshotIdentity
from branch_console.procedures.history.common_history import (
    BranchPath,
    Snapshots,
    find_common_history,
    walk_history,
)
from branch_console.procedures.history.expired_merges import (
    check_merged_histories,
    is_whole,
    recorded_edges,
    recorded_merges,
    with_tagged,
)
from branch_console.table.file_store_table import FileStoreTable


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BaseSnapshot:
    """A snapshot that both sides build on.

    Attributes:
        branch: The side whose history it is part of, or another branch that both took in.
        listed_on: The branch that lists it: that one, or one that it was made from.
        history: How it came to be from `root`, which a side holds too; oldest first, itself last.
    """

    snapshot: Snapshot
    branch: str
    listed_on: str
    root: Snapshot
    history: tuple[Snapshot, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MergeHeads:
    """The heads, merge base and histories of two branches.

    Attributes:
        root: The newest snapshot that is in both histories.
        bases: The best common ancestors, over merges too; more than one in a criss-cross history.
        base: The base of both sides' rows: the only merge base, or the virtual base of several;
            None if one of them is gone.
        ours_history, theirs_history: The snapshots after the root, oldest first.
        ancestor_branches: The branches that the source was made from and that have a part of its
            history.
        merged_histories: The histories of other branches that either side merged.
    """

    ours: Snapshot
    theirs: Snapshot
    root: Snapshot
    bases: tuple[BaseSnapshot, ...]
    base: Base[BaseSnapshot] | None
    ours_history: Snapshots
    theirs_history: Snapshots
    ancestor_branches: tuple[FileStoreTable, ...] = ()
    merged_histories: tuple[BranchTrace, ...] = ()

    @property
    def is_up_to_date(self) -> bool:
        """Whether the target builds on the head of the source."""
        theirs = self.theirs.identity
        return any(each.snapshot.identity.same_as(theirs) for each in self.bases)

    @property
    def is_fast_forward(self) -> bool:
        """Whether the target's head stands in the history of the source."""
        return not self.ours_history and not self.is_up_to_date


def find_merge_heads(
    target: FileStoreTable,
    source: FileStoreTable,
    ours: Snapshot,
    theirs: Snapshot,
) -> MergeHeads:
    """Find what two heads have in common.

    Args:
        target: The table on the branch that is merged into.
        source: The table on the branch that is merged.
        ours: The head of the target, or an earlier one.
        theirs: The head of the source, or an earlier one.

    Raises:
        NotFound: They share no history that could be merged.
        FormatError: A snapshot or tag of either cannot be decoded.
    """
    met = find_common_history(target, source, ours, theirs)
    if met is None:
        raise NotFound(
            f"Branches {source.branch!r} and {target.branch!r} share no snapshot: there is nothing "
            "that a merge could start from. Compare them instead.",
            kind=ErrorKind.NO_COMMON_HISTORY,
            source=source.branch,
            target=target.branch,
        )
    root, sides = met.root, (met.ours, met.theirs)
    is_certain = all(is_whole(root, each.snapshots) and each.is_on_one_branch for each in sides)
    events = () if is_certain else target.ledger.events()
    mine, other = (with_tagged(each, root, events) for each in sides)
    into_ours, into_theirs = (recorded_merges(events, each, root) for each in sides)
    check_merged_histories(root, mine, into_ours, other)
    check_merged_histories(root, other, into_theirs, mine)
    edges = (
        *recorded_edges(root, mine.snapshots, into_ours),
        *recorded_edges(root, other.snapshots, into_theirs),
    )
    graph = _Graph(root, mine, other, edges)
    return MergeHeads(
        ours=ours,
        theirs=theirs,
        root=root,
        bases=graph.bases,
        base=graph.joined(graph.best),
        ours_history=mine.snapshots,
        theirs_history=other.snapshots,
        ancestor_branches=other.ancestor_branches,
        merged_histories=graph.merged_histories,
    )


def find_heads_of_pick(
    target: FileStoreTable, source: FileStoreTable, ours: Snapshot, picked: Snapshot
) -> MergeHeads:
    """Find where a target and a picked snapshot stand if both come from the one before that.

    Args:
        target: The table on the branch that gets the change.
        source: The table on the branch of the snapshot.
        ours: The head of the target.
        picked: The snapshot.

    Raises:
        NotFound: They share no history.
        FormatError: A snapshot or tag of either cannot be decoded.
    """
    heads = find_merge_heads(target, source, ours, picked)
    before = source.snapshots.find(picked.id - 1)
    ours_history = (picked, *heads.ours_history)
    if (
        picked.identity.same_as(heads.root.identity)
        and before is not None
        and is_whole(before, ours_history)
    ):
        # The target's own history holds it; what it did may be gone since, and come again.
        heads = replace(heads, root=before, ours_history=ours_history, theirs_history=(picked,))
    known = tuple(each for each in heads.theirs_history if each.id < picked.id)
    is_next = bool(known) and known[-1].id == picked.id - 1
    base = BaseSnapshot(
        snapshot=known[-1] if is_next else heads.root,
        branch=source.branch,
        listed_on=source.branch,
        root=heads.root,
        history=known if is_next else (),
    )
    return replace(heads, bases=(base,), base=base)


class _Graph:
    """The common ancestors of two heads, over merges too."""

    def __init__(
        self,
        root: Snapshot,
        ours: BranchPath,
        theirs: BranchPath,
        edges: Sequence[tuple[SnapshotIdentity, SnapshotIdentity]],
    ) -> None:
        self._root = root
        self._sides = (ours, theirs)
        self.merged_histories: tuple[BranchTrace, ...] = ()
        self._lineage: Lineage | None = None
        if edges or any(merge_source(each) for side in self._sides for each in side.snapshots):
            traces = tuple(
                BranchTrace(branch=side.table.branch, snapshots=(root, *side.snapshots))
                for side in self._sides
            )
            self.merged_histories = _others(ours.table, root, traces)
            lineage = build_lineage((*traces, *self.merged_histories), forks={})
            self._lineage = replace(lineage, parents=lineage.parents | frozenset(edges))
        self.best = self._common(
            *((side.snapshots or (root,))[-1].identity for side in self._sides)
        )

    @property
    def bases(self) -> tuple[BaseSnapshot, ...]:
        """The best common ancestors that are there."""
        found = (self._find(each) for each in self.best)
        return tuple(each for each in found if each is not None) or (self._at_root(),)

    def joined(self, bases: Sequence[SnapshotIdentity]) -> Base[BaseSnapshot] | None:
        """Return the virtual base of some merge bases; None if a snapshot it needs is gone."""
        first, *others = bases
        joined: Base[BaseSnapshot] | None = self._find(first)
        for each in others:
            # Ancestors of two bases are older than both, so this comes to an end.
            older, other = self.joined(self._common(first, each)), self._find(each)
            if older is None or joined is None or other is None:
                return None
            joined = JoinedBase(sides=ThreeWay(base=older, ours=joined, theirs=other))
        return joined

    def _common(
        self, one: SnapshotIdentity, other: SnapshotIdentity
    ) -> tuple[SnapshotIdentity, ...]:
        """The best common ancestors, those that the target holds first, then the source's."""
        if self._lineage is None:
            return (self._root.identity,)
        found = best_common_ancestors(self._lineage, one, other)
        order = (self._root, *(each for side in self._sides for each in side.snapshots))
        places = {each.identity.manifest_lists: at for at, each in enumerate(order)}
        last = len(order)
        ordered = sorted(found, key=lambda each: places.get(each.manifest_lists, last))
        return tuple(ordered) or (self._root.identity,)

    def _find(self, wanted: SnapshotIdentity) -> BaseSnapshot | None:
        if wanted.same_as(self._root.identity):
            return self._at_root()
        for side in self._sides:
            for at, each in enumerate(side.snapshots):
                if each.identity.same_as(wanted):
                    return BaseSnapshot(
                        snapshot=each,
                        branch=side.table.branch,
                        listed_on=side.branch_holding(each.id),
                        root=self._root,
                        history=side.snapshots[: at + 1],
                    )
        for trace in self.merged_histories:
            for each in trace.snapshots:
                if each.identity.same_as(wanted):
                    return self._on_third(trace.branch, each)
        return None

    def _on_third(self, branch: str, snapshot: Snapshot) -> BaseSnapshot | None:
        """A base of another branch, from where that parted from a side."""
        for side in self._sides:
            head = (side.snapshots or (self._root,))[-1]
            met = find_common_history(side.table, side.table.on(branch), head, snapshot)
            if met is not None:
                return BaseSnapshot(
                    snapshot=snapshot,
                    branch=branch,
                    listed_on=met.theirs.branch_holding(snapshot.id),
                    root=met.root,
                    history=met.theirs.snapshots,
                )
        return None

    def _at_root(self) -> BaseSnapshot:
        side = self._sides[0]
        return BaseSnapshot(
            snapshot=self._root,
            branch=side.table.branch,
            listed_on=side.branch_holding(self._root.id),
            root=self._root,
            history=(),
        )


def _others(
    target: FileStoreTable, root: Snapshot, traces: Sequence[BranchTrace]
) -> tuple[BranchTrace, ...]:
    """The histories of other branches that either side took in, and of those that these took in.

    What a side got from the other one through a third branch is known by them alone.
    """
    snapshots = [each for trace in traces for each in trace.snapshots]
    found: list[BranchTrace] = []
    known, received = SnapshotSet(snapshots), _merged_heads(snapshots)
    named = {each.properties.get(MERGE_SOURCE) for each in snapshots}
    names = {MAIN_BRANCH, *target.branches.names()} - {trace.branch for trace in traces}
    # A branch may have another name since it was merged: it was renamed, dropped or replaced.
    for name in sorted(names, key=lambda each: (each not in named, each)):
        missing = [each for each in received if each not in known]
        if not missing:
            break
        try:
            line = list(walk_history(target.on_listed(name), root.id))[::-1]
        except FormatError:
            if name in named:
                raise
            continue  # some branch that has nothing to do with this
        here = SnapshotSet(line)
        if any(each in here for each in missing):
            found.append(BranchTrace(branch=name, snapshots=tuple(line)))
            known.add(line)
            received += _merged_heads(line)
    return tuple(found)


def _merged_heads(line: Sequence[Snapshot]) -> list[SnapshotIdentity]:
    """The heads that merges among some snapshots took in."""
    return [source for source in map(merge_source, line) if source is not None]
