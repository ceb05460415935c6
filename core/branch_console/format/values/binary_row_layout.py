"""How Paimon's BinaryRow lays out its fields: nulls, slots of a word, then the variable part.

Source: Paimon BinaryRow, BinaryRowWriter, RowHelper.
"""

from typing import Final

from branch_console.errors import FormatError
from branch_console.format.data_types import (
    COMPACT_DECIMAL_PRECISION,
    COMPACT_TIMESTAMP_PRECISION,
    AtomicType,
    TypeRoot,
)

WORD: Final = 8
"""Bytes of a slot; variable parts are whole words."""
ARITY_BYTES: Final = 4
INLINE_LIMIT: Final = 7
"""Bytes of a text that still lie in the slot, whose last byte is then marked."""
INLINE_MARK: Final = 0x80
BIG_DECIMAL_BYTES: Final = 16
MILLIS_PER_DAY: Final = 86_400_000
FIXED_FORMATS: Final = {
    TypeRoot.BOOLEAN: "<?",
    TypeRoot.TINYINT: "<b",
    TypeRoot.SMALLINT: "<h",
    TypeRoot.INT: "<i",
    TypeRoot.DATE: "<i",
    TypeRoot.TIME: "<i",
    TypeRoot.BIGINT: "<q",
    TypeRoot.FLOAT: "<f",
    TypeRoot.DOUBLE: "<d",
}
BYTES_ROOTS: Final = frozenset(
    {
        TypeRoot.CHAR,
        TypeRoot.VARCHAR,
        TypeRoot.BINARY,
        TypeRoot.VARBINARY,
        TypeRoot.BLOB,
        TypeRoot.GEOMETRY,
        TypeRoot.GEOGRAPHY,
    }
)
TEXT_ROOTS: Final = frozenset({TypeRoot.CHAR, TypeRoot.VARCHAR})


def is_compact(data_type: AtomicType) -> bool:
    """Whether a DECIMAL or TIMESTAMP fits its slot."""
    precision = data_type.precision or 0
    if data_type.root is TypeRoot.DECIMAL:
        return precision <= COMPACT_DECIMAL_PRECISION
    return precision <= COMPACT_TIMESTAMP_PRECISION


def null_region(arity: int) -> int:
    """The bytes ahead of the first slot: the row kind and a bit for each field."""
    return (arity + 63 + 8) // 64 * 8


def round_up(size: int) -> int:
    """A size in bytes, in whole words."""
    return (size + WORD - 1) // WORD * WORD


def check_arity(arity: int, expected: int) -> None:
    """Raise FormatError for a row with another number of fields than its type."""
    if arity != expected:
        raise FormatError(f"A binary row has {arity} fields; its type has {expected}.")
