"""Metadata files that are no Avro; files of Paimon itself are read in tests/interop."""

from io import BytesIO
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import orc, parquet

from branch_console.errors import ErrorKind, FormatError
from branch_console.format.avro_encoding import VERSION_FIELD, AvroLayout, required
from branch_console.format.manifest_file import read_records

_STATS = pa.struct([required("_LOW", pa.binary()), pa.field("_NULLS", pa.list_(pa.int64()))])
_LAYOUT = pa.schema(
    [
        VERSION_FIELD,
        required("_NAME", pa.string()),
        pa.field("_AT", pa.timestamp("ms")),
        pa.field("_STATS", _STATS),
        pa.field("_TEXTS", pa.list_(required("element", pa.string()))),
    ]
)
_READ = AvroLayout(_LAYOUT)
_ROWS: list[dict[str, Any]] = [
    {"_NAME": "a", "_AT": 5, "_STATS": {"_LOW": b"\0", "_NULLS": [1, None]}, "_TEXTS": ["x", "y"]},
    {"_NAME": "b", "_AT": None, "_STATS": None, "_TEXTS": None},
    {"_NAME": "c", "_AT": -1, "_STATS": {"_LOW": b"", "_NULLS": None}, "_TEXTS": []},
]


def _table(rows: list[dict[str, Any]] = _ROWS, version: int = 2) -> pa.Table:
    return pa.Table.from_pylist([{"_VERSION": version, **row} for row in rows], schema=_LAYOUT)


@pytest.fixture(params=[orc, parquet], ids=["orc", "parquet"])
def form(request: pytest.FixtureRequest) -> Any:
    return request.param


def _written(form: Any, table: pa.Table) -> bytes:
    target = BytesIO()
    form.write_table(table, target)
    return target.getvalue()


def test_records_come_back(form: Any) -> None:
    assert read_records(_written(form, _table()), _READ, "m", 2).equals(_table())
    assert read_records(_written(form, _table([])), _READ, "m", 2).equals(_table([]))


def test_fields_are_found_by_name_and_those_of_later_releases_are_null(form: Any) -> None:
    stats = pa.struct([pa.field("_NEW", pa.int32()), pa.field("_LOW", pa.binary())])
    found = pa.table(
        {
            "_STATS": pa.array([{"_NEW": 1, "_LOW": b"q"}], stats),
            "_NAME": ["a"],
            "_VERSION": pa.array([2], pa.int32()),
        }
    )
    [row] = read_records(_written(form, found), _READ, "m", 2).to_pylist()
    expected = {"_LOW": b"q", "_NULLS": None}
    assert row == {"_VERSION": 2, "_NAME": "a", "_AT": None, "_STATS": expected, "_TEXTS": None}


def test_a_file_cut_anywhere_is_damaged(form: Any) -> None:
    data = _written(form, _table())
    for end in range(8, len(data), 7):
        with pytest.raises(FormatError, match=r"^m cannot be read: ") as caught:
            read_records(data[:end], _READ, "m", 2)
        assert caught.value.kind is ErrorKind.BROKEN_FILE


def test_a_missing_field_and_another_version_are_told(form: Any) -> None:
    with pytest.raises(FormatError, match="_NAME is missing"):
        read_records(_written(form, _table().drop_columns("_NAME")), _READ, "m", 2)
    with pytest.raises(FormatError, match="version 3") as caught:
        read_records(_written(form, _table(version=3)), _READ, "m", 2)
    assert caught.value.kind is ErrorKind.UNKNOWN_VERSION
