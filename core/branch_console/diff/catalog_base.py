"""The merge base of each object of the catalog: the versions of all branches as one graph.

A merge of a part is an ancestor only for the objects that it covers, so each object has a base of
its own. In a criss-cross history there are several, and what equals any of them did not change.
Writes of rows make no version, so merges note what the tables of their source held.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from types import MappingProxyType
from typing import Final, TypeAlias, TypeVar

from branch_console.diff.catalog_diff import has_same_content
from branch_console.diff.catalog_state import CatalogState, Content, DatabaseState, TableState
from branch_console.diff.three_way import ThreeWay
from branch_console.format.catalog.catalog_version import (
    CatalogVersion,
    SourceContent,
    VersionName,
)

State = TypeVar("State", DatabaseState, TableState)
T = TypeVar("T")
Versions: TypeAlias = Mapping[VersionName, CatalogVersion]
Contents: TypeAlias = Mapping[str, Mapping[VersionName, Sequence[SourceContent]]]
"""Sources that merges recorded: by table id, then by the version that came in."""

_NO_CONTENTS: Final[Contents] = MappingProxyType({})


def bases_of_objects(
    versions: Versions, ours: VersionName, theirs: VersionName, object_ids: Collection[str]
) -> Mapping[str, tuple[VersionName, ...]]:
    """Find the best common ancestors of two versions for each object, nearest to `theirs` first.

    Args:
        versions: Both versions and all that they build on.
        ours: The versions of the target.
        theirs: The versions of the source.
        object_ids: The databases and tables that are asked about.
    """
    found: dict[frozenset[VersionName], tuple[VersionName, ...]] = {}
    bases = {}
    for object_id, cut in _cuts(versions, object_ids):
        # Objects that the same merges cover have the same bases.
        if cut not in found:
            found[cut] = _best_common_ancestors(versions, ours, theirs, cut)
        bases[object_id] = found[cut]
    return bases


def contents_merged_into(versions: Versions, head: VersionName) -> Contents:
    """Find what a branch received of tables by merges of the catalog, the latest merge first.

    Args:
        versions: `head` and all that it builds on.
        head: The version of the branch.
    """
    merges = sorted(
        (each for each in versions.values() if len(each.parents) > 1),
        key=lambda each: (each.time_millis, each.number),
    )
    noted = sorted({key for each in merges for key in each.sources})
    known: dict[frozenset[VersionName], frozenset[VersionName]] = {}
    found: dict[str, dict[VersionName, list[SourceContent]]] = {}
    for table_id, cut in _cuts(versions, noted):
        if cut not in known:
            known[cut] = frozenset(_ancestors(versions, head, cut))
        last: dict[str, SourceContent] = {}
        for merge in merges:
            if merge.name in cut or merge.name not in known[cut]:
                continue
            for parent in merge.parents[1:]:
                # What a later merge does not note was then as an earlier one had brought it.
                content = merge.sources.get(table_id) or last.get(parent.branch)
                if content is not None:
                    last[parent.branch] = content
                    found.setdefault(table_id, {}).setdefault(parent, []).insert(0, content)
    return found


def contents_to_note(
    sides: ThreeWay[CatalogState], covers: Collection[str] | None
) -> Mapping[str, SourceContent]:
    """Return what a merge has to note of the tables of its source, by their ids.

    Args:
        sides: The base holds each object as it was at its own merge base.
        covers: The objects that the merge is about; None for all.
    """
    found: dict[str, SourceContent] = {}
    for key, table in sides.theirs.tables.items():
        base = sides.base.tables.get(key)
        is_made = table.content is Content.MADE and (covers is None or key in covers)
        if is_made and (base is None or not has_same_content(base, table)):
            found[key] = SourceContent(head=table.head, schema=table.schema)
    return found


def state_at_bases(
    bases: Mapping[str, tuple[VersionName, ...]],
    states: Mapping[VersionName, CatalogState],
    ours: CatalogState,
    theirs: CatalogState,
    *,
    into_ours: Contents = _NO_CONTENTS,
    into_theirs: Contents = _NO_CONTENTS,
) -> CatalogState:
    """Return one state that holds each object as it was at its merge base.

    Args:
        bases: As `bases_of_objects` finds them, of all objects that `ours` and `theirs` hold.
        states: Of every version among them.
        ours: The target, which tells the bases of a criss-cross history apart.
        theirs: The source, likewise.
        into_ours: The contents that the target received, as `contents_merged_into` finds them.
        into_theirs: The contents that the source received.
    """
    databases: dict[str, DatabaseState] = {}
    tables: dict[str, TableState] = {}
    for object_id, names in bases.items():
        speaking = [each for each in names if states[each].speaks_for(object_id)]
        held = [states[each] for each in speaking]
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
            partial(
                _joined_table,
                into_ours=_of_versions(into_ours, object_id, speaking),
                into_theirs=_of_versions(into_theirs, object_id, speaking),
            ),
        )
        if table is not None:
            tables[object_id] = table
    used = sorted({str(name) for names in bases.values() for name in names})
    return CatalogState(version=", ".join(used), databases=databases, tables=tables)


# --- the graph -----------------------------------------------------------------------------------


def _cuts(
    versions: Versions, object_ids: Iterable[str]
) -> Iterable[tuple[str, frozenset[VersionName]]]:
    """The versions without a change of each object: they are of other objects, or were reverted."""
    parts = [(each.name, each.covers) for each in versions.values() if each.covers is not None]
    void = [(each.voids, each.covers) for each in versions.values() if each.voids]
    for object_id in object_ids:
        taken_back = (names for names, covers in void if covers is None or object_id in covers)
        yield (
            object_id,
            frozenset(name for names in taken_back for name in names)
            | {name for name, covers in parts if object_id not in covers},
        )


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
    """Return the versions that a version builds on; one that is cut off has only its own branch."""
    return version.parents[:1] if version.name in cut else version.parents


# --- several bases -------------------------------------------------------------------------------


def _joined(
    bases: Sequence[State | None],
    ours: State | None,
    theirs: State | None,
    pick: Callable[[Sequence[State], State | None, State | None], State],
) -> State | None:
    """Return the one base of an object; None if it was not there."""
    held = [each for each in bases if each is not None]
    if not held or (theirs is None and len(held) < len(bases)):
        return None
    return pick(held, ours, theirs)


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
    bases: Sequence[TableState],
    ours: TableState | None,
    theirs: TableState | None,
    *,
    into_ours: Sequence[SourceContent],
    into_theirs: Sequence[SourceContent],
) -> TableState:
    database, name = _unchanged(bases, ours, theirs, attrgetter("database", "name"))
    # What a side received says whether the other one went on since; of itself it says nothing.
    received = [*_with_contents(bases[0], into_ours), *bases]
    given = [*_with_contents(bases[0], into_theirs), *bases]
    same = (
        base
        for side, known in ((theirs, received), (ours, given))
        for base in known
        if side is not None and has_same_content(base, side)
    )
    return replace(next(same, received[0]), database=database, name=name)


def _with_contents(base: TableState, contents: Iterable[SourceContent]) -> Iterable[TableState]:
    return (replace(base, head=each.head, schema=each.schema) for each in contents)


def _of_versions(
    contents: Contents, table_id: str, names: Iterable[VersionName]
) -> Sequence[SourceContent]:
    noted = contents.get(table_id, {})
    return [content for name in names for content in noted.get(name, ())]


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
