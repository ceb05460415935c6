"""Copies of metadata: near and far, what is there already, and what somebody else wrote."""

from pathlib import Path

import pytest

from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.base.metadata_copy import publish_files
from branch_console.errors import CommitConflict
from branch_console.storage.file_io import FileIO


@pytest.fixture(params=["local", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> CommitStore:
    url = str(tmp_path) if request.param == "local" else f"memory://{tmp_path}"
    return CommitStore.of(FileIO.for_url(url))


@pytest.mark.parametrize("together", [0, 1, 3, 4])
@pytest.mark.parametrize("there", [[], [0], [1, 2], [0, 1, 2, 3]])
def test_what_is_there_with_the_same_bytes_counts_as_copied(
    store: CommitStore, tmp_path: Path, together: int, there: list[int]
) -> None:
    items = [(f"{tmp_path}/{number}", str(number).encode()) for number in range(4)]
    for number in there:
        store.publisher.publish(*items[number])
    publish_files(store, items, together=together)
    assert store.files.read_many([path for path, _ in items]) == [data for _, data in items]


@pytest.mark.parametrize("together", [0, 3])
def test_what_comes_last_does_not_come_where_somebody_else_wrote_before_it(
    store: CommitStore, tmp_path: Path, together: int
) -> None:
    items = [(f"{tmp_path}/{number}", str(number).encode()) for number in range(4)]
    store.publisher.publish(items[1][0], b"other")
    with pytest.raises(CommitConflict, match="written by somebody else"):
        publish_files(store, items, together=together)
    assert store.files.find(items[0][0]) == b"0"
    assert store.files.find(items[1][0]) == b"other"
    assert store.files.find(items[3][0]) is None
