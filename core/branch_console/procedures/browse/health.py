"""Lost commits of a branch: damage that no page of its history shows."""

from dataclasses import dataclass
from typing import Final

import pyarrow.compute as pc

from branch_console.format.identifier import Identifier
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.table.history_check import Unread, find_lost_commits

_AT_WORK_MILLIS: Final = 600_000
"""Manifests younger than this may belong to a commit that is being made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LostCommitItem:
    """An acknowledged commit that the branch lost.

    Attributes:
        trace: The snapshot or manifest list that tells of it.
        files: Names of the data files that it added.
        records: How many records they hold.
    """

    trace: str
    user: str | None
    reason: str
    files: tuple[str, ...]
    records: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LostCommitList:
    """The commits that are lost, and what may hold some of them but cannot be read."""

    items: tuple[LostCommitItem, ...]
    unread: tuple[Unread, ...]


def list_lost_commits(warehouse: Warehouse, table: Identifier) -> LostCommitList:
    """Return the commits to a branch that other writers built past or replaced.

    Raises:
        FormatError: A manifest of a snapshot of the branch is missing or broken.
    """
    before = warehouse.clock() - _AT_WORK_MILLIS
    found = find_lost_commits(warehouse.table(table), made_before_millis=before)
    items = tuple(
        LostCommitItem(
            trace=lost.trace,
            user=lost.user,
            reason=lost.reason,
            files=tuple(lost.files["file_name"].to_pylist()),
            records=pc.sum(lost.files["row_count"]).as_py() or 0,
        )
        for lost in found.commits
    )
    return LostCommitList(items=items, unread=found.unread)
