"""Deletion vectors: which rows of a data file are deleted, as bitmaps of row positions.

An index file holds the vectors of several data files; an index manifest says where each stands.
Source: Paimon DeletionVectorsIndexFile, BitmapDeletionVector, Bitmap64DeletionVector.
"""

import struct
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from pyroaring import BitMap, BitMap64

from branch_console.errors import ErrorKind, FormatError, InvalidInput

_FILE_VERSION: Final = 1
_MAGIC_32: Final = struct.pack(">i", 1581511376)
_MAGIC_64: Final = struct.pack("<i", 1681511377)
_MAX_POSITION_32: Final = 2**31 - 1
# The length in front of a block and the checksum behind it.
_FRAME_BYTES: Final = 8

Positions: TypeAlias = BitMap | BitMap64


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionVectorRange:
    """The place of the vector of `data_file` in its index file.

    `offset` is the offset of the block. `length` is the length of the block, without its frame for
    32-bit bitmaps, with it for 64-bit bitmaps. `cardinality`, the number of deleted rows, is None
    in old files.
    """

    data_file: str
    offset: int
    length: int
    cardinality: int | None = None


def differing_positions(before: Positions, after: Positions) -> tuple[int, int]:
    """Count the positions that only the one of two vectors holds, and those only the other does."""
    if isinstance(before, BitMap) and isinstance(after, BitMap):
        return len(before - after), len(after - before)
    # An option decides which of the two kinds is written, and it may have changed.
    old, new = (each if isinstance(each, BitMap64) else BitMap64(each) for each in (before, after))
    return len(old - new), len(new - old)


def read_deletion_vectors(
    data: bytes, ranges: Iterable[DeletionVectorRange], path: str
) -> dict[str, Positions]:
    """Read the deletion vectors of an index file.

    Args:
        data: The whole file.
        ranges: The places of the vectors.
        path: The file, for errors.

    Returns:
        The positions of deleted rows by data file.

    Raises:
        FormatError: The file or a block in it is broken.
    """
    if data[:1] != bytes([_FILE_VERSION]):
        raise FormatError(
            f"{path} is not an index file of deletion vectors of version {_FILE_VERSION}. Upgrade "
            "Branch Console to read it, or restore it from a copy.",
            kind=ErrorKind.UNKNOWN_VERSION if data else ErrorKind.BROKEN_FILE,
            path=path,
        )
    vectors = {}
    for part in ranges:
        try:
            vectors[part.data_file] = _read_block(data, part)
        # The bitmap library raises what it likes on bytes that are no bitmap.
        except Exception as error:
            raise FormatError(
                f"{path} has a broken deletion vector for {part.data_file}: {error}. Restore it "
                "from a copy.",
                path=path,
                data_file=part.data_file,
            ) from error
    return vectors


def write_deletion_vectors(
    vectors: Mapping[str, Iterable[int]], *, bitmap64: bool = False
) -> tuple[bytes, tuple[DeletionVectorRange, ...]]:
    """Write an index file of deletion vectors.

    Args:
        vectors: The positions of deleted rows by data file.
        bitmap64: Whether the table has `deletion-vectors.bitmap64`.

    Returns:
        The file, and where each vector stands in it.

    Raises:
        InvalidInput: A position is negative, or too high for 32-bit bitmaps.
    """
    target, ranges = bytearray([_FILE_VERSION]), []
    for data_file, positions in vectors.items():
        content, count = _content(data_file, positions, bitmap64)
        checksum = struct.pack(">I", zlib.crc32(content))
        block = struct.pack(">i", len(content)) + content + checksum
        ranges.append(
            DeletionVectorRange(
                data_file=data_file,
                offset=len(target),
                length=len(block) if bitmap64 else len(content),
                cardinality=count,
            )
        )
        target += block
    return bytes(target), tuple(ranges)


def _read_block(data: bytes, part: DeletionVectorRange) -> Positions:
    if part.offset < 1:
        raise ValueError(f"its offset is {part.offset}")
    (length,) = struct.unpack_from(">i", data, part.offset)
    content = data[part.offset + 4 : part.offset + 4 + max(length, 0)]
    magic, bitmap = content[:4], content[4:]
    if magic not in (_MAGIC_32, _MAGIC_64):
        raise ValueError("it does not start like a deletion vector")
    expected = part.length if magic == _MAGIC_32 else part.length - _FRAME_BYTES
    if length != expected or len(content) != length:
        raise ValueError(f"it has {len(content)} bytes, not {expected}")
    (checksum,) = struct.unpack_from(">I", data, part.offset + 4 + length)
    if checksum != zlib.crc32(content):
        raise ValueError("its checksum is wrong")
    positions = (BitMap if magic == _MAGIC_32 else BitMap64).deserialize(bitmap)
    if part.cardinality is not None and part.cardinality != len(positions):
        raise ValueError(f"it has {len(positions)} rows, not {part.cardinality}")
    return positions


def _content(data_file: str, positions: Iterable[int], bitmap64: bool) -> tuple[bytes, int]:
    try:
        bitmap: Positions = BitMap64(positions) if bitmap64 else BitMap(positions)
    except (OverflowError, TypeError, ValueError) as error:
        raise InvalidInput(f"Positions of deleted rows in {data_file}: {error}.") from error
    if not bitmap64 and bitmap and bitmap.max() > _MAX_POSITION_32:
        raise InvalidInput(
            f"Row {bitmap.max()} of {data_file} is too far for a 32-bit deletion vector; set "
            "deletion-vectors.bitmap64 on the table."
        )
    bitmap.run_optimize()
    return (_MAGIC_64 if bitmap64 else _MAGIC_32) + bitmap.serialize(), len(bitmap)
