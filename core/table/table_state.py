"""A state of a table, to be read."""

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from core.format.index_manifest import NO_INDEX_FILES
from core.format.manifest_entry import NO_FILES
from core.format.snapshot import Snapshot
from core.format.table_schema import TableSchema
from core.table.file_store_table import FileStoreTable


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TableState:
    """What a reader reads.

    Attributes:
        table: The table, on the branch whose schemas the state is read with.
        snapshot: The snapshot; None for the head.
        columns: The wanted columns in their order.
    """

    table: FileStoreTable
    snapshot: Snapshot | None
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StagedState:
    """A state that no snapshot names yet: what a commit would leave.

    Attributes:
        table: The table, on the branch that would be committed to.
        files: The live files, with the columns of MANIFEST_ENTRY.
        index_files: With the columns of INDEX_MANIFEST_ENTRY.
        schema: The schema that it is read with.
        schemas: All that the files were written with by id, also those that are not published.
        columns: The wanted columns in their order.
    """

    table: FileStoreTable
    files: pa.Table
    index_files: pa.Table
    schema: TableSchema
    schemas: Mapping[int, TableSchema]
    columns: tuple[str, ...]

    @classmethod
    def of_snapshot(
        cls, table: FileStoreTable, snapshot: Snapshot | None, schema: TableSchema
    ) -> "StagedState":
        """Return a state that was committed as one that is staged; None has no files."""
        return cls(
            table=table,
            files=NO_FILES if snapshot is None else table.live_files(snapshot),
            index_files=NO_INDEX_FILES if snapshot is None else table.index_entries(snapshot),
            schema=schema,
            schemas={each.id: each for each in table.schemas.all()},
            columns=(),
        )
