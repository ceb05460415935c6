"""The row engine that procedures are given: Spark tasks over one warehouse's store."""

from collections.abc import Sequence
from contextlib import AbstractContextManager

import pyarrow as pa
from pyspark.sql import DataFrame

from branch_console.commit.base.commit_message import CommitMessage
from branch_console.merge.joined_deletes import JoinedDeletes
from branch_console.merge.policy import Policy
from branch_console.merge.row_work import JoinedDeletesResult, Reconciled, RowScope, RowWork
from branch_console.spark.files.file_lister import SparkFileLister
from branch_console.spark.files.verify_files import verify_data_files
from branch_console.spark.merge.join_deletes import join_deletes
from branch_console.spark.merge.reconcile_rows import find_changed_keys, reconcile
from branch_console.spark.read.sql_engine import Sources, query_frame, run_query
from branch_console.spark.session.session import Progress
from branch_console.spark.write.row_writer import SparkRowWriter
from branch_console.spark.write.writers import write_rows
from branch_console.sql.answer import MOST_ROWS, Answer
from branch_console.table.file_store_table import FileStoreTable


class SparkRowEngine(SparkRowWriter):
    """Implements `RowEngine` and `RowWriter`, which say what is asked; it never publishes.

    What a progress raises stops what runs.
    """

    most_rows: int = MOST_ROWS

    @property
    def file_lister(self) -> SparkFileLister:
        """Lists the files of a table, those of a large one in tasks."""
        return SparkFileLister(self._open_session, self._store)

    def verify_files(self, files: pa.Table, progress: Progress) -> pa.Table:
        """Compare data files with what the manifests say of them."""
        return verify_data_files(self._open_session, self._store, files, progress)

    def write_rows(
        self, table: FileStoreTable, rows: pa.Table, progress: Progress
    ) -> tuple[CommitMessage, ...]:
        """Write rows as data files of `table` in tasks; nothing is visible until committed."""
        return write_rows(self._session, self._store, table, rows, progress=progress)

    def find_changed_keys(
        self, table: FileStoreTable, scope: RowScope, work: Sequence[RowWork], progress: Progress
    ) -> pa.Table:
        """Count the keys that each side changed, and that both changed, in each bucket."""
        return find_changed_keys(self._session, self._store, table, scope, work, progress=progress)

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
        """Merge rows that both sides changed, and write what replaying would not give."""
        return reconcile(
            self._session,
            self._store,
            table,
            scope,
            work,
            policy,
            writes=writes,
            write_id=write_id,
            progress=progress,
        )

    def join_deletes(
        self,
        table: FileStoreTable,
        scope: RowScope,
        work: Sequence[JoinedDeletes],
        marks: pa.Table,
        progress: Progress,
        write_id: str = "",
    ) -> JoinedDeletesResult[CommitMessage]:
        """Write files again without the rows that either side deleted of them."""
        return join_deletes(
            self._session,
            self._store,
            table,
            scope,
            work,
            marks,
            write_id=write_id,
            progress=progress,
        )

    def query(
        self,
        sql: str,
        sources: Sources,
        limit: int,
        progress: Progress,
        *,
        keeps_times: bool = False,
    ) -> tuple[pa.Table, str]:
        """Run a query of the sources, and return its rows with the plan."""
        return run_query(
            self._session, self._store, sql, sources, limit,
            progress=progress, keeps_times=keeps_times,
        )  # fmt: skip

    def opened(
        self, sql: str, sources: Sources, *, keeps_times: bool = False
    ) -> AbstractContextManager[DataFrame]:
        """Open a query as a frame; its rows, and the views of the sources, are there within."""
        spark = self._session.spark
        return query_frame(spark, self._store, sql, sources, keeps_times=keeps_times)

    def keep(self, operation_id: str, answer: Answer) -> None:
        """Do nothing: whoever asked this engine has the answer."""

    def cancel(self) -> None:
        """Stop what runs now; the running call raises."""
        self._session.cancel()
