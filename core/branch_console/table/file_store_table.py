"""A table on one branch: the handle through which everything about it is read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from branch_console.errors import ErrorKind, FormatError, InvalidInput, NotFound
from branch_console.format import options as table_options
from branch_console.format.branch_ref import BranchRef
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.format.near_names import did_you_mean, nearest_names
from branch_console.format.scan_options import moment_text
from branch_console.format.snapshot import Snapshot
from branch_console.format.table_schema import TableSchema
from branch_console.storage.file_io import FileReader
from branch_console.storage.metadata_cache import MetadataCache, MetadataReader
from branch_console.storage.parallel_io import aside
from branch_console.storage.table_paths import TablePaths
from branch_console.table.branch_manager import BranchManager, is_openable
from branch_console.table.consumer_manager import ConsumerManager
from branch_console.table.lineage_ledger import LineageLedger
from branch_console.table.scan_filter import ScanFilter, Values
from branch_console.table.schema_manager import SchemaManager
from branch_console.table.shared_scan import SharedScan
from branch_console.table.snapshot_manager import SnapshotManager
from branch_console.table.tag_manager import TagManager
from branch_console.table.versioned_files import check_named_files, missing_file

if TYPE_CHECKING:
    import pyarrow as pa

    from branch_console.table.manifest_scan import ManifestScan


class FileStoreTable:
    """A table seen from one branch; immutable, and it holds no way to write.

    Attributes:
        reader: The metadata of the table's store.
        identifier: The table and the branch.
        paths: The paths of the files of this branch.
    """

    def __init__(
        self,
        reader: MetadataReader,
        table_path: str,
        identifier: Identifier,
        scan: SharedScan | None = None,
        schema: TableSchema | None = None,
    ) -> None:
        self.reader = reader
        self._schema = schema
        self._scan = scan or SharedScan(reader)
        self.identifier = identifier
        self.paths = TablePaths(table=table_path, branch=identifier.branch)

    # Made when they are asked for: whoever looks through a thousand branches asks each for one.

    @cached_property
    def schemas(self) -> SchemaManager:
        """The schemas of this branch."""
        return SchemaManager(self.reader, self.paths)

    @cached_property
    def snapshots(self) -> SnapshotManager:
        """The snapshots of this branch."""
        return SnapshotManager(self.reader, self.paths)

    @cached_property
    def tags(self) -> TagManager:
        """The tags of this branch."""
        return TagManager(self.reader, self.paths)

    @cached_property
    def consumers(self) -> ConsumerManager:
        """The streaming readers of this branch."""
        return ConsumerManager(self.reader, self.paths)

    @cached_property
    def branches(self) -> BranchManager:
        """The branches of the table."""
        return BranchManager(self.reader, self.paths, self.identifier)

    @cached_property
    def ledger(self) -> LineageLedger:
        """The ledger of events on the branches of the table."""
        return LineageLedger(self.reader, self.paths)

    @staticmethod
    def open(
        reader: FileReader,
        table_path: str,
        identifier: Identifier,
        cache: MetadataCache | None = None,
    ) -> FileStoreTable:
        """Open a table by its path; nothing is read yet."""
        return FileStoreTable(MetadataReader(reader, cache), table_path, identifier)

    @property
    def scan(self) -> ManifestScan:
        """The decoded manifests, shared by all handles that come from one."""
        return self._scan.manifests

    @property
    def branch(self) -> str:
        """The branch this handle looks at."""
        return self.identifier.branch

    def on(self, branch: str) -> FileStoreTable:
        """The same table seen from another branch, which need not exist; raises InvalidInput."""
        check_branch_segment(branch)
        return self.on_listed(branch)

    def on_listed(self, branch: str) -> FileStoreTable:
        """The same table seen from a branch of its listing, also one that nobody can open by name.

        Whoever looks through all branches must not miss what such a one holds.
        """
        identifier = self.identifier.on_branch(branch)
        return FileStoreTable(self.reader, self.paths.table, identifier, self._scan)

    def retired(self, operation_id: str, branch: str) -> FileStoreTable:
        """Return the branch as an operation retired it, with the files that it took."""
        found = self.on_listed(branch)
        found.paths = found.paths.retired(operation_id)
        return found

    def anew(self) -> FileStoreTable:
        """The same again, by a handle that has seen nothing yet."""
        taken_by = self.paths.retired_by
        return self.retired(taken_by, self.branch) if taken_by else self.on_listed(self.branch)

    @contextmanager
    def listing_once(self, without: Collection[str] = ()) -> Iterator[FileStoreTable]:
        """The same branch, whose folders are listed once while the block runs.

        For one decision; what it hands on looks anew after the block.

        Args:
            without: The paths of files that count as gone already while the block runs.
        """
        with self.reader.listing_once(without) as reader:
            yield FileStoreTable(
                reader, self.paths.table, self.identifier, self._scan, self._schema
            )

    def with_one_schema(self) -> FileStoreTable:
        """The same branch, whose newest schema stays the one that it is now.

        For work that asks for the schema several times: an ALTER TABLE in the middle of it must not
        let rows be read under one schema and written under another.

        Raises:
            NotFound: The branch has no schema.
            FormatError: The schema cannot be decoded.
        """
        return self.with_schema(self.schema())

    def with_schema(self, schema: TableSchema) -> FileStoreTable:
        """The same branch, whose newest schema stays this one, as it was read before."""
        return FileStoreTable(self.reader, self.paths.table, self.identifier, self._scan, schema)

    def schema(self) -> TableSchema:
        """The newest schema of the branch; raises NotFound or FormatError."""
        return self.schemas.latest() if self._schema is None else self._schema

    def _keys_schema(self) -> TableSchema:
        """A schema to read partitions and keys with: no ALTER TABLE changes their types.

        So nobody has to look whether there is a newer one; raises as `schema` does.
        """
        return self.schemas.last_seen() if self._schema is None else self._schema

    def head(self) -> Snapshot | None:
        """The newest snapshot of the branch, None before the first commit; raises FormatError."""
        return self.snapshots.latest()

    def head_and_schema(self) -> tuple[Snapshot | None, TableSchema]:
        """Both of them, asked for at once; raises as `head` and `schema` do."""
        return self.reader.both(self.head, self.schema)

    def branch_ref(self) -> BranchRef:
        """The branch with its head and schema; raises NotFound or FormatError."""
        return self.branches.get(self.branch)

    def manifests(self, snapshot: Snapshot) -> pa.Table:
        """The manifests of a snapshot, with the columns of MANIFEST_FILE_META, oldest first."""
        return self.scan.manifests(self.paths, snapshot)

    def read_manifests(self, manifests: pa.Table) -> pa.Table:
        """The entries of such manifests, with the columns of MANIFEST_ENTRY, in their order."""
        return self.scan.read(self.paths, manifests)

    def live_files(
        self,
        snapshot: Snapshot,
        *,
        partitions: Iterable[bytes] | None = None,
        buckets: Iterable[int] | None = None,
        levels: Iterable[int] | None = None,
        key_range: tuple[Values, Values] | None = None,
    ) -> pa.Table:
        """The live files of a snapshot, of any branch of this table.

        Args:
            snapshot: The state to read.
            partitions: Encoded BinaryRows of the wanted partitions; None for all.
            buckets: The wanted buckets; None for all.
            levels: The wanted levels; None for all.
            key_range: First and last trimmed primary key, both included, as values.

        Returns:
            Columns of MANIFEST_ENTRY, every `kind` ADD.

        Raises:
            FormatError: A manifest is missing or broken, or they contradict each other.
        """
        schema = self._keys_schema()
        wanted = ScanFilter(
            partitions=None if partitions is None else frozenset(partitions),
            buckets=None if buckets is None else frozenset(buckets),
            levels=None if levels is None else frozenset(levels),
            key_range=key_range,
        )
        return self.scan.live_files(
            self.paths, self.manifests(snapshot), wanted, schema.partition_type, schema.key_type
        )

    def delta_entries(
        self, snapshot: Snapshot, *, partitions: frozenset[bytes] | None = None
    ) -> pa.Table:
        """Return the entries that the commit of a snapshot added and deleted, as MANIFEST_ENTRY.

        Args:
            snapshot: Of any branch of this table.
            partitions: Encoded BinaryRows of the wanted partitions; None for all.

        Raises:
            FormatError: A manifest is missing or broken.
        """
        wanted = ScanFilter(partitions=partitions)
        partition_type = self._keys_schema().partition_type
        return self.scan.delta_entries(self.paths, snapshot, wanted, partition_type)

    def changelog_entries(self, snapshot: Snapshot) -> pa.Table:
        """The changelog files of a snapshot, with the columns of MANIFEST_ENTRY.

        Raises:
            FormatError: A manifest is missing or broken.
        """
        return self.scan.changelog_entries(self.paths, snapshot)

    def index_entries(self, snapshot: Snapshot) -> pa.Table:
        """The index files of a snapshot, with the columns of INDEX_MANIFEST_ENTRY."""
        return self.scan.index_entries(self.paths, snapshot)

    def check_lists(self, snapshot: Snapshot) -> None:
        """Look whether the files that a snapshot itself names are there; reads none of them.

        Raises:
            FormatError: Some are missing, so nothing of the snapshot can be read.
        """
        check_named_files(self.reader, self.paths, snapshot)

    def check_manifests(self, snapshot: Snapshot) -> None:
        """Look whether the manifests of a snapshot are there and whole; only its lists are read.

        Raises:
            FormatError: A manifest or its list is missing, cut short or broken.
        """
        manifests = self.manifests(snapshot)
        names, sizes = manifests["file_name"].to_pylist(), manifests["file_size"].to_pylist()
        if snapshot.index_manifest is not None:
            names, sizes = [*names, snapshot.index_manifest], [*sizes, None]
        paths = [self.paths.manifest(name) for name in names]
        found = self.reader.map_parallel(self.reader.files.status, paths)
        for path, size, status in zip(paths, sizes, found, strict=True):
            if status is None:
                raise missing_file(path)
            if size is not None and status.size != size:
                raise FormatError(
                    f"{path} is broken: it has {status.size:,} bytes where its manifest list tells "
                    f"of {size:,}. Restore the file.",
                    path=path,
                )

    def data_paths(self, schema: TableSchema | None = None) -> TablePaths:
        """The paths with the table's own folder for data files, an option of the newest schema."""
        options = (schema or self.schema()).options
        directory = options.read(table_options.DATA_FILE_PATH_DIRECTORY)
        return TablePaths(
            table=self.paths.table, branch=self.branch, data_directory=directory or ""
        )

    def snapshot_for(
        self, version: str | None = None, *, timestamp_millis: int | None = None
    ) -> Snapshot:
        """Travel in time.

        Args:
            version: A tag, a snapshot id, or either of another branch: `dev.v1`, `dev.7`. A tag
                goes before an id, as in Paimon.
            timestamp_millis: A commit time; the newest snapshot at or before it.

        Raises:
            InvalidInput: Both or neither are given.
            NotFound: There is no such tag, snapshot or branch, or all snapshots are later.
        """
        return self.state_for(version, timestamp_millis=timestamp_millis)[1]

    def state_for(
        self, version: str | None = None, *, timestamp_millis: int | None = None
    ) -> tuple[FileStoreTable, Snapshot]:
        """Travel in time, and tell on which branch that ends: its schemas read the snapshot.

        Takes and raises what `snapshot_for` does.
        """
        if (version is None) == (timestamp_millis is None):
            raise InvalidInput("Give either a version or a timestamp to travel to.")
        if timestamp_millis is not None:
            return self, self._snapshot_at(timestamp_millis)
        assert version is not None
        found = self._find_version(version)
        return (self, found) if found is not None else self._find_version_on_branch(version)

    def _snapshot_at(self, time_millis: int) -> Snapshot:
        found = self.snapshots.at_time(time_millis)
        if found is None:
            raise NotFound(
                f"{self.identifier} has no snapshot at or before {moment_text(time_millis)}. "
                "Choose a later time.",
                kind=ErrorKind.SNAPSHOT_NOT_FOUND,
                time_millis=time_millis,
            )
        return found

    def _find_version(self, version: str) -> Snapshot | None:
        tag = self.tags.find(version) if version and "/" not in version else None
        if tag is not None:
            return tag.snapshot
        return self.snapshots.find(int(version)) if _is_id(version) else None

    def _find_version_on_branch(self, version: str) -> tuple[FileStoreTable, Snapshot]:
        names = {MAIN_BRANCH, *self.branches.names()}
        for position in (at for at, letter in enumerate(version) if letter == "."):
            branch, rest = version[:position], version[position + 1 :]
            if branch in names:
                table = self.on(branch)
                found = table._find_version(rest)
                if found is not None:
                    return table, found
        if _is_id(version):
            return self, self.snapshots.get(int(version))  # says which ids there are
        hint = did_you_mean(nearest_names(version, aside(self.tags.names)() or ()))
        raise NotFound(
            f"{self.identifier} has no tag or snapshot {version!r}. Name a tag, a snapshot id, or "
            f"either behind a branch and a dot.{hint}",
            kind=ErrorKind.TAG_NOT_FOUND,
            version=version,
        )


def check_branch_segment(branch: str) -> None:
    """Refuse a branch name that is more than one folder; other odd names may be read.

    Raises:
        InvalidInput: The name is blank, a dot name, or holds a separator.
    """
    if not is_openable(branch):
        raise InvalidInput(
            f"{branch!r} is not a branch that can be opened: the name must not be blank or hold "
            "'/', '\\' or '$'.",
            kind=ErrorKind.INVALID_NAME,
            branch=branch,
        )


def _is_id(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 19
