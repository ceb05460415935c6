"""Archived branches take no commits from here; asked wherever a branch is about to change."""

from collections.abc import Iterable
from dataclasses import replace

from branch_console.diff.lifecycle.archive import archived_by
from branch_console.errors import ErrorKind
from branch_console.format.lineage_event import LineageEvent
from branch_console.procedures.call.consequence import Consequence, Preview, blocks


def archive_blocks(
    events: Iterable[LineageEvent], branch: str, what: str
) -> tuple[Consequence, ...]:
    """Return what stands in the way of changing an archived branch.

    Args:
        events: The whole ledger, under the names of today.
        branch: The branch.
        what: What is not done to it, such as `written`.
    """
    event = archived_by(events, branch)
    if event is None:
        return ()
    return (
        blocks(
            f"Branch {branch!r} is archived by {event.actor}: it cannot be {what}. Take it out of "
            f"the archive first: branch-console archive-branch TABLE {branch} --remove.",
            ErrorKind.PROTECTED,
        ),
    )


def unless_archived(preview: Preview, events: Iterable[LineageEvent], branch: str) -> Preview:
    """Return a preview with what keeps an archived branch from being committed to."""
    found = archive_blocks(events, branch, "committed to")
    return replace(preview, consequences=(*found, *preview.consequences)) if found else preview
