"""The frame of an Avro file, walked without decoding what is in it.

A fast decoder trusts the frame: on a damaged one DataFusion has been seen to loop for ever, and it
takes the end of a truncated file for its end. Source: Avro specification, object container files.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from mmap import mmap
from typing import Final

from branch_console.errors import FormatError

_MAGIC: Final = b"Obj\x01"
_SYNC_BYTES: Final = 16
_CODEC: Final = b"avro.codec"
_NO_CODEC: Final = b"avro.codec\x08null"
_MOST_VARINT_BYTES: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class AvroFrame:
    """How a whole Avro file is divided.

    Attributes:
        header: Magic and metadata, so schema and codec, without the sync marker behind them.
        sync: The marker that ends the header and each block.
        blocks: The begin and end of each block, without its marker.
        counts: How many records each block says that it holds.
    """

    header: bytes
    sync: bytes
    blocks: tuple[tuple[int, int], ...]
    counts: tuple[int, ...]

    @property
    def records(self) -> int:
        """How many records the blocks say that they hold together."""
        return sum(self.counts)

    def only(self, blocks: Iterable[int]) -> "AvroFrame":
        """The frame with some of its blocks, by their place in it."""
        chosen = tuple(blocks)
        return replace(
            self,
            blocks=tuple(self.blocks[each] for each in chosen),
            counts=tuple(self.counts[each] for each in chosen),
        )

    @property
    def is_compressed(self) -> bool:
        """Whether the header names a codec other than null; damage in plain blocks is not seen."""
        return _CODEC in self.header and _NO_CODEC not in self.header


def read_frame(data: bytes | mmap) -> AvroFrame:
    """Walk the frame of an Avro file to its end.

    Raises:
        FormatError: The frame is damaged or the file ends within it.
    """
    if bytes(data[:4]) != _MAGIC:
        raise FormatError("It does not begin as an Avro file does.")
    at = _skip_metadata(data, len(_MAGIC))
    header, sync = bytes(data[:at]), bytes(data[at : at + _SYNC_BYTES])
    at += _SYNC_BYTES
    counts, blocks = [], []
    while at < len(data):
        start = at
        count, at = _varint(data, at)
        size, at = _varint(data, at)
        at += size
        # Every record takes a byte at least once it is decompressed, so both are positive.
        if count <= 0 or size <= 0 or bytes(data[at : at + _SYNC_BYTES]) != sync:
            raise FormatError("It ends within a block, or a block is damaged.")
        blocks.append((start, at))
        at += _SYNC_BYTES
        counts.append(count)
    return AvroFrame(header=header, sync=sync, blocks=tuple(blocks), counts=tuple(counts))


def join_files(files: Iterable[tuple[AvroFrame, bytes | mmap]]) -> bytes:
    """One Avro file with the blocks of several that have the same header, in their order."""
    parts: list[bytes] = []
    sync = b""
    for frame, data in files:
        if not parts:
            sync = frame.sync
            parts += [frame.header, sync]
        for start, end in frame.blocks:
            parts += [data[start:end], sync]
    return b"".join(parts)


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
