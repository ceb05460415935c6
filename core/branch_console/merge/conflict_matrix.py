"""The merge rules for databases and for tables without a primary key, as tables of cells.

They stand as the rules draw them, a row per source operation and a column per target operation, so
that they can be read against the text, and so that a wrong cell is one wrong word.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Generic, TypeVar

from branch_console.diff.database_operation import DatabaseOperation
from branch_console.diff.table_operation import TableOperation
from branch_console.merge.conflict import Take

Operation = TypeVar("Operation", TableOperation, DatabaseOperation)


class CellRule(StrEnum):
    """The outcome when a source operation meets a target operation; values are ids of rules.

    Attributes:
        OK: Both changes are kept.
        CONFLICT: Both changes can never be kept.
        UNLESS_SAME_KEY: A conflict if both changed the same property, else both are kept.
        M1: Update x delete: a conflict where both touched the same file.
        M2: Delete x delete: both deletes apply.
        M3: Update x update: a conflict where both touched the same file.
        M4: Update x overwrite: base rows that the overwrite removed stay removed.
        M5: Delete x overwrite: as M4.
        M6: Columns by field id; types widen and never narrow (M6.1).
        M6_2: New columns without nulls, and rows written without them.
        M7: Options, key by key.
        M8: A conflict for one partition added and dropped, else both changes are kept.
        M9: The target compacted files whose rows the source changed: the merge finds these rows
            in the new files.
    """

    OK = "ok"
    CONFLICT = "conflict"
    UNLESS_SAME_KEY = "unless same key"
    M1 = "M1"
    M2 = "M2"
    M3 = "M3"
    M4 = "M4"
    M5 = "M5"
    M6 = "M6"
    M6_2 = "M6.2"
    M7 = "M7"
    M8 = "M8"
    M9 = "M9"


# Rules without a name of their own: their cells are called by what meets there.
_NAMELESS: Final = frozenset({CellRule.OK, CellRule.CONFLICT, CellRule.UNLESS_SAME_KEY})


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell(Generic[Operation]):
    """A source operation and a target operation, with the rule for both.

    Attributes:
        is_of_database: Whether it is a cell of the matrix of databases.
    """

    theirs: Operation
    ours: Operation
    rule: CellRule
    is_of_database: bool = False

    @property
    def id(self) -> str:
        """Such as `M3`, or `delete.insert` (source first) where the rule has no name."""
        return f"database.{self._name}" if self.is_of_database else self._name

    @property
    def object_id(self) -> str:
        """The same among objects of the catalog, such as `database/rename.drop` or `table/M3`."""
        return f"database/{self._name}" if self.is_of_database else f"table/{self._name}"

    @property
    def _name(self) -> str:
        return f"{self.theirs}.{self.ours}" if self.rule in _NAMELESS else str(self.rule)

    @property
    def settle_with(self) -> tuple[Take, ...]:
        """The options of a merge that can turn a conflict in this cell into a clean merge."""
        if self.theirs in _BY_PREDICATE and self.ours is TableOperation.INSERT:
            return (Take.SCOPE_PARTITION, Take.ISOLATION_SNAPSHOT)
        return ()


# Replayed, their predicate could hit rows that the target inserted.
_BY_PREDICATE: Final = frozenset({TableOperation.DELETE, TableOperation.UPDATE})

OK: Final = CellRule.OK
C: Final = CellRule.CONFLICT
M1: Final = CellRule.M1
M2: Final = CellRule.M2
M3: Final = CellRule.M3
M4: Final = CellRule.M4
M5: Final = CellRule.M5
M6: Final = CellRule.M6
M6_2: Final = CellRule.M6_2
M7: Final = CellRule.M7
M8: Final = CellRule.M8
M9: Final = CellRule.M9
UNLESS_SAME_KEY: Final = CellRule.UNLESS_SAME_KEY

# fmt: off
_DATABASE: Final[Mapping[DatabaseOperation, tuple[CellRule, ...]]] = {
    # target:                   DROP, RENAME, SET, UNSET
    DatabaseOperation.DROP:     (OK, OK, OK, OK),
    DatabaseOperation.RENAME:   (C,  OK, OK, OK),
    DatabaseOperation.SET:      (C,  OK, OK, OK),
    DatabaseOperation.UNSET:    (C,  OK, OK, UNLESS_SAME_KEY),
}

_TABLE: Final[Mapping[TableOperation, tuple[CellRule, ...]]] = {
    # target:  DROP, RENAME, PROPERTIES, COLUMN, PARTITION, INSERT, DELETE, UPDATE, OVERWRITE,
    #          COMPACTION
    TableOperation.DROP:        (OK, OK, OK, OK,   OK, OK,   OK, OK,   OK,   OK),
    TableOperation.RENAME:      (C,  OK, OK, OK,   OK, OK,   OK, OK,   OK,   OK),
    TableOperation.PROPERTIES:  (C,  OK, M7, OK,   OK, OK,   OK, OK,   OK,   OK),
    TableOperation.COLUMN:      (C,  OK, OK, M6,   OK, M6_2, OK, M6_2, M6_2, OK),
    TableOperation.PARTITION:   (C,  OK, OK, OK,   M8, OK,   OK, OK,   OK,   OK),
    TableOperation.INSERT:      (C,  OK, OK, M6_2, OK, OK,   OK, OK,   OK,   OK),
    TableOperation.DELETE:      (C,  OK, OK, OK,   OK, C,    M2, OK,   M5,   M9),
    TableOperation.UPDATE:      (C,  OK, OK, M6_2, OK, C,    M1, M3,   M4,   M9),
    TableOperation.OVERWRITE:   (C,  OK, OK, M6_2, OK, OK,   OK, OK,   OK,   OK),
    TableOperation.COMPACTION:  (C,  OK, OK, OK,   OK, OK,   OK, OK,   OK,   OK),
}
# fmt: on


def cells(
    theirs: frozenset[TableOperation], ours: frozenset[TableOperation]
) -> tuple[Cell[TableOperation], ...]:
    """Return every cell that what both sides did to a table falls into.

    Args:
        theirs: The source's changes since the base.
        ours: The target's changes since the base.

    Returns:
        Cells in the order of the matrix, those that are harmless too; none if a side did
        nothing. A source that only compacted is a no-op, which the caller knows: its row still
        conflicts with a dropped table.

    References:
        The table of merge rules in assets/docs/statements.md.
    """
    return tuple(
        Cell(theirs=source, ours=target, rule=rule)
        for source, row in _TABLE.items()
        if source in theirs
        for target, rule in zip(TableOperation, row, strict=True)
        if target in ours
    )


def database_cells(
    theirs: frozenset[DatabaseOperation], ours: frozenset[DatabaseOperation]
) -> tuple[Cell[DatabaseOperation], ...]:
    """Return every cell that what both sides did to a database falls into, as `cells` does."""
    return tuple(
        Cell(theirs=source, ours=target, rule=rule, is_of_database=True)
        for source, row in _DATABASE.items()
        if source in theirs
        for target, rule in zip(DatabaseOperation, row, strict=True)
        if target in ours
    )
