"""A large table with a primary key whose branches upsert rows; nothing of it needs Spark."""

import datetime as dt
import uuid
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from branch_console.commit.base.commit_message import CommitMessage
from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.snapshot.file_store_commit import FileStoreCommit
from branch_console.format.data_types import BIGINT, STRING, AtomicType, TypeRoot
from branch_console.procedures.call.call import Argument, ProcedureCall
from branch_console.procedures.call.row_engine import NoRowEngine
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.dispatch import run_call
from branch_console.spark.files.conform import conform
from branch_console.spark.files.data_files import WriteTarget, split, write_bucket
from branch_console.storage.file_io import FileIO
from tests.support.local_tables import LocalTable
from tests.support.table_files import a_schema

TABLE: Final = "db.t"
_BUCKETS: Final = 4
_COLUMNS: Final = (
    ("id", BIGINT),
    ("name", STRING),
    ("amount", BIGINT),
    ("rate", AtomicType(root=TypeRoot.DOUBLE)),
)

Keys = npt.NDArray[np.int64]


def rows_of(keys: Keys, *, more: int = 0) -> pa.Table:
    """Rows of keys, whose amounts are the keys and `more`."""
    return pa.table(
        {
            "id": keys,
            "name": pa.array(np.char.add("name ", (keys % 100_000).astype(str))),
            "amount": keys + more,
            "rate": keys * 0.5,
        }
    )


def make_table(folder: Path, rows: int, *, buckets: int = _BUCKETS) -> Warehouse:
    """Write a table of the keys from 0 on, a compacted run in each bucket."""
    options = {"bucket": str(buckets), "write-only": "true"}
    table = LocalTable(folder, a_schema(0, _COLUMNS, primary_keys=("id",), options=options))
    table.append(rows_of(np.arange(rows)), level=5)
    return Warehouse.open(str(folder))


def call_of(name: str, **arguments: Argument) -> ProcedureCall:
    """A call of a procedure on the table."""
    return ProcedureCall(
        name=name,
        arguments={"table": TABLE, **arguments},
        actor="benchmark",
        operation_id=str(uuid.uuid4()),
    )


def make_branch(warehouse: Warehouse, name: str, rows: pa.Table) -> None:
    """Make a branch of main and upsert rows there."""
    run_call(warehouse, NoRowEngine(), call_of("create_branch", branch=name), InlineStages())
    table = warehouse.table(f"{TABLE}$branch_{name}")
    schema, head = table.schema(), table.head()
    assert head is not None
    newest = pc.max(table.live_files(head)["max_sequence_number"]).as_py()
    target = WriteTarget(
        schema=schema,
        paths=table.data_paths(),
        store=warehouse.file_io,
        created=dt.datetime.now(),
    )
    messages = [
        CommitMessage(
            partition=partition,
            bucket=bucket,
            total_buckets=schema.num_buckets,
            new_files=write_bucket(
                target,
                partition,
                bucket,
                [part],
                next_sequence=newest + 1,
                file_id=str(uuid.uuid4()),
            ).new_files,
        )
        for partition, bucket, part in split(conform(rows, schema), target)
    ]
    store = CommitStore.of(FileIO.for_url(warehouse.file_io.root))
    FileStoreCommit(table, store).commit(messages, user="benchmark")
