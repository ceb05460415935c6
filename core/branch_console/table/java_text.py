"""Values as the text that Paimon's system tables show: Java's own, or that of a cast to STRING."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import tzinfo
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from branch_console.errors import InvalidInput
from branch_console.format.data_types import AtomicType, DataType, RowType, TypeRoot
from branch_console.format.partition_path import value_text
from branch_console.format.values.binary_row import decode_row
from branch_console.format.values.fine_times import cast_times, is_fine

_PLAIN_INTEGERS = frozenset({TypeRoot.TINYINT, TypeRoot.SMALLINT, TypeRoot.INT, TypeRoot.BIGINT})
_TEXTS = frozenset({TypeRoot.CHAR, TypeRoot.VARCHAR})


def cast_row_text(values: Sequence[Any], row_type: RowType, zone: tzinfo) -> str:
    """A row cast to STRING: `{2024-01-01, 8}`."""
    parts = (
        "null" if value is None else value_text(value, data_type, is_legacy=False, zone=zone)
        for value, data_type in zip(values, row_type.types, strict=True)
    )
    return "{" + ", ".join(parts) + "}"


def internal_row_text(values: Sequence[Any], row_type: RowType) -> str:
    """A row as Java's Arrays.toString shows it: `[19723, 8]`."""
    parts = (_internal(value, kind) for value, kind in zip(values, row_type.types, strict=True))
    return "[" + ", ".join(parts) + "]"


def each_row_text(rows: pa.ChunkedArray, row_type: RowType, to_text: Any) -> pa.Array:
    """The texts of encoded BinaryRows, each different one decoded once.

    Args:
        rows: Binary; null gives null.
        row_type: Their type.
        to_text: Makes the text of the decoded values and `row_type`.
    """
    found = pa.concat_arrays(rows.chunks) if rows.num_chunks else pa.array([], pa.binary())
    codes = found.dictionary_encode()
    texts = [
        to_text(decode_row(row, row_type.types), row_type) for row in codes.dictionary.to_pylist()
    ]
    return pa.array(texts, pa.string()).take(codes.indices)


def map_texts(columns: Iterable[tuple[str, pa.Array]], count: int) -> pa.Array:
    """Rows as Java shows a sorted map: `{amount=1, day=19723}`.

    Args:
        columns: Names and texts; a null text shows as `null`.
        count: How many rows.
    """
    parts = [
        pc.binary_join_element_wise(pa.scalar(f"{name}="), texts.fill_null("null"), "")
        for name, texts in sorted(columns, key=lambda item: item[0])
    ]
    inner = pc.binary_join_element_wise(*parts, ", ") if parts else pa.repeat("", count)
    return pc.binary_join_element_wise(pa.scalar("{"), inner, pa.scalar("}"), "")


def internal_texts(column: pa.Array, data_type: DataType) -> pa.Array:
    """The values of a column as Java shows those inside Paimon; null stays null."""
    if isinstance(data_type, AtomicType):
        if data_type.root in _PLAIN_INTEGERS:
            return column.cast(pa.string())
        if data_type.root in _TEXTS:
            return column.cast(pa.string())
    codes = column.dictionary_encode() if _can_encode(column.type) else None
    values = _python_values(column if codes is None else codes.dictionary)
    texts = pa.array(
        [None if value is None else _internal(value, data_type) for value in values], pa.string()
    )
    return texts if codes is None else texts.take(codes.indices)


def _internal(value: Any, data_type: DataType) -> str:
    if value is None:
        return "null"
    try:
        return value_text(value, data_type, is_legacy=True)
    except InvalidInput:
        # Java shows where the bytes lie in its memory, which tells nobody anything.
        return bytes(value).hex()


def _can_encode(arrow_type: pa.DataType) -> bool:
    return not pa.types.is_nested(arrow_type)


def _python_values(column: pa.Array) -> list[Any]:
    if not is_fine(column.type):
        return list(column.to_pylist())
    # datetime has no nanoseconds.
    stamps = cast_times(column, pa.timestamp("ns")).cast(pa.int64()).to_pylist()
    return [None if stamp is None else np.datetime64(stamp, "ns") for stamp in stamps]


def java_map_order(keys: Iterable[str]) -> list[str]:
    """The order in which a Java HashMap goes through its keys, put in the order given."""
    ordered = list(keys)
    capacity = 16
    while len(ordered) > capacity * 3 // 4:
        capacity *= 2
    return sorted(ordered, key=lambda key: _spread_hash(key) % capacity)


def _spread_hash(text: str) -> int:
    code = 0
    units = text.encode("utf-16-le")
    for low, high in zip(units[::2], units[1::2], strict=True):
        code = (31 * code + (high << 8 | low)) & 0xFFFFFFFF
    return code ^ code >> 16
