"""The bucket of a row: Paimon's hash of binary rows and its three bucket functions.

Reads do not find a row in the wrong bucket, so the hash is exact to the bit. Source: Paimon
MurmurHashUtils, DefaultBucketFunction, ModBucketFunction, HiveBucketFunction.
"""

import math
from collections.abc import Sequence
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final, assert_never

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.data_types import AtomicType, DataType, RowType, TypeRoot
from branch_console.format.options import BUCKET_FUNCTION_TYPE
from branch_console.format.table_schema import TableSchema
from branch_console.format.values.binary_rows import ROWS_PER_PART, row_bytes

_SEED: Final = 42
_NUMBERED: Final = (pa.date32(), pa.time32("ms"))
_C1: Final = 0xCC9E2D51
_C2: Final = 0x1B873593
_MASK: Final = 0xFFFFFFFF

Int32s = npt.NDArray[np.int32]
UInt32s = npt.NDArray[np.uint32]


class BucketFunction(StrEnum):
    """The values of `bucket-function.type`."""

    DEFAULT = "default"
    MOD = "mod"
    HIVE = "hive"


def hash_rows(table: pa.Table, types: Sequence[DataType]) -> Int32s:
    """Return Java's `hashCode` of each row of `table`, whose columns have `types` in order.

    Raises:
        InvalidInput: A column does not fit its type.
    """
    parts = [
        _hash_part(table.slice(start, ROWS_PER_PART), types)
        for start in range(0, table.num_rows, ROWS_PER_PART)
    ]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int32)


def assign_buckets(table: pa.Table, schema: TableSchema) -> pa.Array:
    """Return the bucket of each row of `table`, which has the bucket key columns of `schema`.

    Only for tables with a fixed number of buckets: elsewhere, writers choose.

    Returns:
        An int32 array.

    Raises:
        InvalidInput: The bucket function does not take these keys.
    """
    keys = table.select(list(schema.bucket_keys))
    key_type = schema.project(schema.bucket_keys)
    count = schema.num_buckets
    if count <= 0:
        raise InvalidInput(
            f"Schema {schema.id} has no fixed number of buckets (bucket = {count}), so rows have "
            "no bucket of their own.",
            kind=ErrorKind.UNSUPPORTED,
        )
    function = _function(schema.options.read(BUCKET_FUNCTION_TYPE))
    match function:
        case BucketFunction.DEFAULT:
            # Java's remainder takes the sign of the dividend.
            buckets = np.abs(np.fmod(hash_rows(keys, key_type.types).astype(np.int64), count))
        case BucketFunction.MOD:
            buckets = np.mod(_mod_keys(keys, key_type), count)
        case BucketFunction.HIVE:
            buckets = (_hive_hashes(keys, key_type).astype(np.int64) & 0x7FFFFFFF) % count
        case _:
            assert_never(function)
    return pa.array(buckets.astype(np.int32))


def _function(text: str) -> BucketFunction:
    try:
        return BucketFunction(text.lower())
    except ValueError as error:
        raise InvalidInput(
            f"Option {BUCKET_FUNCTION_TYPE.key!r} is {text!r}; it can be default, mod or hive.",
            kind=ErrorKind.INVALID_OPTION,
        ) from error


def _hash_part(table: pa.Table, types: Sequence[DataType]) -> Int32s:
    rows = row_bytes(table, types)
    words, starts = rows.data.view(np.uint32), rows.starts[:-1] // 4
    sizes = np.diff(rows.starts)
    lengths = sizes // 4
    order: npt.NDArray[np.intp] | None = None
    if len(lengths) and lengths.min() != lengths.max():
        # Longest first, so that the rows which still have a word are always a prefix.
        order = np.argsort(-lengths, kind="stable")
        starts, lengths = starts[order], lengths[order]
    hashed = np.full(len(starts), _SEED, dtype=np.uint32)
    for k in range(int(lengths.max(initial=0))):
        alive = int(np.searchsorted(-lengths, -k, side="left")) if order is not None else None
        _mix(hashed[:alive], words[starts[:alive] + k])
    if order is not None:
        unordered = np.empty_like(hashed)
        unordered[order] = hashed
        hashed = unordered
    return _finish(hashed, sizes.astype(np.uint32)).view(np.int32)


def _mix(hashed: UInt32s, words: UInt32s) -> None:
    """Mix one word of each row into its hash, in place."""
    words *= np.uint32(_C1)
    words = words << np.uint32(15) | words >> np.uint32(17)
    words *= np.uint32(_C2)
    hashed ^= words
    hashed[:] = hashed << np.uint32(13) | hashed >> np.uint32(19)
    hashed *= np.uint32(5)
    hashed += np.uint32(0xE6546B64)


def _finish(hashed: UInt32s, sizes: UInt32s) -> UInt32s:
    hashed = hashed ^ sizes
    hashed = (hashed ^ hashed >> np.uint32(16)) * np.uint32(0x85EBCA6B)
    hashed = (hashed ^ hashed >> np.uint32(13)) * np.uint32(0xC2B2AE35)
    return hashed ^ hashed >> np.uint32(16)


def _mod_keys(keys: pa.Table, key_type: RowType) -> npt.NDArray[np.int64]:
    types = key_type.types
    roots = [data_type.root for data_type in types if isinstance(data_type, AtomicType)]
    if len(types) != 1 or roots not in ([TypeRoot.INT], [TypeRoot.BIGINT]):
        raise InvalidInput(
            "The bucket function 'mod' takes one INT or BIGINT column, not "
            f"({', '.join(str(data_type) for data_type in types)}).",
            kind=ErrorKind.UNSUPPORTED,
        )
    # A null reads as the zero in its slot.
    column = keys.column(0).cast(pa.int64()).fill_null(0)
    numbers: npt.NDArray[np.int64] = column.to_numpy()
    return numbers


def _hive_hashes(keys: pa.Table, key_type: RowType) -> Int32s:
    hashes = np.zeros(keys.num_rows, dtype=np.int32)
    for column, data_type in zip(keys.columns, key_type.types, strict=True):
        # Python's calendar ends before Paimon's does.
        numbered = column.cast(pa.int32()) if column.type in _NUMBERED else column
        distinct = numbered.combine_chunks().dictionary_encode()
        values = [_hive_hash(value, data_type) for value in distinct.dictionary.to_pylist()]
        table = np.array([*values, 0], dtype=np.int32)
        indices = distinct.indices.fill_null(len(values)).to_numpy(zero_copy_only=False)
        hashes = hashes * np.int32(31) + table[indices]
    return hashes


def _hive_hash(value: Any, data_type: DataType) -> int:
    """Hash one value that is not null; dates and times count as the integers they are kept as."""
    match data_type:
        case AtomicType(
            root=TypeRoot.BOOLEAN
            | TypeRoot.TINYINT
            | TypeRoot.SMALLINT
            | TypeRoot.INT
            | TypeRoot.DATE
            | TypeRoot.TIME
        ):
            return int(value)
        case AtomicType(root=TypeRoot.BIGINT):
            return _hash_long(int(value))
        case AtomicType(root=TypeRoot.FLOAT):
            # Adding zero turns -0.0 into 0.0; all NaNs have the bits of Java's one.
            bits = np.float32(value + 0.0).view(np.int32)
            return 0x7FC00000 if math.isnan(value) else int(bits)
        case AtomicType(root=TypeRoot.DOUBLE):
            bits = np.float64(value + 0.0).view(np.int64)
            return _hash_long(0x7FF8 << 48 if math.isnan(value) else int(bits))
        case AtomicType(root=TypeRoot.CHAR | TypeRoot.VARCHAR):
            return _hash_bytes(value.encode())
        case AtomicType(root=TypeRoot.BINARY | TypeRoot.VARBINARY):
            return _hash_bytes(value)
        case AtomicType(root=TypeRoot.DECIMAL):
            return _hash_decimal(value)
        case _:
            raise InvalidInput(
                f"The bucket function 'hive' does not take a key of type {data_type}.",
                kind=ErrorKind.UNSUPPORTED,
            )


def _hash_long(value: int) -> int:
    return _signed((value ^ value >> 32) & _MASK)


def _hash_bytes(value: bytes) -> int:
    hashed = 0
    for byte in value:
        hashed = (hashed * 31 + (byte - 256 if byte > 127 else byte)) & _MASK
    return _signed(hashed)


def _hash_decimal(value: Decimal) -> int:
    """Java's hash of the BigDecimal without trailing zeros and without a negative scale."""
    sign, digits, exponent = value.as_tuple()
    scale = -int(exponent)
    unscaled = int("".join(map(str, digits)))
    while scale > 0 and unscaled % 10 == 0:
        unscaled, scale = unscaled // 10, scale - 1
    magnitude, hashed, words = unscaled, 0, []
    while magnitude:
        words.append(magnitude & _MASK)
        magnitude >>= 32
    for word in reversed(words):
        hashed = (31 * hashed + word) & _MASK
    hashed = -hashed if sign else hashed
    return _signed((31 * hashed + scale) & _MASK)


def _signed(value: int) -> int:
    return value - (1 << 32) if value >> 31 else value
