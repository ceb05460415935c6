"""The rows of a state that an earlier state lacks or has with other values."""

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.format.table_schema import TableSchema
from branch_console.format.values.binary_rows import encode_rows
from branch_console.merge.row_merge import changed_keys


def changed_rows(before: pa.Table, after: pa.Table, schema: TableSchema) -> pa.Table:
    """Return the rows of `after` that are new, or other than in `before`.

    Paimon compares bytes, so that -0.0 is another value than 0.0.

    Args:
        before: Rows of one partition in the columns of `schema`, a key once.
        after: The same.
        schema: The table.
    """
    changed = changed_keys(_with_bits(before, schema), _with_bits(after, schema), schema)
    return after.filter(pc.is_in(row_keys(after, schema), value_set=row_keys(changed, schema)))


def row_keys(rows: pa.Table, schema: TableSchema) -> pa.Array:
    """The keys of rows of one partition, as BinaryRow bytes."""
    return encode_rows(rows.select(list(schema.trimmed_primary_keys)), schema.key_type.types)


def _with_bits(rows: pa.Table, schema: TableSchema) -> pa.Table:
    for position, field in enumerate(rows.schema):
        if pa.types.is_floating(field.type) and field.name not in schema.primary_keys:
            bits = rows[field.name].combine_chunks().view(_BITS[field.type])
            rows = rows.set_column(position, field.name, bits)
    return rows


_BITS = {pa.float32(): pa.int32(), pa.float64(): pa.int64()}
