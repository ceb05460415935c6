"""What two branches took in of each other where the snapshots that told of it have expired.

A merge is told by its snapshot, and after that by the ledger. What it took in may have expired too,
unless a tag keeps it: then nothing tells which rows came with it and which were written since. On a
branch other than main a tag keeps nothing from Paimon's expiry, which looks at the tags of main.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from core.diff.history_move import Known
from core.diff.lineage import MERGE_SOURCE, merge_source
from core.errors import ErrorKind, NotFound
from core.format.lineage_event import LineageEvent, LineageKind
from core.format.snapshot import Snapshot, SnapshotIdentity
from core.table.file_store_table import FileStoreTable

Line: TypeAlias = tuple[Snapshot, ...]
"""The snapshots of a branch behind another one, oldest first."""

# From then on a branch has another history.
_ANOTHER: Final = frozenset(
    {LineageKind.CREATED, LineageKind.FORKED, LineageKind.REPLACED, LineageKind.RESTORED}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedMerge:
    """A merge that the ledger tells of; its snapshot may have expired."""

    source_branch: str | None
    after_id: int
    after: SnapshotIdentity
    parents: tuple[SnapshotIdentity, ...]

    @property
    def source(self) -> SnapshotIdentity | None:
        """What it took in."""
        return self.parents[1] if len(self.parents) > 1 else None


def is_whole(root: Snapshot, line: Line) -> bool:
    """Whether no snapshot behind the root has expired."""
    return not line or len(line) == line[-1].id - root.id


def recorded_merges(
    events: Sequence[LineageEvent], branch: str, root: Snapshot
) -> tuple[RecordedMerge, ...]:
    """The merges into a branch behind the root, the oldest first.

    Args:
        events: The ledger, in order.
        branch: The branch.
        root: A snapshot that it holds.
    """
    found: list[RecordedMerge] = []
    undone = {event.undoes for event in events if event.kind is LineageKind.UNDONE}
    for event in events:
        if event.branch == branch and event.kind in _ANOTHER:
            found.clear()
        is_merge = event.branch == branch and event.kind is LineageKind.MERGED
        if not is_merge or event.operation_id in undone or event.after is None:
            continue
        moves = () if event.receipt is None else event.receipt.moves
        after_id = next((each.after_id for each in moves if each.after == event.after), None)
        if after_id is not None and after_id > root.id:
            found.append(
                RecordedMerge(
                    source_branch=event.source_branch,
                    after_id=after_id,
                    after=event.after,
                    parents=event.parents,
                )
            )
    return tuple(found)


def with_tagged(
    table: FileStoreTable, root: Snapshot, line: Line, events: Sequence[LineageEvent]
) -> Line:
    """The snapshots behind the root, with those that have expired and that a tag has kept."""
    if is_whole(root, line):
        return line
    changes = (e.time_millis for e in events if e.branch == table.branch and e.kind in _ANOTHER)
    since, known = max(changes, default=0), {each.id for each in line}
    tagged = {
        tag.snapshot.id: tag.snapshot
        for tag in table.tags.all()
        if root.id < tag.snapshot.id < line[-1].id
        and tag.snapshot.id not in known
        and tag.snapshot.time_millis >= since
        and _is_kept(table, tag.snapshot)
    }
    return tuple(sorted((*line, *tagged.values()), key=lambda each: each.id))


def _is_kept(table: FileStoreTable, snapshot: Snapshot) -> bool:
    lists = (snapshot.base_manifest_list, snapshot.delta_manifest_list)
    return all(table.reader.files.exists(table.paths.manifest(each)) for each in lists)


def recorded_edges(
    root: Snapshot, line: Line, merges: Sequence[RecordedMerge]
) -> Iterator[tuple[SnapshotIdentity, SnapshotIdentity]]:
    """What builds on what, as child and parent, over merges whose snapshots have expired."""
    known = Known(line)
    for merge in merges:
        if merge.after in known:
            continue
        newer = next((each for each in line if each.id > merge.after_id), None)
        older = next((each for each in reversed(line) if each.id < merge.after_id), root)
        if newer is not None:
            yield newer.identity, merge.after
        for parent in (older.identity, *merge.parents):
            yield merge.after, parent


def check_taken_in(
    root: Snapshot,
    target: tuple[str, Line, Sequence[RecordedMerge]],
    source: tuple[str, Line],
) -> None:
    """Refuse where what the newest merge of a branch took in has expired.

    Args:
        root: The newest snapshot that both histories hold.
        target: The name, the line and the recorded merges of the branch that was merged into.
        source: The name and the line of the branch that was merged.

    Raises:
        NotFound: It is gone.
    """
    branch, line, merges = target
    name, other = source
    if is_whole(root, other):
        return
    told = {merge.after_id: merge.source for merge in merges if merge.source_branch in (None, name)}
    told |= {
        each.id: merge_source(each) for each in line if each.properties.get(MERGE_SOURCE) == name
    }
    newest = told.get(max(told, default=0))
    if newest is not None and newest not in Known((root, *other)):
        raise NotFound(
            f"What {branch!r} merged of {name!r} has expired on {name!r}, so nothing tells what "
            f"came with that merge and what {name!r} did since: deleted rows could come again. "
            f"Nothing was changed. Keep the snapshots of {name!r} from one merge to the next "
            "('snapshot.num-retained.min', 'snapshot.time-retained'); for now, bring the rows over "
            "by SQL.",
            kind=ErrorKind.SNAPSHOT_NOT_FOUND,
            branch=name,
        )
