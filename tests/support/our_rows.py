"""Rows of a table written by us in this process, in the words of `JavaTable`."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa

from branch_console.commit.snapshot.file_store_commit import FileStoreCommit
from branch_console.format.data_types import ArrayType, DataType, MapType, RowType
from branch_console.format.values.arrow_types import arrow_schema
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.statement.write_rows import compact_table, insert_rows
from branch_console.spark.write.file_rewrite import FILE, POSITION, delete_positions, plan_files
from branch_console.spark.write.row_writer import SparkRowWriter
from branch_console.storage.file_io import FileIO
from branch_console.table.file_store_table import FileStoreTable
from tests.support.spark_in_process import FrameInProcess, SessionInProcess

_DELETE = 3


class OurRows:
    """Writes one table by the procedures; each call is a commit."""

    def __init__(self, warehouse: Warehouse, name: str) -> None:
        assert isinstance(warehouse.file_io, FileIO)
        self._warehouse = warehouse
        self._store = warehouse.file_io
        self._name = name
        self._session = SessionInProcess()
        self._writer = SparkRowWriter(lambda: self._session, self._store)

    def write(self, rows: Sequence[tuple[Any, ...]]) -> None:
        insert_rows(self._warehouse, self._writer, self._table, self._typed(rows), _call())

    def delete(self, rows: Sequence[tuple[Any, ...]]) -> None:
        kinds = pa.array([_DELETE] * len(rows), pa.int8())
        given = self._typed(rows).append_column("_VALUE_KIND", kinds)
        insert_rows(self._warehouse, self._writer, self._table, given, _call())

    def compact(self) -> None:
        compact_table(self._warehouse, self._writer, self._table, _call())

    def delete_positions(self, positions: Mapping[str, Sequence[int]]) -> None:
        table = self._table
        files = plan_files(self._store, table, table.head())
        gone = [
            (unit.number, position)
            for unit in files.units
            for position in positions.get(unit.entry["file_name"], ())
        ]
        numbers, places = np.array(gone).T
        prepared = delete_positions(
            self._session,
            self._store,
            table,
            files,
            FrameInProcess(pa.table({FILE: numbers, POSITION: places})),
            write_id=str(uuid4()),
            progress=lambda done, total: None,
        )
        FileStoreCommit(table, self._warehouse.store).commit(prepared.messages, user="test")

    @property
    def _table(self) -> FileStoreTable:
        return self._warehouse.table(self._name)

    def _typed(self, rows: Sequence[tuple[Any, ...]]) -> pa.Table:
        row_type = self._table.schema().row_type
        return pa.Table.from_pylist(
            [_arrow_value(row, row_type) for row in rows], schema=arrow_schema(row_type.fields)
        )


def _call() -> ProcedureCall:
    return ProcedureCall(name="write_rows", actor="test", operation_id=str(uuid4()))


def _arrow_value(value: Any, kind: DataType) -> Any:
    """A value as Java takes it, in the form that Arrow takes."""
    if value is None:
        return None
    match kind:
        case RowType():
            return {
                field.name: _arrow_value(each, field.type)
                for field, each in zip(kind.fields, value, strict=True)
            }
        case ArrayType():
            return [_arrow_value(each, kind.element) for each in value]
        case MapType():
            return [
                (_arrow_value(key, kind.key), _arrow_value(each, kind.value))
                for key, each in value.items()
            ]
        case _:
            return value
