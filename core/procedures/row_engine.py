"""What a procedure needs from an engine that touches rows; `core.spark` implements it."""

from collections.abc import Callable
from typing import Final, Protocol, TypeAlias

import pyarrow as pa

from core.commit.commit_message import CommitMessage
from core.errors import ErrorKind, NotAllowed
from core.table.file_store_table import FileStoreTable

Progress: TypeAlias = Callable[[int, int | None], None]
"""Told how many units are done and, once known, of how many."""

FILES_TO_VERIFY: Final = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("row_count", pa.int64(), nullable=False),
    ]
)
"""Data files and what the manifests say of them; `size` in bytes."""

FILE_PROBLEMS: Final = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("problem", pa.string(), nullable=False),
    ]
)
"""Files that are not what the manifests say, with a sentence each."""


class RowEngine(Protocol):
    """Reads, checks and writes rows; never publishes."""

    def verify_files(self, files: pa.Table, progress: Progress) -> pa.Table:
        """Compare data files with what the manifests say of them.

        Args:
            files: Columns of FILES_TO_VERIFY.
            progress: Called from time to time with files done and all files.

        Returns:
            Columns of FILE_PROBLEMS; no row when all is well.
        """

    def write_rows(
        self, table: FileStoreTable, rows: pa.Table, progress: Progress
    ) -> tuple[CommitMessage, ...]:
        """Write rows as data files of `table` in tasks; nothing is visible until committed."""

    def cancel(self) -> None:
        """Stop what runs now; the running call raises."""


class NoRowEngine:
    """Stands in where no engine is at hand, for procedures that move metadata only."""

    def verify_files(self, files: pa.Table, progress: Progress) -> pa.Table:
        """Raise NotAllowed."""
        raise _no_engine()

    def write_rows(
        self, table: FileStoreTable, rows: pa.Table, progress: Progress
    ) -> tuple[CommitMessage, ...]:
        """Raise NotAllowed."""
        raise _no_engine()

    def cancel(self) -> None:
        """Do nothing: nothing runs here."""


def _no_engine() -> NotAllowed:
    return NotAllowed(
        "Rows are touched by a worker only. Start one: branch-console worker.",
        kind=ErrorKind.NO_WORKER,
    )
