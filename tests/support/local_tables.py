"""Tables that are written and read in this process, by the code that runs in Spark's tasks."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from branch_console.format.manifest_entry import MANIFEST_ENTRY
from branch_console.format.snapshot import Snapshot
from branch_console.format.table_schema import TableSchema
from branch_console.spark.files.conform import conform
from branch_console.spark.files.data_files import WriteTarget, split, write_bucket
from branch_console.spark.read.readers import TableRead
from branch_console.storage.file_io import FileIO
from tests.support.table_files import TableFiles

CREATED = dt.datetime(2026, 1, 2, 3, 4, 5)


class LocalTable(TableFiles):
    """A table in a folder; every write is a commit with a manifest of its own."""

    def __init__(self, folder: Path, schema: TableSchema) -> None:
        super().__init__(FileIO.for_url(str(folder)))
        self._manifests: list[pa.Table] = []
        self._rows = 0
        self.change_schema(schema)

    def change_schema(self, schema: TableSchema) -> None:
        """Make this the newest schema."""
        self.newest = schema
        self.schema(schema)

    def append(self, rows: pa.Table, *, level: int = 0) -> Snapshot:
        """Commit rows as data files of the newest schema."""
        target = WriteTarget(
            schema=self.newest, paths=self.paths, store=self.file_io, created=CREATED
        )
        parts = [MANIFEST_ENTRY.empty_table()]
        for number, (partition, bucket, part) in enumerate(
            split(conform(rows, self.newest), target)
        ):
            written = write_bucket(
                target,
                partition,
                bucket,
                [part],
                next_sequence=self._rows,
                file_id=f"{len(self._manifests)}-{number}",
            )
            parts.append(written.new_files)
        self._rows += rows.num_rows
        entries = pa.concat_tables(parts)
        at = entries.schema.get_field_index("level")
        levels = pa.array([level] * entries.num_rows, pa.int32())
        self._manifests.append(entries.set_column(at, MANIFEST_ENTRY.field("level"), levels))
        snapshot = self.commit(len(self._manifests), *self._manifests)
        return replace(snapshot, schema_id=self.newest.id)


def rows_of(read: TableRead) -> pa.Table:
    """The rows of a planned read, without Spark."""
    batches = [b for task, units in read.tasks() for unit in units for b in task.batches(unit)]
    return pa.Table.from_batches(batches, read.task.layout)


def as_bag(rows: pa.Table, names: Sequence[str] | None = None) -> list[str]:
    """The rows as texts in an order of their own."""
    chosen = rows.select(names or rows.column_names)
    return sorted(map(repr, zip(*(column.to_pylist() for column in chosen.columns), strict=True)))
