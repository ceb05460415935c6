"""Where two branches stand to each other: what their histories share, over merges too."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from core.diff.history_move import Known, known_of
from core.diff.lineage import MERGE_SOURCE, BranchTrace, build_lineage, merge_source
from core.diff.merge_base import best_common_ancestors
from core.errors import ErrorKind, FormatError, NotFound
from core.format.identifier import MAIN_BRANCH
from core.format.snapshot import Snapshot, SnapshotIdentity
from core.procedures.histories import history_of
from core.table.file_store_table import FileStoreTable


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MergeHeads:
    """Where two branches stand to each other.

    Attributes:
        root: The newest snapshot that the histories of both hold.
        bases: The best common ancestors, over merges too; more than one in a criss-cross history.
        ours_history, theirs_history: The snapshots behind the root, oldest first.
    """

    ours: Snapshot
    theirs: Snapshot
    root: Snapshot
    bases: tuple[Snapshot, ...]
    ours_history: tuple[Snapshot, ...]
    theirs_history: tuple[Snapshot, ...]

    @property
    def is_up_to_date(self) -> bool:
        """Whether the target builds on the head of the source."""
        return any(each.identity.same_as(self.theirs.identity) for each in self.bases)

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
    root, after_ours, after_theirs = found
    return MergeHeads(
        ours=ours,
        theirs=theirs,
        root=root,
        bases=_bases(target, root, after_ours, after_theirs, source),
        ours_history=after_ours,
        theirs_history=after_theirs,
    )


_Line = tuple[Snapshot, ...]


def _meeting(
    target: FileStoreTable, source: FileStoreTable, ours: Snapshot, theirs: Snapshot
) -> tuple[Snapshot, _Line, _Line] | None:
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
) -> tuple[Snapshot, _Line, _Line] | None:
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


def _bases(
    target: FileStoreTable,
    root: Snapshot,
    ours: tuple[Snapshot, ...],
    theirs: tuple[Snapshot, ...],
    source: FileStoreTable,
) -> tuple[Snapshot, ...]:
    if not any(merge_source(each) for each in (*ours, *theirs)):
        return (root,)
    traces = (
        BranchTrace(branch=target.branch, snapshots=(root, *ours)),
        BranchTrace(branch=source.branch, snapshots=(root, *theirs)),
    )
    others = _others(target, root, traces)
    lineage = build_lineage((*traces, *others), forks={})
    heads = ((ours or (root,))[-1], (theirs or (root,))[-1])
    found = best_common_ancestors(lineage, heads[0].identity, heads[1].identity)
    snapshots = (root, *ours, *theirs)
    bases = [each for each in snapshots if any(each.identity.same_as(one) for one in found)]
    return tuple(bases) or (root,)


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
