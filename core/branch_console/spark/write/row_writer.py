"""Writing rows as procedures ask for it: Spark tasks over one warehouse's store."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame

from branch_console.commit.rows.row_commit import PreparedRows
from branch_console.format import options as table_options
from branch_console.spark.session.session import Progress, WarmSession
from branch_console.spark.write.compaction import check_compactable, compact
from branch_console.spark.write.merge_into import merge_into
from branch_console.spark.write.row_changes import delete_rows, update_rows
from branch_console.spark.write.writers import WriteRequest, prepare_rows
from branch_console.sql.merges import MergeClauses
from branch_console.storage.file_io import FileIO
from branch_console.table.file_store_table import FileStoreTable


class SparkRowWriter:
    """Implements `branch_console.procedures.call.row_writer.RowWriter`; it never publishes."""

    def __init__(self, open_session: Callable[[], WarmSession], store: FileIO) -> None:
        """Work on one warehouse.

        Args:
            open_session: Gives the warm session of this process; called when tasks are to run.
            store: The warehouse's store; tasks write data files through it.
        """
        self._open_session = open_session
        self._store = store

    @property
    def _session(self) -> WarmSession:
        return self._open_session()

    def insert(
        self,
        table: FileStoreTable,
        rows: pa.Table | DataFrame,
        *,
        write_id: str,
        by_position: bool,
        constants: Mapping[str, object],
        replaces: bool,
        progress: Progress,
    ) -> PreparedRows:
        """Write rows as data files; see `branch_console.procedures.call.row_writer.RowWriter`."""
        table = _to_write(table)
        request = WriteRequest(
            write_id=write_id, by_position=by_position, constants=constants, replaces=replaces
        )
        prepared = prepare_rows(
            self._session, self._store, table, rows, progress=progress, request=request
        )
        return self._with_strays(prepared)

    def delete(
        self,
        table: FileStoreTable,
        condition: str | None,
        *,
        alias: str | None,
        write_id: str,
        progress: Progress,
    ) -> PreparedRows:
        """Write what deletes the rows for which a condition is true."""
        table = _to_write(table)
        prepared = delete_rows(
            self._session,
            self._store,
            table,
            condition,
            alias=alias,
            write_id=write_id,
            progress=progress,
        )
        return self._with_strays(prepared)

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
        """Write what gives columns new values, in the rows for which a condition is true."""
        table = _to_write(table)
        prepared = update_rows(
            self._session,
            self._store,
            table,
            assignments,
            condition,
            alias=alias,
            write_id=write_id,
            progress=progress,
        )
        return self._with_strays(prepared)

    def merge(
        self, table: FileStoreTable, merge: MergeClauses, *, write_id: str, progress: Progress
    ) -> PreparedRows:
        """Write what clauses make of the rows of a table and a source."""
        table = _to_write(table)
        prepared = merge_into(
            self._session, self._store, table, merge, write_id=write_id, progress=progress
        )
        return self._with_strays(prepared)

    def compact(
        self,
        table: FileStoreTable,
        buckets: Collection[tuple[bytes, int]] | None,
        *,
        write_id: str,
        progress: Progress,
    ) -> PreparedRows:
        """Rewrite the rows of buckets into as few files as possible."""
        prepared = compact(
            self._session,
            self._store,
            table.with_one_schema(),
            buckets,
            write_id=write_id,
            progress=progress,
        )
        return self._with_strays(prepared)

    def _with_strays(self, prepared: PreparedRows) -> PreparedRows:
        return replace(prepared, has_strays=self._session.settings.repeats_tasks)


def _to_write(table: FileStoreTable) -> FileStoreTable:
    """The table under one schema; refused if only a compaction not made here shows rows."""
    table = table.with_one_schema()
    schema = table.schema()
    waits = bool(schema.primary_keys) and schema.skips_level_0
    if waits and not schema.options.read(table_options.WRITE_ONLY):
        check_compactable(schema)
    return table
