"""A folder is listed once, however it is asked for, until somebody looks anew."""

from pathlib import Path

import pytest

from branch_console.storage.file_io import FileIO
from branch_console.storage.listed_once import ListedOnce
from branch_console.storage.metadata_cache import MetadataReader


@pytest.fixture(params=["file://", "memory://"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> FileIO:
    store = FileIO.for_url(f"{request.param}{tmp_path}/store")
    for name in ("1", "2", "deep/3"):
        store.make_directory(f"{store.root}/deep")
        store.create(f"{store.root}/{name}", b"x")
    return store


@pytest.mark.parametrize("first", ["list", "names", "folder_names"])
def test_what_came_since_is_not_listed(first: str, store: FileIO) -> None:
    files = ListedOnce(store)
    getattr(files, first)(store.root)
    told = files.list(store.root), files.names(store.root), files.folder_names(store.root)
    store.create(f"{store.root}/4", b"x")
    assert [each.name for each in told[0]] == ["1", "2", "deep"]
    assert sorted(told[1]) == ["1", "2", "deep"]
    assert sorted(told[2]) == ["deep"]
    assert told == (files.list(store.root), files.names(store.root), files.folder_names(store.root))
    # What is asked of one path is asked anew.
    assert files.exists(f"{store.root}/4")
    files.look_anew()
    assert sorted(files.names(store.root)) == ["1", "2", "4", "deep"]
    assert [each.name for each in files.list(store.root)] == ["1", "2", "4", "deep"]
    assert sorted(files.folder_names(store.root)) == ["deep"]


def test_a_file_that_went_since_its_name_was_listed_has_no_status(tmp_path: Path) -> None:
    (tmp_path / "1").touch()
    (tmp_path / "2").touch()
    store = FileIO.for_url(str(tmp_path))
    files = ListedOnce(store)
    assert sorted(files.names(store.root)) == ["1", "2"]
    store.remove(f"{store.root}/2")
    assert [each.name for each in files.list(store.root)] == ["1"]
    assert files.names(store.root) == ["1"]


def test_a_file_that_counts_as_gone_is_found_in_no_way_until_somebody_looks_anew(
    store: FileIO,
) -> None:
    gone = f"{store.root}/2"
    outer = ListedOnce(store, without=[gone])
    for files in (outer, ListedOnce(outer), ListedOnce(outer, without=[f"{store.root}/1"])):
        assert "2" not in files.names(store.root)
        assert "2" not in [each.name for each in files.list(store.root)]
        assert files.find(gone) is None
        assert files.status(gone) is None
        assert not files.exists(gone)
        # What others know by the marks of a folder must not come from a view like this.
        assert files.folder_marks([f"{store.root}/deep"]) == [None]
        files.look_anew()
        assert "2" in files.names(store.root)
        assert files.find(gone) == b"x"
        assert files.status(gone) is not None
        assert files.exists(gone)


def test_nobody_changes_what_others_are_told(store: FileIO) -> None:
    files = ListedOnce(store)
    files.list(store.root).clear()
    assert len(files.list(store.root)) == 3


def test_a_reader_looks_anew_behind_the_block_also_where_it_failed(store: FileIO) -> None:
    reader = MetadataReader(store)
    with pytest.raises(KeyError), reader.listing_once() as once:  # noqa: PT012 - the block fails
        assert len(once.files.list(store.root)) == 3
        store.create(f"{store.root}/4", b"x")
        with once.listing_once() as other:
            # A decision of its own looks itself.
            assert len(other.files.list(store.root)) == 4
        assert len(once.files.list(store.root)) == 3
        raise KeyError
    assert len(once.files.list(store.root)) == 4
