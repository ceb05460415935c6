"""Fences: consumers that read nothing, and keep other engines from expiring a branch."""

import json
from dataclasses import replace

import pytest

from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.base.fences import FENCE, fence_state, put_fence, remove_fence
from branch_console.format.options import Options
from branch_console.storage.file_io import FileIO
from branch_console.storage.table_paths import FENCE_ID
from branch_console.table.file_store_table import FileStoreTable
from tests.support.table_files import TableFiles, a_schema, a_snapshot


@pytest.fixture
def files(tmp_path: object) -> TableFiles:
    made = TableFiles(FileIO.for_url(f"memory://{tmp_path}"))
    made.schema()
    made.schema(branch="dev")
    made.snapshots(a_snapshot(7), branch="dev")
    return made


def fence(files: TableFiles) -> tuple[FileStoreTable, CommitStore]:
    return files.table("dev"), CommitStore.of(files.file_io)


def test_a_fence_is_a_consumer_that_has_read_nothing(files: TableFiles) -> None:
    table, store = fence(files)
    assert fence_state(table).is_effective is False
    assert put_fence(table, store) is True
    path = f"{table.paths.root}/consumer/consumer-branch-console-fence"
    assert files.file_io.read(path) == FENCE
    assert json.loads(FENCE) == {"nextSnapshot": 1}
    assert fence_state(files.table("dev")).is_effective
    assert not fence_state(files.table()).is_there


def test_a_fence_that_stands_is_left_alone_and_one_that_was_reset_is_mended(
    files: TableFiles,
) -> None:
    table, store = fence(files)
    path = files.write(table.paths.consumer(FENCE_ID), '{"nextSnapshot":1}')
    assert put_fence(table, store) is False
    assert files.file_io.read(path) == b'{"nextSnapshot":1}'
    for other in ('{"nextSnapshot": 9}', "{", ""):
        files.write(path, other)
        state = fence_state(files.table("dev"))
        assert (state.is_there, state.is_effective) == (True, False)
        assert put_fence(table, store) is True
        assert fence_state(files.table("dev")).is_effective
    remove_fence(table, store)
    remove_fence(table, store)
    assert not fence_state(files.table("dev")).is_there


@pytest.mark.parametrize(
    ("options", "obstacles"),
    [
        ({"consumer.expiration-time": "1 d"}, ("consumer.expiration-time",)),
        ({"consumer.changelog-only": "TRUE"}, ("consumer.changelog-only",)),
        ({"consumer.changelog-only": "false"}, ()),
        ({"write-only": "true", "snapshot.num-retained.min": "1"}, ()),
    ],
)
def test_options_of_the_branch_decide_whether_its_fence_is_heeded(
    files: TableFiles, options: dict[str, str], obstacles: tuple[str, ...]
) -> None:
    table, store = fence(files)
    put_fence(table, store)
    files.schema(replace(a_schema(1), options=Options(options)), branch="dev")
    state = fence_state(files.table("dev"))
    assert state.obstacles == obstacles
    assert state.is_effective is (not obstacles)


def test_a_fence_is_no_reader_but_a_consumer_of_the_system_table(files: TableFiles) -> None:
    table, store = fence(files)
    files.write(table.paths.consumer("app"), '{"nextSnapshot":4}')
    put_fence(table, store)
    consumers = files.table("dev").consumers
    assert [each.id for each in consumers.all()] == ["app"]
    assert [each.name for each in consumers.states_with_fence()] == ["app", FENCE_ID]
