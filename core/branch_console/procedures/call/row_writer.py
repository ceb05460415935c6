"""The interface of an engine that writes rows for statements; `branch_console.spark` has it."""

from collections.abc import Collection, Mapping
from typing import Protocol, TypeAlias, runtime_checkable

import pyarrow as pa

from branch_console.commit.rows.row_commit import PreparedRows
from branch_console.errors import ErrorKind, NotAllowed
from branch_console.procedures.call.row_engine import Progress
from branch_console.sql.merges import MergeClauses
from branch_console.table.file_store_table import FileStoreTable


class Frame(Protocol):
    """A data frame of the engine: rows that are not here."""

    @property
    def columns(self) -> list[str]:
        """The names of its columns."""


Rows: TypeAlias = "pa.Table | Frame"
Bucket: TypeAlias = tuple[bytes, int]
"""An encoded partition and a bucket in it."""


@runtime_checkable
class RowWriter(Protocol):
    """Writes rows as files that nothing refers to yet; never publishes."""

    def insert(
        self,
        table: FileStoreTable,
        rows: Rows,
        *,
        write_id: str,
        by_position: bool,
        constants: Mapping[str, object],
        replaces: bool,
        progress: Progress,
    ) -> PreparedRows:
        """Write rows as data files.

        Args:
            table: The table on the branch to be written.
            rows: The rows.
            write_id: The id that the names of all files contain.
            by_position: Whether the n-th column is meant for the n-th of the table.
            constants: Columns that the rows lack, and their one value.
            replaces: Whether the partitions that get rows lose what they hold.
            progress: Called with tasks done and tasks known; what it raises stops the writing.

        Raises:
            InvalidInput: The rows do not fit, or the table is of a kind that is not written.
        """

    def delete(
        self,
        table: FileStoreTable,
        condition: str | None,
        *,
        alias: str | None,
        write_id: str,
        progress: Progress,
    ) -> PreparedRows:
        """Write what deletes the rows for which a condition is true.

        Args:
            table: The table on the branch to be written.
            condition: In the SQL of the engine; None for all rows.
            alias: How the condition calls the table, besides by the bare names of its columns.
            write_id: The id that the names of all files contain.
            progress: Called with tasks done and tasks known; what it raises stops the writing.
        """

    def update(
        self,
        table: FileStoreTable,
        assignments: Mapping[str, str],
        condition: str | None,
        *,
        alias: str | None,
        write_id: str,
        progress: Progress,
    ) -> PreparedRows:
        """Write what gives columns new values, in the rows for which a condition is true.

        Args:
            table: The table on the branch to be written.
            assignments: Expressions in the SQL of the engine, by column.
            condition: As for `delete`.
            alias: As for `delete`.
            write_id: The id that the names of all files contain.
            progress: Called with tasks done and tasks known; what it raises stops the writing.
        """

    def merge(
        self, table: FileStoreTable, merge: MergeClauses, *, write_id: str, progress: Progress
    ) -> PreparedRows:
        """Write what clauses make of the rows of a table and a source.

        Args:
            table: The table on the branch to be written.
            merge: The MERGE statement.
            write_id: The id that the names of all files contain.
            progress: Called with tasks done and tasks known; what it raises stops the writing.

        Raises:
            InvalidInput: Several rows of the source would change one row, or as for `update`.
        """

    def compact(
        self,
        table: FileStoreTable,
        buckets: Collection[Bucket] | None,
        *,
        write_id: str,
        progress: Progress,
    ) -> PreparedRows:
        """Rewrite the rows of buckets into as few files as possible.

        Args:
            table: The table on the branch to be written.
            buckets: Which; None for all.
            write_id: The id that the names of all files contain.
            progress: Called with tasks done and tasks known; what it raises stops the writing.
        """


def row_writer(rows: object) -> RowWriter:
    """The engine as a writer of rows.

    Raises:
        NotAllowed: This process has none that can write.
    """
    if isinstance(rows, RowWriter):
        return rows
    raise NotAllowed(
        "Rows are written by a worker only. Start one: branch-console worker.",
        kind=ErrorKind.NO_WORKER,
    )
