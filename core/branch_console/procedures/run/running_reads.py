"""The protection of snapshots that a query, a comparison or a merge reads."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TypeAlias

from branch_console.commit.base.read_holds import LONGEST_READ_MILLIS, put_hold, remove_holds
from branch_console.commit.base.this_process import this_process
from branch_console.diff.state_diff import StateDiff
from branch_console.errors import ErrorKind, FormatError, NotFound, StorageError
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.journals.read_hold import HeldSnapshot, ReadHold
from branch_console.format.snapshot import Snapshot
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.tag_manager import TagManager

Read: TypeAlias = tuple[FileStoreTable, Snapshot]
"""A snapshot that is read, and the table on the branch on which it was found."""


@contextmanager
def holding(
    warehouse: Warehouse, call: ProcedureCall, reads: Sequence[Read], beside: Sequence[Read] = ()
) -> Iterator[None]:
    """Keep snapshots from being released while the block runs.

    A store that nobody may write to gets no holds; there the grace of a release alone protects.

    Args:
        warehouse: Where they lie.
        call: Who reads.
        reads: What is read.
        beside: What is read if it is there; it may have expired before.

    Raises:
        NotFound: A snapshot has left its branch by now, so that its files may be gone.
    """
    paths: list[str] = []
    try:
        if warehouse.verdict.can_write:
            paths += _put(warehouse, call, (*reads, *beside))
            _check_listed(reads)
        yield
    finally:
        with suppress(StorageError):
            remove_holds(warehouse.store, paths)


def states_read(table: FileStoreTable, diff: StateDiff) -> list[Read]:
    """Return what a comparison of two states reads."""
    return [
        (table.on_listed(each.branch), each.snapshot)
        for each in (diff.before, diff.after)
        if each.snapshot is not None
    ]


def _put(warehouse: Warehouse, call: ProcedureCall, reads: Iterable[Read]) -> Iterator[str]:
    by_table: dict[str, list[Read]] = {}
    for table, snapshot in reads:
        by_table.setdefault(table.paths.table, []).append((table, snapshot))
    now = warehouse.clock()
    for found in by_table.values():
        hold = ReadHold(
            operation_id=call.operation_id,
            procedure=call.name,
            actor=call.actor,
            reader=this_process(),
            since_millis=now,
            until_millis=now + LONGEST_READ_MILLIS,
            snapshots=tuple(
                HeldSnapshot(branch=table.branch, id=snapshot.id, identity=snapshot.identity)
                for table, snapshot in found
            ),
        )
        # Who may not write there reads all the same.
        with suppress(StorageError):
            yield put_hold(found[0][0], warehouse.store, hold, _name_of(hold))


def _name_of(hold: ReadHold) -> str:
    """Name a hold by what it is for: an operation that runs again after a kill finds its own."""
    named = [hold.operation_id, *(f"{each.branch}@{each.identity}" for each in hold.snapshots)]
    return hashlib.sha256("\n".join(named).encode()).hexdigest()[:32]


def _check_listed(reads: Iterable[Read]) -> None:
    for table, snapshot in reads:
        if not _is_listed(table, snapshot):
            raise NotFound(
                f"Snapshot {snapshot.id} left branch {table.branch!r} of "
                f"{table.identifier.table_name} before it could be read: it expired, or the branch "
                "was dropped. Nothing was read. Run this again.",
                kind=ErrorKind.SNAPSHOT_NOT_FOUND,
                branch=table.branch,
                snapshot_id=snapshot.id,
            )


def _is_listed(table: FileStoreTable, snapshot: Snapshot) -> bool:
    files, paths = table.reader.files, table.paths
    for path in (paths.snapshot(snapshot.id), paths.changelog(snapshot.id)):
        data = files.find(path)
        with suppress(FormatError):
            if data is not None and Snapshot.from_json(data).identity.same_as(snapshot.identity):
                return True
    tags = (TagManager(table.reader, paths.on(each)) for each in (table.branch, MAIN_BRANCH))
    return any(
        state.value is not None and state.value.snapshot.identity.same_as(snapshot.identity)
        for each in tags
        for state in each.states()
    )
