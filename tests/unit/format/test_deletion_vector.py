import struct
import zlib
from dataclasses import replace

import pytest
from pyroaring import BitMap, BitMap64

from branch_console.errors import ErrorKind, FormatError, InvalidInput
from branch_console.format.values.deletion_vector import (
    DeletionVectorRange,
    read_deletion_vectors,
    write_deletion_vectors,
)

_VECTORS = {"data-1": [0, 2, 2**31 - 1], "data-2": range(10, 5000), "data-3": []}


@pytest.mark.parametrize("bitmap64", [False, True], ids=["32 bit", "64 bit"])
def test_vectors_come_back(bitmap64: bool) -> None:
    data, ranges = write_deletion_vectors(_VECTORS, bitmap64=bitmap64)
    read = read_deletion_vectors(data, ranges, "index-a")
    assert {name: list(bitmap) for name, bitmap in read.items()} == {
        name: list(positions) for name, positions in _VECTORS.items()
    }
    assert [part.cardinality for part in ranges] == [3, 4990, 0]
    assert all(isinstance(bitmap, BitMap64 if bitmap64 else BitMap) for bitmap in read.values())


def test_a_32_bit_block_has_a_big_endian_magic_and_a_length_without_its_frame() -> None:
    data, (part,) = write_deletion_vectors({"data-1": [1]})
    length, magic = struct.unpack_from(">ii", data, 1)
    assert data[0] == 1
    assert (part.offset, part.length, magic) == (1, length, 1581511376)
    assert len(data) == 1 + 4 + length + 4
    assert struct.unpack(">I", data[-4:])[0] == zlib.crc32(data[5:-4])


def test_a_64_bit_block_has_a_little_endian_magic_and_a_length_with_its_frame() -> None:
    data, (part,) = write_deletion_vectors({"data-1": [2**40]}, bitmap64=True)
    (length,) = struct.unpack_from(">i", data, 1)
    assert struct.unpack_from("<i", data, 5) == (1681511377,)
    assert (part.offset, part.length) == (1, length + 8)
    assert len(data) == 1 + part.length


def test_64_bit_vectors_of_java_hold_empty_bitmaps_in_their_gaps() -> None:
    bitmaps = [BitMap([5]), BitMap(), BitMap([6])]
    parts = [struct.pack("<i", key) + bitmap.serialize() for key, bitmap in enumerate(bitmaps)]
    content = struct.pack("<iq", 1681511377, 3) + b"".join(parts)
    frame = struct.pack(">i", len(content)), struct.pack(">I", zlib.crc32(content))
    part = DeletionVectorRange(data_file="data-1", offset=1, length=len(content) + 8)
    read = read_deletion_vectors(b"\1" + frame[0] + content + frame[1], [part], "index-a")
    assert list(read["data-1"]) == [5, 2**33 + 6]


def test_only_the_vectors_that_are_asked_for_are_read() -> None:
    data, ranges = write_deletion_vectors(_VECTORS)
    assert list(read_deletion_vectors(data, ranges[1:2], "index-a")) == ["data-2"]


def test_an_empty_file_of_vectors_is_its_version() -> None:
    assert write_deletion_vectors({}) == (b"\1", ())
    assert read_deletion_vectors(b"\1", (), "index-a") == {}


def test_another_version_is_named() -> None:
    with pytest.raises(FormatError, match="index-a is not an index file") as caught:
        read_deletion_vectors(b"\2", (), "index-a")
    assert caught.value.kind is ErrorKind.UNKNOWN_VERSION
    assert caught.value.facts["path"] == "index-a"
    with pytest.raises(FormatError) as caught:
        read_deletion_vectors(b"", (), "index-a")
    assert caught.value.kind is ErrorKind.BROKEN_FILE


@pytest.mark.parametrize("bitmap64", [False, True], ids=["32 bit", "64 bit"])
def test_every_flipped_bit_of_a_block_is_found(bitmap64: bool) -> None:
    data, ranges = write_deletion_vectors({"data-1": [1, 5, 70000]}, bitmap64=bitmap64)
    for at in range(1, len(data)):
        for bit in range(8):
            broken = bytearray(data)
            broken[at] ^= 1 << bit
            with pytest.raises(FormatError, match="index-a has a broken deletion vector") as caught:
                read_deletion_vectors(bytes(broken), ranges, "index-a")
            assert caught.value.facts == {"path": "index-a", "data_file": "data-1"}


@pytest.mark.parametrize("bitmap64", [False, True], ids=["32 bit", "64 bit"])
def test_a_range_that_does_not_fit_the_block_is_found(bitmap64: bool) -> None:
    data, (part,) = write_deletion_vectors({"data-1": [1, 5]}, bitmap64=bitmap64)
    for wrong in (
        replace(part, offset=0),
        replace(part, offset=-1),
        replace(part, offset=len(data)),
        replace(part, length=part.length - 1),
        replace(part, cardinality=3),
    ):
        with pytest.raises(FormatError, match="broken deletion vector for data-1"):
            read_deletion_vectors(data, [wrong], "index-a")


def test_positions_that_no_bitmap_holds_are_refused() -> None:
    with pytest.raises(InvalidInput, match=r"deletion-vectors\.bitmap64"):
        write_deletion_vectors({"data-1": [2**31]})
    for positions in ([-1], [2**33]):
        with pytest.raises(InvalidInput, match="data-1"):
            write_deletion_vectors({"data-1": positions})
    with pytest.raises(InvalidInput, match="data-1"):
        write_deletion_vectors({"data-1": [-1]}, bitmap64=True)
