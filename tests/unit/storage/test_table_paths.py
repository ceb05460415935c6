"""Where Paimon keeps the files of a table."""

import pytest

from branch_console.storage.table_paths import TablePaths

MAIN = TablePaths(table="/wh/db.db/t")
DEV = MAIN.on("dev")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (MAIN.snapshot(7), "snapshot/snapshot-7"),
        (DEV.snapshot(7), "branch/branch-dev/snapshot/snapshot-7"),
        (DEV.on("main").schema(0), "schema/schema-0"),
        (DEV.schema(0), "branch/branch-dev/schema/schema-0"),
        (DEV.tag("v1"), "branch/branch-dev/tag/tag-v1"),
        (DEV.changelog(3), "branch/branch-dev/changelog/changelog-3"),
        (DEV.consumer("c"), "branch/branch-dev/consumer/consumer-c"),
        (DEV.latest_hint, "branch/branch-dev/snapshot/LATEST"),
        (DEV.earliest_hint, "branch/branch-dev/snapshot/EARLIEST"),
        # What all branches share lies in the root.
        (DEV.manifest("manifest-1"), "manifest/manifest-1"),
        (DEV.index("index-1"), "index/index-1"),
        (DEV.statistics("stat-1"), "statistics/stat-1"),
        (DEV.event(5, "op"), "branch-lineage/event-0000000000005-op.json"),
        (DEV.data_file("pt=1", 0, "f.parquet"), "pt=1/bucket-0/f.parquet"),
        (DEV.data_file("", 3, "f.parquet"), "bucket-3/f.parquet"),
        (DEV.data_file("", -2, "f.parquet"), "bucket-postpone/f.parquet"),
    ],
)
def test_each_file_has_its_place(path: str, expected: str) -> None:
    assert path == f"/wh/db.db/t/{expected}"


def test_data_files_may_lie_in_a_folder_of_their_own() -> None:
    paths = TablePaths(table="/wh/db.db/t", data_directory="data")
    assert paths.data_file("pt=1", 0, "f") == "/wh/db.db/t/data/pt=1/bucket-0/f"
