"""A branch of a table that is not made yet: the branch it comes from, mostly main, at its base.

It shows what the branch will show once it is made: one snapshot under its base tag, and the schemas
that there were then. What the source got since is not seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from branch_console.format.snapshot import Snapshot
from branch_console.format.table_schema import TableSchema
from branch_console.format.tag import Tag
from branch_console.storage.file_io import FileStatus
from branch_console.storage.table_paths import TablePaths
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.schema_manager import SchemaManager
from branch_console.table.snapshot_manager import SnapshotManager
from branch_console.table.tag_manager import TagManager
from branch_console.table.versioned_files import FileState


class PinnedTable(FileStoreTable):
    """A table seen from a branch that exists in the ledger of the catalog alone.

    Attributes:
        source: The table on the branch that the fork lies on, mostly main.
        base_tag: The tag of the source that keeps the base; None if the table had no snapshot.
        last_schema: The newest schema that the branch has.
    """

    def __init__(
        self, source: FileStoreTable, branch: str, base_tag: Tag | None, last_schema: int
    ) -> None:
        super().__init__(source.reader, source.paths.table, source.identifier.on_branch(branch))
        self.source = source
        self.base_tag = base_tag
        self.last_schema = last_schema

    @cached_property
    def schemas(self) -> SchemaManager:
        """The schemas of the source, up to the newest one of the branch."""
        return _PinnedSchemas(self, self.last_schema)

    @cached_property
    def snapshots(self) -> SnapshotManager:
        """The base alone."""
        base = None if self.base_tag is None else self.base_tag.snapshot
        return _PinnedSnapshots(self, base)

    @cached_property
    def tags(self) -> TagManager:
        """The base tag alone."""
        return _PinnedTags(self, self.base_tag)

    def on_listed(self, branch: str) -> FileStoreTable:
        """The same table seen from another branch, or from this one."""
        return self if branch == self.branch else self.source.on_listed(branch)

    def with_one_schema(self) -> FileStoreTable:
        """This table: nobody alters a branch that is not made yet."""
        return self


class _PinnedSchemas(SchemaManager):
    def __init__(self, table: PinnedTable, last: int) -> None:
        super().__init__(table.reader, table.source.paths)
        self._last = last

    def ids(self) -> tuple[int, ...]:
        return tuple(each for each in super().ids() if each <= self._last)

    def find_latest(self) -> TableSchema | None:
        self._seen = self.get(self._last)
        return self._seen

    def _listing(self) -> dict[int, FileStatus]:
        found = super()._listing()
        return {number: status for number, status in found.items() if number <= self._last}


class _PinnedSnapshots(SnapshotManager):
    def __init__(self, table: PinnedTable, base: Snapshot | None) -> None:
        super().__init__(table.reader, TablePaths(table=table.paths.table, branch=table.branch))
        self._base = base

    def ids(self) -> tuple[int, ...]:
        return () if self._base is None else (self._base.id,)

    def latest_id(self) -> int | None:
        return None if self._base is None else self._base.id

    def earliest_id(self) -> int | None:
        return self.latest_id()

    def latest(self) -> Snapshot | None:
        return self._base

    def find(self, snapshot_id: int) -> Snapshot | None:
        return self._base if snapshot_id == self.latest_id() else None

    def walk(self) -> Iterator[Snapshot]:
        yield from self.all()

    def all(self) -> tuple[Snapshot, ...]:
        return () if self._base is None else (self._base,)

    def states(self) -> tuple[FileState[Snapshot], ...]:
        return tuple(
            FileState(
                name=str(each.id),
                path=self._paths.snapshot(each.id),
                modified_millis=each.time_millis,
                value=each,
            )
            for each in self.all()
        )

    def at_time(self, time_millis: int) -> Snapshot | None:
        is_later = self._base is None or self._base.time_millis > time_millis
        return None if is_later else self._base


class _PinnedTags(TagManager):
    def __init__(self, table: PinnedTable, tag: Tag | None) -> None:
        super().__init__(table.reader, table.source.paths)
        self._tag = tag

    def find(self, name: str) -> Tag | None:
        return self._tag if self._tag is not None and self._tag.name == name else None

    def _listing(self) -> dict[str, FileStatus]:
        found = super()._listing()
        return {name: each for name, each in found.items() if self.find(name) is not None}
