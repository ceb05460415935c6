"""Comparisons of a statement as a condition over the columns of a table, by which readers prune."""

from collections.abc import Iterable
from datetime import date
from typing import Final, Protocol

from branch_console.expr.predicate import Compare, Condition, IsIn, Join, Literal, Name
from branch_console.format.data_types import AtomicType, DataType, TypeRoot
from branch_console.format.table_schema import TableSchema

_BITS: Final = {TypeRoot.TINYINT: 8, TypeRoot.SMALLINT: 16, TypeRoot.INT: 32, TypeRoot.BIGINT: 64}


class ColumnTest(Protocol):
    """A column compared with values, as statements ask for it.

    Attributes:
        sign: `in` has one or more values, every other sign one.
    """

    @property
    def column(self) -> str: ...  # noqa: D102
    @property
    def sign(self) -> str: ...  # noqa: D102
    @property
    def values(self) -> tuple[str | int | date, ...]: ...  # noqa: D102


def condition_from(schema: TableSchema, comparisons: Iterable[ColumnTest]) -> Condition | None:
    """Return what a reader can leave rows out by; None if that is nothing.

    A comparison counts where value and column are of one kind, so that Spark casts neither.
    """
    found: list[Condition] = []
    for each in comparisons:
        named = [f for f in schema.fields if f.name.lower() == each.column.lower()]
        if len(named) != 1 or not all(is_of(named[0].type, value) for value in each.values):
            continue
        name = Name(side=None, column=named[0].name)
        values = tuple(
            Literal(value=str(value) if isinstance(value, date) else value) for value in each.values
        )
        found.append(
            IsIn(operand=name, values=values)
            if each.sign == "in"
            else Compare(sign=each.sign, left=name, right=values[0])
        )
    return Join(word="and", conditions=tuple(found)) if len(found) > 1 else next(iter(found), None)


def is_of(kind: DataType, value: str | int | date) -> bool:
    """Whether a column may hold a value just as it is."""
    if not isinstance(kind, AtomicType):
        return False
    if isinstance(value, str):
        return kind.root is TypeRoot.VARCHAR
    if isinstance(value, date):
        return kind.root is TypeRoot.DATE
    bits = _BITS.get(kind.root)
    return bits is not None and -(2 ** (bits - 1)) <= value < 2 ** (bits - 1)
