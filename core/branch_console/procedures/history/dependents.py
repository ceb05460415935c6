"""The dependents of a branch or a tag, which break if it is removed."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from branch_console.errors import FormatError, PaimonError
from branch_console.format.identifier import MAIN_BRANCH, RESCUE_PREFIX
from branch_console.format.journals.branches import OptionUse
from branch_console.format.lineage_event import BIRTHS, LineageEvent, LineageKind, base_tag_of, born
from branch_console.format.options import BRANCH_OPTIONS
from branch_console.format.snapshot import Snapshot, SnapshotIdentity
from branch_console.format.tag import Tag
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.snapshot_manager import SnapshotManager


@dataclass(frozen=True, slots=True, kw_only=True)
class TagDependent:
    """A branch that stands on a tag.

    Attributes:
        is_base_tag: Whether the ledger calls it the base tag of the branch.
        others: Other tags there that keep the same snapshot, and do not expire.
    """

    branch: str
    is_base_tag: bool
    others: tuple[str, ...]

    @property
    def is_vital(self) -> bool:
        """Whether the branch would be without a tag that keeps its fork."""
        return self.is_base_tag or not self.others


def options_naming(table: FileStoreTable, branch: str) -> tuple[OptionUse, ...]:
    """Options of any branch by which readers are sent to this one; unreadable schemas are skipped.

    References:
        Paimon AbstractFileStoreTable.deleteBranch looks at two of them, on the current branch.
    """
    holders = (MAIN_BRANCH, *table.branches.names())
    paths = table.paths
    named = table.reader.of_folders(
        paths.table,
        paths.schema_dirs(holders),
        OptionUse,
        lambda holder: _branches_named(table.on_listed(holder)),
    )
    return tuple(
        OptionUse(branch=holder, key=key)
        for holder in holders
        for key, other in named[holder] or ()
        if other == branch
    )


def _branches_named(holder: FileStoreTable) -> tuple[tuple[str, str], ...] | None:
    """The options of a branch that name another one, each with that branch.

    None if its schema cannot be read.
    """
    try:
        schema = holder.schemas.find_latest()
    except PaimonError:
        return None
    options = {} if schema is None else schema.options
    found = ((option.key, options.get(option.key)) for option in BRANCH_OPTIONS)
    return tuple((key, other) for key, other in found if other is not None)


def dependents_of(
    table: FileStoreTable, events: tuple[LineageEvent, ...], tags: Iterable[Tag]
) -> Mapping[str, tuple[TagDependent, ...]]:
    """Return the branches that began at tagged snapshots of the table's branch, by tag.

    Args:
        table: The table on the branch that holds the tags.
        events: The ledger under the names of today.
        tags: All tags of that branch.

    Returns:
        Only tags that something stands on, by name.
    """
    wanted = tuple(tags)
    found: dict[str, list[TagDependent]] = {}
    births = {
        branch: event
        for branch in (table.branches.names() if wanted else ())
        # One that was rescued holds a whole history of its own.
        if (event := born(events, branch)) is None or event.kind is not LineageKind.RESCUED
    }
    births.pop(table.branch, None)
    beginnings = table.reader.map_parallel(
        lambda birth: _beginnings(table.on_listed(birth[0]), birth[1]), list(births.items())
    )
    for (branch, birth), begun in zip(births.items(), beginnings, strict=True):
        base_tag = base_tag_of(events, branch)
        recorded = None if birth is None else birth.after
        for tag in wanted:
            identity = tag.snapshot.identity
            # A name alone tells where other software made the branch, and we pinned it.
            is_base_tag = tag.name == base_tag and (recorded is None or identity.same_as(recorded))
            if is_base_tag or any(identity.same_as(each) for each in begun):
                standing = TagDependent(
                    branch=branch,
                    is_base_tag=is_base_tag,
                    others=tuple(
                        other.name
                        for other in wanted
                        if other.name != tag.name
                        and other.time_retained_seconds is None
                        and other.snapshot.identity.same_as(identity)
                    ),
                )
                found.setdefault(tag.name, []).append(standing)
    return {name: tuple(each) for name, each in found.items()}


def rescues_of(
    table: FileStoreTable, events: tuple[LineageEvent, ...], tag: str
) -> tuple[str, ...]:
    """Rescue branches that a tag was made for; such a tag leaves where history is cut before it."""
    return tuple(
        branch
        for branch in table.branches.names()
        if (event := born(events, branch)) is not None
        and event.kind is LineageKind.RESCUED
        and base_tag_of(events, branch) == tag
    )


def base_tags_among(
    table: FileStoreTable, events: tuple[LineageEvent, ...], tags: Sequence[Tag]
) -> frozenset[str]:
    """The names of those tags of the table's branch at which another, or what is kept of it, began.

    Args:
        table: The table on the branch that holds the tags.
        events: The ledger under the names of today.
        tags: The tags of that branch.
    """
    standing = dependents_of(table, events, tags)
    return frozenset(
        tag.name
        for tag in tags
        if any(each.is_base_tag for each in standing.get(tag.name, ()))
        or rescues_of(table, events, tag.name)
    )


def children_of(
    table: FileStoreTable, events: tuple[LineageEvent, ...], branch: str
) -> tuple[str, ...]:
    """Branches made from this one whose fork nothing on main keeps, so that they need it."""
    births = {event.branch: event for event in events if event.kind in BIRTHS}
    forks = {
        name: event.after
        for name, event in births.items()
        if event.source_branch == branch
        and name != branch
        and event.kind is LineageKind.FORKED
        and event.after is not None
    }
    there = table.branches.names() if forks else ()
    forks = {name: forks[name] for name in there if name in forks}
    if not forks:
        return ()
    kept = [tag.snapshot.identity for tag in readable_tags(table.on(MAIN_BRANCH))]
    return tuple(
        sorted(name for name, fork in forks.items() if not any(each.same_as(fork) for each in kept))
    )


def readable_tags(table: FileStoreTable) -> tuple[Tag, ...]:
    """The tags of the table's branch that can be decoded."""
    return tuple(state.value for state in table.tags.states() if state.value is not None)


def tags_read_by(table: FileStoreTable, schema_ids: Collection[int]) -> tuple[Tag, ...]:
    """The tags of the table's branch that are read by some of its schemas."""
    if not schema_ids:
        return ()
    return tuple(tag for tag in readable_tags(table) if tag.snapshot.schema_id in schema_ids)


def commits_only_on(
    table: FileStoreTable, events: tuple[LineageEvent, ...]
) -> tuple[Snapshot, ...]:
    """Snapshots of the branch that no other holds and no merge took in, oldest first.

    Copies keep their ids, so each is looked for under its own id only. Rescue branches do not
    count: they are there to be dropped.
    """
    main = table.on(MAIN_BRANCH)
    merged = [
        parent
        for event in events
        if event.source_branch == table.branch and event.kind is LineageKind.MERGED
        for parent in event.parents
    ]
    others: list[tuple[FileStoreTable, Collection[int]]] | None = None
    own: list[Snapshot] = []
    # From the head back: what a snapshot builds on is held wherever the snapshot is.
    for snapshot in table.snapshots.walk():
        if any(snapshot.identity.same_as(each) for each in merged) or _holds(main, snapshot):
            break
        # Where main holds the head, as of a branch that nobody wrote to, no other is looked at.
        others = _other_branches(table) if others is None else others
        if any(snapshot.id in ids and _holds(other, snapshot) for other, ids in others):
            break
        own.append(snapshot)
    return tuple(reversed(own))


def _other_branches(table: FileStoreTable) -> list[tuple[FileStoreTable, Collection[int]]]:
    """All branches but this one, main and those that were rescued, with the ids they hold."""
    others = [
        name
        for name in table.branches.names()
        if name != table.branch and not name.startswith(RESCUE_PREFIX)
    ]
    paths = table.paths
    ids = table.reader.of_folders(
        paths.table,
        paths.snapshot_dirs(others),
        SnapshotManager,
        lambda name: frozenset(table.on_listed(name).snapshots.ids()),
    )
    return [(table.on_listed(name), ids[name] or ()) for name in others]


def _holds(table: FileStoreTable, snapshot: Snapshot) -> bool:
    try:
        return table.snapshots.holds(snapshot)
    except PaimonError:
        return False


def fork_of(branch: FileStoreTable, event: LineageEvent | None) -> SnapshotIdentity | None:
    """The snapshot that a branch began at: as recorded, else the oldest that it holds."""
    if event is not None:
        return event.after
    oldest = min(_held(branch), key=lambda snapshot: snapshot.id, default=None)
    return None if oldest is None else oldest.identity


def _beginnings(branch: FileStoreTable, event: LineageEvent | None) -> tuple[SnapshotIdentity, ...]:
    """The snapshots that a branch may have begun at, more than one if nothing tells for sure.

    The ledger knows nothing of a branch that other software dropped and made again: what it records
    is the whole truth only of a branch that holds it still.
    """
    recorded = None if event is None else event.after
    if event is not None and recorded is not None and has_tag_of(branch, event.base_tag, recorded):
        return (recorded,)
    held = tuple(snapshot.identity for snapshot in _held(branch))
    if recorded is None:
        return held
    if any(each.same_as(recorded) for each in held):
        return (recorded,)
    return (recorded, *held)


def has_tag_of(branch: FileStoreTable, name: str | None, fork: SnapshotIdentity) -> bool:
    """Whether a branch holds the tag of that name, on just that snapshot."""
    try:
        tag = None if name is None else branch.tags.find(name)
    except FormatError:
        return False
    return tag is not None and tag.snapshot.identity.same_as(fork)


def _held(branch: FileStoreTable) -> tuple[Snapshot, ...]:
    """Return the tagged snapshots of a branch and its oldest one; a branch is made with both."""
    tagged = [tag.snapshot for tag in readable_tags(branch)]
    try:
        earliest = branch.snapshots.earliest_id()
        oldest = None if earliest is None else branch.snapshots.find(earliest)
    except FormatError:
        oldest = None
    return tuple(tagged) if oldest is None else (*tagged, oldest)
