"""Branches, schemas, tags, consumers and the ledger: a broken one is shown and spoils no other."""

from pathlib import Path

import pytest

from branch_console.errors import ErrorKind, FormatError, InvalidInput, NotFound
from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console.format.tag import Tag
from branch_console.storage.file_io import FileIO
from tests.support.table_files import TableFiles, a_schema, a_snapshot


@pytest.fixture(params=["local", "memory"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> TableFiles:
    url = str(tmp_path) if request.param == "local" else f"memory://{tmp_path}"
    made = TableFiles(FileIO.for_url(url))
    made.schema()
    made.snapshots(a_snapshot(1), a_snapshot(2))
    made.schema(a_schema(3), branch="dev")
    made.snapshots(a_snapshot(7, "dev"), branch="dev")
    made.schema(branch="new")
    return made


def test_branches_are_listed_by_name_with_main_first(files: TableFiles) -> None:
    branches = files.table().branches
    assert branches.names() == ("dev", "new")
    states = {each.name: each for each in branches.states()}
    assert list(states) == ["main", "dev", "new"]
    dev, new = states["dev"].ref, states["new"].ref
    assert dev is not None
    assert new is not None
    assert dev.head is not None
    assert (dev.head.id, dev.schema.id, new.head) == (7, 3, None)
    assert [ref.branch for ref in branches.all()] == ["main", "dev", "new"]


def test_a_branch_without_schema_is_shown_with_its_error(files: TableFiles) -> None:
    files.snapshots(a_snapshot(1, "half"), branch="half")
    states = {each.name: each for each in files.table().branches.states()}
    error = states["half"].error
    assert isinstance(error, NotFound)
    assert error.kind is ErrorKind.SCHEMA_NOT_FOUND
    assert "branch-half/schema" in error.message
    assert states["dev"].error is None


def test_a_branch_made_under_a_name_with_a_slash_is_explained(files: TableFiles) -> None:
    # Paimon accepts `a/b` and then lists it as `a`.
    files.schema(branch="a/b")
    states = {each.name: each for each in files.table().branches.states()}
    assert isinstance(states["a"].error, FormatError)
    assert "'a/b'" in states["a"].error.message
    assert states["a"].ref is None


@pytest.mark.parametrize("broken", ["snapshot/snapshot-7", "schema/schema-3"])
def test_a_branch_with_a_broken_file_names_it(files: TableFiles, broken: str) -> None:
    path = files.write(f"{files.paths.on('dev').root}/{broken}", "{")
    states = {each.name: each for each in files.table().branches.states()}
    error = states["dev"].error
    assert isinstance(error, FormatError)
    assert error.facts["path"] == path
    assert states["main"].ref is not None
    assert states["new"].ref is not None


@pytest.mark.parametrize("name", ["a$b", "a\\b", " "])
def test_a_branch_under_a_name_that_nobody_can_open_spoils_no_other(
    files: TableFiles, name: str
) -> None:
    files.schema(branch=name)
    files.snapshots(a_snapshot(1, "odd"), branch=name)
    table = files.table()
    states = {each.name: each for each in table.branches.states()}
    error = states[name].error
    assert isinstance(error, FormatError)
    assert (error.kind, error.facts["path"]) == (ErrorKind.INVALID_NAME, states[name].path)
    assert repr(name) in error.message
    assert states[name].ref is None
    assert states["main"].ref is not None
    assert states["dev"].ref is not None
    # What looks through all branches must not miss what it holds.
    assert table.on_listed(name).snapshots.ids() == (1,)


def test_an_empty_directory_is_a_branch_without_schema(tmp_path: Path) -> None:
    files = TableFiles(FileIO.for_url(str(tmp_path)))
    files.schema()
    (tmp_path / "db.db/t/branch/branch-void").mkdir(parents=True)
    (tmp_path / "db.db/t/branch/other").mkdir()
    (tmp_path / "db.db/t/branch/branch-file").write_text("")
    assert files.table().branches.names() == ("void",)
    states = files.table().branches.states()
    assert [each.name for each in states if each.error] == ["void"]


def test_a_table_that_exists_on_a_branch_only_has_no_main(tmp_path: Path) -> None:
    files = TableFiles(FileIO.for_url(str(tmp_path)))
    files.schema(branch="dev")
    assert [each.name for each in files.table().branches.states()] == ["dev"]


def test_the_base_tag_comes_from_the_ledger(files: TableFiles) -> None:
    event = LineageEvent(
        id="e1",
        branch="dev",
        operation_id="op",
        actor="ann",
        kind=LineageKind.CREATED,
        time_millis=5,
        base_tag="branch-base-dev",
    )
    files.write(files.paths.event(5, "e1"), event.to_json())
    assert files.table().branches.get("dev").base_tag == "branch-base-dev"
    assert files.table("dev").branch_ref().base_tag == "branch-base-dev"
    assert files.table().branch_ref().base_tag is None


def test_a_broken_event_hides_no_other(files: TableFiles) -> None:
    for number in (2, 1):
        event = LineageEvent(
            id=f"e{number}",
            branch="dev",
            operation_id="op",
            actor="ann",
            kind=LineageKind.MERGED,
            time_millis=number,
        )
        files.write(files.paths.event(number, event.id), event.to_json())
    files.write(files.paths.event(3, "torn"), "{")
    ledger = files.table().ledger
    assert [event.id for event in ledger.events()] == ["e1", "e2"]
    assert [state.error is None for state in ledger.states()] == [True, True, False]


def test_the_newest_schema_counts_and_older_ones_stay_readable(files: TableFiles) -> None:
    files.schema(a_schema(10))
    files.schema(a_schema(9))
    schemas = files.table().schemas
    assert schemas.ids() == (0, 9, 10)
    assert schemas.latest().id == 10
    assert schemas.get(9).id == 9
    with pytest.raises(NotFound, match="no schema 8") as caught:
        schemas.get(8)
    assert caught.value.kind is ErrorKind.SCHEMA_NOT_FOUND


def test_a_broken_schema_spoils_no_other(files: TableFiles) -> None:
    files.write(files.paths.schema(1), '{"version": 99}')
    schemas = files.table().schemas
    assert schemas.get(0).id == 0
    assert [each.error is None for each in schemas.states()] == [True, False]
    with pytest.raises(FormatError, match=r"schema-1 cannot be read: .*version 99"):
        schemas.latest()


def test_tags_are_listed_by_name_and_broken_ones_named(files: TableFiles) -> None:
    for name in ("v2", "v1"):
        files.tag(Tag(name=name, snapshot=a_snapshot(1)))
    files.write(files.paths.tag("bad"), "")
    files.write(f"{files.paths.tag_dir}/tag-success-file/v1_SUCCESS", "")
    tags = files.table().tags
    assert tags.names() == ("bad", "v1", "v2")
    assert [(each.name, each.value and each.value.name) for each in tags.states()] == [
        ("bad", None),
        ("v1", "v1"),
        ("v2", "v2"),
    ]
    assert tags.get("v1").snapshot.id == 1
    with pytest.raises(FormatError, match="tag-bad"):
        tags.get("bad")
    with pytest.raises(NotFound, match="no tag 'v3'"):
        tags.get("v3")


def test_consumers_are_those_of_the_branch(files: TableFiles) -> None:
    files.write(files.paths.consumer("app"), '{\n  "nextSnapshot" : 4\n}')
    files.write(files.paths.consumer("bad"), "[]")
    states = files.table().consumers.states()
    assert [(each.name, each.value and each.value.next_snapshot_id) for each in states] == [
        ("app", 4),
        ("bad", None),
    ]
    assert files.table("dev").consumers.all() == ()


@pytest.mark.parametrize("name", ["a/b", "..", ".", "", " ", "a$b", "a\\b"])
def test_a_branch_name_that_is_no_folder_cannot_be_opened(files: TableFiles, name: str) -> None:
    with pytest.raises(InvalidInput):
        files.table().on(name)


def test_a_handle_on_another_branch_leaves_the_first_as_it_was(files: TableFiles) -> None:
    table = files.table()
    dev = table.on("dev")
    assert (table.branch, dev.branch, dev.on("main").branch) == ("main", "dev", "main")
    assert str(dev.identifier) == "db.t$branch_dev"
    assert dev.scan is table.scan
