"""A warehouse is a folder; what is broken in it is listed with its error."""

from pathlib import Path

import pytest

from branch_console.catalog.filesystem_catalog import FilesystemCatalog
from branch_console.errors import (
    ErrorKind,
    FormatError,
    InvalidInput,
    NotAllowed,
    NotFound,
    StorageError,
)
from branch_console.format.identifier import Identifier
from branch_console.storage.file_io import FileIO, FileStatus
from tests.support.table_files import TableFiles, a_schema, a_snapshot


@pytest.fixture(params=["local", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> FileIO:
    return FileIO.for_url(str(tmp_path) if request.param == "local" else f"memory://{tmp_path}")


def catalog_of(store: FileIO) -> FilesystemCatalog:
    return FilesystemCatalog(store, store.root)


def test_databases_are_folders_that_end_in_db(store: FileIO) -> None:
    for folder in ("b.db/t", "a.db/t", "notes/t", ".hidden.db/t", ".db/t"):
        store.create(f"{store.root}/{folder}/x", b"")
    store.create(f"{store.root}/file.db", b"")
    assert catalog_of(store).databases() == ("a", "b")


def test_tables_are_listed_with_their_comment_and_type(store: FileIO) -> None:
    TableFiles(store, "b").schema()
    TableFiles(store, "a").schema(a_schema(options={"type": "format-table"}))
    entries = catalog_of(store).tables("db")
    assert [(str(each.identifier), each.table_type) for each in entries] == [
        ("db.a", "format-table"),
        ("db.b", "table"),
    ]
    assert all(each.error is None for each in entries)
    assert entries[1].path == f"{store.root}/db.db/b"


def test_a_broken_table_is_listed_with_its_error_and_spoils_no_other(store: FileIO) -> None:
    TableFiles(store, "good").schema()
    bad = TableFiles(store, "bad")
    path = bad.write(bad.paths.schema(0), "{")
    entries = {each.identifier.table: each for each in catalog_of(store).tables("db")}
    assert entries["good"].error is None
    error = entries["bad"].error
    assert isinstance(error, FormatError)
    assert error.facts["path"] == path


def test_a_folder_without_schema_is_listed_with_its_error(tmp_path: Path) -> None:
    store = FileIO.for_url(str(tmp_path))
    TableFiles(store, "good").schema()
    (tmp_path / "db.db/void").mkdir()
    entries = {each.identifier.table: each for each in catalog_of(store).tables("db")}
    assert "db.db/void is no table" in str(entries["void"].error)
    assert entries["good"].error is None


def test_a_table_on_branches_only_is_listed_by_branch(store: FileIO) -> None:
    files = TableFiles(store)
    files.schema(branch="dev")
    (entry,) = catalog_of(store).tables("db")
    assert str(entry.identifier) == "db.t$branch_dev"
    assert catalog_of(store).open(entry.identifier).schema().id == 0


def test_a_table_opens_on_main_and_on_a_branch(store: FileIO) -> None:
    files = TableFiles(store)
    files.schema()
    files.schema(a_schema(4), branch="dev")
    files.snapshots(a_snapshot(2, "dev"), branch="dev")
    catalog = catalog_of(store)
    assert catalog.open(Identifier.parse("db.t")).schema().id == 0
    dev = catalog.open(Identifier.parse("db.t$branch_dev"))
    assert (dev.schema().id, dev.snapshots.ids()) == (4, (2,))
    assert catalog.open(Identifier.parse("db.t")).scan is dev.scan


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("none.t", ErrorKind.DATABASE_NOT_FOUND),
        ("db.none", ErrorKind.TABLE_NOT_FOUND),
        ("db.t$branch_none", ErrorKind.BRANCH_NOT_FOUND),
    ],
)
def test_what_is_not_there_is_said_by_its_kind(store: FileIO, name: str, kind: ErrorKind) -> None:
    TableFiles(store).schema()
    with pytest.raises(NotFound) as caught:
        catalog_of(store).open(Identifier.parse(name))
    assert caught.value.kind is kind


def test_a_missing_database_or_warehouse_is_not_empty(tmp_path: Path) -> None:
    store = FileIO.for_url(str(tmp_path))
    with pytest.raises(NotFound, match="no database 'db'"):
        catalog_of(store).tables("db")
    with pytest.raises(NotFound, match="no warehouse"):
        catalog_of(FileIO.for_url(str(tmp_path / "none"))).databases()
    assert catalog_of(store).databases() == ()


def test_a_broken_branch_opens_and_its_readers_say_what_is_missing(store: FileIO) -> None:
    files = TableFiles(store)
    files.schema()
    files.snapshots(a_snapshot(1), branch="half")
    table = catalog_of(store).open(Identifier.parse("db.t$branch_half"))
    with pytest.raises(NotFound, match="no schema"):
        table.schema()


@pytest.mark.parametrize(
    "identifier",
    [
        Identifier(database="..", table="t"),
        Identifier(database="db", table="../x"),
        Identifier(database="db", table="t", branch="../../x"),
        Identifier(database="db", table="t", branch="a/b"),
    ],
    ids=str,
)
def test_a_name_that_leaves_its_folder_is_refused(store: FileIO, identifier: Identifier) -> None:
    TableFiles(store).schema()
    with pytest.raises(InvalidInput) as caught:
        catalog_of(store).open(identifier)
    assert caught.value.kind is ErrorKind.INVALID_NAME


def test_a_table_of_another_type_is_not_opened(store: FileIO) -> None:
    TableFiles(store).schema(a_schema(options={"type": "iceberg-table"}))
    with pytest.raises(NotAllowed, match="iceberg-table"):
        catalog_of(store).open(Identifier.parse("db.t"))


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("shop.oders", "There is no table shop.oders. Did you mean 'shop.orders'?"),
        ("sop.orders", "There is no database 'sop'. Did you mean 'shop.orders'?"),
        ("default.orders", "There is no database 'default'. Did you mean 'shop.orders'?"),
        ("shp.zzz", "There is no database 'shp'. Did you mean 'shop'?"),
        ("db.orders", "There is no table db.orders. Did you mean 'shop.orders'?"),
        ("shop.orders$branch_dv", "Table shop.orders has no branch 'dv'. Did you mean 'dev'?"),
        ("shop.orders$branch_mian", "Table shop.orders has no branch 'mian'. Did you mean 'main'?"),
        ("shop.orders$branch_zzz", "Table shop.orders has no branch 'zzz'."),
    ],
)
def test_what_is_not_there_is_told_with_what_is_near(store: FileIO, name: str, told: str) -> None:
    for identifier in ("shop.orders", "db.t"):
        files = TableFiles(store, *reversed(identifier.split(".")))
        files.schema()
        files.schema(branch="dev")
    with pytest.raises(NotFound) as caught:
        catalog_of(store).open(Identifier.parse(name))
    assert caught.value.message == told
    assert catalog_of(store).find(Identifier.parse(name)) is None


def test_a_listing_that_fails_hides_not_what_is_missing(
    store: FileIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = TableFiles(store)
    files.schema()
    listing = type(store).list

    def list_schemas_only(self: FileIO, path: str) -> list[FileStatus]:
        if not path.endswith("/schema"):
            raise StorageError(f"{path} cannot be listed.")
        return listing(self, path)

    monkeypatch.setattr(type(store), "list", list_schemas_only)
    for name in ("db.t$branch_dev", "dv.t"):
        with pytest.raises(NotFound, match=r"has no branch 'dev'\.$|no database 'dv': .* missing"):
            catalog_of(store).open(Identifier.parse(name))
