"""Pins of shared files: their names on main, and how long each is needed."""

from collections.abc import Iterable
from typing import Final

from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console.format.tag import Tag
from branch_console.table.file_store_table import FileStoreTable

SHARE_PIN_PREFIX: Final = "branch-pin-"
"""The prefix of tags on main that keep files which a branch needs too."""
_TWIN: Final = "-twin"


def share_pin(operation_id: str, number: int) -> str:
    """Name a pin of an operation, counted from 1."""
    first = f"{SHARE_PIN_PREFIX}{operation_id}"
    return first if number == 1 else f"{first}-{number}"


def twin_of(pin: str) -> str:
    """Name the second pin on the same snapshot.

    Paimon deletes the files of a tag only with the last tag of its snapshot, so a careless
    `delete_tag` takes a name, and no file.
    """
    return f"{pin}{_TWIN}"


def is_share_pin(tag: Tag) -> bool:
    """Whether a tag is a pin of ours that lasts for good."""
    return tag.name.startswith(SHARE_PIN_PREFIX) and tag.time_retained_seconds is None


def branches_needing(
    main: FileStoreTable, events: Iterable[LineageEvent], tag: str
) -> tuple[str, ...]:
    """Return the branches that need a pin on main, none for another tag.

    A pin is needed while the branch that shares files with main is there under any name, also as
    the rescue branch that a drop left.

    Args:
        main: The table on main.
        events: The ledger under the names of today.
        tag: The name of the tag.
    """
    if main.branch != MAIN_BRANCH or not tag.startswith(SHARE_PIN_PREFIX):
        return ()
    known = tuple(events)
    undone = {event.undoes for event in known if event.kind is LineageKind.UNDONE}
    shared = {
        branch
        for event in known
        if _is_of(tag, event.operation_id) and event.operation_id not in undone
        for branch in (event.branch, event.source_branch)
        if branch is not None and branch != MAIN_BRANCH
    }
    kept = {
        event.receipt.rescue_branch
        for event in known
        if event.kind is LineageKind.DROPPED
        and event.branch in shared
        and event.receipt is not None
        and event.receipt.rescue_branch is not None
    }
    there = main.branches.names()
    return tuple(name for name in there if name in shared | kept)


def _is_of(tag: str, operation_id: str) -> bool:
    first = share_pin(operation_id, 1)
    return tag == first or tag.startswith(f"{first}-")
