"""INT96 of Parquet: values of any year, the columns beside them, and the footer around them."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from branch_console.format.values.fine_times import FINE_TIME, fine_times
from branch_console.spark.files.int96 import (
    int96_layout,
    mark_int96,
    open_parquet,
    to_int96,
    with_times,
)

MILLIS = [0, -1, 253_402_300_799_000, -62_135_596_800_000, 2**50, -(2**50), 1, 2]
TIMES = fine_times(
    np.array(MILLIS, np.int64),
    np.array([5, 999_999, 123_456, 1, 0, 7, 0, 0], np.int64),
    np.array([False] * 7 + [True]),
)


def _columns() -> dict[str, pa.Array]:
    count = len(TIMES)
    return {
        "t": TIMES,
        "row": pa.StructArray.from_arrays([TIMES, pa.array(range(count))], names=["t", "n"]),
        "list": pa.ListArray.from_arrays([0, 3, 3, 8, 8, 8, 8, 8, 8], TIMES),
        "map": pa.MapArray.from_arrays(
            [0, 2, 8, 8, 8, 8, 8, 8, 8], pa.array([f"k{n}" for n in range(count)]), TIMES
        ),
        # Stored in twelve bytes as well.
        "price": pa.array([None, *range(count - 1)], pa.decimal128(28, 2)),
        "at": pa.array(range(count), pa.timestamp("us")),
    }


def _file(rows: pa.Table, **options: Any) -> bytes:
    layout, leaves = int96_layout(rows.schema)
    stored = [pa.chunked_array([to_int96(chunk) for chunk in each.chunks]) for each in rows.columns]
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(
        sink,
        layout,
        store_schema=False,
        write_statistics=[leaf.path for leaf in leaves if not leaf.is_int96],
        **options,
    ) as writer:
        writer.write_table(pa.Table.from_arrays(stored, schema=layout))
        writer.write_table(pa.Table.from_arrays(stored, schema=layout))
    return mark_int96(sink.getvalue(), leaves)


@pytest.mark.parametrize("use_dictionary", [True, False])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_what_is_written_is_read_again(use_dictionary: bool, version: str) -> None:
    rows = pa.table(_columns())
    data = _file(rows, use_dictionary=use_dictionary, data_page_version=version, compression="zstd")
    written = pq.ParquetFile(pa.BufferReader(data))
    kinds = {
        written.schema.column(at).path: written.schema.column(at).physical_type
        for at in range(len(written.schema))
    }
    assert kinds == {
        "t": "INT96",
        "row.t": "INT96",
        "row.n": "INT64",
        "list.list.element": "INT96",
        "map.key_value.key": "BYTE_ARRAY",
        "map.key_value.value": "INT96",
        "price": "FIXED_LEN_BYTE_ARRAY",
        "at": "INT64",
    }
    chunks = [written.metadata.row_group(1).column(at) for at in range(len(kinds))]
    assert [each.is_stats_set for each in chunks] == [kind != "INT96" for kind in kinds.values()]
    opened, has_int96 = open_parquet(pa.BufferReader(data))
    assert has_int96
    assert opened.num_row_groups == 2
    for number in range(2):
        found = with_times(opened.read_row_group(number))
        for name in rows.column_names:
            assert found[name].to_pylist() == rows[name].to_pylist(), name


def test_what_arrow_writes_is_read() -> None:
    times = pa.array([0, None, 1_709_210_096_789_123_456], pa.timestamp("ns"))
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"t": times}), sink, use_deprecated_int96_timestamps=True)
    opened, has_int96 = open_parquet(pa.BufferReader(sink.getvalue()))
    assert has_int96
    found = with_times(opened.read())["t"]
    assert found.type == FINE_TIME
    assert found.cast(pa.string()).to_pylist() == ["0E-9", None, "1709210096.789123456"]


def test_files_without_int96_are_left_alone() -> None:
    rows = pa.table({"key": pa.array([b"x" * 12], pa.binary(12))})
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink)
    opened, has_int96 = open_parquet(pa.BufferReader(sink.getvalue()))
    assert not has_int96
    assert opened.read() == rows
