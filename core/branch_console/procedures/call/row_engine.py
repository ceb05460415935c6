"""The interface of an engine that reads and writes rows; `branch_console.spark` implements it."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, TypeAlias

import pyarrow as pa

from branch_console.commit.base.commit_message import CommitMessage
from branch_console.diff.rows.row_diff import RowDiffWork
from branch_console.diff.rows.row_figure import RowCounts
from branch_console.errors import ErrorKind, NotAllowed
from branch_console.expr.predicate import Condition
from branch_console.merge.joined_deletes import JoinedDeletes
from branch_console.merge.policy import Policy
from branch_console.merge.row_work import JoinedDeletesResult, Reconciled, RowScope, RowWork
from branch_console.quality.comparison import QualityComparison
from branch_console.quality.work import QualityWork
from branch_console.sql.answer import Answer
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.table_state import ChangedState, ReadState, StagedState

Progress: TypeAlias = Callable[[int, int | None], None]
"""Told how many units are done and, once known, of how many."""

QuerySource: TypeAlias = tuple[ReadState | ChangedState | StagedState, Condition | None] | pa.Table
"""A source of a query: a state or changes, with a condition for rows or None; or rows."""


class RowEngine(Protocol):
    """Reads, checks and writes rows; never publishes.

    Attributes:
        most_rows: How many rows one answer may have.
    """

    most_rows: int

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
        """Write rows as data files of `table` in tasks; nothing is visible until committed.

        Args:
            table: The table on the branch to be written.
            rows: Columns of the table by name; `_VALUE_KIND` 3 deletes by primary key.
            progress: Called with tasks done and tasks known.
        """

    def find_changed_keys(
        self, table: FileStoreTable, scope: RowScope, work: Sequence[RowWork], progress: Progress
    ) -> pa.Table:
        """Count the keys that each side changed, and that both changed, in each bucket.

        Reads the key columns of the changed files, and whole states where these are gone.

        Args:
            table: The table on the target.
            scope: The facts that all buckets share.
            work: The buckets.
            progress: Called with tasks done and tasks known.

        Returns:
            Columns of CHANGED_KEYS, one row a bucket in the order of `work`. Where `both` is 0,
            replaying the source's files is exact.
        """

    def reconcile(
        self,
        table: FileStoreTable,
        scope: RowScope,
        work: Sequence[RowWork],
        policy: Policy,
        progress: Progress,
        *,
        writes: bool = True,
        write_id: str = "",
    ) -> Reconciled[CommitMessage]:
        """Merge rows that both sides changed, and write what replaying would not give.

        Args:
            table: The table on the target; files are written for it.
            scope: The facts that all buckets share.
            work: The buckets.
            policy: When rows conflict, and how conflicts are settled.
            progress: Called with tasks done and tasks known.
            writes: Whether files are written; a preview leaves it. A bucket with open conflicts
                gets none.
            write_id: The id that the names of the files contain, by which they are found again.

        Raises:
            InvalidInput: The table is of a kind whose rows cannot be reconciled at level 0, or the
                policy does not fit its columns.
        """

    def join_deletes(
        self,
        table: FileStoreTable,
        scope: RowScope,
        work: Sequence[JoinedDeletes],
        marks: pa.Table,
        progress: Progress,
        write_id: str = "",
    ) -> JoinedDeletesResult[CommitMessage]:
        """Write files again without the rows that either side deleted of them.

        Args:
            table: The table on the target; files are written for it.
            scope: The facts that all files share.
            work: The files.
            marks: The deletion vectors of the base and of both heads, as INDEX_MANIFEST_ENTRY.
            progress: Called with tasks done and tasks known.
            write_id: As for `reconcile`.

        Raises:
            FormatError: A file is missing or cannot be read.
            InvalidInput: The table is of a kind whose rows cannot be read or written here.
        """

    def query(
        self,
        sql: str,
        sources: Mapping[str, QuerySource],
        limit: int,
        progress: Progress,
        *,
        keeps_times: bool = False,
    ) -> tuple[pa.Table, str]:
        """Run a query; nothing but the sources can be read by it.

        Args:
            sql: A query in Spark SQL; its tables are `sources` by name.
            sources: The sources of the query, by name.
            limit: How many rows are answered at most.
            progress: Called with tasks done and tasks known.
            keeps_times: Whether to refuse times of the tables that are finer than the engine's.

        Returns:
            The rows, and the plan as text.

        Raises:
            InvalidInput: It cannot be run; the fact `offset` tells where in `sql` that is.
        """

    def opened(
        self, sql: str, sources: Mapping[str, QuerySource], *, keeps_times: bool = False
    ) -> AbstractContextManager[object]:
        """Open a query as a frame of the engine; its rows, and the sources, are there within.

        Args:
            sql: As for `query`.
            sources: As for `query`.
            keeps_times: Whether to refuse times of the tables that are finer than the engine's.

        Raises:
            InvalidInput: As for `query`.
        """

    def keep(self, operation_id: str, answer: Answer) -> None:
        """Keep the answer of an operation, where others find it."""

    def compare_states(
        self,
        table: FileStoreTable,
        work: RowDiffWork,
        name: str,
        facts: Mapping[str, object],
        progress: Progress,
    ) -> Mapping[str, int]:
        """Find the rows in which two states differ, and keep them where others find them.

        Args:
            table: The table on any branch.
            work: The comparison to make.
            name: The key of the kept rows; rows that are kept already are not compared again.
            facts: JSON values that are kept with them.
            progress: Called with tasks done and tasks known.

        Returns:
            How many rows were found, by RowKind.

        Raises:
            InvalidInput: The table is of a kind whose rows cannot be read here.
        """

    def count_rows(
        self, table: FileStoreTable, work: RowDiffWork, name: str, progress: Progress
    ) -> RowCounts:
        """Count the rows of two states of a table with a primary key, and keep the counts.

        Args:
            table: The table on any branch.
            work: The states.
            name: The key of the kept counts; counts that are kept already are not made again.
            progress: Called with units done and units known.

        Raises:
            InvalidInput: The table is of a kind whose rows cannot be read here.
        """

    def compare_quality(
        self,
        table: FileStoreTable,
        work: QualityWork,
        name: str,
        finished_millis: int,
        progress: Progress,
        *,
        merged: StagedState | None = None,
    ) -> QualityComparison:
        """Profile the columns of two states, and keep what they come to where others find it.

        Args:
            table: The table on any branch.
            work: The profiles to make.
            name: The key of the kept result; a result that is kept already is not made again.
            finished_millis: The time that the result reports as its own.
            progress: Called with units done and units known.
            merged: The result of merging them, if `work` asks for it.

        Raises:
            InvalidInput: The table is of a kind whose rows cannot be read here.
        """

    def cancel(self) -> None:
        """Stop what runs now; the running call raises."""


class NoRowEngine:
    """Stands in if no engine is at hand, for procedures that move metadata only."""

    most_rows = 0

    def verify_files(self, files: pa.Table, progress: Progress) -> pa.Table:
        """Raise NotAllowed."""
        raise _no_engine()

    def write_rows(
        self, table: FileStoreTable, rows: pa.Table, progress: Progress
    ) -> tuple[CommitMessage, ...]:
        """Raise NotAllowed."""
        raise _no_engine()

    def find_changed_keys(
        self, table: FileStoreTable, scope: RowScope, work: Sequence[RowWork], progress: Progress
    ) -> pa.Table:
        """Raise NotAllowed."""
        raise _no_engine()

    def reconcile(
        self,
        table: FileStoreTable,
        scope: RowScope,
        work: Sequence[RowWork],
        policy: Policy,
        progress: Progress,
        *,
        writes: bool = True,
        write_id: str = "",
    ) -> Reconciled[CommitMessage]:
        """Raise NotAllowed."""
        raise _no_engine()

    def join_deletes(
        self,
        table: FileStoreTable,
        scope: RowScope,
        work: Sequence[JoinedDeletes],
        marks: pa.Table,
        progress: Progress,
        write_id: str = "",
    ) -> JoinedDeletesResult[CommitMessage]:
        """Raise NotAllowed."""
        raise _no_engine()

    def query(
        self,
        sql: str,
        sources: Mapping[str, QuerySource],
        limit: int,
        progress: Progress,
        *,
        keeps_times: bool = False,
    ) -> tuple[pa.Table, str]:
        """Raise NotAllowed."""
        raise _no_engine()

    def opened(
        self, sql: str, sources: Mapping[str, QuerySource], *, keeps_times: bool = False
    ) -> AbstractContextManager[object]:
        """Raise NotAllowed."""
        raise _no_engine()

    def keep(self, operation_id: str, answer: Answer) -> None:
        """Raise NotAllowed."""
        raise _no_engine()

    def compare_states(
        self,
        table: FileStoreTable,
        work: RowDiffWork,
        name: str,
        facts: Mapping[str, object],
        progress: Progress,
    ) -> Mapping[str, int]:
        """Raise NotAllowed."""
        raise _no_engine()

    def count_rows(
        self, table: FileStoreTable, work: RowDiffWork, name: str, progress: Progress
    ) -> RowCounts:
        """Raise NotAllowed."""
        raise _no_engine()

    def compare_quality(
        self,
        table: FileStoreTable,
        work: QualityWork,
        name: str,
        finished_millis: int,
        progress: Progress,
        *,
        merged: StagedState | None = None,
    ) -> QualityComparison:
        """Raise NotAllowed."""
        raise _no_engine()

    def cancel(self) -> None:
        """Do nothing: nothing runs here."""


def _no_engine() -> NotAllowed:
    return NotAllowed(
        "Rows are touched by a worker only. Start one: branch-console worker.",
        kind=ErrorKind.NO_WORKER,
    )
