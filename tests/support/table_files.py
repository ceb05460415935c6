"""The files of a table, written one by one: any state, also one that no writer would leave."""

import itertools
from collections.abc import Sequence

import pyarrow as pa

from branch_console.format.data_types import INT, STRING, DataField, DataType
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.format.manifest_entry import encode_manifest
from branch_console.format.manifest_list import MANIFEST_FILE_META, encode_manifest_list
from branch_console.format.options import Options
from branch_console.format.snapshot import CommitKind, Snapshot
from branch_console.format.table_schema import TableSchema
from branch_console.format.tag import Tag
from branch_console.storage.file_io import FileIO
from branch_console.storage.metadata_cache import MetadataReader
from branch_console.storage.table_paths import TablePaths
from branch_console.table.file_store_table import FileStoreTable

EMPTY_ROW = b"\0" * 12
NO_STATS = {"min_values": EMPTY_ROW, "max_values": EMPTY_ROW, "null_counts": []}
_MINUTE = 60_000


def a_schema(
    schema_id: int = 0,
    columns: Sequence[tuple[str, DataType]] = (("id", INT), ("name", STRING)),
    *,
    partition_keys: Sequence[str] = (),
    primary_keys: Sequence[str] = (),
    options: dict[str, str] | None = None,
) -> TableSchema:
    """A schema whose field ids count the columns."""
    fields = tuple(
        DataField(id=number, name=name, type=kind) for number, (name, kind) in enumerate(columns)
    )
    return TableSchema(
        id=schema_id,
        fields=fields,
        highest_field_id=len(fields) - 1,
        partition_keys=tuple(partition_keys),
        primary_keys=tuple(primary_keys),
        options=Options(options or {}),
    )


def a_snapshot(
    snapshot_id: int,
    writer: str = "m",
    *,
    kind: CommitKind = CommitKind.APPEND,
    schema_id: int = 0,
    rows: int | None = 1,
    uuid: str | None = None,
    properties: dict[str, str] | None = None,
    time_millis: int | None = None,
    **lists: str | None,
) -> Snapshot:
    """A snapshot whose manifest lists are named after its writer and id."""
    names = {
        "base_manifest_list": f"manifest-list-{writer}{snapshot_id}-0",
        "delta_manifest_list": f"manifest-list-{writer}{snapshot_id}-1",
        **lists,
    }
    return Snapshot(
        id=snapshot_id,
        uuid=uuid,
        schema_id=schema_id,
        commit_user=writer,
        commit_identifier=snapshot_id,
        commit_kind=kind,
        time_millis=snapshot_id * _MINUTE if time_millis is None else time_millis,
        delta_record_count=rows,
        total_record_count=rows,
        properties=Options(properties or {}),
        **names,  # type: ignore[arg-type]
    )


class TableFiles:
    """A table below a store's root, whose files are written as the test says."""

    def __init__(self, file_io: FileIO, name: str = "t", database: str = "db") -> None:
        self.file_io = file_io
        self.identifier = Identifier(database=database, table=name)
        self.paths = TablePaths(table=f"{file_io.root}/{database}.db/{name}")
        self._names = itertools.count()

    def table(self, branch: str = MAIN_BRANCH) -> FileStoreTable:
        """The table as a new process sees it."""
        reader = MetadataReader(self.file_io)
        table = FileStoreTable(reader, self.paths.table, self.identifier)
        return table if branch == MAIN_BRANCH else table.on(branch)

    def write(self, path: str, data: str | bytes) -> str:
        """Any file, in place of another if there is one."""
        self.file_io.make_directory(path.rsplit("/", 1)[0])
        self.file_io.replace(path, data.encode() if isinstance(data, str) else data)
        return path

    def schema(self, schema: TableSchema | None = None, branch: str = MAIN_BRANCH) -> None:
        """A schema file."""
        found = schema or a_schema()
        self.write(self.paths.on(branch).schema(found.id), found.to_json())

    def snapshots(self, *snapshots: Snapshot, branch: str = MAIN_BRANCH) -> None:
        """Snapshot files, whose manifests need not exist."""
        for snapshot in snapshots:
            self.write(self.paths.on(branch).snapshot(snapshot.id), snapshot.to_json())

    def tag(self, tag: Tag, branch: str = MAIN_BRANCH) -> None:
        """A tag file."""
        self.write(self.paths.on(branch).tag(tag.name), tag.to_json())

    def commit(
        self,
        snapshot_id: int,
        *manifests: pa.Table,
        branch: str = MAIN_BRANCH,
        codec: str = "zstandard",
    ) -> Snapshot:
        """A snapshot with manifests, given as entries: all but the last in its base list."""
        metas = [self.manifest(entries, codec=codec) for entries in manifests]
        names = [f"manifest-list-{next(self._names)}" for _ in range(2)]
        for name, part in zip(names, (metas[:-1], metas[-1:]), strict=True):
            rows = pa.Table.from_pylist(part, MANIFEST_FILE_META)
            self.write(self.paths.manifest(name), encode_manifest_list(rows, codec))
        snapshot = a_snapshot(
            snapshot_id, base_manifest_list=names[0], delta_manifest_list=names[1]
        )
        self.snapshots(snapshot, branch=branch)
        return snapshot

    def manifest(self, entries: pa.Table, *, codec: str = "zstandard") -> dict[str, object]:
        """A manifest file; returns its row for a manifest list, without ranges."""
        name = f"manifest-{next(self._names)}"
        data = encode_manifest(entries, codec)
        self.write(self.paths.manifest(name), data)
        deleted = sum(kind == 1 for kind in entries["kind"].to_pylist())
        return {
            "file_name": name,
            "file_size": len(data),
            "num_added_files": entries.num_rows - deleted,
            "num_deleted_files": deleted,
            "partition_stats": NO_STATS,
            "schema_id": 0,
        }
