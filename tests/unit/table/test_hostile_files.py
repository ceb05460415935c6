"""Files that no engine writes: each is told by its path within seconds, and the rest is shown."""

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from branch_console.errors import FormatError, NotFound, PaimonError
from branch_console.format.bounds import MOST_FILE_BYTES, MOST_JSON_BYTES, MOST_MISSING
from branch_console.procedures.branch.create_branch import _check_schemas
from branch_console.procedures.browse.branches import list_branches
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.storage.file_io import FileIO
from branch_console.storage.regular_files import check_regular
from tests.support.commit_tables import CommitBench


@pytest.fixture
def bench(tmp_path: Path) -> CommitBench:
    """Three snapshots of main, and a branch beside it."""
    found = CommitBench(tmp_path / "warehouse")
    for name in "abc":
        found.append(name)
    return found


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def a_socket(path: Path) -> None:
    place = Path.cwd()
    os.chdir(path.parent)  # the path of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(place)


def an_endless_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def a_ring_of_links(path: Path) -> None:
    path.symlink_to(path.name)


def a_way_out(path: Path) -> None:
    secret = path.parents[4] / "secret"
    secret.write_text("{}")
    path.symlink_to(secret)


def a_huge_file(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(MOST_FILE_BYTES + 1)


def a_large_json(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(MOST_JSON_BYTES + 1)


def deep_json(path: Path) -> None:
    path.write_text('{"a": ' * 400 + "1" + "}" * 400)


def another_snapshot(path: Path) -> None:
    path.write_bytes((path.parent / "snapshot-1").read_bytes())


def nothing(path: Path) -> None:
    path.write_bytes(b"")


HOSTILE: tuple[tuple[Callable[[Path], None], str], ...] = (
    (a_pipe, "is a named pipe"),
    (a_socket, "is a socket"),
    (an_endless_device, "is a device|leads out of the warehouse"),
    (a_ring_of_links, "leads nowhere"),
    (a_way_out, "leads out of the warehouse"),
    (a_huge_file, "bytes"),
    (a_large_json, "bytes"),
    (deep_json, "nested more than"),
    (another_snapshot, "says that it is snapshot 1"),
    (nothing, "not valid JSON"),
)


@pytest.mark.timeout(30)
@pytest.mark.parametrize("number", [4, 4_000_000_000, 2**63 - 1])
@pytest.mark.parametrize(("make", "said"), HOSTILE, ids=[make.__name__ for make, _ in HOSTILE])
def test_a_hostile_snapshot_is_told_by_its_path(
    bench: CommitBench, make: Callable[[Path], None], said: str, number: int
) -> None:
    path = Path(bench.path) / "snapshot" / f"snapshot-{number}"
    make(path)
    table = bench.table()
    with pytest.raises(FormatError, match=said) as error:
        table.head()
    assert str(path) in error.value.message
    assert error.value.message.count(str(path)) == 1
    # The others are shown.
    states = table.snapshots.states()
    assert [state.value.id for state in states if state.value is not None] == [1, 2, 3]
    assert [state.path for state in states if state.error is not None] == [str(path)]
    # No page of the table or of other tables ends by it.
    warehouse = Warehouse.open(str(bench.file_io.root))
    (main,) = list_branches(warehouse, bench.identifier)
    assert main.error is not None
    assert str(path) in main.error.message


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    ("make", "said"), [each for each in HOSTILE if each[0] is not another_snapshot]
)
def test_a_hostile_schema_or_tag_is_told_by_its_path(
    bench: CommitBench, make: Callable[[Path], None], said: str
) -> None:
    schema = Path(bench.path) / "schema" / "schema-4000000000"
    tag = Path(bench.path) / "tag" / "tag-x"
    tag.parent.mkdir()
    for path in (schema, tag):
        make(path)
    table = bench.table()
    with pytest.raises(FormatError, match=said) as error:
        table.schema()
    assert str(schema) in error.value.message
    assert [state.error is None for state in table.schemas.states()] == [True, False]
    (state,) = table.tags.states()
    assert state.error is not None
    assert str(tag) in str(state.error.facts.get("path"))


@pytest.mark.timeout(30)
@pytest.mark.parametrize("make", [a_pipe, an_endless_device, a_socket, a_huge_file, a_way_out])
def test_a_hostile_manifest_is_told_by_its_path(
    bench: CommitBench, make: Callable[[Path], None]
) -> None:
    head = bench.table().head()
    assert head is not None
    listed = bench.table().manifests(head)["file_name"].to_pylist()
    for name in (listed[0], head.delta_manifest_list):
        path = Path(bench.path) / "manifest" / name
        path.unlink()
        make(path)
        with pytest.raises(FormatError, match=name):
            bench.table().live_files(head)


def test_a_folder_is_no_snapshot(bench: CommitBench) -> None:
    (Path(bench.path) / "snapshot" / "snapshot-4000000000").mkdir()
    assert bench.table().head() == bench.table().snapshots.get(3)
    assert bench.table().snapshots.ids() == (1, 2, 3)


@pytest.mark.parametrize("name", [str(2**63), "9" * 200, "-4", "07", "4.0", "٤", "1e3", "+4", " 4"])
def test_a_name_that_is_no_id_is_no_snapshot(bench: CommitBench, name: str) -> None:
    path = Path(bench.path) / "snapshot" / f"snapshot-{name}"
    path.write_bytes((path.parent / "snapshot-3").read_bytes())
    assert bench.table().head() == bench.table().snapshots.get(3)
    assert bench.table().snapshots.ids() == (1, 2, 3)


def renumbered(bench: CommitBench, number: int) -> Path:
    folder = Path(bench.path) / "snapshot"
    raw = json.loads((folder / "snapshot-3").read_text())
    path = folder / f"snapshot-{number}"
    path.write_text(json.dumps({**raw, "id": number}))
    return path


@pytest.mark.timeout(30)
def test_a_file_that_was_left_behind_lies_before_the_history(bench: CommitBench) -> None:
    far = 10 * MOST_MISSING
    for number in (far, far + 2):
        renumbered(bench, number)
    snapshots = bench.table().snapshots
    assert (snapshots.latest_id(), snapshots.earliest_id()) == (far + 2, far)
    assert [each.id for each in snapshots.walk()] == [far + 2, far]
    assert snapshots.find(2) is not None
    assert [state.name for state in snapshots.states()] == ["1", "2", "3", str(far), str(far + 2)]


@pytest.mark.timeout(30)
def test_a_history_of_more_gaps_than_files_is_refused(bench: CommitBench) -> None:
    for number in range(1, 4):
        renumbered(bench, number * (MOST_MISSING - 1))
    with pytest.raises(FormatError, match=r"snapshots 1 to .* are missing"):
        bench.table().snapshots.ids()


@pytest.mark.timeout(30)
def test_a_schema_billions_further_on_is_told_when_a_branch_is_made(bench: CommitBench) -> None:
    with pytest.raises(FormatError, match=r"schemas 0 to .* are missing"):
        _check_schemas(bench.table(), (0, 4_000_000_000), None)


@pytest.mark.timeout(30)
@pytest.mark.parametrize("make", [a_pipe, an_endless_device, a_socket])
def test_no_door_of_a_local_store_opens_what_is_no_file(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    store = FileIO.for_url(str(tmp_path))
    make(tmp_path / "x")
    path = f"{store.root}/x"
    doors: tuple[Callable[[], object], ...] = (
        lambda: store.read(path),
        lambda: store.find(path),
        lambda: store.read_range(path, 0, 10),
        lambda: store.read_many([path]),
        lambda: store.native_file(path),
    )
    for door in doors:
        with pytest.raises(FormatError, match=path):
            door()
    assert [each.name for each in store.list(store.root)] == ["x"]


def test_links_within_the_warehouse_and_of_whole_folders_are_followed(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    (disk / "t").mkdir(parents=True)
    (disk / "t" / "a").write_text("a")
    root = tmp_path / "warehouse"
    root.mkdir()
    (root / "db").symlink_to(disk)
    (root / "b").write_text("b")
    (root / "c").symlink_to("b")
    store = FileIO.for_url(str(root))
    assert [store.read(f"{store.root}/{name}") for name in ("db/t/a", "c")] == [b"a", b"b"]
    with pytest.raises(NotFound):
        store.native_file(f"{store.root}/d")
    check_regular(str(disk / "t" / "a"), store.root)


@pytest.mark.parametrize("kind", ["ARRAY", "ROW", "MAP", "MULTISET"])
def test_a_type_nested_400_deep_is_told(bench: CommitBench, kind: str) -> None:
    path = Path(bench.path) / "schema" / "schema-0"
    raw = json.loads(path.read_text())
    raw["fields"][0]["type"] = "HERE"
    before, after = {
        "ARRAY": ('{"type": "ARRAY", "element": ', "}"),
        "MULTISET": ('{"type": "MULTISET", "element": ', "}"),
        "MAP": ('{"type": "MAP", "key": "INT", "value": ', "}"),
        "ROW": ('{"type": "ROW", "fields": [{"id": 9, "name": "f", "type": ', "}]}"),
    }[kind]
    for depth, is_fine in ((49, True), (60, False), (400, False)):
        nested = before * depth + '"INT"' + after * depth
        path.write_text(json.dumps(raw).replace('"HERE"', nested))
        if is_fine:
            assert bench.table().schema().fields[0].name == "id"
            continue
        with pytest.raises(FormatError, match="nested more than") as error:
            bench.table().schema()
        assert str(path) in error.value.message


def test_all_errors_of_hostile_files_are_one_sentence_or_two(bench: CommitBench) -> None:
    for number, (make, _) in enumerate(HOSTILE, 4):
        make(Path(bench.path) / "snapshot" / f"snapshot-{number}")
    errors = [state.error for state in bench.table().snapshots.states() if state.error is not None]
    assert len(errors) == len(HOSTILE)
    assert all(isinstance(error, PaimonError) and "\n" not in error.message for error in errors)
