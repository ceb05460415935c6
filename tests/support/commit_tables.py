"""Small tables for tests of commits: data files that exist only as entries."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow as pa

from branch_console.commit.base.commit_message import CommitMessage
from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.schema.schema_commit import create_table, new_schema
from branch_console.commit.snapshot.file_store_commit import FileStoreCommit
from branch_console.format.data_types import BIGINT, INT, STRING, DataType
from branch_console.format.identifier import Identifier
from branch_console.format.manifest_entry import MANIFEST_ENTRY
from branch_console.format.snapshot import Snapshot
from branch_console.format.values.binary_row import encode_row
from branch_console.storage.file_io import FileIO
from branch_console.storage.table_paths import TablePaths
from branch_console.table.file_store_table import FileStoreTable

COLUMNS: tuple[tuple[str, DataType], ...] = (("id", BIGINT), ("name", STRING), ("pt", INT))
UNPARTITIONED = encode_row([], [])


class CommitBench:
    """A table in a folder with what is needed to commit to it."""

    def __init__(
        self,
        root: Path,
        *,
        primary_keys: Sequence[str] = (),
        partition_keys: Sequence[str] = (),
        options: dict[str, str] | None = None,
        store: CommitStore | None = None,
        name: str = "t",
    ) -> None:
        self.file_io = FileIO.for_url(str(root))
        self.store = store or CommitStore.of(self.file_io)
        self.path = f"{self.file_io.root}/db.db/{name}"
        self.identifier = Identifier(database="db", table=name)
        schema = new_schema(
            COLUMNS, primary_keys=primary_keys, partition_keys=partition_keys, options=options
        )
        paths = TablePaths(table=self.path)
        if not self.file_io.exists(paths.schema(0)):
            create_table(CommitStore.of(self.file_io), paths, schema)

    def table(self, branch: str = "main") -> FileStoreTable:
        """The table, opened anew as another process would."""
        return FileStoreTable.open(self.store.files, self.path, self.identifier).on(branch)

    def committer(self, branch: str = "main") -> FileStoreCommit:
        return FileStoreCommit(self.table(branch), self.store, sleep=lambda _: None)

    def append(
        self,
        *names: str,
        branch: str = "main",
        user: str = "alice",
        rows: int = 10,
        watermark: int | None = None,
    ) -> Snapshot:
        """Commit files of that name with `rows` rows each."""
        total_buckets = self.table(branch).schema().num_buckets
        files = data_files(names, rows=rows, total_buckets=total_buckets)
        identifier = hash((branch, names)) % (1 << 40)
        snapshot = self.committer(branch).commit(
            [message(new_files=files)], user=user, identifier=identifier, watermark=watermark
        )
        assert snapshot is not None
        return snapshot

    def live_names(self, branch: str = "main") -> set[str]:
        table = self.table(branch)
        head = table.head()
        return set() if head is None else set(table.live_files(head)["file_name"].to_pylist())

    def manifest_names(self) -> set[str]:
        return {each.name for each in self.file_io.list(f"{self.path}/manifest")}


def message(
    partition: bytes = UNPARTITIONED, bucket: int = 0, total_buckets: int = 1, **files: pa.Table
) -> CommitMessage:
    return CommitMessage(partition=partition, bucket=bucket, total_buckets=total_buckets, **files)


def data_files(
    names: Iterable[str],
    *,
    rows: int = 10,
    partition: bytes = UNPARTITIONED,
    bucket: int = 0,
    total_buckets: int = 1,
    level: int = 0,
    keys: tuple[int, int] | None = None,
) -> pa.Table:
    """Entries of data files; `keys` are the first and last value of the primary key `id`."""
    low, high = (
        (UNPARTITIONED, UNPARTITIONED)
        if keys is None
        else (encode_row([keys[0]], [BIGINT]), encode_row([keys[1]], [BIGINT]))
    )
    stats = {"min_values": UNPARTITIONED, "max_values": UNPARTITIONED, "null_counts": []}
    given = {
        "kind": 0,
        "partition": partition,
        "bucket": bucket,
        "total_buckets": total_buckets,
        "file_size": 1000,
        "row_count": rows,
        "min_key": low,
        "max_key": high,
        "key_stats": stats,
        "value_stats": stats,
        "min_sequence_number": 0,
        "max_sequence_number": rows - 1,
        "schema_id": 0,
        "level": level,
        "extra_files": [],
        "delete_row_count": 0,
        "file_source": 0,
        "identity": "",
        "manifest": "",
        "position": 0,
    }
    return pa.Table.from_pylist(
        [{**given, "file_name": f"data-{name}.parquet"} for name in names], schema=MANIFEST_ENTRY
    )
