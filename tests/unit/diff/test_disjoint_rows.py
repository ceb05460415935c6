"""Statistics that rule out equal rows, and statistics that do not."""

from typing import Any

import pyarrow as pa
import pytest

from branch_console.diff.rows.disjoint_rows import cannot_be_equal

File = tuple[Any, Any, int | None]
KIND = pa.struct(
    [
        ("min", pa.struct([("x", pa.int32())])),
        ("max", pa.struct([("x", pa.int32())])),
        ("null_count", pa.struct([("x", pa.int64())])),
    ]
)
ROWS = 10


def side(*files: File) -> tuple[pa.StructArray, pa.Array]:
    stats = [
        {"min": {"x": low}, "max": {"x": high}, "null_count": {"x": nulls}}
        for low, high, nulls in files
    ]
    return pa.array(stats, KIND), pa.array([ROWS] * len(files), pa.int64())


@pytest.mark.parametrize(
    ("before", "after", "is_ruled_out"),
    [
        ([(1, 5, 0)], [(6, 9, 0)], True),
        ([(6, 9, 0)], [(1, 5, 0)], True),
        ([(1, 5, 0)], [(5, 9, 0)], False),
        ([(1, 2, 0), (7, 8, 0)], [(4, 5, 0)], False),
        ([(1, 5, 3)], [(6, 9, 0)], True),
        ([(1, 5, 3)], [(6, 9, 2)], False),
        ([(1, 5, None)], [(6, 9, 0)], False),
        ([(1, None, 0)], [(6, 9, 0)], False),
        ([(None, None, ROWS)], [(6, 9, 0)], False),
        ([(1, 5, 0), (None, None, ROWS)], [(6, 9, 0)], True),
        ([], [(6, 9, 0)], False),
    ],
)
def test_rows_are_told_apart_only_where_every_file_tells_its_bounds(
    before: list[File], after: list[File], is_ruled_out: bool
) -> None:
    assert cannot_be_equal(side(*before), side(*after), ("x",)) is is_ruled_out
