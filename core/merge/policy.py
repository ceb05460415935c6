"""How conflicts are settled: a policy is a file that people keep, reuse and show in receipts."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

import pyarrow as pa

from core.merge.conflict import ConflictKind


class RowRule(StrEnum):
    """When two changes of one row conflict."""

    CELL = "cell"
    ROW = "row"
    TOUCHED = "touched"


class Settle(StrEnum):
    """What a conflict may be settled to by rule."""

    OURS = "ours"
    THEIRS = "theirs"
    BASE = "base"
    NON_NULL = "non-null"
    NEWEST = "newest"
    MAX = "max"
    MIN = "min"
    SUM_OF_DELTAS = "sum of deltas"
    CONCATENATE = "concatenate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settling:
    """A way to settle, with what it needs.

    Attributes:
        by: The column that says which row is newer.
        separator: What stands between concatenated texts.
    """

    how: Settle
    by: str | None = None
    separator: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class KindRule:
    """Settles all conflicts of a kind."""

    kind: ConflictKind
    take: Settling


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnRule:
    """Settles the cells of a column."""

    column: str
    take: Settling


@dataclass(frozen=True, slots=True, kw_only=True)
class PredicateRule:
    """Settles rows that a condition holds for, see `core.merge.predicate`; `column` narrows it."""

    when: str
    take: Settling
    column: str | None = None


CHOICE: Final = pa.schema(
    [
        pa.field("conflict_id", pa.string(), nullable=False),
        pa.field("key", pa.string(), nullable=False),
        pa.field("column", pa.string()),
        pa.field("take", pa.string(), nullable=False),
        pa.field("value", pa.string()),
        pa.field("base", pa.string()),
        pa.field("ours", pa.string()),
        pa.field("theirs", pa.string()),
        pa.field("decided_by", pa.string(), nullable=False),
        pa.field("time_millis", pa.int64(), nullable=False),
    ]
)
"""Choices by hand: of a cell, or where `column` is null of a row, with the values decided on.

`key` is a JSON object of texts by column of the primary key, `take` ours, theirs, base or value,
`value` the text of an edit.
"""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TablePolicy:
    """How conflicts of one table are settled.

    Attributes:
        table: Its name, such as `flights.delays`, or `*` for every table that is not named.
        take: For all that nothing stronger settles.
        columns: One rule a column at most.
        where: The first whose condition holds decides.
        choices: Columns of CHOICE.
    """

    table: str
    take: Settling | None = None
    columns: tuple[ColumnRule, ...] = ()
    where: tuple[PredicateRule, ...] = ()
    choices: pa.Table = field(default_factory=CHOICE.empty_table)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Policy:
    """When rows conflict and how conflicts are settled; nothing is settled unless it says so.

    Strongest first: cell, row, predicate, column, table, kind.
    """

    rows: RowRule = RowRule.CELL
    kinds: tuple[KindRule, ...] = ()
    tables: tuple[TablePolicy, ...] = ()
