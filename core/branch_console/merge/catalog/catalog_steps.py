"""The steps of a merge of the catalog, in the order in which each finds its place free.

Until databases are renamed, everything in them happens under the names that they have before. What
is made or moved to a place that is taken until then waits aside.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from branch_console.diff.catalog_state import CatalogState
from branch_console.merge.catalog.catalog_merge import CatalogMerge

_NO_PROPERTIES: Final[Mapping[str, str]] = MappingProxyType({})


class StepKind(StrEnum):
    """The kinds of steps; those of the second half take another step back."""

    CREATE_DATABASE = "create database"
    MERGE_CONTENT = "merge content"
    CREATE_TABLE = "create table"
    DROP_TABLE = "drop table"
    MOVE_TABLE = "move table"
    DROP_DATABASE = "drop database"
    RENAME_DATABASE = "rename database"
    SET_PROPERTIES = "set properties"
    REMOVE_DATABASE = "remove database"
    REVERT_CONTENT = "revert content"
    REMOVE_TABLE = "remove table"
    RESTORE_TABLE = "restore table"
    RESTORE_DATABASE = "restore database"


_INVERSES: Final = {
    StepKind.CREATE_DATABASE: StepKind.REMOVE_DATABASE,
    StepKind.MERGE_CONTENT: StepKind.REVERT_CONTENT,
    StepKind.CREATE_TABLE: StepKind.REMOVE_TABLE,
    StepKind.DROP_TABLE: StepKind.RESTORE_TABLE,
    StepKind.DROP_DATABASE: StepKind.RESTORE_DATABASE,
}
_BACK: Final = _INVERSES | {inverse: kind for kind, inverse in _INVERSES.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPlace:
    """The place of an object: a database's name, or a table's name and the id of its database.

    Attributes:
        database: The id; empty for a database.
        is_aside: Whether it waits aside, known by its id alone.
    """

    name: str
    database: str = ""
    is_aside: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogStep:
    """One step, on one object; a place is None if the object is not there.

    Attributes:
        properties_before: The properties of a database before it is dropped or changed.
        properties_after: The properties of a database after it is made or changed.
    """

    kind: StepKind
    id: str
    before: StepPlace | None
    after: StepPlace | None
    properties_before: Mapping[str, str] = field(default_factory=lambda: _NO_PROPERTIES)
    properties_after: Mapping[str, str] = field(default_factory=lambda: _NO_PROPERTIES)

    @property
    def inverse(self) -> "CatalogStep":
        """The step that takes this one back."""
        return replace(
            self,
            kind=_BACK.get(self.kind, self.kind),
            before=self.after,
            after=self.before,
            properties_before=self.properties_after,
            properties_after=self.properties_before,
        )


def ordered_steps(
    ours: CatalogState,
    merge: CatalogMerge,
    *,
    newest_commits: Mapping[str, int],
    fold: Callable[[str], str],
) -> tuple[CatalogStep, ...]:
    """Return what turns the target into the result of a merge, step by step.

    Args:
        ours: The target as it is.
        merge: The decision.
        newest_commits: When others last wrote to tables of the target, by id, in milliseconds:
            content of busy tables comes first, so that a lost publish comes early.
        fold: Gives what two names share that are one name to the store.
    """
    return tuple(_Steps(ours, merge, fold).all(newest_commits))


class _Steps:
    def __init__(self, ours: CatalogState, merge: CatalogMerge, fold: Callable[[str], str]) -> None:
        self._merge = merge
        self._fold = fold
        self._old_databases = ours.databases
        self._databases = merge.result.databases
        self._old_tables = ours.tables
        self._tables = merge.result.tables

    def all(self, newest_commits: Mapping[str, int]) -> Iterator[CatalogStep]:
        old = {each: StepPlace(name=state.name) for each, state in self._old_databases.items()}
        new = {each: StepPlace(name=state.name) for each, state in self._databases.items()}
        aside = self._aside(old, new)
        for object_id in _missing(new, old):
            yield CatalogStep(
                kind=StepKind.CREATE_DATABASE,
                id=object_id,
                before=None,
                after=aside.get(object_id, new[object_id]),
                properties_after=self._databases[object_id].properties,
            )
        yield from self._content(newest_commits)
        yield from self._of_tables()
        for object_id in _missing(old, new):
            yield CatalogStep(
                kind=StepKind.DROP_DATABASE,
                id=object_id,
                before=old[object_id],
                after=None,
                properties_before=self._old_databases[object_id].properties,
            )
        yield from self._moves(StepKind.RENAME_DATABASE, old | aside, new)
        yield from self._properties(new)

    def _content(self, newest_commits: Mapping[str, int]) -> Iterator[CatalogStep]:
        changed = [each.id for each in self._merge.objects if each.brings_content]
        for object_id in sorted(changed, key=lambda each: (-newest_commits.get(each, 0), each)):
            if object_id in self._old_tables and object_id in self._tables:
                place = self._old_place(object_id)
                yield CatalogStep(
                    kind=StepKind.MERGE_CONTENT, id=object_id, before=place, after=place
                )

    def _of_tables(self) -> Iterator[CatalogStep]:
        old = {each: self._old_place(each) for each in self._old_tables}
        new = {
            each: StepPlace(name=state.name, database=state.database)
            for each, state in self._tables.items()
        }
        aside = self._aside(old, new)
        for object_id in _missing(new, old):
            place = aside.get(object_id, new[object_id])
            yield CatalogStep(kind=StepKind.CREATE_TABLE, id=object_id, before=None, after=place)
        for object_id in _missing(old, new):
            place = old[object_id]
            yield CatalogStep(kind=StepKind.DROP_TABLE, id=object_id, before=place, after=None)
        yield from self._moves(StepKind.MOVE_TABLE, old | aside, new)

    def _properties(self, places: Mapping[str, StepPlace]) -> Iterator[CatalogStep]:
        for object_id, state in sorted(self._databases.items()):
            before = self._old_databases.get(object_id)
            if before is not None and before.properties != state.properties:
                yield CatalogStep(
                    kind=StepKind.SET_PROPERTIES,
                    id=object_id,
                    before=places[object_id],
                    after=places[object_id],
                    properties_before=before.properties,
                    properties_after=state.properties,
                )

    def _aside(
        self, old: Mapping[str, StepPlace], new: Mapping[str, StepPlace]
    ) -> dict[str, StepPlace]:
        """Find the new objects whose place something has until it is dropped or moved."""
        taken = {self._key(place) for place in old.values()}
        return {
            each: replace(new[each], is_aside=True)
            for each in _missing(new, old)
            if self._key(new[each]) in taken
        }

    def _moves(
        self, kind: StepKind, old: Mapping[str, StepPlace], new: Mapping[str, StepPlace]
    ) -> Iterator[CatalogStep]:
        """Move each object when its place is free; of a ring, one waits aside."""
        waiting = {
            each: (place, new[each])
            for each, place in sorted(old.items())
            if each in new and place != new[each]
        }
        while waiting:
            held = {self._key(before) for before, _ in waiting.values() if not before.is_aside}
            free = [each for each, (_, after) in waiting.items() if self._key(after) not in held]
            if free:
                before, after = waiting.pop(free[0])
                object_id = free[0]
            else:
                # Also where only the case of a name changes: the store has it as the same name.
                object_id = next(
                    each for each, (before, _) in waiting.items() if not before.is_aside
                )
                before, goal = waiting[object_id]
                after = replace(goal, is_aside=True)
                waiting[object_id] = (after, goal)
            yield CatalogStep(kind=kind, id=object_id, before=before, after=after)

    def _old_place(self, table_id: str) -> StepPlace:
        state = self._old_tables[table_id]
        return StepPlace(name=state.name, database=state.database)

    def _key(self, place: StepPlace) -> tuple[str, str]:
        return place.database, self._fold(place.name)


def _missing(these: Mapping[str, object], those: Mapping[str, object]) -> list[str]:
    return sorted(these.keys() - those.keys())
