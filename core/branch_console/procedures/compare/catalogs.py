"""Two branches of the catalog compared: their objects, and of tables that differ rows and schemas.

Both are listed once. A table whose head and schema are one on both sides is not opened; of the
others only manifests are read, so that rows are exact or have bounds, as metadata tells.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from operator import attrgetter

from branch_console.catalog.catalog_branch import CatalogOnBranch, MemberState
from branch_console.diff.catalog_diff import has_same_content
from branch_console.diff.catalog_state import CatalogState, Content, TableState
from branch_console.diff.rows.row_bounds import RowDifference
from branch_console.diff.rows.row_figure import RowFigure
from branch_console.diff.schema_diff import SchemaDiff
from branch_console.diff.state_diff import ComparedState, StateDiff
from branch_console.diff.state_name import StateName
from branch_console.errors import ErrorKind, InvalidInput, PaimonError
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.merge.catalog.object_merge import ObjectKind
from branch_console.procedures.call.row_figures import counted_figure, head_figure
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.catalog.states import state_of_branch
from branch_console.procedures.compare.states import diff_states
from branch_console.procedures.run.rule_evaluation import find_rules
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.pinned_table import PinnedTable


class ObjectDifference(StrEnum):
    """In what a database or table differs between two branches of the catalog.

    Attributes:
        OUTSIDE_BEFORE, OUTSIDE_AFTER: One side does not hold it: it is outside of its scope, or
            came to the other side after the fork. Nobody dropped it.
        FILES: Other files or other vectors, with the same rows.
    """

    ONLY_BEFORE = "only in A"
    ONLY_AFTER = "only in B"
    OUTSIDE_BEFORE = "not held by A"
    OUTSIDE_AFTER = "not held by B"
    NAME = "name"
    PROPERTIES = "properties"
    SCHEMA = "schema"
    ROWS = "rows"
    FILES = "files"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ComparedTable:
    """The content of a table on both sides; what a side lacks is None.

    Attributes:
        name: How the rules of the table and a job know it: as its folder is called.
        figures: The rows of each side.
        rows: The changes of rows from A to B.
        states: The state of each side, so that a job can read the same.
        rules: How many rules the table has.
    """

    name: Identifier
    figures: tuple[RowFigure | None, RowFigure | None]
    states: tuple[StateName | None, StateName | None]
    rows: RowDifference | None = None
    schema: SchemaDiff | None = None
    rules: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ComparedObject:
    """A database or table that differs.

    Attributes:
        before, after: Its name on each side; None if the side lacks it.
        properties: The keys of a database whose values differ.
        content: The content of a table that was opened.
        error: Why its content cannot be compared.
    """

    kind: ObjectKind
    id: str
    before: str | None
    after: str | None
    differs: tuple[ObjectDifference, ...]
    properties: tuple[str, ...] = ()
    content: ComparedTable | None = None
    error: PaimonError | None = None

    @property
    def name(self) -> str:
        """The name for people: on the second side if it has the object, else on the first."""
        return self.after or self.before or self.id


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ComparedCatalogs:
    """Two branches of the catalog, object by object.

    Attributes:
        versions: The versions of both, such as `dev@7`.
        objects: The objects that differ, by name, databases first.
        same: How many objects are the same on both.
    """

    versions: tuple[str, str]
    objects: tuple[ComparedObject, ...]
    same: int


def compare_catalogs(warehouse: Warehouse, before: str, after: str) -> ComparedCatalogs:
    """Compare two branches of the catalog, either of which may be main; nothing is written.

    Args:
        warehouse: The warehouse.
        before: The branch that is told as A.
        after: The other one, told as B.

    Raises:
        InvalidInput: Both are one branch.
        NotFound: One is no catalog branch.
        CommitConflict: Main got new versions all the time.
    """
    if before == after:
        raise InvalidInput(
            f"Branch {before!r} is compared with itself. Name two.",
            kind=ErrorKind.INVALID_ARGUMENT,
        )
    with warehouse.deciding() as deciding:
        return _Comparison(deciding, before, after).run()


class _Comparison:
    """Both sides while they are compared."""

    def __init__(self, warehouse: Warehouse, before: str, after: str) -> None:
        self._warehouse = warehouse
        self._branches = (before, after)
        self._states = (state_of_branch(warehouse, before), state_of_branch(warehouse, after))
        self._seen: tuple[CatalogOnBranch | None, ...] = tuple(
            None if each == MAIN_BRANCH else warehouse.on(each) for each in self._branches
        )

    def run(self) -> ComparedCatalogs:
        before, after = self._states
        databases = sorted({*before.databases, *after.databases})
        tables = sorted({*before.tables, *after.tables})
        found = [each for key in databases if (each := self._database(key)).differs]
        opened = self._warehouse.catalog.reader.map_parallel(self._table, tables)
        compared = [each for each in opened if each.differs or each.error is not None]
        by_name = attrgetter("name", "id")
        return ComparedCatalogs(
            versions=(before.version, after.version),
            objects=(*sorted(found, key=by_name), *sorted(compared, key=by_name)),
            same=len(databases) + len(tables) - len(found) - len(compared),
        )

    def _database(self, key: str) -> ComparedObject:
        before, after = (state.databases.get(key) for state in self._states)
        compared = self._object(ObjectKind.DATABASE, key)
        if before is None or after is None:
            return compared
        values = (before.properties, after.properties)
        differing = tuple(
            name for name in sorted({*values[0], *values[1]}) if _differ(name, *values)
        )
        more = (ObjectDifference.PROPERTIES,) if differing else ()
        return replace(compared, differs=(*compared.differs, *more), properties=differing)

    def _table(self, key: str) -> ComparedObject:
        before, after = (state.tables.get(key) for state in self._states)
        compared = self._object(ObjectKind.TABLE, key)
        try:
            if before is not None and after is not None and self._is_same(key, before, after):
                return compared
            sides = (self._side(0, key), self._side(1, key))
            content, differs = self._content(key, *sides)
        except PaimonError as error:
            return replace(compared, error=error)
        return replace(compared, differs=(*compared.differs, *differs), content=content)

    def _object(self, kind: ObjectKind, key: str) -> ComparedObject:
        """Compare where an object is, and what it is called."""
        before, after = (state.name_of(key) for state in self._states)
        differs: tuple[ObjectDifference, ...] = ()
        if before is None:
            differs = (self._missing(self._states[0], key, _MISSING[0]),)
        elif after is None:
            differs = (self._missing(self._states[1], key, _MISSING[1]),)
        elif self._is_renamed(kind, key):
            differs = (ObjectDifference.NAME,)
        return ComparedObject(kind=kind, id=key, before=before, after=after, differs=differs)

    def _is_renamed(self, kind: ObjectKind, key: str) -> bool:
        """Whether an object has another name; a renamed database changes no table."""
        before, after = self._states
        if kind is ObjectKind.DATABASE:
            return before.databases[key].name != after.databases[key].name
        one, other = before.tables[key], after.tables[key]
        return (one.database, one.name) != (other.database, other.name)

    def _missing(
        self, state: CatalogState, key: str, words: tuple[ObjectDifference, ObjectDifference]
    ) -> ObjectDifference:
        only, outside = words
        return only if state.speaks_for(key) else outside

    # --- the content of tables ----------------------------------------------------------------

    def _is_same(self, key: str, before: TableState, after: TableState) -> bool:
        """Whether the content is one, as far as heads and schemas tell.

        Raises:
            Refused: The table branch or the base of a side is gone.
        """
        if Content.LOST in (before.content, after.content) or not has_same_content(before, after):
            return False
        if after.schema <= min(self._shared_schema(number, key) for number in (0, 1)):
            return True
        # Each branch counts its schemas on: the same id may stand for two that were made since.
        sides = (self._side(0, key), self._side(1, key))
        one, other = (None if side is None else side[1].schema.fingerprint for side in sides)
        return one == other

    def _shared_schema(self, number: int, key: str) -> float:
        """The id up to which the schemas of a table are those of main; -1 if none is known."""
        seen = self._seen[number]
        if seen is None:
            return math.inf
        table = seen.recorded.tables[key]
        return -1 if table.schema is None or table.source is not None else table.schema

    def _side(self, number: int, key: str) -> tuple[FileStoreTable, ComparedState] | None:
        """The table as a side has it, and the state that it is read as.

        Raises:
            Refused: Its table branch or its base is gone.
        """
        state, seen = self._states[number], self._seen[number]
        table = state.tables.get(key)
        if table is None:
            return None
        if seen is None:
            home = state.databases[table.database].name
            return _at_head(self._warehouse.table(Identifier(database=home, table=table.name)))
        member = seen.member(key)
        found = seen.open_member(member)
        if member.state is MemberState.MADE or not isinstance(found, PinnedTable):
            return _at_head(found)
        source, tag = found.source, found.base_tag
        name = StateName(branch=source.branch, tag=None if tag is None else tag.name)
        snapshot, schema = found.head_and_schema()
        return source, ComparedState(
            name=name, branch=source.branch, snapshot=snapshot, schema=schema
        )

    def _content(
        self,
        key: str,
        before: tuple[FileStoreTable, ComparedState] | None,
        after: tuple[FileStoreTable, ComparedState] | None,
    ) -> tuple[ComparedTable, tuple[ObjectDifference, ...]]:
        folder = next(
            state.tables[key].folder for state in reversed(self._states) if key in state.tables
        )
        name = _name_of(folder)
        content = ComparedTable(
            name=name,
            figures=(self._figure(before), self._figure(after)),
            states=(_state_name(before), _state_name(after)),
            rules=self._rules(name),
        )
        if before is None or after is None:
            return content, ()
        diff = diff_states(after[0], before[1], after[1])
        content = replace(content, rows=diff.rows, schema=diff.schema)
        return content, _differences(diff)

    def _figure(self, side: tuple[FileStoreTable, ComparedState] | None) -> RowFigure | None:
        if side is None:
            return None
        table, state = side
        figure = head_figure(table, state.snapshot, state.schema)
        return counted_figure(self._warehouse, table, state.snapshot, state.schema, figure)

    def _rules(self, name: Identifier) -> int:
        rules = find_rules(self._warehouse, name)
        return 0 if rules is None else len(rules.rules)


_MISSING = (
    (ObjectDifference.ONLY_AFTER, ObjectDifference.OUTSIDE_BEFORE),
    (ObjectDifference.ONLY_BEFORE, ObjectDifference.OUTSIDE_AFTER),
)
"""The differences reported if the first side lacks an object, and if the second side lacks it."""


def _differ(name: str, before: Mapping[str, str], after: Mapping[str, str]) -> bool:
    return before.get(name) != after.get(name)


def _at_head(table: FileStoreTable) -> tuple[FileStoreTable, ComparedState]:
    head, schema = table.head_and_schema()
    name = StateName(branch=table.branch)
    return table, ComparedState(name=name, branch=table.branch, snapshot=head, schema=schema)


def _state_name(side: tuple[FileStoreTable, ComparedState] | None) -> StateName | None:
    return None if side is None else side[1].name


def _differences(diff: StateDiff) -> tuple[ObjectDifference, ...]:
    found: Collection[tuple[ObjectDifference, bool]] = (
        (ObjectDifference.SCHEMA, not diff.schema.is_empty),
        (ObjectDifference.ROWS, not diff.has_same_rows),
        (ObjectDifference.FILES, diff.has_same_rows and bool(diff.files.num_rows or diff.masks)),
    )
    return tuple(each for each, is_there in found if is_there)


def _name_of(folder: str) -> Identifier:
    database, _, table = folder.rpartition("/")
    return Identifier(database=database.removesuffix(".db"), table=table)
