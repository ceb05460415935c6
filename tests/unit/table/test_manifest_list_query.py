"""Lists that are read together tell what each tells by itself."""

from pathlib import Path

import pytest

from branch_console.errors import FormatError
from branch_console.storage.table_paths import TablePaths
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.manifest_list_query import read_manifest_lists
from branch_console.table.manifest_scan import entry_counts
from tests.support.commit_tables import CommitBench


@pytest.fixture
def table(tmp_path: Path) -> FileStoreTable:
    bench = CommitBench(tmp_path)
    for number in range(12):
        bench.append(*(f"f{number}-{each}" for each in range(number + 1)))
    return bench.table()


def lists_of(table: FileStoreTable) -> list[str]:
    """All lists, those of the first commit without a manifest among them."""
    return [
        name
        for snapshot in table.snapshots.all()
        for name in (snapshot.base_manifest_list, snapshot.delta_manifest_list)
    ]


def one_by_one(table: FileStoreTable, name: str) -> list[tuple[str, int]]:
    found = table.scan.read_list(table.paths, name)
    return list(zip(found["file_name"].to_pylist(), entry_counts(found), strict=True))


def test_lists_tell_together_what_each_tells_by_itself(table: FileStoreTable) -> None:
    names = lists_of(table)
    assert len(names) == 24
    found = read_manifest_lists(table, names)
    assert found == {name: one_by_one(table, name) for name in names}
    assert [] in found.values()
    assert read_manifest_lists(table, names[:3]) == {name: found[name] for name in names[:3]}
    assert read_manifest_lists(table, []) == {}


@pytest.mark.parametrize("cut", [0, 10, 200, -1, None])
def test_a_list_that_is_broken_or_gone_is_told_with_its_file(
    table: FileStoreTable, cut: int | None
) -> None:
    names = lists_of(table)
    path = Path(TablePaths(table=table.paths.table).manifest(names[7]))
    if cut is None:
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(FormatError, match=names[7]):
        read_manifest_lists(table, names)
