"""The frame of an Avro file: whole or damaged, told without decoding it."""

import pyarrow as pa
import pytest

from core.errors import FormatError
from core.format.avro_encoding import write_avro
from core.format.avro_frames import count_records, is_compressed

TABLE = pa.table({"x": pa.array(range(2500), pa.int64())})
FILE = write_avro(TABLE, "zstandard")


@pytest.mark.parametrize("codec", ["null", "zstandard", "snappy", "deflate"])
def test_the_records_of_all_blocks_are_counted(codec: str) -> None:
    assert count_records(write_avro(TABLE, codec)) == 2500
    assert count_records(write_avro(TABLE.slice(0, 0), codec)) == 0


def test_plain_blocks_are_told_from_compressed_ones() -> None:
    assert is_compressed(FILE)
    assert not is_compressed(write_avro(TABLE, "null"))
    assert not is_compressed(b"Obj\x01\x00")


@pytest.mark.parametrize("kept", [0, 3, 10, 60, 200, len(FILE) // 2, len(FILE) - 1])
def test_a_truncated_file_is_broken(kept: int) -> None:
    with pytest.raises(FormatError):
        count_records(FILE[:kept])


def test_a_file_that_lost_its_last_block_counts_fewer_records() -> None:
    sync = FILE[-16:]
    end = FILE.rindex(sync, 0, len(FILE) - 16) + 16
    assert count_records(FILE[:end]) == 2000


@pytest.mark.parametrize("harm", [b"", b"x" * 500, b"Obj\x01" + b"\xff" * 50, FILE + b"\x00"])
def test_bytes_that_are_no_avro_file_are_broken(harm: bytes) -> None:
    with pytest.raises(FormatError):
        count_records(harm)
