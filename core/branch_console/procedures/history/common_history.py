"""The common history of two branches.

A branch has its own snapshots from its fork on. Earlier snapshots are on the branch that it was
made from, which may have been made from another branch too.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TypeAlias

from branch_console.diff.history_move import SnapshotSet, expired_of
from branch_console.errors import FormatError
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.snapshot import Snapshot
from branch_console.table.file_store_table import FileStoreTable

Snapshots: TypeAlias = tuple[Snapshot, ...]
"""The snapshots of a history after some snapshot, oldest first."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Segment:
    """The part of a history that stands on one branch.

    Attributes:
        table: The table on that branch.
        newest_id: Where the part ends: the head, or what the next branch was made from.
        oldest_id: Where it begins; 0 if nothing before it was looked for.
    """

    table: FileStoreTable
    newest_id: int
    oldest_id: int = 0

    def walk(self) -> Iterator[Snapshot]:
        """Its snapshots from the newest back."""
        return (each for each in self.table.snapshots.walk() if each.id <= self.newest_id)

    def tagged(self) -> tuple[Snapshot, ...]:
        """The snapshots of the segment that have expired and that tags of the branch still name."""
        return tuple(each for each in _expired(self.table) if each.id <= self.newest_id)

    def oldest_candidates(self) -> tuple[Snapshot, ...]:
        """The oldest snapshot of it that is listed, then one that a tag names and is older."""
        oldest_id = self.table.snapshots.earliest_id()
        listed = None if oldest_id is None else self.table.snapshots.find(oldest_id)
        found = () if listed is None else (listed,)
        tagged = min(self.tagged(), key=lambda each: each.id, default=None)
        is_older = tagged is not None and (listed is None or tagged.id < listed.id)
        return (*found, tagged) if tagged is not None and is_older else found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BranchPath:
    """The history of one side after the common snapshot.

    Attributes:
        segments: The segments after the root: of the side's own branch, then of the branch it was
            made from, and so on.
        snapshots: The snapshots that have not expired.
    """

    segments: tuple[Segment, ...]
    snapshots: Snapshots

    @property
    def table(self) -> FileStoreTable:
        """The table on the side's own branch."""
        return self.segments[0].table

    @property
    def ancestor_branches(self) -> tuple[FileStoreTable, ...]:
        """The table on the other branches that this history lies on."""
        return tuple(each.table for each in self.segments[1:])

    @property
    def is_on_one_branch(self) -> bool:
        """Whether all of it stands on the side's own branch."""
        return len(self.segments) == 1

    def branch_holding(self, snapshot_id: int) -> str:
        """The branch that lists a snapshot of this history."""
        for each in self.segments:
            if each.oldest_id <= snapshot_id:
                return each.table.branch
        return self.segments[-1].table.branch


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CommonHistory:
    """The newest snapshot that two histories share, and the snapshots of each after it."""

    root: Snapshot
    ours: BranchPath
    theirs: BranchPath


def find_common_history(
    target: FileStoreTable, source: FileStoreTable, ours: Snapshot, theirs: Snapshot
) -> CommonHistory | None:
    """Find the newest common snapshot of two histories; None if no common one is known.

    Args:
        target: The table on one branch.
        source: The table on the other one.
        ours: The head of the first, or an earlier snapshot.
        theirs: The head of the second, or an earlier one.

    Raises:
        FormatError: A snapshot or tag of either cannot be decoded.
    """
    mine: tuple[Segment, ...] = (Segment(table=target, newest_id=ours.id),)
    other: tuple[Segment, ...] = (Segment(table=source, newest_id=theirs.id),)
    met = _by_snapshots(mine, other)
    if met is None:
        mine, other = tuple(_back_from(mine[0])), tuple(_back_from(other[0]))
        met = _by_snapshots(mine, other) or _by_tags(mine, other)
    if met is None:
        return None
    root, lines = met
    behind = (
        BranchPath(
            segments=tuple(each for each in side if each is side[0] or each.newest_id > root.id),
            snapshots=tuple(reversed(line)),
        )
        for side, line in zip((mine, other), lines, strict=True)
    )
    return CommonHistory(root=root, ours=next(behind), theirs=next(behind))


def walk_history(table: FileStoreTable, least_id: int) -> Iterator[Snapshot]:
    """Yield the history of a branch down to an id, over the branches that it was made from too.

    Raises:
        FormatError: A snapshot on the way cannot be decoded.
    """
    last = None
    for last in table.snapshots.walk():
        if last.id < least_id:
            return
        yield last
    if last is not None and last.id > least_id:
        _, *earlier = _back_from(Segment(table=table, newest_id=last.id))
        for each in _walk(tuple(earlier)):
            if each.id < least_id:
                return
            if each.id < last.id:
                yield each


def _by_snapshots(
    mine: tuple[Segment, ...], other: tuple[Segment, ...]
) -> tuple[Snapshot, tuple[list[Snapshot], list[Snapshot]]] | None:
    """Walk both histories back to the snapshot that both hold; it has one id in both."""
    lines: tuple[list[Snapshot], list[Snapshot]] = ([], [])
    walks = (_walk(mine), _walk(other))
    one, another = next(walks[0], None), next(walks[1], None)
    while one is not None and another is not None:
        if one.id == another.id and one.identity.same_as(another.identity):
            return one, lines
        highest = max(one.id, another.id)
        if one.id == highest:
            lines[0].append(one)
            one = next(walks[0], None)
        if another.id == highest:
            lines[1].append(another)
            another = next(walks[1], None)
    return None


def _by_tags(
    mine: tuple[Segment, ...], other: tuple[Segment, ...]
) -> tuple[Snapshot, tuple[list[Snapshot], list[Snapshot]]] | None:
    """The same where snapshots have expired and tags still name what both held."""
    lines = tuple(list(_walk(side)) for side in (mine, other))
    held = tuple(
        [*line, *(each for segment in side for each in segment.tagged())]
        for side, line in zip((mine, other), lines, strict=True)
    )
    known, most = SnapshotSet(held[1]), other[0].newest_id
    shared = (each for each in held[0] if each.identity in known and each.id <= most)
    root = max(shared, key=lambda each: each.id, default=None)
    if root is None:
        return None
    least = root.id
    behind = tuple([each for each in line if each.id > least] for line in lines)
    return root, (behind[0], behind[1])


def _walk(stretches: tuple[Segment, ...]) -> Iterator[Snapshot]:
    least = None
    for segment in stretches:
        for each in segment.walk():
            if least is None or each.id < least:
                least = each.id
                yield each


def _back_from(segment: Segment) -> Iterator[Segment]:
    """A stretch, and those of the branches that its branch was made from."""
    seen = {segment.table.branch}
    while True:
        firsts = segment.oldest_candidates()
        if not firsts:
            yield segment
            return
        first, earlier = _made_from(segment.table, firsts, seen)
        # What only a tag of the branch names is listed by the one that it was made from.
        yield replace(segment, oldest_id=firsts[0].id)
        if earlier is None:
            return
        seen.add(earlier.branch)
        segment = Segment(table=earlier, newest_id=first.id)


def _made_from(
    table: FileStoreTable, firsts: Sequence[Snapshot], seen: set[str]
) -> tuple[Snapshot, FileStoreTable | None]:
    """Return the first snapshot of a branch, and the branch that has it and its predecessors.

    A snapshot is better evidence than a tag: among branches with the first snapshot, the one that
    also has its predecessor is the parent. A listed snapshot may be there although a tag names an
    older one.

    Args:
        table: The table on the branch.
        firsts: The candidates for its first snapshot, the newest first.
        seen: Branches that it was not made from.
    """
    names = [each for each in (MAIN_BRANCH, *table.branches.names()) if each not in seen]
    others = [table.on_listed(each) for each in names]
    holders: list[FileStoreTable] = []
    for first in firsts:
        holders = []
        for other in others:
            # Of some branch that cannot be read nothing came.
            with suppress(FormatError):
                if _holds(other, first):
                    holders.append(other)
                    if other.snapshots.find(first.id - 1) is not None:
                        return first, other
    last = firsts[-1]
    for other in holders:
        with suppress(FormatError):
            oldest = _oldest(other, last.id)
            if oldest is not None and oldest.id < last.id:
                return last, other
    return last, None


def _oldest(table: FileStoreTable, newest_id: int) -> Snapshot | None:
    return next(reversed(Segment(table=table, newest_id=newest_id).oldest_candidates()), None)


def _holds(table: FileStoreTable, wanted: Snapshot) -> bool:
    listed = table.snapshots.find(wanted.id)
    if listed is not None:
        return listed.identity.same_as(wanted.identity)
    return any(each.identity.same_as(wanted.identity) for each in _expired(table))


def _expired(table: FileStoreTable) -> tuple[Snapshot, ...]:
    tags, oldest_id = table.tags.all(), table.snapshots.earliest_id()
    if oldest_id is None:
        return tuple(tag.snapshot for tag in tags)
    return expired_of(tags, oldest_id)
