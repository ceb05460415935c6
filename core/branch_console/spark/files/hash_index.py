"""The index of dynamic buckets: which keys a bucket has, by their hashes, and where new ones go.

Source: Paimon HashIndexFile, PartitionIndex, DynamicBucketIndexMaintainer.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from branch_console.errors import ErrorKind, FormatError, InvalidInput, NotFound
from branch_console.format.index_manifest import INDEX_MANIFEST_ENTRY, IndexType
from branch_console.format.table_schema import TableSchema
from branch_console.format.values.bucket import hash_rows
from branch_console.spark.files.data_files import WriteTarget
from branch_console.storage.file_io import FileReader

Hashes = npt.NDArray[np.int32]

MAX_BUCKETS = 32_767
"""As many as Paimon has where the table sets no bound."""

_BIG_ENDIAN = np.dtype(">i4")


class PartitionIndex:
    """The buckets of one partition; it grows as keys are assigned."""

    def __init__(
        self, hashes_by_bucket: Mapping[int, Hashes], *, rows_per_bucket: int, max_buckets: int
    ) -> None:
        """Begin with what the index files hold.

        Args:
            hashes_by_bucket: Hashes of keys.
            rows_per_bucket: Keys after which a bucket takes no new ones.
            max_buckets: How many buckets there may be; -1 for Paimon's own bound.
        """
        self._counts = {bucket: len(hashes_by_bucket[bucket]) for bucket in hashes_by_bucket}
        self._rows_per_bucket = max(1, rows_per_bucket)
        self._max_buckets = max_buckets
        known = [np.zeros(0, np.int32), *hashes_by_bucket.values()]
        owners = [
            np.full(len(hashes), bucket, np.int32) for bucket, hashes in hashes_by_bucket.items()
        ]
        self._keep(np.concatenate(known), np.concatenate([np.zeros(0, np.int32), *owners]))

    def assign(self, hashes: Hashes) -> npt.NDArray[np.int32]:
        """Return the bucket of each key, known or new.

        Raises:
            InvalidInput: There would be more buckets than Paimon takes.
        """
        fresh, first = np.unique(hashes[~self._knows(hashes)], return_index=True)
        if len(fresh):
            # In the order of arrival, as a writer that takes row by row would fill buckets.
            fresh = fresh[np.argsort(first, kind="stable")]
            buckets = self._places(len(fresh))
            self._keep(
                np.concatenate([self._hashes, fresh]), np.concatenate([self._buckets, buckets])
            )
        return self._buckets[np.searchsorted(self._hashes, hashes)]

    def _knows(self, hashes: Hashes) -> npt.NDArray[np.bool_]:
        if not len(self._hashes):
            return np.zeros(len(hashes), dtype=bool)
        at = np.minimum(np.searchsorted(self._hashes, hashes), len(self._hashes) - 1)
        found: npt.NDArray[np.bool_] = self._hashes[at] == hashes
        return found

    def _keep(self, hashes: Hashes, buckets: npt.NDArray[np.int32]) -> None:
        order = np.argsort(hashes, kind="stable")
        self._hashes, self._buckets = hashes[order], buckets[order]

    def _places(self, count: int) -> npt.NDArray[np.int32]:
        parts: list[npt.NDArray[np.int32]] = []
        left = count
        bound = MAX_BUCKETS if self._max_buckets == -1 else self._max_buckets
        candidates = [*sorted(self._counts), *(n for n in range(bound) if n not in self._counts)]
        for bucket in candidates:
            room = min(left, self._rows_per_bucket - self._counts.get(bucket, 0))
            if room > 0:
                parts.append(np.full(room, bucket, np.int32))
                self._counts[bucket] = self._counts.get(bucket, 0) + room
                left -= room
            if not left:
                break
        if left and self._max_buckets == -1:
            raise InvalidInput(
                f"The keys need more than {MAX_BUCKETS} buckets. Raise "
                "'dynamic-bucket.target-row-num'.",
                kind=ErrorKind.INVALID_OPTION,
            )
        if left:
            # All are full, and there may be no more of them: all take the same share.
            parts.append(np.resize(np.array(sorted(self._counts), np.int32), left))
        return np.concatenate(parts)


def key_hashes(rows: pa.Table, schema: TableSchema) -> Hashes:
    """The hash of each row's trimmed primary key."""
    return hash_rows(rows.select(list(schema.trimmed_primary_keys)), schema.key_type.types)


def read_hashes(store: FileReader, path: str) -> Hashes:
    """Read an index file.

    Raises:
        FormatError: It is missing or cut short.
    """
    try:
        data = store.read(path)
    except NotFound as error:
        raise FormatError(
            f"{path} is missing, the index of keys of a bucket: nothing tells which keys are "
            "there. Restore it from a copy, or roll the branch back to a whole snapshot.",
            kind=ErrorKind.FILES_MISSING,
            path=path,
        ) from error
    if len(data) % _BIG_ENDIAN.itemsize:
        raise FormatError(f"{path} is no index of keys: it has {len(data)} bytes.", path=path)
    return np.frombuffer(data, _BIG_ENDIAN).astype(np.int32)


def write_hashes(
    target: WriteTarget, partition: bytes, bucket: int, hashes: Hashes
) -> dict[str, Any]:
    """Write an index file, and return its row of INDEX_MANIFEST_ENTRY."""
    name = f"index-{target.new_file_id()}-0"
    data = hashes.astype(_BIG_ENDIAN).tobytes()
    target.store.create(target.paths.index(name), data)
    return {
        **dict.fromkeys(INDEX_MANIFEST_ENTRY.names),
        "kind": 0,
        "partition": partition,
        "bucket": bucket,
        "index_type": str(IndexType.HASH),
        "file_name": name,
        "file_size": len(data),
        "row_count": len(hashes),
    }
