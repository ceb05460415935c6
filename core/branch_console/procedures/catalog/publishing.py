"""Merges of the catalog that are decided, and not yet visible in all of their tables."""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeVar

from branch_console.commit.journal import Journal
from branch_console.errors import PaimonError
from branch_console.format.catalog.catalog_version import VersionKind, VersionName
from branch_console.procedures.call.warehouse import Warehouse

T = TypeVar("T")

_PUBLISHED: Final = frozenset({VersionKind.MERGED, VersionKind.UNDONE, VersionKind.TURNED_BACK})
_TRIES: Final = 25
_WAIT_SECONDS: Final = 0.2


def is_publishing(warehouse: Warehouse, newest: VersionName) -> bool:
    """Whether the newest version of a branch, or of main, is decided and not yet visible whole."""
    ledger = warehouse.ledger
    if not newest.number:
        return False
    version = ledger.version(newest)
    if version.kind not in _PUBLISHED:
        return False
    journal = Journal(warehouse.store, ledger.paths)
    is_begun = journal.find(version.operation) is not None
    return is_begun and journal.end_of(version.operation) is None


def resolved_whole(
    warehouse: Warehouse, branches: Iterable[str], resolve: Callable[[], T]
) -> tuple[T, str | None]:
    """Resolve several tables so that no merge of the catalog shows a half of itself.

    While one is being published this waits, and where one began meanwhile it resolves again: five
    seconds in all.

    Args:
        warehouse: The warehouse.
        branches: The catalog branches on which tables are read, and main.
        resolve: Opens the tables, each at the state that is read.

    Returns:
        What `resolve` returns; a note where it may hold a half of a merge all the same.

    Raises:
        PaimonError: As `resolve` does, if no merge is the reason.
    """
    names = tuple(branches)
    for _ in range(_TRIES):
        before = _newest(warehouse, names)
        if _publishing(warehouse, before) is not None:
            time.sleep(_WAIT_SECONDS)
            continue
        try:
            found = resolve()
        except PaimonError:
            # A table that is on its way to another name is at neither.
            if _newest(warehouse, names) == before:
                raise
            continue
        if _newest(warehouse, names) == before:
            return found, None
    version = _publishing(warehouse, _newest(warehouse, names))
    what = "Merges of the catalog" if version is None else f"{version}, a merge of the catalog,"
    return resolve(), (
        f"{what} went on being published for longer than a statement waits: some tables may be "
        "read as before, and some as after. Read a tag of the catalog where that matters."
    )


def _newest(warehouse: Warehouse, branches: Iterable[str]) -> Mapping[str, int]:
    return {each: warehouse.ledger.newest(each) for each in branches}


def _publishing(warehouse: Warehouse, newest: Mapping[str, int]) -> VersionName | None:
    """The version that is being published, if one is."""
    versions = (VersionName(branch=branch, number=number) for branch, number in newest.items())
    return next((each for each in versions if is_publishing(warehouse, each)), None)
