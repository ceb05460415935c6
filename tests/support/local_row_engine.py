"""Row engines without Spark: for procedures that move metadata, and for merges of rows."""

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pyarrow as pa

from branch_console.commit.base.commit_message import CommitMessage
from branch_console.merge.joined_deletes import JoinedDeletes
from branch_console.merge.policy import Policy
from branch_console.merge.row_work import JoinedDeletesResult, Reconciled, RowScope, RowWork
from branch_console.procedures.call.row_engine import NoRowEngine, Progress
from branch_console.spark.files.data_files import WriteTarget
from branch_console.spark.merge import join_deletes
from branch_console.spark.merge.bucket_sides import BucketReader, units_of
from branch_console.spark.merge.reconcile_rows import MergeTask, reconciled
from branch_console.storage.file_io import FileIO
from branch_console.table.file_checks import FILE_PROBLEMS
from branch_console.table.file_store_table import FileStoreTable


class LocalFiles(NoRowEngine):
    """Checks that data files on the local disk are there, and as long as is written down."""

    def verify_files(self, files: pa.Table, progress: Progress) -> pa.Table:
        """Name the files that are missing or cut short."""
        problems = [
            {"path": file["path"], "problem": "missing or cut short"}
            for file in files.to_pylist()
            if not Path(file["path"]).is_file() or Path(file["path"]).stat().st_size != file["size"]
        ]
        return pa.Table.from_pylist(problems, schema=FILE_PROBLEMS)


class LocalRows(LocalFiles):
    """Merges rows as the tasks of Spark do, one bucket after the other in this process."""

    def __init__(self, store: FileIO) -> None:
        self._store = store

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
        """See `RowEngine`."""
        target = WriteTarget(
            schema=scope.schema,
            paths=table.data_paths(),
            store=self._store,
            created=_now(),
            write_id=write_id,
        )
        reader = BucketReader(store=self._store, scope=scope)
        task = MergeTask(reader=reader, policy=policy, target=target, writes=writes)
        found = [
            {"number": unit.number, **task.do(unit)} for unit in units_of(self._store, table, work)
        ]
        return reconciled(scope, work, found)

    def join_deletes(
        self,
        table: FileStoreTable,
        scope: RowScope,
        work: Sequence[JoinedDeletes],
        marks: pa.Table,
        progress: Progress,
        write_id: str = "",
    ) -> JoinedDeletesResult[CommitMessage]:
        """See `RowEngine`."""
        task = join_deletes.task_of(self._store, table, scope, write_id)
        task = replace(task, target=replace(task.target, created=_now()))
        units = join_deletes.units_of(self._store, table, work, marks)
        found = [{"number": unit.number, **task.do(unit)} for unit in units]
        return join_deletes.joined_rows(scope.schema, work, found)


def _now() -> datetime:
    # As runs that are to be repeated to the byte stop the clock.
    return datetime.fromtimestamp(time.time_ns() / 1e9)
