"""The merges between two branches whose snapshots have expired, as the ledger records them.

A merge is known by its snapshot, and once that has expired by the ledger. The merged snapshots may
have expired too, unless a tag keeps them. Then nobody can say which rows the merge brought and
which were written since. On a branch other than main a tag keeps nothing from Paimon's expiry,
which looks at the tags of main.
"""

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from branch_console.diff.history_move import SnapshotSet
from branch_console.diff.lineage import MERGE_SOURCE, merge_source
from branch_console.errors import ErrorKind, NotFound
from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console.format.snapshot import Snapshot, SnapshotIdentity
from branch_console.procedures.history.common_history import BranchPath, Snapshots
from branch_console.table.file_store_table import FileStoreTable

# From then on a branch has another history.
_ANOTHER: Final = frozenset(
    {LineageKind.CREATED, LineageKind.FORKED, LineageKind.REPLACED, LineageKind.RESTORED}
)
_TAKES_IN: Final = frozenset({LineageKind.MERGED, LineageKind.FAST_FORWARDED})


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedMerge:
    """A merge that the ledger tells of, or a fast-forward; its snapshot may have expired.

    Attributes:
        source: The merged snapshot.
    """

    source_branch: str | None
    after_id: int
    after: SnapshotIdentity
    parents: tuple[SnapshotIdentity, ...]
    source: SnapshotIdentity | None


def is_whole(root: Snapshot, line: Snapshots) -> bool:
    """Whether no snapshot behind the root has expired."""
    return not line or len(line) == line[-1].id - root.id


def recorded_merges(
    events: Sequence[LineageEvent], side: BranchPath, root: Snapshot
) -> tuple[RecordedMerge, ...]:
    """The merges into the branches of a history behind the root, those of each the oldest first.

    Args:
        events: The ledger, in order.
        side: The history.
        root: A snapshot that it holds.
    """
    undone = {event.undoes for event in events if event.kind is LineageKind.UNDONE}
    return tuple(
        merge
        for segment in reversed(side.segments)
        for merge in _merges_into(segment.table.branch, events, undone)
        if root.id < merge.after_id <= segment.newest_id
    )


def with_tagged(side: BranchPath, root: Snapshot, events: Sequence[LineageEvent]) -> BranchPath:
    """A history with those of its snapshots that have expired and that a tag has kept.

    Where it lies on several branches, one lists what the expiry of another may have destroyed.
    """
    found = list(side.snapshots)
    if not side.is_on_one_branch:
        found = [each for each in found if each is found[-1] or _is_kept(side.table, each)]
    if is_whole(root, tuple(found)):
        return side
    known = {each.id for each in found}
    for segment in side.segments:
        branch = segment.table.branch
        changes = (e.time_millis for e in events if e.branch == branch and e.kind in _ANOTHER)
        since = max(changes, default=0)
        for each in segment.tagged():
            is_behind = root.id < each.id < side.snapshots[-1].id and each.id not in known
            if is_behind and each.time_millis >= since and _is_kept(segment.table, each):
                known.add(each.id)
                found.append(each)
    return replace(side, snapshots=tuple(sorted(found, key=lambda each: each.id)))


def _merges_into(
    branch: str, events: Sequence[LineageEvent], undone: Container[str | None]
) -> list[RecordedMerge]:
    found: list[RecordedMerge] = []
    for event in events:
        if event.branch != branch:
            continue
        if event.kind in _ANOTHER:
            found.clear()
        if event.operation_id in undone or event.after is None:
            continue
        moves = () if event.receipt is None else event.receipt.moves
        after_id = next((each.after_id for each in moves if each.after == event.after), None)
        if event.kind is LineageKind.ROLLED_BACK and after_id is not None:
            # Where the branch was cut back, what stood behind is no part of its history any more.
            found = [each for each in found if each.after_id <= after_id]
        if event.kind not in _TAKES_IN:
            continue
        second = event.parents[1] if len(event.parents) > 1 else None
        is_forward = event.kind is LineageKind.FAST_FORWARDED
        if after_id is not None:
            found.append(
                RecordedMerge(
                    source_branch=event.source_branch,
                    after_id=after_id,
                    after=event.after,
                    parents=event.parents,
                    source=event.after if is_forward else second,
                )
            )
    return found


def _is_kept(table: FileStoreTable, snapshot: Snapshot) -> bool:
    lists = (snapshot.base_manifest_list, snapshot.delta_manifest_list)
    return all(table.reader.files.exists(table.paths.manifest(each)) for each in lists)


def recorded_edges(
    root: Snapshot, line: Snapshots, merges: Sequence[RecordedMerge]
) -> Iterator[tuple[SnapshotIdentity, SnapshotIdentity]]:
    """Yield pairs of child and parent, over merges whose snapshots have expired."""
    known = SnapshotSet(line)
    for merge in merges:
        if merge.after in known:
            continue
        newer = next((each for each in line if each.id > merge.after_id), None)
        older = next((each for each in reversed(line) if each.id < merge.after_id), root)
        if newer is not None:
            yield newer.identity, merge.after
        for parent in (older.identity, *merge.parents):
            yield merge.after, parent


def check_merged_histories(
    root: Snapshot, target: BranchPath, merges: Sequence[RecordedMerge], source: BranchPath
) -> None:
    """Refuse where what the newest merge of a branch took in has expired.

    Args:
        root: The newest snapshot that both histories hold.
        target: The history that was merged into.
        merges: The recorded merges into it.
        source: The history that was merged; where it lies on branches that it was made from, these
            may have been merged at snapshots that it never held.

    Raises:
        NotFound: It is gone.
    """
    for table in (source.table, *source.ancestor_branches):
        newest = _newest_of(table.branch, target, merges)
        if newest is None:
            continue
        held = source.snapshots if table is source.table else _held(root, table)
        if not is_whole(root, held) and newest not in SnapshotSet((root, *held)):
            raise _expired(target.table.branch, table.branch)


def _newest_of(
    name: str, target: BranchPath, merges: Sequence[RecordedMerge]
) -> SnapshotIdentity | None:
    """Return the source snapshot of the newest merge of a branch; None if none is known."""
    found = {
        merge.after_id: merge.source for merge in merges if merge.source_branch in (None, name)
    }
    found |= {
        each.id: merge_source(each)
        for each in target.snapshots
        if each.properties.get(MERGE_SOURCE) == name
    }
    return found.get(max(found, default=0))


def _held(root: Snapshot, table: FileStoreTable) -> Snapshots:
    """Return the snapshots after the root that a branch keeps in its history or by tags."""
    held = {each.id: each for each in (tag.snapshot for tag in table.tags.all())}
    held |= {each.id: each for each in table.snapshots.walk()}
    behind = (held[each] for each in sorted(held) if each > root.id)
    return tuple(each for each in behind if _is_kept(table, each))


def _expired(branch: str, name: str) -> NotFound:
    return NotFound(
        f"What {branch!r} merged of {name!r} has expired on {name!r}, so nothing tells what "
        f"came with that merge and what {name!r} did since: deleted rows could come again. "
        f"Nothing was changed. Keep the snapshots of {name!r} from one merge to the next "
        "('snapshot.num-retained.min', 'snapshot.time-retained'); for now, bring the rows over "
        "by SQL.",
        kind=ErrorKind.SNAPSHOT_NOT_FOUND,
        branch=name,
    )
