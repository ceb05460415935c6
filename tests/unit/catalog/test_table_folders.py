"""Where a table of the ledger lies, and what a store far away is asked for that."""

from pathlib import Path

import pytest

from branch_console.catalog.sightings import birth_of
from branch_console.catalog.table_folders import FoundFolder, TableFolders
from branch_console.format.catalog.catalog_version import TableChange
from branch_console.storage.catalog_paths import CatalogPaths
from branch_console.storage.file_io import FileIO
from branch_console.storage.metadata_cache import MetadataReader
from branch_console.storage.table_paths import TablePaths

FOLDER = "air.db/flights"


def test_far_away_a_table_is_found_by_the_listing_that_its_reader_needs_anyway(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FileIO.for_url(f"memory://{tmp_path}")
    paths = CatalogPaths(warehouse=store.root)
    made = TablePaths(table=paths.folder(FOLDER), branch="dev")
    store.make_directory(made.schema_dir)
    store.create(made.schema(0), b"{}")
    known = TableChange(folder=FOLDER, birth=birth_of(b"{}"))
    asked: list[str] = []

    def count(name: str) -> None:
        real = getattr(FileIO, name)

        def counted(files: FileIO, path: str) -> object:
            asked.append(f"{name} {path}")
            return real(files, path)

        monkeypatch.setattr(FileIO, name, counted)

    for name in ("list", "names", "folder_names", "status", "exists"):
        count(name)
    with MetadataReader(store).listing_once() as reader:
        found = TableFolders(reader, paths, "dev").find(known)
        assert found == FoundFolder(folder=FOLDER, has_branch=True)
        assert asked == [f"list {made.schema_dir}"]
        reader.files.names(made.schema_dir)
        assert len(asked) == 1
        # Another table of that place is not it, and neither is one whose files are gone.
        assert (
            TableFolders(reader, paths, "dev").find(TableChange(folder=FOLDER, birth="x")) is None
        )
