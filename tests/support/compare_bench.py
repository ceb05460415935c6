"""A table with a branch, both of which are written to and compared: by rows, or by quality."""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias
from uuid import uuid4

import pyarrow as pa

from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.schema.schema_commit import create_table, new_schema
from branch_console.commit.snapshot.file_store_commit import FileStoreCommit
from branch_console.format.data_types import INT, ArrayType, DataType, parse_data_type
from branch_console.format.identifier import Identifier
from branch_console.jobs.kept_diffs import KeptDiff, KeptDiffs
from branch_console.jobs.settings import JobSettings
from branch_console.jobs.warm_rows import WarmRows
from branch_console.procedures.call.call import Argument, ProcedureCall
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.compare.rows import row_diff_name
from branch_console.procedures.compare.states import compare_states
from branch_console.procedures.dispatch import run_call
from branch_console.spark.read.readers import read_table
from branch_console.spark.session.session import WarmSession
from branch_console.storage.file_io import FileIO
from branch_console.storage.table_paths import TablePaths
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.table_state import ReadState

Row: TypeAlias = tuple[Any, ...]

COLUMNS: Final = {
    "id": "INT NOT NULL",
    "part": "STRING NOT NULL",
    "x": "DOUBLE",
    "s": "STRING",
    "d": "DECIMAL(20, 2)",
}
NAMES: Final = (*COLUMNS, "l")
NAN: Final = math.nan
SHAPES: Final[Mapping[str, Mapping[str, Any]]] = {
    "append": {},
    "append by partition": {"partitions": ["part"]},
    "append in buckets": {"options": {"bucket": "2", "bucket-key": "id"}},
    "keyed": {"keys": ["id"], "options": {"bucket": "1"}},
    "keyed in two buckets": {"keys": ["id"], "options": {"bucket": "2"}},
    "keyed by partition": {
        "keys": ["part", "id"], "partitions": ["part"], "options": {"bucket": "2"},
    },
    "keyed, summed up": {
        "keys": ["id"],
        "options": {"bucket": "1", "merge-engine": "aggregation",
                    "fields.x.aggregate-function": "last_value"},
    },
}  # fmt: skip


class Bench:
    """A table with a branch `dev`, and comparisons of its states."""

    def __init__(
        self,
        session: WarmSession,
        folder: Path,
        *,
        keys: Sequence[str] = (),
        partitions: Sequence[str] = (),
        options: Mapping[str, str] | None = None,
    ) -> None:
        self.session, self.keys = session, tuple(keys)
        self.store = FileIO.for_url(str(folder / "warehouse"))
        paths = TablePaths(table=f"{self.store.root}/db.db/t")
        fields: list[tuple[str, DataType]] = [
            (name, parse_data_type(kind)) for name, kind in COLUMNS.items()
        ]
        fields.append(("l", ArrayType(element=INT)))
        schema = new_schema(
            fields, primary_keys=keys, partition_keys=partitions, options=options or {}
        )
        create_table(CommitStore.of(self.store), paths, schema)
        self.warehouse = Warehouse.open(self.store.root)
        settings = JobSettings(warehouse=self.store.root, state_dir=str(folder / "state"))
        self.engine = WarmRows(settings, self.warehouse.file_io)
        self.engine._opened = session
        self.kept = KeptDiffs(folder=settings.diffs_path)

    def on(self, branch: str) -> FileStoreTable:
        return self.warehouse.table(Identifier.parse("db.t").on_branch(branch))

    def write(self, branch: str, rows: Iterable[Row], deletes: Iterable[Row] = ()) -> None:
        table = self.on(branch)
        names = table.schema().row_type.names
        marked = [(row, 0) for row in rows] + [(row, 3) for row in deletes]
        objects = [
            dict(zip(names, row, strict=False)) | ({"_VALUE_KIND": kind} if self.keys else {})
            for row, kind in marked
        ]
        messages = self.engine.write_rows(table, pa.Table.from_pylist(objects), lambda *_: None)
        FileStoreCommit(table, CommitStore.of(self.store)).commit(messages, user="test")

    def run(self, name: str, **arguments: Argument) -> str:
        call = ProcedureCall(
            name=name,
            arguments={"table": "db.t", **arguments},
            actor="ann",
            operation_id=uuid4().hex,
        )
        return " ".join(run_call(self.warehouse, self.engine, call, InlineStages()).notes)

    def compare(self, a: str = "main", b: str = "dev") -> KeptDiff:
        self.run("compare_states", a=a, b=b)
        diff = compare_states(self.warehouse, Identifier.parse("db.t"), a, b)
        found = self.kept.find(row_diff_name(Identifier.parse("db.t"), diff))
        assert found is not None
        return found

    def rows(self, branch: str) -> list[Row]:
        frame = read_table(self.session.spark, self.store, ReadState.as_it_is(self.on(branch)))
        return [tuple(row) for row in frame.collect()]
