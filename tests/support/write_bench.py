"""A warehouse that only we write, by the procedures, and what must be read from it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa

from branch_console.commit.schema.schema_commit import create_table, new_schema
from branch_console.format.data_types import DataField, DataType, parse_data_type
from branch_console.format.values.arrow_types import arrow_schema
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.statement.write_rows import (
    Written,
    compact_table,
    delete_rows,
    insert_rows,
    overwrite_rows,
    update_rows,
)
from branch_console.spark.session.session import WarmSession
from branch_console.spark.write.row_writer import SparkRowWriter
from branch_console.storage.table_paths import TablePaths
from branch_console.table.file_store_table import FileStoreTable
from tests.support.java_child import Read

Row = tuple[Any, ...]


@dataclass
class WriteBench:
    """Writes tables `db.<name>` of one warehouse."""

    folder: Path
    session: WarmSession
    expected: dict[Read, list[Row]] = field(default_factory=dict)

    @property
    def warehouse(self) -> Warehouse:
        return Warehouse.open(str(self.folder))

    @property
    def writer(self) -> SparkRowWriter:
        return SparkRowWriter(lambda: self.session, self.warehouse.file_io)

    def create(self, name: str, columns: dict[str, Any], **settings: Any) -> FileStoreTable:
        fields: list[tuple[str, DataType]] = [
            (column, parse_data_type(written)) for column, written in columns.items()
        ]
        paths = TablePaths(table=f"{self.folder}/db.db/{name}")
        create_table(self.warehouse.store, paths, new_schema(fields, **settings))
        return self.open(name)

    def open(self, name: str) -> FileStoreTable:
        return self.warehouse.table(f"db.{name}")

    def call(self, name: str = "write_rows", operation_id: str | None = None) -> ProcedureCall:
        return ProcedureCall(name=name, actor="test", operation_id=operation_id or str(uuid4()))

    def insert(self, name: str, rows: Any, **how: Any) -> Written:
        table = self.open(name)
        given = self.typed(table, rows) if isinstance(rows, list) else rows
        return insert_rows(self.warehouse, self.writer, table, given, self.call(), **how)

    def overwrite(self, name: str, rows: Any, **how: Any) -> Written:
        table = self.open(name)
        left_out = tuple(how.get("partition") or ())
        given = self.typed(table, rows, left_out) if isinstance(rows, list) else rows
        return overwrite_rows(self.warehouse, self.writer, table, given, self.call(), **how)

    def delete(self, name: str, condition: str | None, **how: Any) -> Written:
        return delete_rows(
            self.warehouse, self.writer, self.open(name), condition, self.call(), **how
        )

    def update(
        self, name: str, assignments: dict[str, str], condition: str | None, **how: Any
    ) -> Written:
        return update_rows(
            self.warehouse,
            self.writer,
            self.open(name),
            assignments,
            condition,
            self.call(),
            **how,
        )

    def compact(self, name: str, **how: Any) -> Written:
        return compact_table(self.warehouse, self.writer, self.open(name), self.call(), **how)

    def typed(
        self, table: FileStoreTable, rows: list[Row], left_out: tuple[str, ...] = ()
    ) -> pa.Table:
        """Rows in the columns of a table."""
        fields = tuple(
            DataField(id=each.id, name=each.name, type=each.type)
            for each in table.schema().fields
            if each.name not in left_out
        )
        layout = pa.schema([each.with_nullable(True) for each in arrow_schema(fields)])
        names = layout.names
        return pa.Table.from_pylist(
            [dict(zip(names, row, strict=True)) for row in rows], schema=layout
        )

    def files(self, name: str) -> set[str]:
        """All data, changelog and index files that lie in the folder of a table."""
        root = self.folder / "db.db" / name
        folders = [*root.rglob("bucket-*"), root / "index"]
        return {path.name for folder in folders for path in folder.glob("*") if path.is_file()}

    def named_files(self, name: str, branch: str = "main") -> set[str]:
        """Those of them that some snapshot of a branch names, and not only its head."""
        table = self.open(name).on(branch)
        names: set[str] = set()
        for snapshot in table.snapshots.walk():
            names |= set(table.live_files(snapshot)["file_name"].to_pylist())
            names |= set(table.index_entries(snapshot)["file_name"].to_pylist())
            if snapshot.changelog_manifest_list is not None:
                manifests = table.scan.read_list(table.paths, snapshot.changelog_manifest_list)
                names |= set(table.read_manifests(manifests)["file_name"].to_pylist())
        return names

    def expect(self, name: str, rows: list[Row], **where: Any) -> None:
        self.expected[Read(table=f"db.{name}", **where)] = rows
