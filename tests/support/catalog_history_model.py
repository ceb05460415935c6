"""What merges of catalog branches must come to: branches as versions of plain dictionaries.

An object is known by a number that nothing else has. Where a merge is decided, each value of each
object is replayed by itself: what the source changed since the base holds.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar

T = TypeVar("T")

MAIN: Final = "main"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTable:
    """A table: in which database, under which name, and which rows it holds."""

    home: int
    name: str
    rows: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDatabase:
    """A database: its name and its properties."""

    name: str
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelState:
    """All objects of a branch, by their numbers."""

    databases: Mapping[int, ModelDatabase] = field(default_factory=dict)
    tables: Mapping[int, ModelTable] = field(default_factory=dict)

    def is_consistent(self) -> bool:
        """Whether each name is given once, and each table lies in a database."""
        names = [each.name for each in self.databases.values()]
        places = [(each.home, each.name) for each in self.tables.values()]
        has_homes = all(home in self.databases for home, _ in places)
        return has_homes and all(len(set(each)) == len(each) for each in (names, places))

    def inside(self, database: str) -> frozenset[int]:
        """The numbers of a database and of its tables; nothing where there is no such one."""
        homes = {key for key, each in self.databases.items() if each.name == database}
        return frozenset(
            {*homes, *(key for key, each in self.tables.items() if each.home in homes)}
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Version:
    """A state with those that it follows, each for some objects or for all."""

    state: ModelState
    parents: tuple[tuple[int, frozenset[int] | None], ...]


@dataclass(kw_only=True)
class HistoryModel:
    """The versions of main and of catalog branches.

    Attributes:
        heads: The newest version of each branch.
    """

    heads: dict[str, int] = field(default_factory=dict)
    _versions: list[_Version] = field(default_factory=list)

    def state(self, branch: str) -> ModelState:
        """What a branch holds."""
        return self._versions[self.heads[branch]].state

    def begin(self) -> None:
        """Make main, which holds nothing."""
        self._add(MAIN, ModelState())

    def fork(self, branch: str) -> None:
        """Make a branch of all that main holds."""
        self.heads[branch] = self.heads[MAIN]

    def change(self, branch: str, state: ModelState) -> None:
        """Have a statement make the next version of a branch."""
        self._add(branch, state, (self.heads[branch], None))

    def merged(self, source: str, target: str, covers: frozenset[int] | None = None) -> ModelState:
        """What the target would hold after a merge that nothing stands in the way of."""
        ours, theirs = self.state(target), self.state(source)
        databases, tables = {}, {}
        for key in sorted({*ours.databases, *theirs.databases, *ours.tables, *theirs.tables}):
            is_asked = covers is None or key in covers
            bases = self.bases(source, target, key) if is_asked else []
            for mine, its, kept, replayed in (
                (ours.databases, theirs.databases, databases, _database),
                (ours.tables, theirs.tables, tables, _table),
            ):
                if key not in mine and key not in its:
                    continue
                part = "databases" if mine is ours.databases else "tables"
                held = [getattr(each, part).get(key) for each in bases]
                found = mine.get(key)
                if is_asked:
                    found = _replayed(held, mine.get(key), its.get(key), replayed)  # type: ignore[arg-type]
                if found is not None:
                    kept[key] = found
        # A property goes with its database.
        return ModelState(databases=databases, tables=tables)

    def take(
        self, source: str, target: str, state: ModelState, covers: frozenset[int] | None = None
    ) -> None:
        """Have a merge make the next version of its target."""
        self._add(target, state, (self.heads[target], None), (self.heads[source], covers))

    def is_plain(self, source: str, target: str) -> bool:
        """Whether the target did nothing since one version that the source has, too."""
        return self.heads[target] in self._ancestors(self.heads[source], None)

    def _add(
        self, branch: str, state: ModelState, *parents: tuple[int, frozenset[int] | None]
    ) -> None:
        self._versions.append(_Version(state=state, parents=parents))
        self.heads[branch] = len(self._versions) - 1

    def bases(self, source: str, target: str, key: int) -> list[ModelState]:
        """The states at the best common ancestors for an object."""
        both = self._ancestors(self.heads[source], key) & self._ancestors(self.heads[target], key)
        behind = {each for one in both for each in self._ancestors(one, key) if each != one}
        return [self._versions[each].state for each in sorted(both - behind)]

    def _ancestors(self, version: int, key: int | None) -> set[int]:
        found, waiting = set[int](), [version]
        while waiting:
            each = waiting.pop()
            if each in found:
                continue
            found.add(each)
            for parent, covers in self._versions[each].parents:
                if covers is None or (key is not None and key in covers):
                    waiting.append(parent)
        return found


def _replayed(
    bases: Collection[T | None],
    ours: T | None,
    theirs: T | None,
    replayed: "object",
) -> T | None:
    """The merge of one object that is there or not."""
    known = [each for each in bases if each is not None]
    if theirs is None:
        # It is gone there, unless it never was there.
        return ours if len(known) < len(bases) or not bases else None
    if ours is None:
        return theirs if not known else None
    return replayed(known, ours, theirs)  # type: ignore[operator,no-any-return]


def _value(bases: Iterable[T], ours: T, theirs: T) -> T:
    return ours if any(each == theirs for each in bases) else theirs


def _table(bases: list[ModelTable], ours: ModelTable, theirs: ModelTable) -> ModelTable:
    place = _value(
        ((each.home, each.name) for each in bases),
        (ours.home, ours.name),
        (theirs.home, theirs.name),
    )
    # Rows are only added, each of them once.
    return ModelTable(home=place[0], name=place[1], rows=ours.rows | theirs.rows)


def _database(
    bases: list[ModelDatabase], ours: ModelDatabase, theirs: ModelDatabase
) -> ModelDatabase:
    name = _value((each.name for each in bases), ours.name, theirs.name)
    keys = {key for each in (*bases, ours, theirs) for key in each.properties}
    found = {
        key: _value(
            (each.properties.get(key) for each in bases),
            ours.properties.get(key),
            theirs.properties.get(key),
        )
        for key in sorted(keys)
    }
    return ModelDatabase(
        name=name, properties={key: each for key, each in found.items() if each is not None}
    )
