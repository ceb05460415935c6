"""The two states of a branch between which an operation lies, and the commits it brought."""

from collections.abc import Sequence
from dataclasses import dataclass

from branch_console.diff.lineage import merge_base, merge_source
from branch_console.diff.state_name import StateName
from branch_console.format.receipt import HeadMove, Receipt
from branch_console.format.snapshot import Snapshot, SnapshotIdentity
from branch_console.procedures.browse.page_values import SnapshotItem


@dataclass(frozen=True, slots=True, kw_only=True)
class BeforeAfter:
    """A branch before and after an operation; both states name one snapshot for good.

    Attributes:
        branch: The branch that was changed.
    """

    branch: str
    before: StateName
    after: StateName

    @property
    def view(self) -> dict[str, str | None]:
        """The parameters with which the page Compare shows both."""
        return {"cmp_a": str(self.before), "cmp_b": str(self.after)}

    @property
    def branches(self) -> frozenset[str]:
        """The branches that have the states, as they were called then."""
        return frozenset({self.before.branch, self.after.branch})


def before_and_after(receipt: Receipt, undo: Receipt | None = None) -> BeforeAfter | None:
    """Return the states between which an operation changed its branch; None if it changed none.

    Args:
        receipt: The receipt of the operation.
        undo: The receipt of its undo, which may have kept the later state on a rescue branch.
    """
    for move in receipt.moves:
        before, after = move.before, move.after
        if before is None or after is None or before.same_as(after):
            continue
        if move.before_id is None or move.after_id is None:
            continue
        kept = None if undo is None else undo.rescue_branch
        return BeforeAfter(
            branch=move.branch,
            before=_pinned(receipt.rescue_branch or move.branch, move.before_id, before),
            after=_pinned(kept or move.branch, move.after_id, after),
        )
    return None


def _pinned(branch: str, snapshot_id: int, identity: SnapshotIdentity) -> StateName:
    return StateName(branch=branch, snapshot_id=snapshot_id, identity=identity.short)


def commits_of_move(items: Sequence[SnapshotItem], move: HeadMove) -> tuple[SnapshotItem, ...]:
    """Return the commits by which a branch went on, oldest first.

    Args:
        items: The snapshots of the branch.
        move: The move of its head.

    Returns:
        Nothing if one of them is gone, or if the branch did not go on from its earlier head but
        got another history.
    """
    if move.after_id is None or not any(_is_at(each.snapshot, move.after) for each in items):
        return ()
    earlier = [each for each in items if each.id == move.before_id]
    if not all(_is_at(each.snapshot, move.before) for each in earlier):
        return ()
    return _between(items, move.before_id or 0, move.after_id)


def commits_merged(items: Sequence[SnapshotItem], merge: Snapshot) -> tuple[SnapshotItem, ...]:
    """Return the commits of a source that a merge took in, oldest first.

    Args:
        items: The snapshots of the source, as it is now.
        merge: The commit of the merge.

    Returns:
        Nothing if the source no longer has its merge base or the head of that time.
    """
    ids = [
        next((item.id for item in items if _is_at(item.snapshot, each)), None)
        for each in (merge_base(merge), merge_source(merge))
    ]
    first, last = ids
    if first is None or last is None:
        return ()
    return _between(items, first, last)


def _between(items: Sequence[SnapshotItem], first: int, last: int) -> tuple[SnapshotItem, ...]:
    """Return the snapshots after the first id up to the last; nothing if one of them is missing."""
    found = [each for each in items if first < each.id <= last and each.snapshot is not None]
    if len(found) != last - first:
        return ()
    return tuple(sorted(found, key=lambda each: each.id))


def _is_at(snapshot: Snapshot | None, identity: SnapshotIdentity | None) -> bool:
    return snapshot is not None and identity is not None and snapshot.identity.same_as(identity)
