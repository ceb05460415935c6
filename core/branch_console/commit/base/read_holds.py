"""Holds of running reads: who reads says so, and whoever removes files looks there first.

No lock is needed: a reader writes its hold and then sees whether its snapshots are still listed,
while a release removes names and then reads holds. One of the two sees the other.
"""

from collections.abc import Collection, Iterable, Iterator
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
    """Write a hold under its name, over one that an earlier run of it left; return its path."""
    path, data = table.paths.hold(name), to_pretty_json(READ_HOLD.encode(hold)).encode()
    is_new, _ = publish_once(store, path, data)
    if not is_new:
        store.publisher.replace(path, data)
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
    holds = (hold for _, hold in _written_holds(table))
    return tuple(each for each in holds if each is not None and _runs(each, now_millis))


def forget_holds(
    table: FileStoreTable, store: CommitStore, now_millis: int, ended: Collection[str]
) -> None:
    """Remove the holds of reads that are over: a process that was killed leaves its own behind.

    Args:
        table: The table on any branch.
        store: The store that the table is written to.
        now_millis: The time.
        ended: Operations of which no read runs any more, whatever their holds say.
    """
    over = [
        path
        for path, hold in _written_holds(table)
        if hold is None or hold.operation_id in ended or not _runs(hold, now_millis)
    ]
    if over:
        remove_holds(store, over)


def _written_holds(table: FileStoreTable) -> Iterator[tuple[str, ReadHold | None]]:
    """The holds of a table by their paths; None if one is broken."""
    files, folder = table.reader.files, table.paths.lineage_dir
    for name in sorted(each for each in files.names(folder) if each.startswith(HOLD_PREFIX)):
        data = files.find(f"{folder}/{name}")
        if data is not None:
            yield f"{folder}/{name}", _decoded(data)


def _decoded(data: bytes) -> ReadHold | None:
    try:
        return READ_HOLD.decode(JsonObject.parse(data, READ_HOLD.what).values)
    except PaimonError:
        return None  # torn by a power cut, which ended the read, too


def _runs(hold: ReadHold, now_millis: int) -> bool:
    alive = is_alive(hold.reader)
    return now_millis < hold.until_millis if alive is None else alive
