"""Whether a branch is archived, as the ledger tells it."""

from collections.abc import Iterable
from typing import Final

from branch_console.format.lineage_event import LineageEvent, LineageKind

_ENDS: Final = frozenset({LineageKind.UNARCHIVED, LineageKind.RESTORED})
"""The events that end the archiving of a branch; a branch that was restored is in use again."""


def archived_by(events: Iterable[LineageEvent], branch: str) -> LineageEvent | None:
    """Return the event by which a branch is archived now, None if it is not.

    Args:
        events: The ledger, in the order things happened, under the names of today.
        branch: The branch.
    """
    found = None
    for event in events:
        if event.branch == branch:
            if event.kind is LineageKind.ARCHIVED:
                found = event
            elif event.kind in _ENDS:
                found = None
    return found
