"""Values as people read them: a text where Arrow has no value of its own for a type of Paimon."""

import pyarrow as pa

from branch_console.format.values.fine_times import has_part, is_fine, map_parts, time_texts
from branch_console.format.values.shredded_variant import is_variant, variant_texts


def readable(rows: pa.Table) -> pa.Table:
    """Return rows in which timestamps of more than six digits and VARIANT are texts.

    They are on whatever level of a nested value.
    """
    for at, field in enumerate(rows.schema):
        if has_part(field.type, _is_shown_as_text):
            empty = readable_values(pa.nulls(0, field.type))
            chunks = [readable_values(chunk) for chunk in rows[at].chunks]
            column = pa.chunked_array(chunks, empty.type)
            rows = rows.set_column(at, field.with_type(empty.type), column)
    return rows


def readable_values(array: pa.Array) -> pa.Array:
    """Return the values of one column as `readable` has them."""
    return map_parts(map_parts(array, is_fine, time_texts), is_variant, variant_texts)


def _is_shown_as_text(kind: pa.DataType) -> bool:
    return is_fine(kind) or is_variant(kind)
