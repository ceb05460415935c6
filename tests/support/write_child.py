"""A process that writes rows and is killed on its way: `python -m tests.support.write_child`.

Arguments: the warehouse, the table, where to die (`tasks`, `files`, `entry` or `snapshot`), and
whether the rows are written by Spark (`spark`) or by the same code in this very process (`here`).
"""

import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from branch_console.commit.base.commit_message import row_count
from branch_console.commit.rows import row_write
from branch_console.commit.rows.row_commit import PreparedRows
from branch_console.commit.rows.row_write import RowWrite
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.statement.write_rows import insert_rows
from branch_console.spark.connector.data_sink import write_batches
from branch_console.spark.session.session import SparkSettings, open_session
from branch_console.spark.write.row_writer import SparkRowWriter
from branch_console.spark.write.writers import next_sequences, write_target
from branch_console.storage.file_io import FileIO
from branch_console.table.file_store_table import FileStoreTable

OPERATION = "killed-write"


class LocalRowWriter:
    """Writes rows as the tasks of Spark do, without Spark."""

    def __init__(self, store: FileIO) -> None:
        self._store = store

    def insert(
        self, table: FileStoreTable, rows: pa.Table, *, write_id: str, **_: Any
    ) -> PreparedRows:
        target = write_target(self._store, table, write_id)
        sequences = next_sequences(table, table.head())
        messages = tuple(write_batches(target, sequences, rows.to_batches(), first_sequence=0))
        return PreparedRows(messages=messages, row_count=row_count(messages))

    def delete(self, *_: Any, **__: Any) -> PreparedRows:
        raise NotImplementedError

    update = compact = delete


def _die(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def when_files_come(folder: Path, act: Callable[[], object]) -> None:
    """Do something as soon as a data file lies below a folder, while tasks write others."""

    def watch() -> None:
        while not any(folder.rglob("data-*")):
            time.sleep(0.002)
        act()

    threading.Thread(target=watch, daemon=True).start()


def main(warehouse_path: str, name: str, place: str, engine: str) -> None:
    """Write rows, or die."""
    warehouse = Warehouse.open(warehouse_path)
    table = warehouse.table(name)
    rows: Any = pa.table({"id": [1, 2, 3], "name": ["a", "b", "c"], "day": ["x", "y", "x"]})
    match place:
        case "tasks":
            when_files_come(Path(table.paths.table), _die)
        case "files":
            RowWrite.publish = _die  # type: ignore[method-assign,assignment]
        case "entry":
            row_write.land = _die  # type: ignore[assignment]
        case "snapshot":
            RowWrite.finish = _die  # type: ignore[method-assign,assignment]
    writer: Any = LocalRowWriter(warehouse.file_io)
    if engine == "spark":
        cache = Path(tempfile.mkdtemp())
        session = open_session(SparkSettings(master="local[2]", memory="1g", cache=cache))
        writer = SparkRowWriter(lambda: session, warehouse.file_io)
        rows = session.spark.range(500_000).selectExpr(
            "cast(id as int) id", "sha2(cast(id as string), 256) name", "concat('d', id % 8) day"
        )
    call = ProcedureCall(name="write_rows", actor="test", operation_id=OPERATION)
    insert_rows(warehouse, writer, table, rows, call)


if __name__ == "__main__":
    main(*sys.argv[1:])
