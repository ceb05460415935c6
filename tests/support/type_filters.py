"""What Java finds by a condition on a column, and what the condition holds for of all rows."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import jpype

from tests.support.java_paimon import JavaTable
from tests.support.java_vm import java_class

FEW_SIGNS: Final = ("equal", "lessThan", "greaterOrEqual")
ALL_SIGNS: Final = (*FEW_SIGNS, "notEqual", "lessOrEqual", "greaterThan")


@dataclass(frozen=True, slots=True, kw_only=True)
class JavaFilter:
    """A condition of Java's on one column."""

    told: str
    predicate: Any


def java_filters(
    row_type: Any, column: str, held: list[Any], signs: Iterable[str]
) -> Iterator[JavaFilter]:
    """Comparisons of a column with each of some values, and whether it has one."""
    builder = java_class("predicate.PredicateBuilder")(row_type)
    at = builder.indexOf(column)
    literal = jpype.JObject
    for sign in signs:
        for number, value in enumerate(held):
            found = getattr(builder, sign)(at, literal(value))
            yield JavaFilter(told=f"{sign} value {number}", predicate=found)
    ends = java_class("java.util.ArrayList")()
    for value in (held[0], held[-1]):
        ends.add(value)
    yield JavaFilter(told="in the first and last", predicate=builder.in_(at, ends))
    yield JavaFilter(told="not in them", predicate=builder.notIn(at, ends))
    yield JavaFilter(told="is null", predicate=builder.isNull(at))
    yield JavaFilter(told="is not null", predicate=builder.isNotNull(at))


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The first columns of the rows that a condition finds, and of those that it holds for.

    Attributes:
        told: The condition.
        files: How many files were looked into.
    """

    told: str
    rows: list[int]
    wanted: list[int]
    files: int


def find_with_java(table: JavaTable, filters: Iterable[JavaFilter]) -> Iterator[Found]:
    """Read a table with each condition."""
    loaded = table.load()
    serializer = java_class("data.serializer.InternalRowSerializer")(loaded.rowType())
    every = [serializer.copy(row) for row in _rows(loaded.newReadBuilder())[0]]
    for each in filters:
        rows, files = _rows(loaded.newReadBuilder().withFilter(each.predicate))
        yield Found(
            told=each.told,
            rows=sorted(row.getInt(0) for row in rows),
            wanted=sorted(row.getInt(0) for row in every if each.predicate.test(row)),
            files=files,
        )


def _rows(builder: Any) -> tuple[Iterator[Any], int]:
    plan = builder.newScan().plan()
    reader = builder.newRead().executeFilter().createReader(plan).toCloseableIterator()

    def rows() -> Iterator[Any]:
        while reader.hasNext():
            yield reader.next()
        reader.close()

    return rows(), sum(len(split.dataFiles()) for split in plan.splits())
