"""The move of one branch's history to another: what arrives, and what has to go.

Snapshots are compared by identity, never by id: ids of two branches collide by design.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from branch_console.diff.rows.row_figure import RowFigure, add_up, commit_figures
from branch_console.format.bounds import MOST_MISSING
from branch_console.format.snapshot import Snapshot, SnapshotIdentity
from branch_console.format.table_schema import TableSchema
from branch_console.format.tag import Tag


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchHistory:
    """All that a decision needs to know of one branch.

    Attributes:
        snapshots: By id, oldest first, without those that expired.
        consumers: Streaming consumers and the snapshot id each reads next.
        vital_tags: Tags that other branches stand on; they never leave.
        inherited: What it builds on that it does not list itself, from the newest snapshot on that
            the other branch knows; oldest first. Read where it takes that to relate the two.
        listed_on: The branch that lists each of these, by snapshot id.
    """

    branch: str
    snapshots: tuple[Snapshot, ...]
    schemas: tuple[TableSchema, ...]
    tags: tuple[Tag, ...]
    consumers: tuple[tuple[str, int], ...] = ()
    vital_tags: frozenset[str] = frozenset()
    inherited: tuple[Snapshot, ...] = ()
    listed_on: Mapping[int, str] = field(default_factory=dict)

    @property
    def head(self) -> Snapshot | None:
        """The newest snapshot."""
        return self.snapshots[-1] if self.snapshots else None

    @property
    def history(self) -> tuple[Snapshot, ...]:
        """The snapshots of its history on all branches, as far as they were read."""
        return (*self.inherited, *self.snapshots)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrivals:
    """Snapshots, schemas and tags that a fast-forward brings to the target.

    Attributes:
        changes: The changes by the commit of each snapshot.
        listed_on: The branch that lists a snapshot which the source does not, by snapshot id.
    """

    snapshots: tuple[Snapshot, ...] = ()
    changes: tuple[RowFigure, ...] = ()
    schema_ids: tuple[int, ...] = ()
    tags: tuple[Tag, ...] = ()
    listed_on: Mapping[int, str] = field(default_factory=dict)

    @property
    def figure(self) -> RowFigure:
        """Rows that the arriving snapshots added, less those that they removed."""
        return add_up(self.changes)

    @property
    def is_empty(self) -> bool:
        """Whether nothing arrives."""
        return not (self.snapshots or self.schema_ids or self.tags)


@dataclass(frozen=True, slots=True, kw_only=True)
class Removals:
    """Snapshots, schemas, tags and consumers that the target would lose.

    Attributes:
        changes: The changes by the commit of each snapshot.
        kept_tags: Tags that stay although their snapshots go: other branches stand on them.
        consumers: Consumers that would have to read again, with the id each reads next.
    """

    snapshots: tuple[Snapshot, ...] = ()
    changes: tuple[RowFigure, ...] = ()
    schema_ids: tuple[int, ...] = ()
    tags: tuple[Tag, ...] = ()
    kept_tags: tuple[Tag, ...] = ()
    consumers: tuple[tuple[str, int], ...] = ()

    @property
    def figure(self) -> RowFigure:
        """Rows that the snapshots added, less those that they removed."""
        return add_up(self.changes)

    @property
    def is_empty(self) -> bool:
        """Whether nothing would go."""
        return not (self.snapshots or self.schema_ids or self.tags or self.consumers)


class SnapshotSet:
    """The snapshots that a branch knows, by identity: ids of two branches collide by design."""

    def __init__(self, snapshots: Iterable[Snapshot]) -> None:
        self._uuids: set[str] = set()
        self._lists: dict[tuple[str, str], str | None] = {}
        self.add(snapshots)

    def add(self, snapshots: Iterable[Snapshot]) -> None:
        """Know some more."""
        for snapshot in snapshots:
            identity = snapshot.identity
            self._lists[identity.manifest_lists] = identity.uuid
            if identity.uuid is not None:
                self._uuids.add(identity.uuid)

    def __contains__(self, identity: SnapshotIdentity) -> bool:
        if identity.uuid is not None and identity.uuid in self._uuids:
            return True
        uuid = self._lists.get(identity.manifest_lists, "")
        return uuid is None or (uuid != "" and identity.uuid is None)


def provable_snapshots(history: BranchHistory) -> SnapshotSet:
    """Return what a branch can prove to have held."""
    # A tag keeps a snapshot readable, and provable, after its file has expired.
    return SnapshotSet([*history.history, *(tag.snapshot for tag in history.tags)])


def history_snapshots(history: BranchHistory) -> SnapshotSet:
    """Return the snapshots that a branch can prove to build on."""
    first = min((each.id for each in history.history), default=0)
    return SnapshotSet([*history.history, *expired_of(history.tags, first)])


def expired_of(tags: Iterable[Tag], oldest_id: int) -> tuple[Snapshot, ...]:
    """Return expired snapshots in the history of a branch, as far as its tags hold them.

    A tag of what is newer than the oldest snapshot, and not there, stayed when the branch was cut
    back: such a number is that of another snapshot now, or of none.

    Args:
        tags: The tags of the branch.
        oldest_id: The oldest snapshot that it still has.
    """
    return tuple(tag.snapshot for tag in tags if tag.snapshot.id < oldest_id)


def is_in_history(snapshot: Snapshot | None, history: BranchHistory) -> bool:
    """Whether a snapshot is in the history of a branch."""
    return snapshot is not None and snapshot.identity in history_snapshots(history)


def is_same(left: BranchHistory, right: BranchHistory) -> bool:
    """Whether two branches have the same head."""
    if left.head is None or right.head is None:
        return left.head is right.head
    return left.head.identity.same_as(right.head.identity)


def find_fork(source: BranchHistory, target: BranchHistory) -> tuple[Snapshot | None, bool]:
    """Return the newest snapshot of the target that the source has, and whether they relate."""
    known = history_snapshots(source)
    for snapshot in reversed(target.history):
        if snapshot.identity in known:
            return snapshot, True
    # An empty history is a beginning of every history.
    return None, target.head is None


def is_relation_known(source: BranchHistory, target: BranchHistory) -> bool:
    """Whether the snapshots that both list show how they relate, without a gap between."""
    if source.head is None or target.head is None or is_in_history(source.head, target):
        return True
    fork, is_known = find_fork(source, target)
    return is_known and not missing_ids(source, fork)


def missing_ids(source: BranchHistory, fork: Snapshot | None) -> Sequence[int]:
    """The ids after the fork that the source lacks.

    Of more than MOST_MISSING it is the range from the lowest to the highest.
    """
    first = 1 if fork is None else fork.id + 1
    last = 0 if source.head is None else source.head.id
    present = {snapshot.id for snapshot in source.history}
    if last - first < MOST_MISSING:
        return [each for each in range(first, last + 1) if each not in present]
    lowest = next((each for each in range(first, last + 1) if each not in present), last + 1)
    highest = next((each for each in range(last, lowest, -1) if each not in present), lowest)
    return range(lowest, min(highest, last) + 1)


def replaced_fork(source: BranchHistory, target: BranchHistory) -> Snapshot | None:
    """Return the newest snapshot that stays where the target is replaced, None if none does.

    Where the source's snapshots behind the shared one have expired, nothing stays: the history
    would have a hole.
    """
    fork, _ = find_fork(source, target)
    if source.head is None or fork not in target.snapshots or missing_ids(source, fork):
        return None
    return fork


def clashing_schemas(source: BranchHistory, target: BranchHistory) -> list[int]:
    """Ids that mean one schema here and another there."""
    ours = {schema.id: schema.fingerprint for schema in target.schemas}
    return [
        schema.id
        for schema in source.schemas
        if ours.get(schema.id, schema.fingerprint) != schema.fingerprint
    ]


def clashing_tags(source: BranchHistory, target: BranchHistory) -> list[Tag]:
    """Tags of the target whose names mean other snapshots on the source."""
    theirs = {tag.name: tag.snapshot.identity for tag in source.tags}
    return [
        tag
        for tag in target.tags
        if tag.name in theirs and not tag.snapshot.identity.same_as(theirs[tag.name])
    ]


def arrivals(source: BranchHistory, target: BranchHistory, fork: Snapshot | None) -> Arrivals:
    """List what the target gets; names that clash are only taken if the target is replaced."""
    # Not what a tag alone keeps: the history would get a hole where that snapshot belongs.
    known = SnapshotSet(target.snapshots)
    snapshots = tuple(each for each in after(source, fork) if each.identity not in known)
    schemas = {schema.id: schema.fingerprint for schema in target.schemas}
    tags = {tag.name: tag.snapshot.identity for tag in target.tags}
    return Arrivals(
        snapshots=snapshots,
        changes=_changes(source, snapshots),
        schema_ids=tuple(
            each.id for each in source.schemas if schemas.get(each.id) != each.fingerprint
        ),
        tags=tuple(
            tag
            for tag in source.tags
            if tag.name not in target.vital_tags
            and not (tag.name in tags and tags[tag.name].same_as(tag.snapshot.identity))
        ),
        listed_on={
            each.id: source.listed_on[each.id] for each in snapshots if each.id in source.listed_on
        },
    )


def removals(source: BranchHistory, target: BranchHistory, fork: Snapshot | None) -> Removals:
    """List what has to leave the target before the source's history is all it holds."""
    known = provable_snapshots(source)
    theirs = {schema.id: schema.fingerprint for schema in source.schemas}
    shared = -1 if fork is None else fork.schema_id
    clashing = set(clashing_schemas(source, target))
    clashing_names = {tag.name for tag in clashing_tags(source, target)}
    kept_id = 0 if fork is None else fork.id
    leaving = [
        tag
        for tag in target.tags
        if tag.name in clashing_names
        or (tag.snapshot.id > kept_id and tag.snapshot.identity not in known)
    ]
    leaves = after(target, fork)
    return Removals(
        snapshots=leaves,
        changes=_changes(target, leaves),
        schema_ids=tuple(
            schema.id
            for schema in target.schemas
            if schema.id in clashing or (schema.id > shared and schema.id not in theirs)
        ),
        tags=tuple(tag for tag in leaving if tag.name not in target.vital_tags),
        kept_tags=tuple(tag for tag in leaving if tag.name in target.vital_tags),
        consumers=tuple(each for each in target.consumers if each[1] > kept_id + 1),
    )


def _changes(history: BranchHistory, snapshots: Sequence[Snapshot]) -> tuple[RowFigure, ...]:
    """Return the row changes of some snapshots of a branch."""
    if not snapshots:
        return ()
    first = snapshots[0].id
    before = next((each for each in reversed(history.history) if each.id < first), None)
    schema = history.schemas[-1] if history.schemas else None
    return commit_figures(snapshots, before, schema, history.branch)


def after(history: BranchHistory, fork: Snapshot | None) -> tuple[Snapshot, ...]:
    """Return the snapshots after the fork; all that the branch lists if there is none."""
    if fork is None:
        return history.snapshots
    return tuple(snapshot for snapshot in history.history if snapshot.id > fork.id)


def count(number: int, noun: str) -> str:
    """Write a number with its noun."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def id_range(ids: Sequence[int]) -> str:
    """Write ids for people: `3`, `3, 5` or `3-9`."""
    if len(ids) > 2 and ids[-1] - ids[0] == len(ids) - 1:
        return f"{ids[0]}-{ids[-1]}"
    return ", ".join(str(each) for each in ids)
