"""Waiting for writers that look first and rename later."""

import os
import time
from pathlib import Path

from branch_console.storage.file_io import FileIO
from branch_console.storage.foreign_renames import wait_for_renames


def never(_: float) -> None:
    raise AssertionError("waits for nothing")


def test_a_name_that_nobody_is_about_to_take_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "snapshot-7").write_bytes(b"")
    (tmp_path / ".snapshot-70.0a1b.tmp").write_bytes(b"")
    store = FileIO.for_url(str(tmp_path))
    assert wait_for_renames(store, f"{store.root}/snapshot-7", never)
    assert wait_for_renames(store, f"{store.root}/none/snapshot-7", never)
    assert wait_for_renames(FileIO.for_url("memory://w"), "/w/snapshot-7", never)


def test_a_temporary_file_is_waited_for_until_it_is_renamed(tmp_path: Path) -> None:
    temporary = tmp_path / ".snapshot-7.0a1b.tmp"
    temporary.write_bytes(b"theirs")
    store = FileIO.for_url(str(tmp_path))
    waits = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            temporary.rename(tmp_path / "snapshot-7")

    assert wait_for_renames(store, f"{store.root}/snapshot-7", wait)
    assert len(waits) == 3


def test_the_wait_ends_and_what_was_left_behind_is_not_waited_for(tmp_path: Path) -> None:
    temporary = tmp_path / ".snapshot-7.0a1b.tmp"
    temporary.write_bytes(b"")
    store = FileIO.for_url(str(tmp_path))
    assert not wait_for_renames(store, f"{store.root}/snapshot-7", lambda _: None)
    os.utime(temporary, (time.time() - 3600, time.time() - 3600))
    assert wait_for_renames(store, f"{store.root}/snapshot-7", never)
