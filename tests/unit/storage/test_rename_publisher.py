"""Publishing by a rename that refuses a taken name, as WebHDFS has, and that tells nothing."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from branch_console.storage.file_io import FileIO
from branch_console.storage.file_publisher import Published, RenamePublisher
from branch_console.storage.publishers import publisher_for
from branch_console.storage.store_probe import probe
from tests.support.plain_store import PlainFilesystem
from tests.support.publish_race import check_one_wins_each_name


class NameNode(PlainFilesystem):
    """Its rename is one step, and whether it worked is in an answer that nobody reads."""

    # Local files have a lock for it: a link, which refuses what a plain rename would replace.
    fault: Callable[[str, str], None] | None = None

    def mv(self, path1: str, path2: str, **_: object) -> None:
        if self.fault is not None:
            self.fault(path1, path2)
            return
        try:
            os.link(path1, path2)
        except FileExistsError:
            return
        os.unlink(path1)  # noqa: PTH108


@pytest.fixture
def name_node() -> NameNode:
    return NameNode(skip_instance_cache=True)


@pytest.fixture
def store(name_node: NameNode, tmp_path: Path) -> FileIO:
    return FileIO(name_node, "webhdfs", str(tmp_path))


def test_webhdfs_publishes_by_renaming_and_passes_the_probe(store: FileIO) -> None:
    assert isinstance(publisher_for(store), RenamePublisher)
    assert probe(store, publisher_for(store), store.root).can_write
    assert store.list(store.root) == []


def test_the_first_publish_wins_and_leaves_nothing_else(store: FileIO) -> None:
    publisher, path = publisher_for(store), f"{store.root}/s/snapshot-1"
    assert publisher.publish(path, b"first") is Published.WON
    assert publisher.publish_in_order([(path, b"second"), (f"{path}1", b"")]) == [Published.LOST]
    assert store.read(path) == b"first"
    assert [each.name for each in store.list(f"{store.root}/s")] == ["snapshot-1"]


def test_of_many_writers_one_wins_each_name(store: FileIO) -> None:
    check_one_wins_each_name(store)


def _moves_and_fails(source: str, target: str) -> None:
    Path(source).rename(target)
    raise TimeoutError("no answer")


def _fails(source: str, target: str) -> None:
    raise TimeoutError("no answer")


def test_a_rename_that_worked_but_reported_failure_has_won(
    store: FileIO, name_node: NameNode
) -> None:
    name_node.fault = _moves_and_fails
    assert publisher_for(store).publish(f"{store.root}/x", b"x") is Published.WON
    assert store.read(f"{store.root}/x") == b"x"


def test_a_rename_that_did_not_come_about_is_unknown_and_can_come_no_more(
    store: FileIO, name_node: NameNode
) -> None:
    name_node.fault = _fails
    assert publisher_for(store).publish(f"{store.root}/x", b"x") is Published.UNKNOWN
    assert store.list(store.root) == []


def test_the_other_client_of_hdfs_is_refused_with_the_way_out(tmp_path: Path) -> None:
    # It removes the file that is in the way of a rename, and renames again.
    store = FileIO(NameNode(), "hdfs", str(tmp_path))
    verdict = probe(store, publisher_for(store), store.root)
    assert not verdict.can_write
    assert "Open it as webhdfs://" in str(verdict.reason)
