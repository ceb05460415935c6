"""Broken warehouses: a clear line names the file, the rest works on, nothing is written."""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

import pytest

from branch_console.format.manifest_list import decode_manifest_list
from branch_console_app.cli.commands import DONE, FAILED
from tests.support.command_line import CommandLine, tree_of
from tests.support.warehouses import FixtureWarehouse

TABLE = "fixtures.branches_diverged"
BRANCH = "diverged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """What is broken, which commands must say so, and which must go on.

    Attributes:
        spoil: Breaks something below the table's folder and returns the path to be named.
        fails: Commands that cannot answer.
        lists: Commands that answer and name the broken file beside it.
        works: Commands that do not need what is broken.
    """

    name: str
    spoil: Callable[[Path], Path]
    kind: str
    fails: tuple[tuple[str, ...], ...] = ()
    lists: tuple[tuple[str, ...], ...] = ()
    works: tuple[tuple[str, ...], ...] = ()


def truncate(path: Path) -> Path:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    return path


def replace(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def remove(path: Path) -> Path:
    path.unlink()
    return path


def of_version(path: Path, version: int) -> Path:
    content = json.loads(path.read_text())
    return replace(path, json.dumps({**content, "version": version}).encode())


def head_of(table: Path) -> Path:
    """The snapshot file of main's head."""
    return max((table / "snapshot").glob("snapshot-*"), key=lambda path: int(path.name[9:]))


def manifest_list(table: Path) -> Path:
    """The delta manifest list of main's head."""
    return table / "manifest" / json.loads(head_of(table).read_text())["deltaManifestList"]


def manifest(table: Path) -> Path:
    """A manifest of main's head."""
    lists = decode_manifest_list(manifest_list(table).read_bytes())
    return table / "manifest" / lists["file_name"][0].as_py()


def branch_without_schema(table: Path) -> Path:
    folder = table / "branch" / "branch-hollow"
    folder.mkdir()
    return folder


def branch_with_slash(table: Path) -> Path:
    shutil.copytree(table / "branch" / f"branch-{BRANCH}", table / "branch" / "branch-a" / "b")
    return table / "branch" / "branch-a"


def intent_cut_short(table: Path) -> Path:
    folder = table / "branch-lineage"
    folder.mkdir(exist_ok=True)
    return replace(folder / "intent-torn.json", b'{"operationId": "to')


def event_cut_short(table: Path) -> Path:
    folder = table / "branch-lineage"
    folder.mkdir(exist_ok=True)
    return replace(folder / "event-1700000000000-torn.json", b'{"id": "to')


def branch_with_dollar(table: Path) -> Path:
    copy = table / "branch" / "branch-a$b"
    shutil.copytree(table / "branch" / f"branch-{BRANCH}", copy)
    return copy


ON_MAIN = ("files", TABLE)
ON_BRANCH = (TABLE, "-b", BRANCH)

DAMAGES = [
    Damage(
        name="truncated head",
        spoil=lambda table: truncate(head_of(table)),
        kind="BROKEN_FILE",
        fails=(ON_MAIN, ("show", TABLE), ("fast-forward", TABLE, BRANCH, "--dry-run")),
        lists=(("snapshots", TABLE), ("branches", TABLE)),
        works=(("schemas", TABLE), ("files", *ON_BRANCH), ("snapshots", *ON_BRANCH)),
    ),
    Damage(
        name="head that is no JSON",
        spoil=lambda table: replace(head_of(table), b"<html>502</html>"),
        kind="BROKEN_FILE",
        fails=(ON_MAIN,),
        lists=(("snapshots", TABLE), ("branches", TABLE)),
        works=(("tags", TABLE), ("show", *ON_BRANCH)),
    ),
    Damage(
        name="empty head",
        spoil=lambda table: replace(head_of(table), b""),
        kind="BROKEN_FILE",
        fails=(ON_MAIN,),
        lists=(("snapshots", TABLE), ("branches", TABLE)),
        works=(("show", *ON_BRANCH),),
    ),
    Damage(
        name="JSON of another kind",
        spoil=lambda table: replace(head_of(table), b'{"id": "two"}'),
        kind="BROKEN_FILE",
        fails=(ON_MAIN,),
        lists=(("snapshots", TABLE), ("branches", TABLE)),
        works=(("show", *ON_BRANCH),),
    ),
    Damage(
        name="snapshot of a coming version",
        spoil=lambda table: of_version(head_of(table), 99),
        kind="UNKNOWN_VERSION",
        fails=(ON_MAIN,),
        lists=(("snapshots", TABLE), ("branches", TABLE)),
        works=(("show", *ON_BRANCH),),
    ),
    Damage(
        name="older snapshot",
        spoil=lambda table: truncate(table / "snapshot" / "snapshot-1"),
        kind="BROKEN_FILE",
        lists=(("snapshots", TABLE),),
        works=(ON_MAIN, ("show", *ON_BRANCH)),
    ),
    Damage(
        name="schema that is no JSON",
        spoil=lambda table: replace(
            table / "branch" / f"branch-{BRANCH}" / "schema" / "schema-0", b"{"
        ),
        kind="BROKEN_FILE",
        fails=(("show", *ON_BRANCH), ("files", *ON_BRANCH)),
        lists=(("schemas", *ON_BRANCH), ("branches", TABLE)),
        works=(("show", TABLE), ON_MAIN),
    ),
    Damage(
        name="schema of a coming version",
        spoil=lambda table: of_version(
            table / "branch" / f"branch-{BRANCH}" / "schema" / "schema-0", 99
        ),
        kind="UNKNOWN_VERSION",
        fails=(("show", *ON_BRANCH),),
        lists=(("schemas", *ON_BRANCH), ("branches", TABLE)),
        works=(("show", TABLE),),
    ),
    Damage(
        name="missing manifest list",
        spoil=lambda table: remove(manifest_list(table)),
        kind="FILES_MISSING",
        fails=(ON_MAIN,),
        lists=(("branches", TABLE),),
        works=(("show", TABLE), ("snapshots", TABLE)),
    ),
    Damage(
        name="truncated manifest list",
        spoil=lambda table: truncate(manifest_list(table)),
        kind="BROKEN_FILE",
        fails=(ON_MAIN,),
        works=(("show", TABLE), ("snapshots", TABLE)),
    ),
    Damage(
        name="missing manifest",
        spoil=lambda table: remove(manifest(table)),
        kind="FILES_MISSING",
        fails=(ON_MAIN,),
        works=(("show", TABLE), ("snapshots", TABLE), ("tags", TABLE)),
    ),
    Damage(
        name="truncated manifest",
        spoil=lambda table: truncate(manifest(table)),
        kind="BROKEN_FILE",
        fails=(ON_MAIN,),
        works=(("show", TABLE), ("snapshots", TABLE), ("tags", TABLE)),
    ),
    Damage(
        name="manifest that is another one",
        spoil=lambda table: replace(manifest(table), b"Obj\x01" + bytes(100)),
        kind="BROKEN_FILE",
        fails=(ON_MAIN,),
        works=(("show", TABLE), ("snapshots", TABLE), ("tags", TABLE)),
    ),
    Damage(
        name="tag that is no JSON",
        spoil=lambda table: replace(
            table / "branch" / "branch-evolved" / "tag" / "tag-short", b"x"
        ),
        kind="BROKEN_FILE",
        lists=(("tags", TABLE, "-b", "evolved"),),
        works=(("snapshots", TABLE, "-b", "evolved"), ("show", TABLE)),
    ),
    Damage(
        name="branch without schema",
        spoil=branch_without_schema,
        kind="",
        fails=(("show", TABLE, "-b", "hollow"),),
        lists=(("branches", TABLE),),
        works=(("show", TABLE), ("files", *ON_BRANCH)),
    ),
    Damage(
        name="intent of an operation that is cut short",
        spoil=intent_cut_short,
        kind="",
        works=(("branches", TABLE), ("show", TABLE), ("tables",), ("files", *ON_BRANCH)),
    ),
    Damage(
        name="event of the ledger that is cut short",
        spoil=event_cut_short,
        kind="",
        lists=(("branches", TABLE), ("show", TABLE)),
        works=(("tables",), ON_MAIN, ("files", *ON_BRANCH), ("snapshots", TABLE)),
    ),
    Damage(
        name="branch whose name holds a dollar",
        spoil=branch_with_dollar,
        kind="",
        lists=(("branches", TABLE),),
        works=(("show", TABLE), ("tables",), ON_MAIN, ("files", *ON_BRANCH)),
    ),
    Damage(
        name="branch whose name holds a slash",
        spoil=branch_with_slash,
        kind="",
        lists=(("branches", TABLE),),
        works=(("show", TABLE), ("files", *ON_BRANCH)),
    ),
]


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRANCH_CONSOLE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("BRANCH_CONSOLE_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def small_copy(fixture_warehouse: FixtureWarehouse, tmp_path: Path) -> FixtureWarehouse:
    """A few tables of the fixture warehouse, to be broken."""
    copy = FixtureWarehouse(path=tmp_path / "warehouse", version=fixture_warehouse.version)
    for name in (TABLE, "fixtures.append", "fixtures.key_levels", "other.solo"):
        shutil.copytree(fixture_warehouse.table_path(name), copy.table_path(name))
    return copy


@pytest.mark.parametrize("damage", DAMAGES, ids=attrgetter("name"))
def test_broken_input_is_named_and_spoils_nothing_else(
    damage: Damage, small_copy: FixtureWarehouse, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = damage.spoil(small_copy.table_path(TABLE))
    before = tree_of(small_copy.path)
    console = CommandLine(small_copy.path, capsys)
    for command in damage.fails:
        answer = console(*command)
        assert (answer.code, answer.out) == (FAILED, ""), command
        assert answer.error.startswith(f"error {damage.kind}"), command
        assert broken.name in answer.error, command
        document = console(*command, "--json")
        assert (document.code, document.err) == (FAILED, "")
        assert broken.name in document.document["error"]["message"]
    for command in damage.lists:
        answer = console(*command)
        assert answer.code == DONE, answer
        assert len(answer.lines) > 1
        assert any(broken.name in line for line in answer.err.splitlines()), command
        assert broken.name in console(*command, "--json").out
    for command in damage.works:
        answer = console(*command)
        assert (answer.code, answer.err) == (DONE, ""), (command, answer)
    assert console("graph", TABLE).code == DONE
    others = [item for item in console.json("tables")["tables"] if item["identifier"] != TABLE]
    assert {item["error"] for item in others} == {None}
    assert console("files", "fixtures.append").code == DONE
    assert tree_of(small_copy.path) == before


def test_an_empty_table_folder_is_named(
    small_copy: FixtureWarehouse, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = small_copy.path / "fixtures.db" / "hollow"
    folder.mkdir()
    console = CommandLine(small_copy.path, capsys)
    answer = console("tables")
    assert answer.code == DONE
    assert str(folder) in answer.error
    answer = console("show", "fixtures.hollow")
    assert answer.code == FAILED
    assert str(folder) in answer.error
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("hint", [b"", b"none", b"1", b"999", b"-7", b"\xff"])
def test_a_hint_that_lies_changes_nothing(
    hint: bytes, small_copy: FixtureWarehouse, capsys: pytest.CaptureFixture[str]
) -> None:
    console = CommandLine(small_copy.path, capsys)
    commands = (("show", TABLE), ("snapshots", TABLE), ("files", TABLE), ("branches", TABLE))
    before = [console(*command) for command in commands]
    for name in ("LATEST", "EARLIEST"):
        (small_copy.table_path(TABLE) / "snapshot" / name).write_bytes(hint)
    assert [console(*command) for command in commands] == before


def test_a_missing_data_file_does_not_stop_metadata(
    small_copy: FixtureWarehouse, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = small_copy.table_path(TABLE)
    for data_file in folder.glob("bucket-*/data-*"):
        data_file.unlink()
    console = CommandLine(small_copy.path, capsys)
    for command in ("show", "files", "branches", "graph"):
        assert console(command, TABLE).code == DONE


@pytest.mark.parametrize("name", ["\x1b[31mred", "né", "two words", "a.b", "123", "rescue-x"])
def test_a_branch_of_an_odd_name_can_be_read(
    name: str, small_copy: FixtureWarehouse, capsys: pytest.CaptureFixture[str]
) -> None:
    branches = small_copy.table_path(TABLE) / "branch"
    (branches / f"branch-{BRANCH}").rename(branches / f"branch-{name}")
    console = CommandLine(small_copy.path, capsys)
    answer = console("branches", TABLE)
    assert answer.code == DONE
    assert "\x1b" not in answer.out + answer.err
    for command in ("show", "files", "snapshots"):
        assert console(command, TABLE, "--branch", name).code == DONE
