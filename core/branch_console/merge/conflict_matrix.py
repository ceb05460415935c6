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
    """What holds where a source operation meets a target operation; values name the rules.

    Attributes:
        OK: Both stand.
        CONFLICT: Never both.
        UNLESS_SAME_KEY: A conflict for one and the same property, else both stand.
        P: Options, key by key.
        Q: A conflict for one partition added and dropped, else both stand.
        A1: Update x delete: a conflict where both touched the same file.
        A2: Delete x delete: both hold.
        A3: Update x update: a conflict where both touched the same file.
        A4: Update x overwrite: base rows that the overwrite removed stay removed.
        A5: Delete x overwrite: as A4.
        A6: Columns by field id; types widen and never narrow (A6.1).
        A6_2: New columns without nulls, and rows written without them.
        L: The target compacted files whose rows the source changed: they are found again.
    """

    OK = "ok"
    CONFLICT = "conflict"
    UNLESS_SAME_KEY = "unless same key"
    P = "P"
    Q = "Q"
    A1 = "A1"
    A2 = "A2"
    A3 = "A3"
    A4 = "A4"
    A5 = "A5"
    A6 = "A6"
    A6_2 = "A6.2"
    L = "L"


# Rules without a name of their own: their cells are called by what meets there.
_NAMELESS: Final = frozenset({CellRule.OK, CellRule.CONFLICT, CellRule.UNLESS_SAME_KEY})


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell(Generic[Operation]):
    """Where a source operation meets a target operation.

    Attributes:
        is_of_database: Whether it is a cell of the matrix of databases.
    """

    theirs: Operation
    ours: Operation
    rule: CellRule
    is_of_database: bool = False

    @property
    def id(self) -> str:
        """Such as `003/A3`, or `003/delete.insert` (source first) where the rule has no name."""
        return f"003/database.{self._name}" if self.is_of_database else f"003/{self._name}"

    @property
    def object_id(self) -> str:
        """The same among objects of the catalog, such as `database/rename.drop` or `table/A3`."""
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
P: Final = CellRule.P
Q: Final = CellRule.Q
A1: Final = CellRule.A1
A2: Final = CellRule.A2
A3: Final = CellRule.A3
A4: Final = CellRule.A4
A5: Final = CellRule.A5
A6: Final = CellRule.A6
A6_2: Final = CellRule.A6_2
L: Final = CellRule.L
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
    TableOperation.PROPERTIES:  (C,  OK, P,  OK,   OK, OK,   OK, OK,   OK,   OK),
    TableOperation.COLUMN:      (C,  OK, OK, A6,   OK, A6_2, OK, A6_2, A6_2, OK),
    TableOperation.PARTITION:   (C,  OK, OK, OK,   Q,  OK,   OK, OK,   OK,   OK),
    TableOperation.INSERT:      (C,  OK, OK, A6_2, OK, OK,   OK, OK,   OK,   OK),
    TableOperation.DELETE:      (C,  OK, OK, OK,   OK, C,    A2, OK,   A5,   L),
    TableOperation.UPDATE:      (C,  OK, OK, A6_2, OK, C,    A1, A3,   A4,   L),
    TableOperation.OVERWRITE:   (C,  OK, OK, A6_2, OK, OK,   OK, OK,   OK,   OK),
    TableOperation.COMPACTION:  (C,  OK, OK, OK,   OK, OK,   OK, OK,   OK,   OK),
}
# fmt: on


def cells(
    theirs: frozenset[TableOperation], ours: frozenset[TableOperation]
) -> tuple[Cell[TableOperation], ...]:
    """Return every cell that what both sides did to a table falls into.

    Args:
        theirs: What the source did since the base.
        ours: What the target did.

    Returns:
        Cells in the order of the matrix, those that are harmless too; none where a side did
        nothing. A source that only compacted is a no-op, which the caller knows: its row still
        conflicts with a dropped table.

    References:
        Seed rule 003, tables without a primary key.
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
