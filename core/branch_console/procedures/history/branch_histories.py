"""Reading what a decision on two histories rests on."""

from collections.abc import Collection
from dataclasses import replace

from branch_console.diff.fast_forward import ForwardDecision
from branch_console.diff.history_move import (
    Arrivals,
    BranchHistory,
    Removals,
    is_relation_known,
)
from branch_console.diff.replacement import Replacement
from branch_console.format.journals.history import HistoryCopy, InheritedSnapshot
from branch_console.format.snapshot import Snapshot, SnapshotIdentity
from branch_console.procedures.history.common_history import BranchPath, find_common_history
from branch_console.procedures.history.dependents import dependents_of, tags_read_by
from branch_console.table.file_store_table import FileStoreTable


def read_histories(
    source: FileStoreTable, target: FileStoreTable, *, head_only: bool = False
) -> tuple[BranchHistory, BranchHistory]:
    """Read the histories of two branches.

    A branch that was made from another branch lists its own part of its history. What lies on the
    others is read where that part alone does not tell how the two relate. Who reads them and who
    stands on their tags is not read: see `before_replacing`.

    Args:
        source: The table on one branch.
        target: The table on the other one.
        head_only: Read no snapshot but the head.

    Raises:
        FormatError: A snapshot, schema or tag cannot be decoded.
    """
    theirs, ours = target.reader.both(
        lambda: _history_of(source, head_only=head_only),
        lambda: _history_of(target, head_only=head_only),
    )
    if head_only or theirs.head is None or ours.head is None or is_relation_known(theirs, ours):
        return theirs, ours
    met = find_common_history(target, source, ours.head, theirs.head)
    if met is None:
        return theirs, ours
    return _with_inherited(theirs, met.theirs, met.root), _with_inherited(ours, met.ours, met.root)


def before_replacing(target: FileStoreTable, history: BranchHistory) -> BranchHistory:
    """Return the history of a branch with its readers and the tags that others depend on.

    That counts only if something of it leaves, as where it is replaced by another one.

    Raises:
        FormatError: A consumer cannot be decoded.
    """
    consumers, events = target.reader.both(target.consumers.all, target.ledger.events)
    standing = dependents_of(target, events, history.tags)
    return replace(
        history,
        consumers=tuple((each.id, each.next_snapshot_id) for each in consumers),
        vital_tags=frozenset(
            name for name, branches in standing.items() if any(each.is_vital for each in branches)
        ),
    )


def _with_inherited(history: BranchHistory, side: BranchPath, root: Snapshot) -> BranchHistory:
    listed = {each.id for each in history.snapshots}
    inherited = tuple(each for each in (root, *side.snapshots) if each.id not in listed)
    return replace(
        history,
        inherited=inherited,
        listed_on={each.id: side.branch_holding(each.id) for each in inherited},
    )


def copy_of_move(
    move: ForwardDecision | Replacement, removes: Removals, rescue_branch: str | None
) -> HistoryCopy:
    """Return what the journal of a move of history says: files to copy, files to remove first.

    Args:
        move: The decided fast-forward or replacement.
        removes: What leaves the target before.
        rescue_branch: The branch that keeps it; None if nothing leaves.
    """
    source, target = move.source_head, move.target_head
    return HistoryCopy(
        source=move.source,
        target=move.target,
        expected_head=None if target is None else target.identity,
        expected_head_id=None if target is None else target.id,
        new_head=None if source is None else source.identity,
        new_head_id=None if source is None else source.id,
        schema_ids=move.arrives.schema_ids,
        tags=tuple(tag.name for tag in move.arrives.tags),
        snapshot_ids=tuple(snapshot.id for snapshot in move.arrives.snapshots),
        inherited=_inherited_by(move.arrives),
        remove_snapshot_ids=tuple(snapshot.id for snapshot in removes.snapshots),
        remove_schema_ids=removes.schema_ids,
        remove_tags=tuple(tag.name for tag in removes.tags),
        rescue_branch=rescue_branch,
    )


def _inherited_by(arrives: Arrivals) -> tuple[InheritedSnapshot, ...]:
    """Name what arrives from a branch that the source was made from, for the journal."""
    return tuple(
        InheritedSnapshot(branch=arrives.listed_on[each.id], id=each.id, identity=each.identity)
        for each in arrives.snapshots
        if each.id in arrives.listed_on
    )


def _history_of(table: FileStoreTable, *, head_only: bool) -> BranchHistory:
    with table.reader.asking() as ask:
        snapshots = ask(lambda: _snapshots(table, head_only=head_only))
        schemas, tags = ask(table.schemas.all), ask(table.tags.all)
    return BranchHistory(
        branch=table.branch,
        snapshots=snapshots.result(),
        schemas=schemas.result(),
        tags=tags.result(),
    )


def _snapshots(table: FileStoreTable, *, head_only: bool) -> tuple[Snapshot, ...]:
    if not head_only:
        return table.snapshots.all()
    head = table.head()
    return () if head is None else (head,)


def tags_before(
    target: FileStoreTable, schema_ids: Collection[int]
) -> dict[str, SnapshotIdentity | None]:
    """Return which tags a branch has before the schemas come that they are read by.

    A pin of another branch is such a tag.

    Args:
        target: The table on the branch.
        schema_ids: The schemas that come.

    Returns:
        What each tag names, by the name of the tag, for the journal.
    """
    return {tag.name: tag.snapshot.identity for tag in tags_read_by(target, schema_ids)}


def schema_id_after(target: FileStoreTable, copy: HistoryCopy) -> int | None:
    """Return the newest schema that a branch has once history was moved to it."""
    kept = set(target.schemas.ids()) - set(copy.remove_schema_ids)
    return max(kept | set(copy.schema_ids), default=None)
