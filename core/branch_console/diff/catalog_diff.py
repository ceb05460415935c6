"""The changes of two catalog branches to each database and table since their merge base.

Objects are followed by their ids, so a rename is a rename whatever else took the name since, and
only the net effect counts: what was made and dropped again, or set and set back, is no change.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter
from types import MappingProxyType
from typing import Final, TypeVar

from branch_console.diff.catalog_state import CatalogState, Content, DatabaseState, TableState
from branch_console.diff.database_operation import DatabaseOperation
from branch_console.diff.table_operation import TableOperation
from branch_console.diff.three_way import ThreeWay, each_side
from branch_console.format.identifier import MAIN_BRANCH

State = TypeVar("State", DatabaseState, TableState)

_NO_VALUES: Final[Mapping[str, str]] = MappingProxyType({})
_OF_THE_OBJECT: Final = frozenset({TableOperation.DROP, TableOperation.RENAME})
"""Operations on a table as an object of the catalog; all others change its content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseSide:
    """One side's changes to a database.

    Attributes:
        is_created: Whether the base lacks it.
        set: Properties with a new value, by key.
        unset: Keys of properties that are gone.
    """

    operations: frozenset[DatabaseOperation] = frozenset()
    is_created: bool = False
    set: Mapping[str, str] = field(default_factory=lambda: _NO_VALUES)
    unset: frozenset[str] = frozenset()

    @property
    def is_changed(self) -> bool:
        """Whether the side did anything."""
        return self.is_created or bool(self.operations)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSide:
    """One side's changes to a table.

    Attributes:
        operations: Those on its content too, where they are known.
        is_created: Whether the base lacks it.
        has_content: Whether its head or its schema is another one than at the base.
        is_lost: Whether its table branch is gone although nobody dropped the table.
    """

    operations: frozenset[TableOperation] = frozenset()
    is_created: bool = False
    has_content: bool = False
    is_lost: bool = False

    @property
    def changes_content(self) -> bool:
        """Whether it changed more than files: a compaction changes no row."""
        known = self.operations - _OF_THE_OBJECT
        return self.has_content and known != {TableOperation.COMPACTION}

    @property
    def changes_object(self) -> bool:
        """Whether it made the table, dropped it or gave it another name."""
        return self.is_created or bool(self.operations & _OF_THE_OBJECT)

    @property
    def is_changed(self) -> bool:
        """Whether the side did anything that a merge would bring."""
        return self.is_lost or self.changes_content or self.changes_object


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedDatabase:
    """A database that at least one side changed; a side is None if it is not there."""

    id: str
    sides: ThreeWay[DatabaseState | None]
    ours: DatabaseSide
    theirs: DatabaseSide


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedTable:
    """A table that at least one side changed; a side is None if it is not there."""

    id: str
    sides: ThreeWay[TableState | None]
    ours: TableSide
    theirs: TableSide


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogChanges:
    """All that either side did to objects since the base, in the order of their ids."""

    databases: tuple[ChangedDatabase, ...]
    tables: tuple[ChangedTable, ...]


def catalog_changes(
    sides: ThreeWay[CatalogState],
    operations: Mapping[str, ThreeWay[frozenset[TableOperation]]] = MappingProxyType({}),
) -> CatalogChanges:
    """Compare three states of the catalog, object by object.

    Args:
        sides: The base holds each object as it was at its own merge base.
        operations: What both sides did to the content of tables, by id, where that was read; it
            says more than the heads, which also merges move.
    """
    databases = [
        ChangedDatabase(
            id=object_id,
            sides=found,
            ours=_database_side(found.base, found.ours),
            theirs=_database_side(found.base, found.theirs),
        )
        for object_id, found in _objects(
            sides, each_side(sides, attrgetter("databases")), _database_seen_first
        )
    ]
    tables = []
    for object_id, seen in _objects(
        sides, each_side(sides, attrgetter("tables")), _table_seen_first
    ):
        did = operations.get(object_id)
        ours = _table_side(seen.base, seen.ours, None if did is None else did.ours)
        theirs = _table_side(seen.base, seen.theirs, None if did is None else did.theirs)
        if theirs.has_content and _is_of_the_target(sides, seen):
            theirs = replace(theirs, has_content=False)
        tables.append(ChangedTable(id=object_id, sides=seen, ours=ours, theirs=theirs))
    return CatalogChanges(
        databases=tuple(each for each in databases if _is_changed(each)),
        tables=tuple(each for each in tables if _is_changed(each)),
    )


def has_same_content(one: TableState, other: TableState) -> bool:
    """Whether a table has one head and one schema on both sides."""
    return one.schema == other.schema and _has_same_head(one, other)


def _is_of_the_target(sides: ThreeWay[CatalogState], seen: ThreeWay[TableState | None]) -> bool:
    """Whether the source wrote nothing to a table, and reads it on the target, wherever it began.

    What it reads on a third branch is new to the target, as if that were written. A branch that
    began empty has no row of any.
    """
    base, theirs = seen.base, seen.theirs
    if theirs is None or theirs.content is not Content.PINNED:
        return False
    is_empty = theirs.head is None and base is not None and base.schema == theirs.schema
    return is_empty or (theirs.read_branch or MAIN_BRANCH) == sides.ours.branch


def _is_changed(change: ChangedDatabase | ChangedTable) -> bool:
    # A target that only compacted is told by its operations, and changes nothing.
    return change.ours.is_changed or change.theirs.is_changed


def _objects(
    sides: ThreeWay[CatalogState],
    states: ThreeWay[Mapping[str, State]],
    seen_first: Callable[[State, State], State],
) -> Iterator[tuple[str, ThreeWay[State | None]]]:
    """Find the objects whose states may differ; what a side does not speak for, it left alone."""
    for object_id in sorted({*states.base, *states.ours, *states.theirs}):
        base = states.base.get(object_id)
        ours = states.ours.get(object_id)
        theirs = states.theirs.get(object_id)
        if base is None:
            if ours is not None and theirs is not None:
                base = seen_first(ours, theirs)
        elif ours is None and not sides.ours.speaks_for(object_id):
            continue
        elif theirs is None and not sides.theirs.speaks_for(object_id):
            theirs = base
        if not base == ours == theirs:
            yield object_id, ThreeWay(base=base, ours=ours, theirs=theirs)


def _database_seen_first(ours: DatabaseState, theirs: DatabaseState) -> DatabaseState:
    """Return the base of a database that both sides know although no merge brought it."""
    shared = {key: value for key, value in ours.properties.items() if key in theirs.properties}
    return replace(
        ours,
        properties={key: value for key, value in shared.items() if theirs.properties[key] == value},
    )


def _table_seen_first(ours: TableState, theirs: TableState) -> TableState:
    """Return the base of a table that both sides know; its content has a history of its own."""
    return ours if _has_same_head(ours, theirs) else replace(ours, head=None)


def _database_side(base: DatabaseState | None, side: DatabaseState | None) -> DatabaseSide:
    if base is None or side is None:
        is_dropped = base is not None
        operations = frozenset({DatabaseOperation.DROP}) if is_dropped else frozenset()
        return DatabaseSide(operations=operations, is_created=side is not None)
    before, after = base.properties, side.properties
    changed = {key: value for key, value in after.items() if before.get(key) != value}
    gone = frozenset(before.keys() - after.keys())
    found = {
        DatabaseOperation.RENAME: side.name != base.name,
        DatabaseOperation.SET: bool(changed),
        DatabaseOperation.UNSET: bool(gone),
    }
    return DatabaseSide(
        operations=frozenset(each for each, is_done in found.items() if is_done),
        set=MappingProxyType(changed),
        unset=gone,
    )


def _table_side(
    base: TableState | None, side: TableState | None, content: frozenset[TableOperation] | None
) -> TableSide:
    if base is None or side is None:
        is_dropped = base is not None
        operations = frozenset({TableOperation.DROP}) if is_dropped else frozenset()
        is_lost = side is not None and side.content is Content.LOST
        return TableSide(operations=operations, is_created=side is not None, is_lost=is_lost)
    is_moved = (side.database, side.name) != (base.database, base.name)
    renamed = frozenset({TableOperation.RENAME}) if is_moved else frozenset()
    is_moved_on = not has_same_content(base, side) if content is None else bool(content)
    has_content = side.content is not Content.LOST and is_moved_on
    return TableSide(
        operations=renamed | (content if has_content and content else frozenset()),
        has_content=has_content,
        is_lost=side.content is Content.LOST,
    )


def _has_same_head(one: TableState, other: TableState) -> bool:
    if one.head is None or other.head is None:
        return one.head is other.head
    return one.head.same_as(other.head)
