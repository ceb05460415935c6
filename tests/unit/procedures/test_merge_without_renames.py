"""A merge of the catalog on a store that cannot rename folders, as object stores cannot."""

from dataclasses import replace
from pathlib import Path

import pytest

from branch_console.errors import CommitConflict, Refused
from branch_console.format.catalog.catalog_version import VersionKind
from branch_console.storage.directory_mover import UnsupportedDirectoryMover
from branch_console.storage.file_io import LocalFileIO
from tests.support.branch_bench import store_of
from tests.support.catalog_bench import CatalogBench

MOVES = {
    "a table gets another name": ("ALTER TABLE air.flights RENAME TO air.legs", "air.legs"),
    "a table gets another database": ("ALTER TABLE air.flights RENAME TO lab.legs", "lab.legs"),
    "a database gets another name": ("ALTER DATABASE air RENAME TO sky", "sky"),
    "a new table has the name of a dropped one": (
        "DROP TABLE air.flights; CREATE TABLE air.flights (x INT)",
        "air.flights",
    ),
}
STAYS = "ALTER TABLE lab.notes ADD COLUMN page INT; ALTER DATABASE lab SET DBPROPERTIES ('a' = '1')"


@pytest.fixture
def bench(tmp_path: Path) -> CatalogBench:
    found = CatalogBench(root=tmp_path / "warehouse")
    for statement in (
        "CREATE DATABASE air",
        "CREATE DATABASE lab",
        "CREATE TABLE air.flights (id INT)",
        "CREATE TABLE lab.notes (id INT)",
        "CREATE BRANCH dev ON CATALOG",
        f"USE BRANCH dev; {STAYS}",
    ):
        found(statement)
    return found


@pytest.mark.parametrize("case", MOVES)
def test_what_moves_a_folder_is_refused_before_anything_is_written(
    bench: CatalogBench, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    statements, name = MOVES[case]
    bench(f"USE BRANCH dev; {statements}")
    before = bench.objects()
    with monkeypatch.context() as patched:
        patched.setattr(LocalFileIO, "is_local", property(lambda _: False))
        told = [each.text for each in bench.preview("MERGE BRANCH dev").blocks]
    assert [f"main cannot call these as 'dev' does: {name}. " in each for each in told] == [True]
    assert bench.objects() == before
    bench("MERGE BRANCH dev ON DATABASE lab")


def test_what_moves_no_folder_is_merged(
    bench: CatalogBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench("USE BRANCH dev; CREATE TABLE lab.routes (id INT); DROP TABLE air.flights")
    with monkeypatch.context() as patched:
        patched.setattr(LocalFileIO, "is_local", property(lambda _: False))
        assert bench.preview("MERGE BRANCH dev").blocks == ()
    bench.store = replace(store_of(bench.root), mover=UnsupportedDirectoryMover())
    bench("MERGE BRANCH dev")
    assert bench.warehouse().catalog.table_names("lab") == ("notes", "routes")
    assert bench.warehouse().catalog.table_names("air") == ()


def test_a_disk_that_turns_out_not_to_rename_has_the_merge_turned_back(
    bench: CatalogBench,
) -> None:
    bench("USE BRANCH dev; ALTER TABLE air.flights RENAME TO air.legs")
    before = bench.objects_of_main()
    bench.store = replace(store_of(bench.root), mover=UnsupportedDirectoryMover())
    with pytest.raises((CommitConflict, Refused), match="turned back"):
        bench("MERGE BRANCH dev")
    newest = next(bench.warehouse().ledger.versions("main"))
    assert newest.kind is VersionKind.TURNED_BACK
    assert bench.objects_of_main() == before
    # Nobody waits for it.
    bench.store = None
    bench("MERGE BRANCH dev")
    assert bench.warehouse().catalog.table_names("air") == ("legs",)
