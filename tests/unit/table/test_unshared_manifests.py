"""Snapshots are compared by what they do not share; what they share is never opened."""

import itertools
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from branch_console.errors import FormatError
from branch_console.format.manifest_list import MANIFEST_FILE_META, encode_manifest_list
from branch_console.format.snapshot import Snapshot
from branch_console.storage.file_io import FileIO, LocalFileIO
from branch_console.table.unshared_manifests import UnsharedEntries, unshared_entries
from tests.support.table_files import TableFiles, a_snapshot
from tests.unit.table.manifest_entries import ADD, DELETE, added, entries


class Histories:
    """Snapshots of a table, made of named manifests that several of them may list."""

    def __init__(self, url: str) -> None:
        self.files = TableFiles(FileIO.for_url(url))
        self.files.schema()
        self._made: dict[str, dict[str, object]] = {}

    def manifest(self, name: str, content: pa.Table) -> None:
        self._made[name] = self.files.manifest(content)

    def file_of(self, name: str) -> str:
        return str(self._made[name]["file_name"])

    def snapshot(self, writer: str, *manifests: str) -> Snapshot:
        """A snapshot on a branch of its own; the last manifest is in its delta list."""
        made = a_snapshot(1, writer)
        rows = [self._made[name] for name in manifests]
        for name, part in (
            (made.base_manifest_list, rows[:-1]),
            (made.delta_manifest_list, rows[-1:]),
        ):
            table = pa.Table.from_pylist(part, MANIFEST_FILE_META)
            self.files.write(self.files.paths.manifest(name), encode_manifest_list(table))
        self.files.snapshots(made, branch=writer)
        return made

    def compare(self, *snapshots: Snapshot | None) -> UnsharedEntries:
        table = self.files.table("ours")
        return unshared_entries(table.scan, table.paths, snapshots)


@pytest.fixture(params=["local", "memory"])
def history(request: pytest.FixtureRequest, tmp_path: Path) -> Histories:
    return Histories(str(tmp_path) if request.param == "local" else f"memory://{tmp_path}")


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The names of the files that a store was asked for."""
    names: set[str] = set()
    for store, method in itertools.product((FileIO, LocalFileIO), ("read", "native_file")):
        monkeypatch.setattr(store, method, _noting(getattr(store, method), names))
    return names


def _noting(ask: Callable[[FileIO, str], object], names: set[str]) -> object:
    def call(store: FileIO, path: str) -> object:
        names.add(path.rsplit("/", 1)[-1])
        return ask(store, path)

    return call


def changes(side: pa.Table) -> list[tuple[int, str]]:
    return list(zip(side["kind"].to_pylist(), side["file_name"].to_pylist(), strict=True))


def test_three_sides_give_what_each_did_since_they_parted(history: Histories) -> None:
    history.manifest("shared", added("a", "b"))
    history.manifest("mine", entries((ADD, "c"), (DELETE, "a")))
    history.manifest("other", added("d"))
    found = history.compare(
        history.snapshot("base", "shared"),
        history.snapshot("ours", "shared", "mine"),
        history.snapshot("theirs", "shared", "other"),
    )
    assert [changes(side) for side in found.sides] == [
        [],
        [(ADD, "c"), (DELETE, "a")],
        [(ADD, "d")],
    ]
    assert (found.manifests_read, found.manifests_skipped) == (2, 1)


def test_no_manifest_that_all_sides_list_is_opened(history: Histories, opened: set[str]) -> None:
    shared = [f"shared {number}" for number in range(20)]
    for number, name in enumerate(shared):
        history.manifest(name, added(*(f"f{number}-{n}" for n in range(50))))
    for side in ("mine", "other"):
        history.manifest(side, added(*(f"{side}-{n}" for n in range(50))))
    sides = [
        history.snapshot("base", *shared),
        history.snapshot("ours", *shared, "mine"),
        history.snapshot("theirs", *shared, "other"),
    ]
    for name in shared:
        history.files.file_io.remove(history.files.paths.manifest(history.file_of(name)))
    opened.clear()
    found = history.compare(*sides)
    assert [side.num_rows for side in found.sides] == [0, 50, 50]
    assert (found.manifests_read, found.manifests_skipped) == (2, 20)
    lists = [name for side in sides for name in (side.base_manifest_list, side.delta_manifest_list)]
    assert opened == {*lists, history.file_of("mine"), history.file_of("other")}


def test_what_two_of_three_list_is_counted_once_and_stands_on_both(history: Histories) -> None:
    history.manifest("shared", added("a"))
    history.manifest("early", added("b"))
    history.manifest("late", entries((DELETE, "b")))
    sides = [
        history.snapshot("base", "shared"),
        history.snapshot("ours", "shared", "early"),
        history.snapshot("theirs", "shared", "early", "late"),
    ]
    found = history.compare(*sides)
    assert [changes(side) for side in found.sides] == [
        [],
        [(ADD, "b")],
        [(ADD, "b"), (DELETE, "b")],
    ]
    assert (found.manifests_read, found.manifests_skipped) == (2, 1)


def test_a_second_call_opens_nothing(history: Histories, opened: set[str]) -> None:
    history.manifest("shared", added("a"))
    history.manifest("mine", added("b"))
    sides = [history.snapshot("base", "shared"), history.snapshot("ours", "shared", "mine")]
    table = history.files.table()
    first = unshared_entries(table.scan, table.paths, sides)
    opened.clear()
    again = unshared_entries(table.scan, table.paths, sides)
    assert not opened
    assert [side.equals(old) for side, old in zip(again.sides, first.sides, strict=True)] == [
        True,
        True,
    ]


def test_a_side_that_rewrote_its_manifests_shares_nothing(history: Histories) -> None:
    history.manifest("first", added("a"))
    history.manifest("second", added("b"))
    history.manifest("merged", added("a", "b"))
    found = history.compare(
        history.snapshot("base", "first", "second"), history.snapshot("ours", "merged")
    )
    assert [changes(side) for side in found.sides] == [[(ADD, "a"), (ADD, "b")]] * 2
    assert (found.manifests_read, found.manifests_skipped) == (3, 0)


def test_a_branch_without_a_commit_shares_nothing(history: Histories) -> None:
    history.manifest("first", added("a"))
    found = history.compare(None, history.snapshot("ours", "first"))
    assert [changes(side) for side in found.sides] == [[], [(ADD, "a")]]
    assert (found.manifests_read, found.manifests_skipped) == (1, 0)


def test_one_and_the_same_state_has_no_differences(history: Histories) -> None:
    history.manifest("first", added("a"))
    same = history.snapshot("ours", "first")
    found = history.compare(same, same)
    assert [side.num_rows for side in found.sides] == [0, 0]
    assert (found.manifests_read, found.manifests_skipped) == (0, 1)


def test_an_unshared_manifest_that_is_missing_is_named(history: Histories) -> None:
    history.manifest("shared", added("a"))
    history.manifest("mine", added("b"))
    sides = [history.snapshot("base", "shared"), history.snapshot("ours", "shared", "mine")]
    history.files.file_io.remove(history.files.paths.manifest(history.file_of("mine")))
    with pytest.raises(FormatError, match=f"{history.file_of('mine')} is missing"):
        history.compare(*sides)
