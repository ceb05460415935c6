"""The hash of a binary row, as Java's MurmurHash has it: the reference for whole columns."""

from collections.abc import Sequence
from typing import Final

from branch_console.format.data_types import DataType
from branch_console.format.values.binary_row import encode_row

_SEED: Final = 42
_C1: Final = 0xCC9E2D51
_C2: Final = 0x1B873593
_MASK: Final = 0xFFFFFFFF


def hash_row(values: Sequence[object], types: Sequence[DataType]) -> int:
    """Return Java's `hashCode` of the binary row; word by word."""
    data = encode_row(values, types, with_arity=False)
    hashed = _SEED
    for at in range(0, len(data), 4):
        word = int.from_bytes(data[at : at + 4], "little") * _C1 & _MASK
        word = (word << 15 | word >> 17) * _C2 & _MASK
        hashed ^= word
        hashed = ((hashed << 13 | hashed >> 19) * 5 + 0xE6546B64) & _MASK
    hashed ^= len(data)
    hashed = (hashed ^ hashed >> 16) * 0x85EBCA6B & _MASK
    hashed = (hashed ^ hashed >> 13) * 0xC2B2AE35 & _MASK
    hashed ^= hashed >> 16
    return hashed - (1 << 32) if hashed >> 31 else hashed
