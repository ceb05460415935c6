"""Lists, maps and rows of Arrow with other parts, and with parts where Arrow asks for them."""

import pyarrow as pa
import pyarrow.compute as pc


def list_like(array: pa.Array, values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return the list of another type whose values stand where those of a list stand."""
    return pa.ListArray.from_arrays(_offsets(array), values, kind, mask=array.is_null())


def map_like(array: pa.Array, keys: pa.Array, items: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return the map of another type whose entries stand where those of a map stand."""
    return pa.MapArray.from_arrays(_offsets(array), keys, items, type=kind, mask=array.is_null())


def vector_like(array: pa.Array, values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return the list of one length and another type with other values, as `vector_values` has."""
    return pa.FixedSizeListArray.from_arrays(values, type=kind, mask=array.is_null())


def vector_values(array: pa.Array) -> pa.Array:
    """Return the values of lists of one length, those behind a null among them."""
    first, count = array.offset * array.type.list_size, len(array) * array.type.list_size
    return array.values.slice(first, count)


def with_required_cells(rows: pa.Table) -> pa.Table:
    """Return the same rows, with something in each required part of a cell that is null.

    Arrow's own nulls of a row are nulls in each part too, and its writer of Parquet refuses them.
    """
    for at, field in enumerate(rows.schema):
        if pa.types.is_nested(field.type):
            chunks = [with_required_parts(chunk, field.type) for chunk in rows[at].chunks]
            rows = rows.set_column(at, field, pa.chunked_array(chunks, field.type))
    return rows


def with_required_parts(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Return the same values, with something in each required part of a row that is null.

    Spark says of each part of such a row that it is null, also of the bytes of a VARIANT. Arrow's
    casts and its writer of Parquet take that for a null if none may be.

    Args:
        array: The values.
        wanted: The type that they are to have: it says which parts are required.
    """
    kind = array.type
    if pa.types.is_map(wanted) and pa.types.is_map(kind):
        keys = with_required_parts(array.keys, wanted.key_type)
        return map_like(array, keys, with_required_parts(array.items, wanted.item_type), kind)
    if pa.types.is_list(wanted) and pa.types.is_list(kind):
        return list_like(array, with_required_parts(array.values, wanted.value_type), kind)
    if not (pa.types.is_struct(wanted) and pa.types.is_struct(kind)):
        return array
    gone = array.is_null()
    parts = [
        _with_required_part(array.field(at), gone, wanted, each.name)
        for at, each in enumerate(kind)
    ]
    return pa.StructArray.from_arrays(parts, fields=list(kind), mask=gone)


def _with_required_part(
    part: pa.Array, gone: pa.BooleanArray, row: pa.StructType, name: str
) -> pa.Array:
    at = row.get_field_index(name)
    if at < 0:
        return part
    field = row.field(at)
    part = with_required_parts(part, field.type)
    is_hidden = pc.all(pc.or_(part.is_valid(), gone), min_count=0).as_py()
    return _present(part) if part.null_count and is_hidden and not field.nullable else part


def _present(array: pa.Array) -> pa.Array:
    """Return an array in which arbitrary values stand in for nulls."""
    kind = array.type
    if pa.types.is_struct(kind):
        parts = [array.field(at) for at in range(kind.num_fields)]
        return pa.StructArray.from_arrays(parts, fields=list(kind))
    if pa.types.is_map(kind):
        return pa.MapArray.from_arrays(_offsets(array), array.keys, array.items, type=kind)
    if pa.types.is_list(kind):
        return pa.ListArray.from_arrays(_offsets(array), array.values, kind)
    if pa.types.is_fixed_size_list(kind):
        return pa.FixedSizeListArray.from_arrays(vector_values(array), type=kind)
    buffers = [None, *array.buffers()[1:]]
    return pa.Array.from_buffers(kind, len(array), buffers, offset=array.offset)


def _offsets(array: pa.Array) -> pa.Array:
    # Of a slice Arrow takes no mask, so the offsets are made anew.
    return pa.array(array.offsets.to_numpy(), pa.int32())
