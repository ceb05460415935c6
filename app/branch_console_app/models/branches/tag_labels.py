"""Names of tags: those of one snapshot, and those that fit on a chart."""

from collections.abc import Sequence
from typing import Final

from branch_console.format.snapshot import Snapshot
from branch_console.procedures.browse.page_values import TagItem
from branch_console_app.models.parts.wording import shortened

# The console itself makes these, to keep snapshots readable; hovering over a snapshot names them.
_OWN: Final = ("branch-base-", "branch-pin-", "rollback-")
_LENGTH: Final = 14
_ROOM: Final = 2.5


def tag_label(tags: Sequence[str]) -> str:
    """Return the name that stands for the tags of one snapshot; blank if only ours are there."""
    named = [tag for tag in tags if not tag.startswith(_OWN)]
    if not named:
        return ""
    more = f" +{len(named) - 1}" if len(named) > 1 else ""
    return f"{shortened(named[0], _LENGTH)}{more}"


def spaced_labels(marks: Sequence[tuple[float, str]]) -> list[str]:
    """Blank labels that would run into the flag of the next one, named or not.

    Args:
        marks: Place, in columns, and label of each mark on one line.
    """
    labels = [label for _, label in marks]
    order = sorted(range(len(marks)), key=lambda number: -marks[number][0])
    next_x = float("inf")
    for number in order:
        x = marks[number][0]
        if not labels[number]:
            continue
        if next_x - x < _ROOM:
            labels[number] = ""
        next_x = x
    return labels


def split_tags(tags: Sequence[TagItem], head: Snapshot | None) -> tuple[tuple[str, ...], int]:
    """Return the names of the tags of a snapshot, and how many tags are of other snapshots."""
    own = tuple(
        each.name
        for each in tags
        if head is not None
        and each.tag is not None
        and each.tag.snapshot.identity.same_as(head.identity)
    )
    return own, len(tags) - len(own)
