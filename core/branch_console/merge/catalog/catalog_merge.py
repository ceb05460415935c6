"""The merge of two branches of the catalog, object by object, on states alone.

A merge replays on the target what the source did since the base, so a drop drops and a new name
holds; what cannot be replayed is a conflict. Names are judged when all objects have theirs: names
that are swapped, or that this merge frees, are in nobody's way.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from branch_console.diff.catalog_diff import (
    CatalogChanges,
    ChangedDatabase,
    ChangedTable,
    DatabaseSide,
    TableSide,
    catalog_changes,
)
from branch_console.diff.catalog_state import (
    CatalogState,
    Content,
    DatabaseState,
    TableState,
)
from branch_console.diff.database_operation import DatabaseOperation
from branch_console.diff.table_operation import TableOperation
from branch_console.diff.three_way import ThreeWay, each_side
from branch_console.errors import ErrorKind
from branch_console.merge.catalog.final_places import settle_places
from branch_console.merge.catalog.object_findings import ABSENT, ObjectFindings
from branch_console.merge.catalog.object_merge import ObjectKind, ObjectMerge
from branch_console.merge.catalog.object_rules import ObjectRules
from branch_console.merge.conflict import Conflict, ConflictKind, Take
from branch_console.merge.conflict_matrix import Cell, CellRule, cells, database_cells
from branch_console.merge.file_moves import Block
from branch_console.merge.plan import Plan, UpToDatePlan, blocks_of, conflicts_of

_EITHER: Final = (Take.OURS, Take.THEIRS)
_OF_THE_OBJECT: Final = frozenset({TableOperation.DROP, TableOperation.RENAME})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CatalogSides:
    """All that a merge of the catalog is decided on.

    Attributes:
        states: The base holds each object as it was at its own merge base.
        operations: What both sides did to the content of tables, by id, where that was read.
        plans: How the content of a table is merged, by id, for tables whose content the source
            changed and the target has.
        target_counts: What the target committed since the base, in words such as `3 commits`, by
            table id: of tables that the source dropped.
        covers: The objects that a merge of a part is about; None for all.
        restorable: The tables that a rescue can bring back; None for all.
        ignores_case: Whether the store takes names that differ in case for one.
    """

    states: ThreeWay[CatalogState]
    operations: Mapping[str, ThreeWay[frozenset[TableOperation]]] = field(default_factory=dict)
    plans: Mapping[str, Plan] = field(default_factory=dict)
    target_counts: Mapping[str, str] = field(default_factory=dict)
    covers: frozenset[str] | None = None
    restorable: frozenset[str] | None = None
    ignores_case: bool = False

    def fold(self, name: str) -> str:
        """Return what two names share that are one name to the store."""
        return name.casefold() if self.ignores_case else name


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CatalogMerge:
    """The result of deciding a merge.

    Attributes:
        objects: The objects that the source changed or the merge changes; databases first.
        result: The objects of the target after the merge. An object with an open conflict is as
            the target has it; content is not in it.
        reported: Sentences that concern no single object.
        is_noted: Whether the target must remember the merge, even one that changes nothing of it:
            a choice settled a conflict, which nobody shall be asked again; or both sides did the
            same to an object, which a later merge shall not do again where the target takes it
            back.
    """

    objects: tuple[ObjectMerge, ...]
    result: CatalogState
    reported: tuple[str, ...]
    is_noted: bool

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        """All open conflicts."""
        return tuple(conflict for each in self.objects for conflict in each.conflicts)

    @property
    def brings_content(self) -> bool:
        """Whether the content of any table that both have changes."""
        return any(each.brings_content for each in self.objects)


def merge_catalog(sides: CatalogSides, rules: ObjectRules) -> CatalogMerge:
    """Merge the databases and tables of two branches of the catalog."""
    return _Merge(sides, rules).run()


class _Merge:
    """A merge while it is decided: the objects of the target as they become."""

    def __init__(self, sides: CatalogSides, rules: ObjectRules) -> None:
        self.sides = sides
        self.states = sides.states
        self.ours = sides.states.ours
        self.theirs = sides.states.theirs
        self.databases = dict(self.ours.databases)
        self.tables = dict(self.ours.tables)
        self.found = ObjectFindings(sides.states, rules)

    def run(self) -> CatalogMerge:
        changes = catalog_changes(self.states, self.sides.operations)
        for database in changes.databases:
            if self._comes(database) and not self._is_unclear(database.id):
                self._merge_database(database)
        for table in changes.tables:
            if self._comes(table) and not self._is_unclear(table.id):
                self._merge_table(table)
        settle_places(
            self.sides.states,
            self.databases,
            self.tables,
            self.found,
            fold=self.sides.fold,
        )
        result = replace(self.ours, databases=self.databases, tables=self.tables)
        return CatalogMerge(
            objects=tuple(self._objects(changes, result)),
            result=result,
            reported=tuple(
                f"{name} does not come: {reason}" for name, reason in self.theirs.left_out.items()
            ),
            is_noted=self.found.is_settled
            or any(self._comes(each) for each in changes.databases)
            or any(self._comes(each) and each.theirs.changes_object for each in changes.tables),
        )

    def _comes(self, change: ChangedDatabase | ChangedTable) -> bool:
        """Whether the merge is about what the source did to an object."""
        covers = self.sides.covers
        return change.theirs.is_changed and (covers is None or change.id in covers)

    # --- databases ------------------------------------------------------------------------------

    def _merge_database(self, change: ChangedDatabase) -> None:
        base, ours, theirs = change.sides.base, change.sides.ours, change.sides.theirs
        if base is None and theirs is not None:
            self.databases[change.id] = theirs
            return
        met = database_cells(change.theirs.operations, change.ours.operations)
        found = self.found.of(change.id)
        found.cells |= {each.object_id: None for each in met}
        rule = next((each.object_id for each in met if each.rule is CellRule.CONFLICT), None)
        if rule is not None:
            choice = self.found.settle(ConflictKind.OBJECT_GONE, change.id, rule, _EITHER)
            if choice is None or choice.take is Take.OURS or theirs is None:
                return
            if ours is None:
                self.databases[change.id] = theirs
                return
        if theirs is None:
            if ours is not None and self._may_drop(change.id, change.ours, "database/drop"):
                del self.databases[change.id]
        elif ours is not None:
            self.databases[change.id] = replace(
                ours,
                name=self._merged_database_name(change, ours, theirs),
                properties=self._merged_properties(change, ours, met),
            )

    def _merged_database_name(
        self, change: ChangedDatabase, ours: DatabaseState, theirs: DatabaseState
    ) -> str:
        if DatabaseOperation.RENAME not in change.theirs.operations:
            return ours.name
        if DatabaseOperation.RENAME in change.ours.operations and ours.name != theirs.name:
            self.found.report(change.id, f"The target had renamed it to {ours.name!r}.")
        return theirs.name

    def _merged_properties(
        self,
        change: ChangedDatabase,
        ours: DatabaseState,
        met: tuple[Cell[DatabaseOperation], ...],
    ) -> dict[str, str]:
        """Replay the source's properties key by key; its value holds where both changed one."""
        merged = dict(ours.properties)
        rules = {(each.theirs, each.ours): each.rule for each in met}
        for key, theirs in _values_of(change.theirs).items():
            mine = _values_of(change.ours).get(key)
            if mine is not None:
                rule = rules[theirs.operation, mine.operation]
                if not self._takes_source(change.id, key, theirs, mine, rule):
                    continue
            if theirs.value is None:
                merged.pop(key, None)
            else:
                merged[key] = theirs.value
        return merged

    def _takes_source(
        self, object_id: str, key: str, theirs: "_Value", ours: "_Value", rule: CellRule
    ) -> bool:
        is_once = theirs == ours and rule is not CellRule.UNLESS_SAME_KEY
        if is_once:
            return True
        if rule is CellRule.UNLESS_SAME_KEY or self.found.rules.strict:
            cell = f"database/{theirs.operation}.{ours.operation}"
            database = self.states.base.databases.get(object_id)
            before = ABSENT if database is None else _word(database.properties.get(key))
            choice = self.found.settle(
                ConflictKind.PROPERTY,
                object_id,
                cell,
                _EITHER,
                name=key,
                words=ThreeWay(base=before, ours=_word(ours.value), theirs=_word(theirs.value)),
            )
            return choice is not None and choice.take is Take.THEIRS
        had = "had removed it" if ours.value is None else f"had set it to {ours.value!r}"
        self.found.report(object_id, f"Property {key!r} is as the source has it; the target {had}.")
        return True

    # --- tables ---------------------------------------------------------------------------------

    def _merge_table(self, change: ChangedTable) -> None:
        base, ours, theirs = change.sides.base, change.sides.ours, change.sides.theirs
        if self._is_lost(change):
            return
        if base is None and theirs is not None:
            self.tables[change.id] = theirs
            return
        rule = self._table_rule(change)
        if rule is not None:
            takes = _EITHER if self._can_restore(change.id) else (Take.OURS,)
            choice = self.found.settle(ConflictKind.OBJECT_GONE, change.id, rule, takes)
            if choice is None or choice.take is Take.OURS or theirs is None:
                return
            if ours is None:
                self.tables[change.id] = theirs
                return
        if theirs is None:
            if ours is not None and self._may_drop(change.id, change.ours, "table/drop"):
                del self.tables[change.id]
        elif ours is not None:
            self._merge_existing(change, ours, theirs)

    def _merge_existing(self, change: ChangedTable, ours: TableState, theirs: TableState) -> None:
        if TableOperation.RENAME in change.theirs.operations:
            moved = replace(ours, database=theirs.database, name=theirs.name)
            if TableOperation.RENAME in change.ours.operations and moved != ours:
                name = self.ours.name_of(change.id)
                self.found.report(change.id, f"The target had renamed it to {name!r}.")
            self.tables[change.id] = moved
        if change.theirs.changes_content:
            found = self.found.of(change.id)
            found.plan = self.sides.plans.get(change.id)
            found.is_adopted = ours.content is Content.PINNED and not change.ours.has_content
            # The content of a table has merges of its own: it may have come by one of these.
            found.brings_content = not isinstance(found.plan, UpToDatePlan)
            if found.plan is not None:
                found.conflicts += conflicts_of(found.plan)
                found.blocks += blocks_of(found.plan)

    def _table_rule(self, change: ChangedTable) -> str | None:
        """Return the cell that keeps a change of the source from the target; None if none."""
        met = cells(change.theirs.operations, change.ours.operations)
        self.found.of(change.id).cells |= {each.object_id: None for each in met}
        for each in met:
            # What meets inside a table, the merge of that table judges.
            if each.rule is CellRule.CONFLICT and _OF_THE_OBJECT & {each.theirs, each.ours}:
                return each.object_id
        # Content that nobody read falls into no cell, and is not lost for that.
        is_gone = change.sides.ours is None and change.sides.theirs is not None
        return "table/content.drop" if is_gone and not met else None

    def _can_restore(self, object_id: str) -> bool:
        return self.sides.restorable is None or object_id in self.sides.restorable

    def _is_lost(self, change: ChangedTable) -> bool:
        """Refuse to merge content that is gone although nobody dropped it."""
        lost = [
            state.version.rpartition("@")[0]
            for state, side in ((self.theirs, change.theirs), (self.ours, change.ours))
            if side.is_lost
        ]
        for branch in lost:
            text = (
                f"The table branch {branch!r} of {self.found.name(change.id)!r} is gone, although "
                f"the table was not dropped on {branch!r}. Restore that branch, or drop the table "
                f"on {branch!r}, then merge."
            )
            self.found.of(change.id).blocks.append(
                Block(kind=ErrorKind.BRANCH_NOT_FOUND, text=text)
            )
        return bool(lost)

    # --- what databases and tables share ----------------------------------------------------------

    def _is_unclear(self, object_id: str) -> bool:
        """Find a conflict where several folders may be one object: then nothing says what it is."""
        reasons = [
            state.unclear[object_id]
            for state in (self.ours, self.theirs)
            if object_id in state.unclear
        ]
        if reasons:
            kind = ConflictKind.IDENTITY_UNCLEAR
            self.found.conflict(kind, object_id, "identity", advice=reasons[0])
        return bool(reasons)

    def _may_drop(self, object_id: str, ours: DatabaseSide | TableSide, rule: str) -> bool:
        """Whether a drop of the source holds, and say what the target did meanwhile."""
        if not ours.is_changed:
            return True
        did = words_of(ours)
        if self.found.rules.strict:
            kind, cell = ConflictKind.OBJECT_GONE, f"{rule}.{did[0]}"
            choice = self.found.settle(kind, object_id, cell, _EITHER)
            if choice is None or choice.take is Take.OURS:
                return False
        counts = self.sides.target_counts.get(object_id)
        counted = "" if counts is None else f" ({counts})"
        self.found.report(
            object_id,
            f"It goes with what the target did since the base: {', '.join(did)}{counted}.",
        )
        return True

    # --- the answer -------------------------------------------------------------------------------

    def _objects(self, changes: CatalogChanges, result: CatalogState) -> Iterator[ObjectMerge]:
        for database in changes.databases:
            yield from self._object(ObjectKind.DATABASE, database, result)
        for table in changes.tables:
            yield from self._object(ObjectKind.TABLE, table, result)

    def _object(
        self, kind: ObjectKind, change: ChangedDatabase | ChangedTable, result: CatalogState
    ) -> Iterator[ObjectMerge]:
        found = self.found.of(change.id)
        if not (self._comes(change) or found.conflicts or self._is_changed(change.id)):
            return
        yield ObjectMerge(
            kind=kind,
            id=change.id,
            names=each_side(self.states, lambda state: state.name_of(change.id)),
            merged_name=result.name_of(change.id),
            did=ThreeWay(base=(), ours=words_of(change.ours), theirs=words_of(change.theirs)),
            cells=tuple(found.cells),
            conflicts=tuple(found.conflicts),
            blocks=tuple(found.blocks),
            reported=tuple(found.reported),
            brings_content=found.brings_content,
            is_adopted=found.is_adopted,
            plan=found.plan,
        )

    def _is_changed(self, object_id: str) -> bool:
        """Whether the merge gives the target another state of an object."""
        is_same_database = self.databases.get(object_id) == self.ours.databases.get(object_id)
        return not is_same_database or self.tables.get(object_id) != self.ours.tables.get(object_id)


def words_of(side: DatabaseSide | TableSide) -> tuple[str, ...]:
    """Return what a side did, in the words of the matrix."""
    created = ("create",) if side.is_created else ()
    kinds: Iterable[StrEnum] = (
        DatabaseOperation if isinstance(side, DatabaseSide) else TableOperation
    )
    done = tuple(str(each) for each in kinds if each in side.operations)
    if isinstance(side, TableSide):
        is_unread = side.has_content and not side.operations - _OF_THE_OBJECT
        lost = ("lost",) if side.is_lost else ()
        return (*created, *done, *(("content",) if is_unread else ()), *lost)
    return (*created, *done)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Value:
    """A side's change to a property; the value is None if the side removed it."""

    operation: DatabaseOperation
    value: str | None


def _values_of(side: DatabaseSide) -> dict[str, _Value]:
    gone = {key: _Value(operation=DatabaseOperation.UNSET, value=None) for key in side.unset}
    return gone | {
        key: _Value(operation=DatabaseOperation.SET, value=value)
        for key, value in sorted(side.set.items())
    }


def _word(value: str | None) -> str:
    return ABSENT if value is None else value
