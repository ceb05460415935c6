"""Where index files are looked for: below `index/`, or beside data files by an option."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from branch_console.commit.schema.schema_commit import change_schema, set_options
from branch_console.diff.masks import masks_of
from branch_console.format.index_manifest import (
    INDEX_MANIFEST_ENTRY,
    IndexType,
    deletion_vector_entry,
)
from branch_console.format.values.deletion_vector import write_deletion_vectors
from branch_console.procedures.merge.side_log import read_masks
from branch_console.table.data_file_paths import index_file_paths
from tests.support.branch_bench import NOW, BranchBench

_PARTITION = b"\x00\x00\x00\x00" + bytes(8)


def entry(kind: str, **more: Any) -> dict[str, Any]:
    return {
        **deletion_vector_entry((_PARTITION, 3), "index-1-0", 1, ()),
        "index_type": kind,
        **more,
    }


@pytest.mark.parametrize(
    ("options", "of_bucket"),
    [
        ({}, "index/index-1-0"),
        ({"index-file-in-data-file-dir": "true"}, "bucket-3/index-1-0"),
        (
            {"index-file-in-data-file-dir": "true", "data-file.path-directory": "data"},
            "data/bucket-3/index-1-0",
        ),
    ],
    ids=["below index", "beside data", "beside data in a folder of the table"],
)
def test_index_files_of_buckets_follow_the_option_and_no_other_does(
    tmp_path: Path, options: dict[str, str], of_bucket: str
) -> None:
    bench = BranchBench(tmp_path)
    change_schema(bench.table(), bench.store, [set_options(options)], now_millis=NOW)
    outside = f"file://{tmp_path}/elsewhere/index-1-0"
    rows = [
        *(entry(str(kind)) for kind in IndexType),
        entry("BTREE"),
        entry(str(IndexType.HASH), external_path=outside),
    ]
    table = bench.table()
    found = index_file_paths(table, pa.Table.from_pylist(rows, schema=INDEX_MANIFEST_ENTRY))
    root = table.paths.table
    assert found[:-1] == [f"{root}/{of_bucket}", f"{root}/{of_bucket}", f"{root}/index/index-1-0"]
    assert found[-1] == f"{tmp_path}/elsewhere/index-1-0"


def test_a_merge_reads_deletion_vectors_beside_data_files(tmp_path: Path) -> None:
    bench = BranchBench(tmp_path)
    options = {"index-file-in-data-file-dir": "true"}
    change_schema(bench.table(), bench.store, [set_options(options)], now_millis=NOW)
    data, ranges = write_deletion_vectors({"a.parquet": [2, 5]}, bitmap64=False)
    table = bench.table()
    path = Path(table.paths.table) / "bucket-3" / "index-1-0"
    path.parent.mkdir()
    path.write_bytes(data)
    row = deletion_vector_entry((_PARTITION, 3), "index-1-0", len(data), ranges)
    masks = masks_of(pa.Table.from_pylist([row], schema=INDEX_MANIFEST_ENTRY))
    (read,) = read_masks(table, masks).values()
    assert list(read) == [2, 5]
