"""Which partitions expire: by the time that their values tell, or by their newest file."""

from datetime import datetime, timedelta

import pytest

from branch_console.diff.expiry.partition_time import PartitionTime, wall_nanos
from branch_console.diff.expiry.partitions import (
    AgedPartition,
    ExpiryStrategy,
    PartitionRetention,
    expired_partitions,
)
from branch_console.errors import InvalidInput

NOW = datetime(2026, 7, 18, 12)


@pytest.mark.parametrize(
    ("values", "pattern", "formatter", "told"),
    [
        (["2026-07-18"], None, None, datetime(2026, 7, 18)),
        (["2026-7-8"], None, None, datetime(2026, 7, 8)),
        (["2026-07-18 6:05:04"], None, None, datetime(2026, 7, 18, 6, 5, 4)),
        (["2026-07-18 06:05:04.123456"], None, None, datetime(2026, 7, 18, 6, 5, 4, 123_456)),
        # Paimon's own way counts on.
        (["2026-14-01"], None, None, datetime(2027, 2, 1)),
        (["2026-02-30"], None, None, datetime(2026, 3, 2)),
        (["2026-07-18 25:00:00"], None, None, datetime(2026, 7, 19, 1)),
        (["20260718"], None, None, None),
        (["2026-07-18T06:05"], None, None, None),
        (["2026-07-18 06:05"], None, None, None),
        ([None], None, None, None),
        (["20260718"], None, "yyyyMMdd", datetime(2026, 7, 18)),
        (["2026071"], None, "yyyyMMdd", None),
        # A formatter of Java does not count on; a day too many is the last one of the month.
        (["20260230"], None, "yyyyMMdd", datetime(2026, 2, 28)),
        (["20261301"], None, "yyyyMMdd", None),
        (["20260732"], None, "yyyyMMdd", None),
        (["18.07.26"], None, "dd.MM.yy", datetime(2026, 7, 18)),
        (["2026/7/8 6h"], None, "yyyy/M/d H'h'", datetime(2026, 7, 8, 6)),
        (["2026-07-18 24"], None, "yyyy-MM-dd HH", datetime(2026, 7, 19)),
        (["2026-07-18 25"], None, "yyyy-MM-dd HH", None),
        (["2026-07-18"], None, "yyyy-MM-dd[ HH:mm]", datetime(2026, 7, 18)),
        (["2026-07-18 06:05"], None, "yyyy-MM-dd[ HH:mm]", datetime(2026, 7, 18, 6, 5)),
        (["2026-07"], None, "yyyy-MM", None),
        (["2026-07-18", "6"], "$day $hour:00:00", None, datetime(2026, 7, 18, 6)),
        (["18", "7"], "2026-$hour-$day", None, datetime(2026, 7, 18)),
        (["2026-07-18", None], "$day", None, None),
        (["x", "20260718"], "$hour", "yyyyMMdd", datetime(2026, 7, 18)),
    ],
)
def test_values_tell_a_time(
    values: list[str | None], pattern: str | None, formatter: str | None, told: datetime | None
) -> None:
    keys = ("day", "hour")[: len(values)]
    found = PartitionTime(pattern=pattern, formatter=formatter).read(keys, values)
    assert found == (None if told is None else wall_nanos(told))


@pytest.mark.parametrize("value", ["0000-01-01", "-0044-03-15", "12026-01-01"])
def test_a_year_that_no_calendar_here_has_is_before_or_behind_all_others(value: str) -> None:
    found = PartitionTime().read(("dt",), (value,))
    assert found is not None
    assert (found < wall_nanos(datetime(1, 1, 1))) is not value.startswith("12026")
    assert (found > wall_nanos(datetime(9999, 12, 31))) is value.startswith("12026")


@pytest.mark.parametrize(
    "formatter", ["yyyy-MMM-dd", "yyyyMMdd z", "EEE", "hh:mm a", "yyyy]", "{yyyy}", "yyyyMMddMM"]
)
def test_a_formatter_that_is_not_read_is_refused(formatter: str) -> None:
    with pytest.raises(InvalidInput, match="is not read here"):
        PartitionTime(formatter=formatter)


def partition(day: str | None, hours: int | None = 0) -> AgedPartition:
    text = day or "__DEFAULT_PARTITION__"
    return AgedPartition(
        partition=text.encode(),
        values=(day,),
        texts=(text,),
        updated=None if hours is None else NOW - timedelta(hours=hours),
        file_count=1,
        row_count=10,
    )


def retention(strategy: ExpiryStrategy, most: int = 100) -> PartitionRetention:
    return PartitionRetention(
        strategy=strategy, time_retained=timedelta(days=2), most=most, time=PartitionTime()
    )


def test_partitions_go_by_the_time_of_their_values() -> None:
    known = [partition(each) for each in ("2026-07-17", "2026-07-16", "2026-07-15", "old", None)]
    found = expired_partitions(known, retention(ExpiryStrategy.VALUES_TIME), ("dt",), NOW)
    assert [each.texts[0] for each in found] == ["2026-07-15", "2026-07-16"]
    first = expired_partitions(known, retention(ExpiryStrategy.VALUES_TIME, 1), ("dt",), NOW)
    assert first == found[:1]


def test_partitions_go_by_their_newest_file_whatever_their_values_are() -> None:
    known = [partition("b", 49), partition(None, 50), partition("c", 48), partition("d", None)]
    found = expired_partitions(known, retention(ExpiryStrategy.UPDATE_TIME), ("dt",), NOW)
    assert [each.texts[0] for each in found] == ["__DEFAULT_PARTITION__", "b"]
