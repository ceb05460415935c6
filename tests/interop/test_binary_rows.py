"""Our binary rows, hashes and buckets equal those of Java, for random values of every type."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from branch_console.format.data_types import RowType, data_type_to_json
from branch_console.format.options import Options
from branch_console.format.table_schema import TableSchema
from branch_console.format.values.arrow_types import arrow_schema
from branch_console.format.values.binary_row import decode_row, encode_row
from branch_console.format.values.binary_rows import decode_rows, encode_rows
from branch_console.format.values.bucket import assign_buckets, hash_rows
from branch_console.format.values.fine_times import cast_times, is_fine
from tests.support.examples import Examples
from tests.support.java_paimon import JavaPaimon
from tests.support.java_values import data_type, to_java_row
from tests.support.java_vm import java_class
from tests.support.random_rows import (
    ATOMIC_TYPES,
    NESTED_TYPES,
    random_value,
    row_type_of,
)
from tests.support.row_hashes import hash_row

pytestmark = pytest.mark.shared_cells


@pytest.mark.parametrize("written", [*ATOMIC_TYPES, *NESTED_TYPES], ids=str)
def test_a_row_of_one_field_is_the_same_bytes_as_in_java(
    written: Any, java: JavaPaimon, rng: Random, examples: Examples
) -> None:
    row_type = row_type_of([written])
    to_java_bytes = _java_encoder(row_type)
    for _ in range(examples(1000)):
        values = (random_value(rng, row_type.types[0]),)
        expected, hashed = to_java_bytes(values)
        encoded = encode_row(values, row_type.types)
        assert encoded.hex() == expected.hex(), values
        assert hash_row(values, row_type.types) == hashed
        assert repr(decode_row(expected, row_type.types)) == repr(values)


def test_rows_of_many_fields_are_the_same_bytes_as_in_java(
    java: JavaPaimon, rng: Random, examples: Examples
) -> None:
    for _ in range(examples(100)):
        row_type = row_type_of(
            rng.choices([*ATOMIC_TYPES, *NESTED_TYPES], k=rng.choice((1, 2, 56, 57, 80)))
        )
        to_java_bytes = _java_encoder(row_type)
        values = [random_value(rng, each, null_share=0.3) for each in row_type.types]
        expected, hashed = to_java_bytes(values)
        assert encode_row(values, row_type.types).hex() == expected.hex(), (row_type, values)
        assert hash_row(values, row_type.types) == hashed


def test_columns_of_rows_are_the_same_bytes_and_hashes_as_in_java(
    java: JavaPaimon, rng: Random, examples: Examples
) -> None:
    for _ in range(examples(200)):
        row_type = row_type_of(rng.sample(ATOMIC_TYPES, k=rng.choice((1, 2, 7, len(ATOMIC_TYPES)))))
        to_java_bytes = _java_encoder(row_type)
        rows = [[random_value(rng, each) for each in row_type.types] for _ in range(50)]
        expected = [to_java_bytes(values) for values in rows]
        table = _to_arrow(row_type, rows)
        encoded = encode_rows(table, row_type.types)
        assert encoded.to_pylist() == [data for data, _ in expected], row_type
        assert hash_rows(table, row_type.types).tolist() == [hashed for _, hashed in expected]
        decoded = decode_rows(encoded, row_type)
        for position, column in enumerate(table.columns):
            assert repr(decoded.field(position).to_pylist()) == repr(column.to_pylist())


@pytest.mark.parametrize("function", ["default", "mod", "hive"])
def test_rows_land_in_the_same_buckets_as_in_java(
    function: str, java: JavaPaimon, rng: Random, examples: Examples
) -> None:
    types = {
        "default": ATOMIC_TYPES,
        "mod": ["INT", "BIGINT"],
        "hive": [
            *ATOMIC_TYPES[:4],
            "BIGINT",
            "DECIMAL(10, 2)",
            "DECIMAL(38, 10)",
            "STRING",
            "DATE",
        ],
    }[function]
    for _ in range(examples(200)):
        keys = rng.sample(types, k=1 if function == "mod" else rng.choice((1, 2, 3)))
        row_type = row_type_of(keys)
        buckets = rng.choice((1, 2, 5, 16, 1000))
        options = {
            "bucket": str(buckets),
            "bucket-key": ",".join(row_type.names),
            "bucket-function.type": function,
        }
        schema = TableSchema(
            id=0,
            highest_field_id=len(keys),
            fields=row_type.fields,
            options=Options(options),
            partition_keys=(),
            primary_keys=(),
        )
        rows = [[random_value(rng, each) for each in row_type.types] for _ in range(50)]
        to_bucket = _java_bucket_of(row_type, options)
        assert assign_buckets(_to_arrow(row_type, rows), schema).to_pylist() == [
            to_bucket(values, buckets) for values in rows
        ], (row_type, rows)


def _java_row_type(row_type: RowType) -> Any:
    return data_type(data_type_to_json(row_type))


def _java_encoder(row_type: RowType) -> Callable[[Sequence[Any]], tuple[bytes, int]]:
    java_type = _java_row_type(row_type)
    serializer = java_class("data.serializer.InternalRowSerializer")(java_type)
    serialize = java_class("utils.SerializationUtils").serializeBinaryRow

    def encode(values: Sequence[Any]) -> tuple[bytes, int]:
        row = serializer.toBinaryRow(to_java_row(values, java_type))
        return bytes(byte & 0xFF for byte in serialize(row)), int(row.hashCode())

    return encode


def _java_bucket_of(
    row_type: RowType, options: dict[str, str]
) -> Callable[[Sequence[Any], int], int]:
    java_type = _java_row_type(row_type)
    serializer = java_class("data.serializer.InternalRowSerializer")(java_type)
    content = java_class("java.util.HashMap")()
    for key, value in options.items():
        content.put(key, value)
    core_options = java_class("CoreOptions")(content)
    function = java_class("bucket.BucketFunction").create(core_options, java_type)
    return lambda values, buckets: int(
        function.bucket(serializer.toBinaryRow(to_java_row(values, java_type)), buckets)
    )


def _to_arrow(row_type: RowType, rows: list[list[Any]]) -> pa.Table:
    schema = arrow_schema(row_type.fields)
    columns = [
        _to_column(values, field.type)
        for values, field in zip(zip(*rows, strict=True), schema, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _to_column(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    if is_fine(kind):
        return cast_times(pa.array(values, pa.timestamp("ns")), kind)
    return pa.array(values, kind)
