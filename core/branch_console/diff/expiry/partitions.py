"""The partitions of a branch that expire.

Source: Paimon NormalPartitionExpire, PartitionValuesTimeExpireStrategy and
PartitionUpdateTimeExpireStrategy.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from branch_console.diff.expiry.partition_time import PartitionTime, wall_nanos


class ExpiryStrategy(StrEnum):
    """The sources of a partition's age."""

    VALUES_TIME = "values-time"
    UPDATE_TIME = "update-time"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgedPartition:
    """A partition with the value that gives its age.

    Attributes:
        partition: The encoded BinaryRow.
        values: Its values as Java shows them inside Paimon; None for null.
        texts: Its values as they are shown, null by its name.
        updated: When its newest file was written, by the clock on the wall of its writer; None
            if that is not known.
        file_count: Its live files.
        row_count: The records of these.
    """

    partition: bytes
    values: tuple[str | None, ...]
    texts: tuple[str, ...]
    updated: datetime | None
    file_count: int
    row_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRetention:
    """How long partitions stay.

    Attributes:
        time_retained: A partition goes once it is older.
        most: The most that go at once.
        time: How the values tell the time, for the strategy `values-time`.
    """

    strategy: ExpiryStrategy
    time_retained: timedelta
    most: int
    time: PartitionTime


def expired_partitions(
    partitions: Iterable[AgedPartition],
    retention: PartitionRetention,
    keys: Sequence[str],
    now: datetime,
) -> tuple[AgedPartition, ...]:
    """Decide which partitions expire.

    Args:
        partitions: All of the branch.
        retention: How long they stay.
        keys: The partition keys.
        now: The clock on the wall.

    Returns:
        Those that go, in the order of their texts; those behind the most stay for the next time.
    """
    before = now - retention.time_retained
    match retention.strategy:
        case ExpiryStrategy.VALUES_TIME:
            limit = wall_nanos(before)
            old = [
                each
                for each in partitions
                if (time := retention.time.read(keys, each.values)) is not None and time < limit
            ]
        case ExpiryStrategy.UPDATE_TIME:
            old = [
                each for each in partitions if each.updated is not None and each.updated < before
            ]
    old.sort(key=lambda each: ",".join(each.texts))
    return tuple(old[: retention.most])
