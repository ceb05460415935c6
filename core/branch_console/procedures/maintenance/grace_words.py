"""Files that are removed, and the grace before, in the words of all procedures."""

from collections.abc import Iterator
from typing import Final

import pyarrow as pa

from branch_console.diff.history_move import count
from branch_console.procedures.maintenance.release_files import Released, size_of

NO_UNDO_OF_FILES: Final = "There is no undo: the files are removed at once."


def minutes(millis: int) -> str:
    """Write how long a grace is: `1,440 minutes`."""
    return count(millis // 60_000, "minute")


def amount_words(files: pa.Table) -> str:
    """Write how many files there are, and their bytes; with columns of RELEASED_FILES."""
    return _amount(files.num_rows, size_of(files))


def removed_words(released: Released) -> str:
    """Write what a release removed: `3 files with 3,000 bytes of data were removed`."""
    verb = "was" if released.files == 1 else "were"
    return f"{_amount(released.files, released.size)} {verb} removed"


def removal_notes(released: Released, *, was_due: bool) -> Iterator[str]:
    """Yield what an expiry removed, or what it waits for.

    Args:
        released: The result of the release.
        was_due: Whether any file was to be removed at once.
    """
    if released.waits_for is not None:
        yield (
            f"No file was removed: operation {released.waits_for} is open and may need some. They "
            "go with the next expiry."
        )
    elif was_due:
        yield f"{removed_words(released)}."
        if released.gone:
            yield f"{count(released.gone, 'file')} had gone already."


def _amount(files: int, size: int) -> str:
    return f"{count(files, 'file')} with {size:,} bytes of data"
