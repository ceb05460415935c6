"""Holds of running reads: who reads says so, and whoever removes files looks there first.

No lock is needed: a reader writes its hold and then sees whether its snapshots are still listed,
while a release removes names and then reads holds. One of the two sees the other.
"""

from collections.abc import Iterable
from typing import Final

from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.base.metadata_copy import publish_once
from branch_console.commit.base.this_process import is_alive
from branch_console.errors import PaimonError
from branch_console.format.journals.read_hold import READ_HOLD, ReadHold
from branch_console.format.json_text import JsonObject, to_pretty_json
from branch_console.storage.table_paths import HOLD_PREFIX
from branch_console.table.file_store_table import FileStoreTable

LONGEST_READ_MILLIS: Final = 86_400_000
"""How long a read on another machine is taken to be at work."""


def put_hold(table: FileStoreTable, store: CommitStore, hold: ReadHold, name: str) -> str:
    """Write a hold under a name of its own; return its path."""
    path = table.paths.hold(name)
    publish_once(store, path, to_pretty_json(READ_HOLD.encode(hold)).encode())
    return path


def remove_holds(store: CommitStore, paths: Iterable[str]) -> None:
    """Remove holds; what a crash brings back of them says of itself that it is over."""
    store.remover.discard(paths)


def read_holds(table: FileStoreTable, now_millis: int) -> tuple[ReadHold, ...]:
    """Return the holds of reads that run, by their names; one that is over or broken is passed by.

    Args:
        table: The table on any branch.
        now_millis: The time.
    """
    files = table.reader.files
    names = sorted(
        name for name in files.names(table.paths.lineage_dir) if name.startswith(HOLD_PREFIX)
    )
    read = (files.find(f"{table.paths.lineage_dir}/{name}") for name in names)
    found = (_decoded(data) for data in read if data is not None)
    return tuple(each for each in found if each is not None and _runs(each, now_millis))


def _decoded(data: bytes) -> ReadHold | None:
    try:
        return READ_HOLD.decode(JsonObject.parse(data, READ_HOLD.what).values)
    except PaimonError:
        return None  # torn by a power cut, which ended the read, too


def _runs(hold: ReadHold, now_millis: int) -> bool:
    alive = is_alive(hold.reader)
    return now_millis < hold.until_millis if alive is None else alive
