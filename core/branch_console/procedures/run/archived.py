"""Archived branches take no commits from here; asked wherever a branch is about to change."""

from dataclasses import replace

from branch_console.diff.lifecycle.archive import archived_by
from branch_console.errors import ErrorKind
from branch_console.procedures.call.consequence import Consequence, Preview, blocks
from branch_console.table.file_store_table import FileStoreTable


def archive_blocks(table: FileStoreTable, branch: str, what: str) -> tuple[Consequence, ...]:
    """Return the obstacles of a change to an archived branch.

    Args:
        table: The table on any branch.
        branch: The branch that would change.
        what: What is not done to it, such as `written`.
    """
    event = archived_by(table.ledger.whole(), branch)
    if event is None:
        return ()
    name = table.identifier.table_name
    return (
        blocks(
            f"Branch {branch!r} is archived by {event.actor}: it cannot be {what}. Take it out of "
            f"the archive first: branch-console archive-branch {name} {branch} --remove.",
            ErrorKind.PROTECTED,
        ),
    )


def unless_archived(preview: Preview, table: FileStoreTable, branch: str) -> Preview:
    """Return a preview with what keeps an archived branch from being committed to."""
    found = archive_blocks(table, branch, "committed to")
    return replace(preview, consequences=(*found, *preview.consequences)) if found else preview
