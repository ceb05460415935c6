"""The Arrow types that carry the values of Paimon's data types.

They lie beside the types and not with them: what a table is can be told without Arrow, which takes
longer to load than a list of tables takes to print.
"""

from typing import Final, assert_never

import pyarrow as pa

from branch_console.format.data_types import (
    COMPACT_TIMESTAMP_PRECISION,
    MICROSECOND_PRECISION,
    ArrayType,
    AtomicType,
    DataField,
    DataType,
    MapType,
    MultisetType,
    RowType,
    TypeRoot,
    VectorType,
)
from branch_console.format.values.fine_times import FINE_LOCAL_TIME, FINE_TIME

VARIANT_MARK: Final = {b"variant": b"true"}
_PLAIN_ARROW: Final = {
    TypeRoot.CHAR: pa.string(),
    TypeRoot.VARCHAR: pa.string(),
    TypeRoot.BOOLEAN: pa.bool_(),
    TypeRoot.BINARY: pa.binary(),
    TypeRoot.VARBINARY: pa.binary(),
    TypeRoot.TINYINT: pa.int8(),
    TypeRoot.SMALLINT: pa.int16(),
    TypeRoot.INT: pa.int32(),
    TypeRoot.BIGINT: pa.int64(),
    TypeRoot.FLOAT: pa.float32(),
    TypeRoot.DOUBLE: pa.float64(),
    TypeRoot.DATE: pa.date32(),
    TypeRoot.TIME: pa.time32("ms"),
    TypeRoot.BLOB: pa.large_binary(),
    TypeRoot.GEOMETRY: pa.binary(),
    TypeRoot.GEOGRAPHY: pa.binary(),
    TypeRoot.VARIANT: pa.struct(
        [
            pa.field("value", pa.binary(), False),
            # By this mark Spark tells a VARIANT from a row of two binaries.
            pa.field("metadata", pa.binary(), False, VARIANT_MARK),
        ]
    ),
}


def to_arrow(data_type: DataType) -> pa.DataType:
    """Return the Arrow type that carries values of `data_type`; timestamps keep their precision.

    Those of more than six digits are no timestamps of Arrow, see `format.values.fine_times`.
    """
    match data_type:
        case AtomicType(root=TypeRoot.DECIMAL, precision=precision, scale=scale):
            return pa.decimal128(precision, scale)
        case AtomicType(root=TypeRoot.TIMESTAMP, precision=precision):
            unit = _unit(precision)
            return FINE_TIME if unit is None else pa.timestamp(unit)
        case AtomicType(root=TypeRoot.TIMESTAMP_LTZ, precision=precision):
            unit = _unit(precision)
            return FINE_LOCAL_TIME if unit is None else pa.timestamp(unit, tz="UTC")
        case AtomicType(root=root):
            return _PLAIN_ARROW[root]
        case ArrayType(element=element):
            return pa.list_(pa.field("element", to_arrow(element), element.nullable))
        case MultisetType(element=element):
            return pa.map_(to_arrow(element), pa.field("value", pa.int32(), False))
        case MapType(key=key, value=value):
            return pa.map_(to_arrow(key), pa.field("value", to_arrow(value), value.nullable))
        case VectorType(element=element, length=length):
            return pa.list_(pa.field("element", to_arrow(element), element.nullable), length)
        case RowType(fields=fields):
            return pa.struct([_arrow_field(field) for field in fields])
        case _:
            assert_never(data_type)


def arrow_schema(fields: tuple[DataField, ...]) -> pa.Schema:
    """Return the Arrow schema of `fields`; each Arrow field carries its id for Parquet."""
    return pa.schema([_arrow_field(field) for field in fields])


def nullable_columns(fields: tuple[DataField, ...]) -> pa.Schema:
    """Return `fields` as columns of rows that any file may have: all take null, none has an id."""
    return pa.schema([f.remove_metadata().with_nullable(True) for f in arrow_schema(fields)])


def no_rows(layout: pa.Schema) -> pa.Table:
    """Return the table of `layout` without a row, made without a Python value.

    The first one that becomes an Arrow value lets Arrow load pandas, a third of a second, also for
    a command that shows snapshots only; `empty_table` makes some.
    """
    return pa.table([pa.nulls(0, field.type) for field in layout], schema=layout)


def _arrow_field(field: DataField) -> pa.Field:
    # Parquet files of Paimon are read by field id, not by name or position.
    metadata = {b"PARQUET:field_id": str(field.id).encode()}
    return pa.field(field.name, to_arrow(field.type), field.type.nullable, metadata)


def _unit(precision: int | None) -> str | None:
    precision = 6 if precision is None else precision
    if precision <= COMPACT_TIMESTAMP_PRECISION:
        return "ms"
    return "us" if precision <= MICROSECOND_PRECISION else None
