"""The frame of an Avro file: whole or damaged, told without decoding it."""

from io import BytesIO

import fastavro
import pyarrow as pa
import pytest

from branch_console.errors import FormatError
from branch_console.format.avro_encoding import write_avro
from branch_console.format.avro_frames import join_files, read_frame

TABLE = pa.table({"x": pa.array(range(2500), pa.int64())})
FILE = write_avro(TABLE, "zstandard")


@pytest.mark.parametrize("codec", ["null", "zstandard", "snappy", "deflate"])
def test_the_records_of_all_blocks_are_counted(codec: str) -> None:
    assert read_frame(write_avro(TABLE, codec)).records == 2500
    assert read_frame(write_avro(TABLE.slice(0, 0), codec)).records == 0


def test_plain_blocks_are_told_from_compressed_ones() -> None:
    assert read_frame(FILE).is_compressed
    assert not read_frame(write_avro(TABLE, "null")).is_compressed


@pytest.mark.parametrize("kept", [0, 3, 10, 60, 200, len(FILE) // 2, len(FILE) - 1])
def test_a_truncated_file_is_broken(kept: int) -> None:
    with pytest.raises(FormatError):
        read_frame(FILE[:kept])


def test_a_file_that_lost_its_last_block_counts_fewer_records() -> None:
    sync = FILE[-16:]
    end = FILE.rindex(sync, 0, len(FILE) - 16) + 16
    assert read_frame(FILE[:end]).records == 2000


@pytest.mark.parametrize("harm", [b"", b"x" * 500, b"Obj\x01" + b"\xff" * 50, FILE + b"\x00"])
def test_bytes_that_are_no_avro_file_are_broken(harm: bytes) -> None:
    with pytest.raises(FormatError):
        read_frame(harm)


def test_joined_files_hold_the_records_of_all_in_their_order() -> None:
    parts = [write_avro(TABLE.slice(start, 1000), "deflate") for start in (0, 1000, 2000)]
    joined = join_files((read_frame(part), part) for part in parts)
    records = [row["x"] for row in fastavro.reader(BytesIO(joined))]
    assert records == list(range(2500))
    assert read_frame(joined).records == 2500
