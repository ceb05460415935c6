"""Dynamic buckets in tasks: one a partition gives rows their bucket, one a bucket its index."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from branch_console.format import options as table_options
from branch_console.format.index_manifest import (
    INDEX_MANIFEST_ENTRY,
    NO_INDEX_FILES,
    hash_index_entries,
)
from branch_console.format.snapshot import Snapshot
from branch_console.spark.files.data_files import WriteTarget
from branch_console.spark.files.hash_index import (
    Hashes,
    PartitionIndex,
    key_hashes,
    read_hashes,
    write_hashes,
)
from branch_console.table.data_file_paths import index_file_paths
from branch_console.table.file_store_table import FileStoreTable


def hash_index_paths(table: FileStoreTable, entries: pa.Table) -> dict[bytes, dict[int, str]]:
    """Return where index files of buckets lie, by partition and bucket."""
    paths: dict[bytes, dict[int, str]] = defaultdict(dict)
    places = (entries[each].to_pylist() for each in ("partition", "bucket"))
    for partition, bucket, path in zip(*places, index_file_paths(table, entries), strict=True):
        paths[partition][bucket] = path
    return dict(paths)


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamicBuckets:
    """The index files of a table at a head, by partition and bucket; it travels to the tasks."""

    target: WriteTarget
    paths: Mapping[bytes, Mapping[int, str]]

    @classmethod
    def of(
        cls, table: FileStoreTable, head: Snapshot | None, target: WriteTarget
    ) -> "DynamicBuckets":
        """Find the index of a table; without a head there is none yet."""
        entries = NO_INDEX_FILES if head is None else table.index_entries(head)
        return cls(target=target, paths=hash_index_paths(table, hash_index_entries(entries)))

    def load(self, partition: bytes) -> PartitionIndex:
        """Read the index of a partition; raises FormatError."""
        options = self.target.schema.options
        hashes = {
            bucket: read_hashes(self.target.store, path)
            for bucket, path in self.paths.get(partition, {}).items()
        }
        return PartitionIndex(
            hashes,
            rows_per_bucket=options.read(table_options.DYNAMIC_BUCKET_TARGET_ROW_NUM),
            max_buckets=options.read(table_options.DYNAMIC_BUCKET_MAX_BUCKETS),
        )

    def split(self, rows: pa.Table, index: PartitionIndex) -> Iterator[tuple[int, pa.Table]]:
        """Split rows of one partition by their bucket, in their order."""
        buckets = index.assign(key_hashes(rows, self.target.schema))
        for bucket in np.unique(buckets):
            yield int(bucket), rows.filter(pa.array(buckets == bucket))

    def keys_of(self, partition: bytes, bucket: int) -> "BucketKeys":
        """The keys of a bucket, to which those that are written come."""
        path = self.paths.get(partition, {}).get(bucket)
        known = np.zeros(0, np.int32) if path is None else read_hashes(self.target.store, path)
        return BucketKeys(self.target, partition, bucket, known)


class BucketKeys:
    """Collects the keys that are written to a bucket."""

    def __init__(self, target: WriteTarget, partition: bytes, bucket: int, known: Hashes) -> None:
        self._target = target
        self._partition = partition
        self._bucket = bucket
        self._known = known
        self._written: list[Hashes] = []

    def watch(self, chunks: Iterable[pa.Table]) -> Iterator[pa.Table]:
        """Pass rows on, and note their keys."""
        for rows in chunks:
            self._written.append(np.unique(key_hashes(rows, self._target.schema)))
            yield rows

    def write(self) -> pa.Table | None:
        """Write the index of the bucket; None if it has no new key.

        Returns:
            Columns of INDEX_MANIFEST_ENTRY, one row.
        """
        every = np.unique(np.concatenate([self._known, *self._written]))
        if len(every) == len(np.unique(self._known)):
            return None
        row = write_hashes(self._target, self._partition, self._bucket, every)
        return pa.Table.from_pylist([row], schema=INDEX_MANIFEST_ENTRY)
