from pathlib import Path

import pytest

from branch_console.commit.branch.data_copy import copy_data_files
from branch_console.errors import StorageError
from tests.support.branch_bench import store_of
from tests.support.faulty_store import Fault, FaultyStore, What


def test_what_was_read_in_part_is_not_copied(tmp_path: Path) -> None:
    source, target = tmp_path / "data-a", tmp_path / "data-b"
    source.write_bytes(b"rows")
    due = [Fault(what=What.SHORT)]
    weather = FaultyStore(
        inner=store_of(tmp_path), draw=lambda kind: due.pop() if kind == "read" and due else None
    )
    with pytest.raises(StorageError, match="read only in part"):
        copy_data_files(weather.store, [(str(source), str(target))])
    assert not target.exists()
    copy_data_files(weather.store, [(str(source), str(target))])
    assert target.read_bytes() == b"rows"
