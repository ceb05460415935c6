"""Tags that keep what rollbacks brought back, and how long each is needed."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from core.format.lineage_event import LineageEvent, LineageKind
from core.table.file_store_table import FileStoreTable

PIN_PREFIX: Final = "rollback-"
"""Of the tags that keep what a rollback brought back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackPin:
    """The tag of a rollback that was not undone.

    Attributes:
        snapshot_id: The snapshot that the rollback made.
    """

    tag: str
    operation_id: str
    snapshot_id: int


def rollback_pins(events: Iterable[LineageEvent], branch: str) -> tuple[RollbackPin, ...]:
    """The pins of a branch, whether their tags are still there or not.

    Args:
        events: The ledger under the names of today.
        branch: The branch that was rolled back.
    """
    known = tuple(events)
    undone = {event.undoes for event in known}
    return tuple(
        RollbackPin(
            tag=f"{PIN_PREFIX}{event.operation_id}",
            operation_id=event.operation_id,
            snapshot_id=move.after_id,
        )
        for event in known
        if event.kind is LineageKind.ROLLED_BACK
        and event.branch == branch
        and event.operation_id not in undone
        and event.receipt is not None
        for move in event.receipt.moves
        if move.after_id is not None
    )


def needed_pin(
    table: FileStoreTable, events: Iterable[LineageEvent], tag: str
) -> RollbackPin | None:
    """Return the pin that a tag is, None where it is none or nothing needs it any more.

    Files that came back were deleted by a snapshot before that of the rollback, and go for good
    when that one expires. Whether the head still reads them does not matter: an older snapshot, a
    branch or a tag may.
    """
    pin = next((each for each in rollback_pins(events, table.branch) if each.tag == tag), None)
    if pin is None:
        return None
    earliest = table.snapshots.earliest_id()
    return pin if earliest is not None and earliest < pin.snapshot_id else None
