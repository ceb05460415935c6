"""The frame of an Avro file, walked without decoding what is in it.

A fast decoder trusts the frame: on a damaged one DataFusion has been seen to loop for ever, and it
takes the end of a truncated file for its end. Source: Avro specification, object container files.
"""

from mmap import mmap
from typing import Final

from core.errors import FormatError

_MAGIC: Final = b"Obj\x01"
_SYNC_BYTES: Final = 16
_CODEC: Final = b"avro.codec"
_NO_CODEC: Final = b"avro.codec\x08null"
_MOST_HEADER_BYTES: Final = 1 << 16
_MOST_VARINT_BYTES: Final = 10


def is_compressed(data: bytes | mmap) -> bool:
    """Whether the header names a codec other than null; damage in plain blocks goes unnoticed."""
    header = bytes(data[:_MOST_HEADER_BYTES])
    return _CODEC in header and _NO_CODEC not in header


def count_records(data: bytes | mmap) -> int:
    """Return how many records the blocks of a whole Avro file say that they hold.

    Raises:
        FormatError: The frame is damaged or the file ends within it.
    """
    if bytes(data[:4]) != _MAGIC:
        raise FormatError("It does not begin as an Avro file does.")
    at = _skip_metadata(data, len(_MAGIC))
    sync = bytes(data[at : at + _SYNC_BYTES])
    at += _SYNC_BYTES
    records = 0
    while at < len(data):
        count, at = _varint(data, at)
        size, at = _varint(data, at)
        at += size
        # Every record takes a byte at least once it is decompressed, so both are positive.
        if count <= 0 or size <= 0 or bytes(data[at : at + _SYNC_BYTES]) != sync:
            raise FormatError("It ends within a block, or a block is damaged.")
        at += _SYNC_BYTES
        records += count
    return records


def _skip_metadata(data: bytes | mmap, at: int) -> int:
    count, at = _varint(data, at)
    while count:
        if count < 0:
            _, at = _varint(data, at)  # the size of the block, which only skips it faster
        for _ in range(2 * abs(count)):
            size, at = _varint(data, at)
            at += size
            if size < 0 or at > len(data):
                raise FormatError("It ends within its header.")
        count, at = _varint(data, at)
    return at


def _varint(data: bytes | mmap, at: int) -> tuple[int, int]:
    value = 0
    for number, byte in enumerate(data[at : at + _MOST_VARINT_BYTES]):
        value |= (byte & 0x7F) << (7 * number)
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at + number + 1
    raise FormatError("A number in it does not end.")
