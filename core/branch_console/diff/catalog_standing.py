"""How a branch of the catalog has each database and table, against its merge base with main."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from branch_console.diff.catalog_diff import ChangedDatabase, ChangedTable, catalog_changes
from branch_console.diff.catalog_state import CatalogState, Content
from branch_console.diff.database_operation import DatabaseOperation
from branch_console.diff.table_operation import TableOperation
from branch_console.diff.three_way import ThreeWay
from branch_console.format.catalog.catalog_version import CatalogScope


class ObjectStanding(StrEnum):
    """How a branch of the catalog has a database or a table, against its merge base with main.

    Attributes:
        ABSENT: Main or another branch has it, this branch does not know it.
        OUTSIDE: The branch does not hold it: it reads as main has it.
    """

    LOST = "lost"
    NEW = "new"
    DROPPED = "dropped"
    RENAMED = "renamed"
    CHANGED = "changed"
    SAME = "same"
    OUTSIDE = "outside"
    ABSENT = "absent"


UNCHANGED: Final = frozenset({ObjectStanding.SAME, ObjectStanding.OUTSIDE, ObjectStanding.ABSENT})
"""The standings of an object that a merge of its branch would bring nothing of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectOnBranch:
    """A database or a table as one branch has it.

    Attributes:
        standings: The changes of it there, the gravest first.
        name: Its name on the branch; None if the branch lacks it.
        is_behind: Whether main changed it since the merge base. False if the branch does not hold
            it: the branch reads main's state of it, so it can lack no change.
        heads: The identities of main's head, if main has one, and of the branch's head, of a table
            whose content a merge would bring; else none.
    """

    standings: tuple[ObjectStanding, ...]
    name: str | None
    is_behind: bool = False
    heads: tuple[str, ...] = ()

    @property
    def is_changed(self) -> bool:
        """Whether a merge of the branch would bring something of it."""
        return not UNCHANGED.issuperset(self.standings)


def objects_on_branch(
    sides: ThreeWay[CatalogState], scope: CatalogScope
) -> dict[str, ObjectOnBranch]:
    """Return how a branch has each object that it, main or their merge base has, by id.

    Args:
        sides: Main is ours, the branch is theirs.
        scope: The objects of the branch.
    """
    changes = catalog_changes(sides)
    changed: dict[str, ChangedDatabase | ChangedTable] = {}
    changed |= {each.id: each for each in changes.databases}
    changed |= {each.id: each for each in changes.tables}
    every = (sides.base, sides.ours, sides.theirs)
    ids = (key for state in every for key in (*state.databases, *state.tables))
    return {key: _on_branch(sides, scope, key, changed.get(key)) for key in dict.fromkeys(ids)}


def _on_branch(
    sides: ThreeWay[CatalogState],
    scope: CatalogScope,
    key: str,
    change: ChangedDatabase | ChangedTable | None,
) -> ObjectOnBranch:
    name = sides.theirs.name_of(key)
    if change is None:
        found = [] if name is not None else [_missing(sides.ours, scope, key)]
    elif isinstance(change, ChangedDatabase):
        found = _done_to_database(change)
    else:
        found = _done_to_table(change)
    if not found:
        found = [_missing(sides.ours, scope, key) if name is None else ObjectStanding.SAME]
    is_outside = found == [ObjectStanding.OUTSIDE]
    is_behind = change is not None and change.ours.is_changed and not is_outside
    return ObjectOnBranch(
        standings=tuple(found), name=name, is_behind=is_behind, heads=_heads_of_merge(sides, key)
    )


def _heads_of_merge(sides: ThreeWay[CatalogState], key: str) -> tuple[str, ...]:
    ours, theirs = sides.ours.tables.get(key), sides.theirs.tables.get(key)
    if theirs is None or theirs.content is not Content.MADE or theirs.head is None:
        return ()
    if ours is None or ours.head is None:
        return (theirs.head.text,)
    return () if ours.head.same_as(theirs.head) else (ours.head.text, theirs.head.text)


def _missing(main: CatalogState, scope: CatalogScope, key: str) -> ObjectStanding:
    """Say why a branch has no object of main: its scope leaves it out, or main made it since."""
    name = main.name_of(key)
    if name is None:
        return ObjectStanding.ABSENT
    database, _, table = name.partition(".")
    is_held = scope.holds_table(database, table) if table else scope.holds_database(database)
    return ObjectStanding.ABSENT if is_held else ObjectStanding.OUTSIDE


def _done_to_database(change: ChangedDatabase) -> list[ObjectStanding]:
    side = change.theirs
    changed = side.operations & {DatabaseOperation.SET, DatabaseOperation.UNSET}
    found = {
        ObjectStanding.NEW: side.is_created,
        ObjectStanding.DROPPED: DatabaseOperation.DROP in side.operations,
        ObjectStanding.RENAMED: DatabaseOperation.RENAME in side.operations,
        ObjectStanding.CHANGED: bool(changed),
    }
    return [each for each, is_so in found.items() if is_so]


def _done_to_table(change: ChangedTable) -> list[ObjectStanding]:
    side = change.theirs
    found = {
        ObjectStanding.LOST: side.is_lost,
        ObjectStanding.NEW: side.is_created,
        ObjectStanding.DROPPED: TableOperation.DROP in side.operations,
        ObjectStanding.RENAMED: TableOperation.RENAME in side.operations,
        ObjectStanding.CHANGED: side.changes_content,
    }
    return [each for each, is_so in found.items() if is_so]
