"""Timestamps of more than six digits: exact in any year, and cast as Arrow casts its own."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from branch_console.format.values.fine_times import (
    FINE_LOCAL_TIME,
    FINE_TIME,
    cast_times,
    fine_times,
    parse_times,
    scalar_of,
    time_parts,
    time_texts,
)
from branch_console.format.values.readable import readable

TEXTS = [
    "1970-01-01 00:00:00.000000000",
    "1969-12-31 23:59:59.999999999",
    "0001-01-01 00:00:00.000000001",
    "9999-12-31 23:59:59.999999999",
    "1677-09-21 00:12:43.145224191",
    "2262-04-11 23:47:16.854775808",
]


def test_texts_of_any_year_are_read_and_written() -> None:
    times = parse_times(pa.array([*TEXTS, None]), FINE_TIME)
    assert time_texts(times).to_pylist() == [*TEXTS, None]
    local = parse_times(pa.array([f"{text}Z" for text in TEXTS]), FINE_LOCAL_TIME)
    assert time_texts(local).to_pylist() == [f"{text}Z" for text in TEXTS]
    assert parse_times(pa.array(["2024-02-29 12:00:00.5"]), FINE_TIME)[0].as_py() == Decimal(
        "1709208000.500000000"
    )


@pytest.mark.parametrize(
    "text", ["tomorrow", "2024-02-30 00:00:00", "2024-01-01 00:00:00.1234567890"]
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(pa.ArrowException):
        scalar_of(text, FINE_TIME)


def test_parts_of_the_whole_range_come_back() -> None:
    edges = [0, 1, -1, 2**31, -(2**32), 2**62, -(2**62), 253_402_300_799_999]
    millis = np.array(edges, np.int64)
    nanos = np.arange(len(edges), dtype=np.int64) * 142_857
    times = fine_times(millis, nanos, None)
    times.validate(full=True)
    assert [each.scaleb(9).to_integral_exact() for each in times[:5].to_pylist()] == [
        int(milli) * 1_000_000 + int(nano)
        for milli, nano in zip(millis[:5], nanos[:5], strict=True)
    ]
    for start in (0, 3):
        found = time_parts(times[start:])
        assert [each.tolist() for each in found] == [
            millis[start:].tolist(),
            nanos[start:].tolist(),
        ]


def test_what_is_finer_than_the_target_is_left_off_towards_the_past() -> None:
    times = pa.chunked_array([parse_times(pa.array(TEXTS), FINE_TIME)])
    assert cast_times(times, pa.timestamp("us")).cast(pa.string()).to_pylist() == [
        text[:-3] for text in TEXTS
    ]
    with pytest.raises(pa.ArrowInvalid, match="outside of what Arrow's ns can hold"):
        cast_times(times, pa.timestamp("ns"))


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_arrows_own_timestamps_come_back_on_every_level(unit: str) -> None:
    ticks = pa.array([0, -1, None, 10**9], pa.int64()).cast(pa.timestamp(unit))
    rows = pa.StructArray.from_arrays([ticks, pa.array([1, 2, 3, 4])], names=["t", "n"])
    for kind, fine, column in (
        (ticks.type, FINE_TIME, ticks),
        (
            rows.type,
            pa.struct([("t", FINE_TIME), ("n", pa.int64())]),
            pa.concat_arrays([rows, pa.nulls(1, rows.type)]),
        ),
        (
            pa.list_(ticks.type),
            pa.list_(FINE_TIME),
            pa.array([[], None, [-1, None], [5]], pa.list_(pa.int64())).cast(pa.list_(ticks.type)),
        ),
        (
            pa.map_(pa.string(), ticks.type),
            pa.map_(pa.string(), FINE_TIME),
            pa.array([[("a", -1), ("b", None)], None, []], pa.map_(pa.string(), pa.int64())).cast(
                pa.map_(pa.string(), ticks.type)
            ),
        ),
    ):
        for part in (column, column.slice(1)):
            there = cast_times(part, fine)
            there.validate(full=True)
            assert there.type == fine
            assert cast_times(there, kind).to_pylist() == part.to_pylist()


def test_rows_for_people_hold_texts() -> None:
    times = parse_times(pa.array(TEXTS[:2]), FINE_TIME)
    rows = pa.table({"t": times, "r": pa.StructArray.from_arrays([times], names=["t"])})
    assert readable(rows).to_pylist() == [{"t": text, "r": {"t": text}} for text in TEXTS[:2]]
    assert readable(rows.slice(0, 0)).schema == readable(rows).schema
