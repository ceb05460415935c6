"""The merge base of each object of the catalog: the versions of all branches as one graph.

A merge of a part is an ancestor only for the objects that it covers, so each object has a base of
its own. In a criss-cross history there are several, and what equals any of them did not change.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import TypeAlias, TypeVar

from branch_console.diff.catalog_diff import has_same_content
from branch_console.diff.catalog_state import CatalogState, DatabaseState, TableState
from branch_console.format.catalog.catalog_version import CatalogVersion, VersionKind, VersionName

State = TypeVar("State", DatabaseState, TableState)
T = TypeVar("T")
Versions: TypeAlias = Mapping[VersionName, CatalogVersion]


def bases_of_objects(
    versions: Versions, ours: VersionName, theirs: VersionName, object_ids: Collection[str]
) -> Mapping[str, tuple[VersionName, ...]]:
    """Find the best common ancestors of two versions for each object, nearest to `theirs` first.

    Args:
        versions: Both versions and all that they build on.
        ours: Of the target.
        theirs: Of the source.
        object_ids: The databases and tables that are asked about.
    """
    parts = [each for each in versions.values() if each.covers is not None]
    void = frozenset(name for each in versions.values() for name in each.voids)
    found: dict[frozenset[VersionName], tuple[VersionName, ...]] = {}
    bases = {}
    for object_id in object_ids:
        # Objects that the same merges cover have the same bases.
        cut = frozenset(
            each.name for each in parts if each.covers is not None and object_id not in each.covers
        )
        if cut not in found:
            found[cut] = _best_common_ancestors(versions, ours, theirs, cut | void)
        bases[object_id] = found[cut]
    return bases


def state_at_bases(
    bases: Mapping[str, tuple[VersionName, ...]],
    states: Mapping[VersionName, CatalogState],
    ours: CatalogState,
    theirs: CatalogState,
) -> CatalogState:
    """Return one state that holds each object as it was at its merge base.

    Args:
        bases: As `bases_of_objects` finds them, of all objects that `ours` and `theirs` hold.
        states: Of every version among them.
        ours: The target, which tells the bases of a criss-cross history apart.
        theirs: The source, likewise.
    """
    databases: dict[str, DatabaseState] = {}
    tables: dict[str, TableState] = {}
    for object_id, names in bases.items():
        held = [states[each] for each in names if states[each].speaks_for(object_id)]
        database = _joined(
            [each.databases.get(object_id) for each in held],
            ours.databases.get(object_id),
            theirs.databases.get(object_id),
            _joined_database,
        )
        if database is not None:
            databases[object_id] = database
        table = _joined(
            [each.tables.get(object_id) for each in held],
            ours.tables.get(object_id),
            theirs.tables.get(object_id),
            _joined_table,
        )
        if table is not None:
            tables[object_id] = table
    used = sorted({str(name) for names in bases.values() for name in names})
    return CatalogState(version=", ".join(used), databases=databases, tables=tables)


# --- the graph -----------------------------------------------------------------------------------


def _best_common_ancestors(
    versions: Versions, ours: VersionName, theirs: VersionName, cut: frozenset[VersionName]
) -> tuple[VersionName, ...]:
    known = frozenset(_ancestors(versions, ours, cut))
    best: list[VersionName] = []
    covered: set[VersionName] = set()
    for name in _ancestors(versions, theirs, cut):
        if name not in known or name in covered:
            continue
        below = frozenset(_ancestors(versions, name, cut)) - {name}
        best = [each for each in best if each not in below]
        best.append(name)
        covered |= below
    return tuple(best)


def _ancestors(
    versions: Versions, name: VersionName, cut: frozenset[VersionName]
) -> Iterable[VersionName]:
    """A version and all that it builds on, near ones first."""
    seen, queue = {name: None}, deque([name])
    while queue:
        for parent in _parents(versions[queue.popleft()], cut):
            if parent not in seen:
                seen[parent] = None
                queue.append(parent)
    return seen


def _parents(version: CatalogVersion, cut: frozenset[VersionName]) -> Iterable[VersionName]:
    """What a version builds on; a merge that is cut off builds on its own branch alone."""
    is_cut = version.kind is VersionKind.MERGED and version.name in cut
    return version.parents[:1] if is_cut else version.parents


# --- several bases -------------------------------------------------------------------------------


def _joined(
    bases: Sequence[State | None],
    ours: State | None,
    theirs: State | None,
    pick: Callable[[Sequence[State], State | None, State | None], State],
) -> State | None:
    """Return the one base of an object; None where it was not there."""
    held = [each for each in bases if each is not None]
    if not held or (theirs is None and len(held) < len(bases)):
        return None
    return held[0] if len(held) == 1 else pick(held, ours, theirs)


def _joined_database(
    bases: Sequence[DatabaseState], ours: DatabaseState | None, theirs: DatabaseState | None
) -> DatabaseState:
    properties = {}
    for key in sorted({key for each in bases for key in each.properties}):
        value = _unchanged(bases, ours, theirs, partial(_property_of, key))
        if value is not None:
            properties[key] = value
    name = _unchanged(bases, ours, theirs, attrgetter("name"))
    return replace(bases[0], name=name, properties=properties)


def _property_of(key: str, database: DatabaseState) -> str | None:
    return database.properties.get(key)


def _joined_table(
    bases: Sequence[TableState], ours: TableState | None, theirs: TableState | None
) -> TableState:
    database, name = _unchanged(bases, ours, theirs, attrgetter("database", "name"))
    sides = [each for each in (theirs, ours) if each is not None]
    same = (base for side in sides for base in bases if has_same_content(base, side))
    return replace(next(same, bases[0]), database=database, name=name)


def _unchanged(
    bases: Sequence[State],
    ours: State | None,
    theirs: State | None,
    value: Callable[[State], T],
) -> T:
    """Return what a side still has of any base: then that side did not change it."""
    known = [value(each) for each in bases]
    sides = (value(each) for each in (theirs, ours) if each is not None)
    return next((each for each in sides if each in known), known[0])
