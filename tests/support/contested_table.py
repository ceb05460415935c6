"""A table with rows that two branches changed both: as many conflicts as a test wants."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.commit.base.commit_message import CommitMessage
from branch_console.commit.schema.schema_commit import create_table, new_schema
from branch_console.commit.snapshot.file_store_commit import FileStoreCommit
from branch_console.format.data_types import parse_data_type
from branch_console.format.receipt import Receipt
from branch_console.format.snapshot import Snapshot
from branch_console.format.values.binary_row import encode_row
from branch_console.procedures.call.call import Argument, ProcedureCall
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.dispatch import run_call
from branch_console.spark.files.conform import conform
from branch_console.spark.files.data_files import WriteTarget, write_bucket
from branch_console.spark.kernels.merge_on_read import VALUE_KIND
from branch_console.storage.table_paths import TablePaths
from tests.support.local_row_engine import LocalRows

NAME = "air.delays"
"""The table where a test names no other database."""

_COLUMNS = {
    "day": "DATE",
    "flight": "INT",
    "dep_delay": "INT",
    "carrier": "STRING",
    "note": "STRING",
}
_DAYS = ("2013-03-08", "2013-03-09")


class ContestedTable:
    """A table `delays`, keyed by day and flight; `fix-delays` and main go ways of their own.

    Of every flight both changed `dep_delay`, of every tenth `note` too. Main deletes the last
    flight of each day, which the branch changes.

    Attributes:
        folder: The warehouse.
        name: Of the table, with its database.
        path: The folder of the table.
        place: What addresses of the console call it.
    """

    def __init__(
        self,
        folder: Path,
        *,
        flights: int = 6,
        database: str = "air",
        options: Mapping[str, str] | None = None,
    ) -> None:
        self.folder = folder
        self.name = f"{database}.delays"
        self.path = folder / f"{database}.db" / "delays"
        self.place = {"db": database, "table": "delays"}
        folder.mkdir(parents=True, exist_ok=True)
        self.warehouse = Warehouse.open(str(folder))
        paths = TablePaths(table=f"{self.warehouse.file_io.root}/{database}.db/delays")
        schema = new_schema(
            [(name, parse_data_type(kind)) for name, kind in _COLUMNS.items()],
            partition_keys=["day"],
            primary_keys=["day", "flight"],
            options={"bucket": "1", "write-only": "true", **(options or {})},
            time_millis=self.warehouse.clock(),
        )
        create_table(self.warehouse.store, paths, schema)
        self._flights = flights
        self.write("main", delay=0, note="as filed")
        self.call("create_branch", branch="fix-delays", owner="ada", reason="Delays as measured")
        self.write("fix-delays", delay=7, note="measured", every=10)
        self.write("main", delay=5, note="<b>by hand</b>", every=10, deletes_last=True)

    @property
    def head(self) -> Snapshot:
        """The head of main."""
        head = self.warehouse.table(self.name).head()
        assert head is not None
        return head

    def write(
        self, branch: str, *, delay: int, note: str, every: int = 1, deletes_last: bool = False
    ) -> None:
        """Commit all flights: `delay` is added to their number, every so many get the note."""
        flights = pa.array(range(self._flights), pa.int32())
        is_noted = pc.equal(pc.subtract(flights, pc.multiply(pc.divide(flights, every), every)), 0)
        is_last = pc.equal(flights, self._flights - 1)
        kinds = pc.if_else(is_last, 3, 0) if deletes_last else pc.multiply(flights, 0)
        for day in _DAYS:
            rows = {
                "day": pa.repeat(pa.scalar(day).cast(pa.date32()), self._flights),
                "flight": flights,
                "dep_delay": pc.add(flights, delay),
                "carrier": pa.repeat("UA", self._flights),
                "note": pc.if_else(is_noted, note, "as filed"),
                VALUE_KIND: kinds.cast(pa.int8()),
            }
            self._commit(branch, day, pa.table(rows))

    def call(self, name: str, **arguments: Argument) -> Receipt:
        """Run a procedure in this process."""
        call = ProcedureCall(
            name=name,
            arguments={"table": self.name, **arguments},
            actor="ada",
            operation_id=f"{name}-{self.warehouse.clock()}",
        )
        return run_call(self.warehouse, LocalRows(self.warehouse.file_io), call, InlineStages())

    def _commit(self, branch: str, day: str, rows: pa.Table) -> None:
        suffix = "" if branch == "main" else f"$branch_{branch}"
        table = self.warehouse.table(f"{self.name}{suffix}")
        schema, head = table.schema(), table.head()
        newest = None
        if head is not None:
            newest = pc.max(table.live_files(head)["max_sequence_number"]).as_py()
        target = WriteTarget(
            schema=schema,
            paths=table.data_paths(),
            store=self.warehouse.file_io,
            created=datetime.now(),
        )
        types = [schema.field(name).type for name in schema.partition_keys]
        partition = encode_row([pc.min(rows["day"]).as_py()], types)
        written = write_bucket(
            target,
            partition,
            0,
            [conform(rows, schema)],
            next_sequence=0 if newest is None else newest + 1,
            file_id=f"{branch}-{day}-{rows.num_rows}-{self.warehouse.clock()}",
        )
        message = CommitMessage(
            partition=partition, bucket=0, total_buckets=1, new_files=written.new_files
        )
        commit = FileStoreCommit(table, self.warehouse.store, clock=self.warehouse.clock)
        at = self.warehouse.clock()
        commit.commit([message], user=branch, identifier=at, watermark=at)
