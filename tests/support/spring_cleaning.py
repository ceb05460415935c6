"""The story of `spring-cleaning`: a branch of the catalog with one conflict, told without Spark."""

import re
from datetime import datetime
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.commit.base.commit_message import CommitMessage
from branch_console.commit.schema.schema_commit import create_table, new_schema
from branch_console.commit.snapshot.file_store_commit import FileStoreCommit
from branch_console.format.data_types import parse_data_type
from branch_console.operations.argument import Argument
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.dispatch import run_call
from branch_console.spark.files.conform import conform
from branch_console.spark.files.data_files import WriteTarget, split, write_bucket
from branch_console.sql.parser import parse_statements
from branch_console.storage.table_paths import TablePaths
from branch_console.table.file_store_table import FileStoreTable
from tests.support.local_row_engine import LocalFiles

BRANCH: Final = "spring-cleaning"
_STORY: Final = Path(__file__).parents[2] / "assets/docs/catalog-branches.md"
_ROWS: Final = {"carrier": ["9E", "AA"], "name": ["Endeavor Air Inc.", "American Airlines Inc."]}


def script() -> str:
    """The statements of the story, as the document about these branches prints them."""
    return _STORY.read_text().partition("```sql\n")[2].partition("```")[0]


def _one_row(table: FileStoreTable) -> pa.Table:
    """A row of a new carrier; what else the table counts of it is not known."""
    known = {"carrier": "XX", "name": "Cleaned Air Inc."}
    return pa.table({field.name: [known.get(field.name, 0)] for field in table.schema().fields})


class SpringCleaning:
    """Two databases; the branch makes, renames, drops and writes tables, and sets a property.

    Both sides make a table `gates`, which is the conflict. On the demo its own tables are used.

    Attributes:
        air, reports: The databases.
    """

    def __init__(self, folder: Path, *, air: str = "air", reports: str = "reports") -> None:
        self.folder = folder
        self.air, self.reports = air, reports
        self.warehouse = Warehouse.open(str(folder))

    def make_tables(self) -> None:
        """Make the tables that the demo has already, with two rows each."""
        for name in (f"{self.air}.airlines", f"{self.air}.airports", f"{self.reports}.carriers",
                     f"{self.reports}.daily_delays"):  # fmt: skip
            database, table = name.split(".")
            schema = new_schema(
                [(each, parse_data_type("STRING")) for each in ("carrier", "name")],
                # Tables that are made at one moment are told apart by their first schemas.
                comment=name,
                time_millis=self.warehouse.clock(),
            )
            paths = TablePaths(table=f"{self.warehouse.file_io.root}/{database}.db/{table}")
            create_table(self.warehouse.store, paths, schema)
            self.append(name, pa.table(_ROWS))

    def tell(self) -> None:
        """Do what the README has people do; rows are written without Spark."""
        own = {"air": self.air, "reports": self.reports}
        text = re.sub(r"\b(air|reports)\b", lambda found: own[found[0]], script())
        for number, statement in enumerate(parse_statements(text)):
            arguments: dict[str, Argument] = dict(statement.arguments)
            if statement.procedure == "insert_rows":
                name = str(arguments["table"])
                self.append(name, _one_row(self.warehouse.table(name)))
                continue
            call = ProcedureCall(
                name=statement.procedure,
                arguments=arguments,
                actor="ada",
                operation_id=f"spring-{self.warehouse.clock()}-{number}",
            )
            run_call(self.warehouse, LocalFiles(), call, InlineStages())

    def append(self, name: str, rows: pa.Table) -> None:
        """Commit rows to a table, or to a branch of it."""
        table, clock = self.warehouse.table(name), self.warehouse.clock
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
        messages = [
            CommitMessage(
                partition=partition,
                bucket=bucket,
                total_buckets=schema.num_buckets,
                new_files=write_bucket(
                    target, partition, bucket, [part], file_id=f"{clock()}-{number}",
                    next_sequence=0 if newest is None else newest + 1,
                ).new_files,
            )
            for number, (partition, bucket, part) in enumerate(split(conform(rows, schema), target))
        ]  # fmt: skip
        commit = FileStoreCommit(table, self.warehouse.store, clock=clock)
        commit.commit(messages, user="ada", identifier=clock())

    def tables(self) -> dict[str, list[str]]:
        """What main lists now."""
        catalog = Warehouse.open(str(self.folder)).catalog
        return {name: sorted(catalog.table_names(name)) for name in (self.air, self.reports)}

    def head_id(self, name: str) -> int | None:
        """The newest snapshot of a table of main."""
        head = Warehouse.open(str(self.folder)).table(name).head()
        return None if head is None else head.id
