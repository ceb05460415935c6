from contextlib import suppress
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from branch_console.errors import FormatError
from branch_console.format.data_types import DataField, DataType, RowType
from branch_console.format.values.arrow_types import to_arrow
from branch_console.format.values.binary_row import decode_row, encode_row
from branch_console.format.values.binary_rows import decode_rows, encode_rows
from branch_console.format.values.bucket import hash_rows
from tests.property.format.strategies import broken, data_types, for_arrow, rows, values
from tests.support.row_hashes import hash_row


@given(rows())
def test_rows_come_back(case: tuple[tuple[DataType, ...], list[tuple[Any, ...]]]) -> None:
    types, values = case
    for row in values:
        assert decode_row(encode_row(row, types), types) == row


@given(rows())
def test_columns_are_encoded_and_hashed_as_their_rows_are(
    case: tuple[tuple[DataType, ...], list[tuple[Any, ...]]],
) -> None:
    types, values = case
    table = _table(types, values)
    assert encode_rows(table, types).to_pylist() == [encode_row(row, types) for row in values]
    assert hash_rows(table, types).tolist() == [hash_row(row, types) for row in values]


@given(rows())
def test_columns_are_decoded_as_their_rows_are(
    case: tuple[tuple[DataType, ...], list[tuple[Any, ...]]],
) -> None:
    types, values = case
    encoded = pa.array([*(encode_row(row, types) for row in values), None], pa.binary())
    structs = decode_rows(encoded, _row_type(types))
    assert structs.is_valid().to_pylist() == [True] * len(values) + [False]
    expected = _table(types, values).combine_chunks()
    for i, column in enumerate(structs.slice(0, len(values)).flatten()):
        assert column.equals(_one(expected[i], column.type))
    # And back again: nothing is lost by way of columns.
    again = pa.Table.from_arrays(
        structs.slice(0, len(values)).flatten(), names=[str(i) for i in range(len(types))]
    )
    assert encode_rows(again, types).equals(encoded.slice(0, len(values)))


@given(rows(), st.data())
def test_broken_rows_give_values_or_a_format_error(
    case: tuple[tuple[DataType, ...], list[tuple[Any, ...]]], data: st.DataObject
) -> None:
    types, values = case
    encoded = [data.draw(broken(encode_row(row, types))) for row in values]
    for row in encoded:
        with suppress(FormatError):
            decode_row(row, types)
        with suppress(FormatError):
            decode_rows(pa.array([row]), _row_type(types)).validate(full=True)
    with suppress(FormatError):
        decode_rows(pa.array(encoded, pa.binary()), _row_type(types))


@given(st.binary(max_size=80), st.lists(data_types, max_size=3))
def test_any_bytes_give_values_or_a_format_error(data: bytes, types: list[DataType]) -> None:
    data = len(types).to_bytes(4, "big") + data
    with suppress(FormatError):
        decode_row(data, types)
    with suppress(FormatError):
        decode_rows(pa.array([data]), _row_type(tuple(types)))


@given(st.data(), data_types)
def test_equal_values_and_only_they_have_equal_bytes(
    data: st.DataObject, data_type: DataType
) -> None:
    one, other = data.draw(values(data_type)), data.draw(values(data_type))
    is_same = encode_row((one,), (data_type,)) == encode_row((other,), (data_type,))
    # Zeros of both signs are equal to Python and not to Paimon.
    assert is_same == (repr(one) == repr(other))


def _row_type(types: tuple[DataType, ...]) -> RowType:
    return RowType(fields=tuple(DataField(id=i, name=str(i), type=t) for i, t in enumerate(types)))


def _table(types: tuple[DataType, ...], rows: list[tuple[Any, ...]]) -> pa.Table:
    columns = [_array([row[i] for row in rows], data_type) for i, data_type in enumerate(types)]
    return pa.table(columns, names=[str(i) for i in range(len(types))])


def _array(values: list[Any], data_type: DataType) -> pa.Array:
    return pa.array([for_arrow(value) for value in values], to_arrow(data_type))


def _one(column: pa.ChunkedArray, arrow_type: pa.DataType) -> pa.Array:
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], arrow_type)
