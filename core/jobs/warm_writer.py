"""Writing rows in the worker, once Spark is there."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager
from typing import Any

from core.commit.row_commit import PreparedRows
from core.procedures.row_engine import Progress, QuerySource
from core.procedures.row_writer import Bucket
from core.spark.row_engine import SparkRowEngine
from core.sql.merges import RowMerge
from core.table.file_store_table import FileStoreTable


class WarmWriter(ABC):
    """Implements `core.procedures.row_writer.RowWriter` by an engine that may have to start."""

    @abstractmethod
    def _engine(self) -> SparkRowEngine:
        """The engine; starts Spark where it does not run yet."""

    def opened(
        self, sql: str, sources: Mapping[str, QuerySource]
    ) -> AbstractContextManager[object]:
        """Open a query as a frame, which can be written."""
        return self._engine().opened(sql, sources)

    def insert(
        self,
        table: FileStoreTable,
        rows: Any,  # an Arrow table, or a frame that `opened` gave
        *,
        write_id: str,
        by_position: bool,
        constants: Mapping[str, object],
        replaces: bool,
        progress: Progress,
    ) -> PreparedRows:
        """Write rows as data files."""
        return self._engine().insert(
            table,
            rows,
            write_id=write_id,
            by_position=by_position,
            constants=constants,
            replaces=replaces,
            progress=progress,
        )

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
        return self._engine().delete(
            table, condition, alias=alias, write_id=write_id, progress=progress
        )

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
        return self._engine().update(
            table, assignments, condition, alias=alias, write_id=write_id, progress=progress
        )

    def merge(
        self, table: FileStoreTable, merge: RowMerge, *, write_id: str, progress: Progress
    ) -> PreparedRows:
        """Write what clauses make of the rows of a table and a source."""
        return self._engine().merge(table, merge, write_id=write_id, progress=progress)

    def compact(
        self,
        table: FileStoreTable,
        buckets: Collection[Bucket] | None,
        *,
        write_id: str,
        progress: Progress,
    ) -> PreparedRows:
        """Write the rows of buckets anew, into as few files as hold them."""
        return self._engine().compact(table, buckets, write_id=write_id, progress=progress)
