"""Where two branches stand to each other: what their histories share, over merges too."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from core.diff.history_move import Known, known_of
from core.diff.lineage import MERGE_SOURCE, BranchTrace, Lineage, build_lineage, merge_source
from core.diff.merge_base import best_common_ancestors
from core.diff.three_way import ThreeWay
from core.diff.virtual_base import Base, JoinedBase
from core.errors import ErrorKind, FormatError, NotFound
from core.format.identifier import MAIN_BRANCH
from core.format.snapshot import Snapshot, SnapshotIdentity
from core.procedures.expired_merges import (
    Line,
    check_taken_in,
    is_whole,
    recorded_edges,
    recorded_merges,
    with_tagged,
)
from core.procedures.histories import history_of
from core.table.file_store_table import FileStoreTable


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MergeBase:
    """A snapshot that both sides build on.

    Attributes:
        branch: One that holds it: a side, or another branch that both took in.
        line: How it came to be from `root`, which a side holds too; oldest first, itself last.
    """

    snapshot: Snapshot
    branch: str
    root: Snapshot
    line: tuple[Snapshot, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MergeHeads:
    """Where two branches stand to each other.

    Attributes:
        root: The newest snapshot that the histories of both hold.
        bases: The best common ancestors, over merges too; more than one in a criss-cross history.
        base: What the rows of both come from: the only base, or what several come to; None where
            one of them is gone.
        ours_history, theirs_history: The snapshots behind the root, oldest first.
    """

    ours: Snapshot
    theirs: Snapshot
    root: Snapshot
    bases: tuple[MergeBase, ...]
    base: Base[MergeBase] | None
    ours_history: tuple[Snapshot, ...]
    theirs_history: tuple[Snapshot, ...]

    @property
    def is_up_to_date(self) -> bool:
        """Whether the target builds on the head of the source."""
        theirs = self.theirs.identity
        return any(each.snapshot.identity.same_as(theirs) for each in self.bases)

    @property
    def is_fast_forward(self) -> bool:
        """Whether the target's head stands in the history of the source."""
        return not self.ours_history and not self.is_up_to_date


def find_heads(
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
    found = _meeting(target, source, ours, theirs) or _tagged_meeting(target, source, ours, theirs)
    if found is None:
        raise NotFound(
            f"Branches {source.branch!r} and {target.branch!r} share no snapshot: there is nothing "
            "that a merge could start from. Compare them instead.",
            kind=ErrorKind.NO_COMMON_HISTORY,
            source=source.branch,
            target=target.branch,
        )
    root, *lines = found
    is_told = all(is_whole(root, line) for line in lines)
    events = () if is_told else target.ledger.events()
    after_ours, after_theirs = (
        with_tagged(table, root, line, events)
        for table, line in zip((target, source), lines, strict=True)
    )
    into_ours, into_theirs = (
        recorded_merges(events, table.branch, root) for table in (target, source)
    )
    check_taken_in(root, (target.branch, after_ours, into_ours), (source.branch, after_theirs))
    check_taken_in(root, (source.branch, after_theirs, into_theirs), (target.branch, after_ours))
    edges = (
        *recorded_edges(root, after_ours, into_ours),
        *recorded_edges(root, after_theirs, into_theirs),
    )
    graph = _Graph(target, source, root, after_ours, after_theirs, edges)
    return MergeHeads(
        ours=ours,
        theirs=theirs,
        root=root,
        bases=graph.bases,
        base=graph.joined(graph.best),
        ours_history=after_ours,
        theirs_history=after_theirs,
    )


def _meeting(
    target: FileStoreTable, source: FileStoreTable, ours: Snapshot, theirs: Snapshot
) -> tuple[Snapshot, Line, Line] | None:
    """Walk both histories back to the snapshot that both hold; it has one id on both.

    Returns:
        That snapshot, and those behind it of each side, oldest first; None where one expired.
    """
    lines: tuple[list[Snapshot], list[Snapshot]] = ([], [])
    walks = (target.snapshots.walk(), source.snapshots.walk())
    mine, other = _until(walks[0], ours.id), _until(walks[1], theirs.id)
    while mine is not None and other is not None:
        if mine.id == other.id and mine.identity.same_as(other.identity):
            return mine, tuple(reversed(lines[0])), tuple(reversed(lines[1]))
        highest = max(mine.id, other.id)
        if mine.id == highest:
            lines[0].append(mine)
            mine = next(walks[0], None)
        if other.id == highest:
            lines[1].append(other)
            other = next(walks[1], None)
    return None


def _until(walk: Iterator[Snapshot], snapshot_id: int) -> Snapshot | None:
    return next((each for each in walk if each.id <= snapshot_id), None)


def _tagged_meeting(
    target: FileStoreTable, source: FileStoreTable, ours: Snapshot, theirs: Snapshot
) -> tuple[Snapshot, Line, Line] | None:
    """The same where snapshots have expired and tags still name what both sides held."""
    mine, other = history_of(target), history_of(source)
    ours_line = tuple(each for each in mine.snapshots if each.id <= ours.id)
    theirs_line = tuple(each for each in other.snapshots if each.id <= theirs.id)
    known = known_of(other)
    candidates = (*ours_line, *(tag.snapshot for tag in mine.tags if tag.snapshot.id <= ours.id))
    shared = [each for each in candidates if each.identity in known and each.id <= theirs.id]
    root = max(shared, key=lambda each: each.id, default=None)
    if root is None:
        return None
    return (
        root,
        tuple(each for each in ours_line if each.id > root.id),
        tuple(each for each in theirs_line if each.id > root.id),
    )


class _Graph:
    """What two heads have in common, over merges."""

    def __init__(
        self,
        target: FileStoreTable,
        source: FileStoreTable,
        root: Snapshot,
        ours: Line,
        theirs: Line,
        edges: Sequence[tuple[SnapshotIdentity, SnapshotIdentity]],
    ) -> None:
        self._sides = (target, source)
        self._root = root
        self._lines = (ours, theirs)
        self._others: list[BranchTrace] = []
        self._lineage: Lineage | None = None
        if edges or any(merge_source(each) for each in (*ours, *theirs)):
            traces = (
                BranchTrace(branch=target.branch, snapshots=(root, *ours)),
                BranchTrace(branch=source.branch, snapshots=(root, *theirs)),
            )
            self._others = _others(target, root, traces)
            lineage = build_lineage((*traces, *self._others), forks={})
            self._lineage = replace(lineage, parents=lineage.parents | frozenset(edges))
        self.best = self._common(*((line or (root,))[-1].identity for line in self._lines))

    @property
    def bases(self) -> tuple[MergeBase, ...]:
        """The best common ancestors that are there."""
        found = (self._find(each) for each in self.best)
        return tuple(each for each in found if each is not None) or (self._at_root(),)

    def joined(self, bases: Sequence[SnapshotIdentity]) -> Base[MergeBase] | None:
        """What some bases come to; None where one that is needed is gone."""
        first, *others = bases
        joined: Base[MergeBase] | None = self._find(first)
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
        order = (self._root, *self._lines[0], *self._lines[1])
        places = {each.identity.manifest_lists: at for at, each in enumerate(order)}
        last = len(order)
        ordered = sorted(found, key=lambda each: places.get(each.manifest_lists, last))
        return tuple(ordered) or (self._root.identity,)

    def _find(self, wanted: SnapshotIdentity) -> MergeBase | None:
        if wanted.same_as(self._root.identity):
            return self._at_root()
        for table, line in zip(self._sides, self._lines, strict=True):
            for at, each in enumerate(line):
                if each.identity.same_as(wanted):
                    return MergeBase(
                        snapshot=each, branch=table.branch, root=self._root, line=line[: at + 1]
                    )
        for trace in self._others:
            for each in trace.snapshots:
                if each.identity.same_as(wanted):
                    return self._on_third(trace.branch, each)
        return None

    def _on_third(self, branch: str, snapshot: Snapshot) -> MergeBase | None:
        """A base of another branch, from where that parted from a side."""
        for table, line in zip(self._sides, self._lines, strict=True):
            head = (line or (self._root,))[-1]
            met = _meeting(table, table.on(branch), head, snapshot)
            if met is not None:
                return MergeBase(snapshot=snapshot, branch=branch, root=met[0], line=met[2])
        return None

    def _at_root(self) -> MergeBase:
        return MergeBase(
            snapshot=self._root, branch=self._sides[0].branch, root=self._root, line=()
        )


def _others(
    target: FileStoreTable, root: Snapshot, traces: Sequence[BranchTrace]
) -> list[BranchTrace]:
    """The histories of other branches that either side took in, and of those that these took in.

    What a side got from the other one through a third branch is known by them alone.
    """
    snapshots = [each for trace in traces for each in trace.snapshots]
    found: list[BranchTrace] = []
    known, taken_in = Known(snapshots), _taken_in(snapshots)
    named = {each.properties.get(MERGE_SOURCE) for each in snapshots}
    names = {MAIN_BRANCH, *target.branches.names()} - {trace.branch for trace in traces}
    # A branch may have another name since it was merged: it was renamed, dropped or replaced.
    for name in sorted(names, key=lambda each: (each not in named, each)):
        missing = [each for each in taken_in if each not in known]
        if not missing:
            break
        walk = target.on(name).snapshots.walk()
        try:
            line = list(takewhile(lambda one: one.id >= root.id, walk))[::-1]
        except FormatError:
            if name in named:
                raise
            continue  # some branch that has nothing to do with this
        here = Known(line)
        if any(each in here for each in missing):
            found.append(BranchTrace(branch=name, snapshots=tuple(line)))
            known.add(line)
            taken_in += _taken_in(line)
    return found


def _taken_in(line: Sequence[Snapshot]) -> list[SnapshotIdentity]:
    """The heads that merges among some snapshots took in."""
    return [source for source in map(merge_source, line) if source is not None]
