"""The grace before files are removed, and its absence, in the words of all procedures."""

from typing import Final

from branch_console.diff.history_move import count

NO_UNDO_OF_FILES: Final = "There is no undo: the files are removed at once."


def minutes(millis: int) -> str:
    """Write how long a grace is: `1,440 minutes`."""
    return count(millis // 60_000, "minute")
