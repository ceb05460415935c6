"""Tags that keep what rollbacks brought back, and how long each is needed."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console.procedures.history.dependents import readable_tags
from branch_console.table.file_store_table import FileStoreTable

PIN_PREFIX: Final = "rollback-"
"""The prefix of tags that keep the snapshot to which a rollback went back."""
_MADE: Final = "-made"


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackPin:
    """The tag of a rollback that was not undone.

    Attributes:
        snapshot_id: The snapshot that the rollback made.
        is_on_it: Whether the tag names that snapshot, or the one that was gone back to.
    """

    tag: str
    operation_id: str
    snapshot_id: int
    is_on_it: bool


def pin_names(operation_id: str) -> tuple[str, str]:
    """The tags of a rollback: on the snapshot that it goes back to, and on the one that it makes.

    The second one is for the day when the files that came back leave again: expiry then spares
    only what the newest older tag holds, which may be one from between, and would delete them from
    under every tag before that.
    """
    pin = f"{PIN_PREFIX}{operation_id}"
    return pin, f"{pin}{_MADE}"


def rollback_pins(events: Iterable[LineageEvent], branch: str) -> tuple[RollbackPin, ...]:
    """The pins of a branch, whether their tags are still there or not.

    Args:
        events: The ledger under the names of today.
        branch: The branch that was rolled back.
    """
    known = tuple(events)
    # A revert takes the rows back, and leaves the rollback's snapshot in the history.
    undone = {event.undoes for event in known if event.kind is LineageKind.UNDONE}
    return tuple(
        RollbackPin(
            tag=name,
            operation_id=event.operation_id,
            snapshot_id=move.after_id,
            is_on_it=is_on_it,
        )
        for event in known
        if event.kind is LineageKind.ROLLED_BACK
        and event.branch == branch
        and event.operation_id not in undone
        and event.receipt is not None
        for move in event.receipt.moves
        if move.after_id is not None
        for is_on_it, name in zip((False, True), pin_names(event.operation_id), strict=True)
    )


def needed_pin(
    table: FileStoreTable, events: Iterable[LineageEvent], tag: str
) -> RollbackPin | None:
    """Return the pin that a tag is, None if it is none or nothing needs it any more.

    Files that came back were deleted by a snapshot before that of the rollback, and go for good
    when that one expires. Whether the head still reads them does not matter: an older snapshot, a
    branch or a tag may. The tag on the rollback's own snapshot is needed as long as there is an
    older tag that may hold them.
    """
    pins = rollback_pins(events, table.branch)
    pin = next((each for each in pins if each.tag == tag), None)
    if pin is None:
        return None
    if pin.is_on_it:
        own = {each.tag for each in pins}
        older = (
            each.name
            for each in readable_tags(table)
            if each.snapshot.id < pin.snapshot_id and each.name not in own
        )
        return pin if any(older) else None
    earliest = table.snapshots.earliest_id()
    return pin if earliest is not None and earliest < pin.snapshot_id else None
