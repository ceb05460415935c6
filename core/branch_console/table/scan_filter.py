"""The filter of live files for a scan of manifests."""

from dataclasses import dataclass

Values = tuple[object, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanFilter:
    """The filter of live files for a scan; None takes all.

    Attributes:
        partitions: Encoded BinaryRows, as the column `partition` holds them.
        buckets: Bucket numbers.
        levels: Levels of the LSM tree.
        key_range: First and last trimmed primary key, both included, as values; files whose range
            overlaps are kept. A table without a primary key keeps all its files.
    """

    partitions: frozenset[bytes] | None = None
    buckets: frozenset[int] | None = None
    levels: frozenset[int] | None = None
    key_range: tuple[Values, Values] | None = None
