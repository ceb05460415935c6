"""Dynamic buckets: known keys keep their bucket, new ones fill what is there, then a new one."""

from datetime import datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from branch_console.errors import FormatError, InvalidInput
from branch_console.format.values.binary_row import EMPTY_ROW
from branch_console.spark.files.data_files import WriteTarget
from branch_console.spark.files.hash_index import (
    PartitionIndex,
    key_hashes,
    read_hashes,
    write_hashes,
)
from branch_console.storage.file_io import FileIO
from branch_console.storage.table_paths import TablePaths
from tests.support.table_files import a_schema


def numbers(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


def test_known_keys_keep_their_bucket_and_new_ones_fill_the_first_that_has_room() -> None:
    index = PartitionIndex({0: numbers(5, 7), 1: numbers(9)}, rows_per_bucket=3, max_buckets=-1)
    assert index.assign(numbers(7, 9, 1, 2, 3, 4, 5)).tolist() == [0, 1, 0, 1, 1, 2, 0]
    assert index.assign(numbers(4, 1)).tolist() == [2, 0]


def test_when_all_buckets_are_full_they_share_what_comes() -> None:
    index = PartitionIndex({}, rows_per_bucket=2, max_buckets=2)
    buckets = index.assign(np.arange(20, dtype=np.int32))
    assert sorted(np.bincount(buckets).tolist()) == [10, 10]


@given(
    st.lists(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=30), min_size=1, max_size=5),
    st.integers(1, 7),
)
def test_a_key_has_one_bucket_for_ever(batches: list[list[int]], room: int) -> None:
    index = PartitionIndex({}, rows_per_bucket=room, max_buckets=-1)
    seen: dict[int, int] = {}
    for batch in batches:
        for key, bucket in zip(batch, index.assign(numbers(*batch)).tolist(), strict=True):
            assert seen.setdefault(key, bucket) == bucket
    counts = np.bincount(list(seen.values())) if seen else np.zeros(0)
    assert counts.max(initial=0) <= room


def test_more_buckets_than_paimon_has_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("branch_console.spark.files.hash_index.MAX_BUCKETS", 2)
    index = PartitionIndex({}, rows_per_bucket=1, max_buckets=-1)
    with pytest.raises(InvalidInput, match="target-row-num"):
        index.assign(numbers(1, 2, 3))


def test_an_index_file_reads_back(tmp_path: Path) -> None:
    store = FileIO.for_url(str(tmp_path))
    schema = a_schema(primary_keys=("id",))
    target = WriteTarget(
        schema=schema,
        paths=TablePaths(table=f"{tmp_path}/t"),
        store=store,
        created=datetime(2024, 1, 1),
        write_id="abc",
    )
    hashes = key_hashes(pa.table({"id": pa.array([1, 2], pa.int32())}), schema)
    entry = write_hashes(target, EMPTY_ROW, 3, hashes)
    assert (entry["index_type"], entry["row_count"], entry["bucket"]) == ("HASH", 2, 3)
    path = target.paths.index(entry["file_name"])
    # As BinaryRow.hashCode has it for the int 1.
    assert read_hashes(store, path)[0] == 1465514398
    assert store.read(path)[:4] == (1465514398).to_bytes(4)
    store.replace(path, b"123")
    with pytest.raises(FormatError, match="3 bytes"):
        read_hashes(store, path)
    Path(store.native_path(path)).unlink()
    with pytest.raises(FormatError, match="is missing, the index of keys of a bucket"):
        read_hashes(store, path)
