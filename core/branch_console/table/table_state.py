"""A state of a table, to be read: its files, and the schema that they are read under.

A head is read as it is, under the newest schema of its branch, which may be newer than the one that
the head was committed with: ALTER TABLE makes no snapshot. A snapshot that time travel names is
read as it was, under its own schema. Source: Paimon AbstractFileStoreTable.copy, TimeTravelUtil.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from branch_console.errors import CommitConflict, ErrorKind
from branch_console.format.index_manifest import NO_INDEX_FILES
from branch_console.format.manifest_entry import NO_FILES
from branch_console.format.read_branches import FallbackRule
from branch_console.format.scan_options import ChangeMode
from branch_console.format.snapshot import Snapshot
from branch_console.format.table_schema import TableSchema
from branch_console.table.file_store_table import FileStoreTable


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReadState:
    """A committed state of a table; made by `as_it_is` or by `as_it_was`.

    Attributes:
        table: The table, on the branch whose schemas the state is read with.
        snapshot: The snapshot; None on a branch without one.
        schema: The schema that it is read with.
        columns: The wanted columns in their order, where not all are.
        past_millis: The time at which other branches are read along, None for now.
        fallback: The other branch that the read itself names; None for that of the schema.
        along: The state of the other branch that is read along, once it was found.
    """

    table: FileStoreTable
    snapshot: Snapshot | None
    schema: TableSchema
    columns: tuple[str, ...] | None = None
    past_millis: int | None = None
    fallback: FallbackRule | None = None
    along: "ReadState | None" = None

    @classmethod
    def as_it_is(cls, table: FileStoreTable) -> "ReadState":
        """Return the head of a branch under the newest schema of the branch.

        Raises:
            NotFound: The branch has no schema.
            FormatError: The head or the schema cannot be decoded.
        """
        head, schema = table.head_and_schema()
        return cls(table=table, snapshot=head, schema=schema)

    @classmethod
    def as_it_was(cls, table: FileStoreTable, snapshot: Snapshot) -> "ReadState":
        """Return a snapshot of a branch under the schema that it was committed with.

        Raises:
            NotFound: The branch has no such schema.
            FormatError: The schema cannot be decoded.
        """
        schema = table.schemas.get(snapshot.schema_id)
        return cls(table=table, snapshot=snapshot, schema=schema, past_millis=snapshot.time_millis)

    @property
    def reads(self) -> tuple[tuple[FileStoreTable, Snapshot], ...]:
        """The snapshots whose files a reader of the state opens, each with its branch."""
        states = (self,) if self.along is None else (self, self.along)
        return tuple((each.table, each.snapshot) for each in states if each.snapshot is not None)

    def check_rewritable(self) -> None:
        """Refuse a head that is newer than the schema: its rows would lose columns when written.

        Raises:
            CommitConflict: The branch was altered and written after its schema was read.
        """
        if self.snapshot is not None and self.snapshot.schema_id > self.schema.id:
            raise CommitConflict(
                f"{self.table.identifier} was altered and written since schema {self.schema.id} "
                "was read. Nothing was changed; run the statement again.",
                kind=ErrorKind.HEAD_MOVED,
            )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChangedState:
    """The commits of a branch between two of its states, to be read as rows.

    Attributes:
        table: The table, on the branch whose changes are read.
        schema: The newest of the branch; changes are read under it, as a head is.
        mode: DELTA, CHANGELOG or DIFF.
        asked: The requested range, as people read it.
        snapshot: The later state; None if there is no change.
        before: The earlier state of a DIFF.
        commits: The snapshots whose own files are read, oldest first; none of a DIFF.
        columns: The wanted columns in their order, where not all are.
    """

    table: FileStoreTable
    schema: TableSchema
    mode: ChangeMode
    asked: str
    snapshot: Snapshot | None = None
    before: Snapshot | None = None
    commits: tuple[Snapshot, ...] = ()
    columns: tuple[str, ...] | None = None


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
