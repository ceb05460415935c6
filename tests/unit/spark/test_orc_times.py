"""Timestamps of ORC files, decoded beside Arrow: every encoding of their nanoseconds, any year."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from pyarrow import orc

from branch_console.format.values.fine_times import cast_times
from branch_console.spark.files.orc_times import OUT_OF_RANGE, UnservedOrc, read_far_stripes

Numbers = npt.NDArray[np.int64]

ROWS = 3_000
# What makes writers choose each of the encodings of numbers.
SHAPES: dict[str, Callable[[np.random.Generator], Numbers]] = {
    "direct": lambda rng: rng.integers(0, 2**60, ROWS),
    "delta": lambda _: np.arange(ROWS) * 1_000_003,
    "patched": lambda rng: np.where(
        rng.random(ROWS) < 0.02, rng.integers(0, 10**9, ROWS), rng.integers(0, 900, ROWS)
    ),
    "repeated": lambda _: np.full(ROWS, 123_456_789),
    "rounded": lambda rng: rng.integers(0, 1_000, ROWS) * 10**6 + 5 * 10**14,
    "falling": lambda _: np.arange(ROWS)[::-1] * 7_001,
}


def _file(rows: pa.Table, compression: str = "zstd") -> bytes:
    sink = pa.BufferOutputStream()
    orc.write_table(rows, sink, compression=compression, stripe_size=20_000)
    return bytes(sink.getvalue())


@pytest.mark.parametrize(
    "compression",
    [
        "zstd",
        "uncompressed",
        *(pytest.param(each, marks=pytest.mark.depth("full")) for each in ("zlib", "snappy")),
    ],
)
@pytest.mark.parametrize("shape", SHAPES)
def test_arrows_own_files_are_read_as_arrow_reads_them(shape: str, compression: str) -> None:
    rng = np.random.default_rng(24)
    ticks = pa.array(SHAPES[shape](rng), pa.int64(), mask=rng.random(ROWS) < 0.1)
    times = ticks.view(pa.timestamp("ns"))
    offsets = np.append(np.sort(rng.integers(0, ROWS, ROWS)), ROWS)
    texts = pa.array([f"k{at}" for at in range(ROWS)])
    rows = pa.table(
        {
            "t": times,
            "row": pa.StructArray.from_arrays([times, texts], names=["t", "name"]),
            "list": pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), times),
            "map": pa.MapArray.from_arrays(pa.array(offsets, pa.int32()), texts, times),
            "name": texts,
        }
    )
    found = pa.concat_tables(read_far_stripes(_file(rows, compression), rows.column_names))
    for name in rows.column_names:
        read = cast_times(found[name], rows[name].type)
        assert read.to_pylist() == rows[name].to_pylist(), name


def test_times_that_arrow_gives_up_are_read() -> None:
    texts = [
        "9999-12-31 23:59:59.123456",
        "0001-01-01 00:00:00.001000",
        "1969-12-31 23:59:59.500000",
    ]
    times = pa.array([*texts, None]).cast(pa.timestamp("us"))
    data = _file(pa.table({"k": [1, 2, 3, 4], "t": times}))
    with pytest.raises(pa.ArrowInvalid, match=OUT_OF_RANGE):
        orc.ORCFile(pa.BufferReader(data)).read()
    (rows,) = read_far_stripes(data, ["t", "none"])
    assert rows.column_names == ["t"]
    assert cast_times(rows["t"], pa.timestamp("us")).cast(pa.string()).to_pylist() == [*texts, None]


def test_what_is_not_unpacked_is_named() -> None:
    times = pa.array([0] * ROWS, pa.timestamp("ns"))
    data = _file(pa.table({f"column_{number}": times for number in range(40)}))
    end = len(data) - 1 - data[-1]
    # Zstandard by its number, then LZ4.
    renamed = data[:end] + data[end:].replace(b"\x10\x05", b"\x10\x04")
    with pytest.raises(UnservedOrc, match="another compression than zstd, zlib and snappy"):
        list(read_far_stripes(renamed, ["column_0"]))
