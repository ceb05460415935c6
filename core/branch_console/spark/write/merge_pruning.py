"""The rows of a table that can match a row of a source: a MERGE reads only their files.

In such rows the matching columns have a value of the source, or a value between the source's least
and greatest.
"""

from datetime import date
from typing import Final, TypeAlias

from pyspark.sql import DataFrame, functions
from pyspark.sql.types import DataType, DateType, IntegralType, StringType

from branch_console.expr.filter_pushdown import condition_from, is_of
from branch_console.expr.predicate import Condition
from branch_console.format.table_schema import TableSchema
from branch_console.spark.session.session import WarmSession
from branch_console.spark.write.target_rows import quoted
from branch_console.sql.merges import MatchKind, MergeClauses
from branch_console.sql.pushdown import PushedComparison, matching_in

_MOST_VALUES: Final = 256
_BOUNDS: Final = (functions.min, functions.max)

_Value: TypeAlias = str | int | date


def rows_that_can_match(
    session: WarmSession, source: DataFrame, merge: MergeClauses, schema: TableSchema
) -> Condition | None:
    """Return a condition over the target that holds for all rows which a MERGE may change.

    Args:
        session: The Spark session in which the source is read.
        source: Its rows, kept: they are read once or twice.
        merge: The MERGE statement.
        schema: The schema of the target.

    Returns:
        None if all rows may be meant, or nothing is known of those that are.
    """
    if any(each.match_kind is MatchKind.NOT_MATCHED_BY_SOURCE for each in merge.clauses):
        return None
    matching = matching_in(merge.condition, merge.target_name, merge.source_name)
    equal = [
        (own, column)
        for own, other in matching.equal
        if (column := _comparable(source, other)) is not None
    ]
    columns = list(dict.fromkeys(column for _, column in equal))
    found = _values(session, source, columns) if columns else {}
    comparisons = list(matching.comparisons)
    for own, column in equal:
        kinds = [each.type for each in schema.fields if each.name.lower() == own.lower()]
        values, is_all = found[column]
        # No row of the table has a value that its column could not hold.
        fitting = tuple(value for value in values if kinds and is_of(kinds[0], value))
        if is_all and fitting:
            comparisons.append(PushedComparison(column=own, sign="in", values=fitting))
        elif fitting and len(fitting) == len(values):
            least, greatest = fitting
            comparisons.append(PushedComparison(column=own, sign=">=", values=(least,)))
            comparisons.append(PushedComparison(column=own, sign="<=", values=(greatest,)))
    return condition_from(schema, comparisons)


def _comparable(source: DataFrame, name: str) -> str | None:
    """The column of the source, where its values compare as they are; None for others."""
    fields = [each for each in source.schema.fields if each.name.lower() == name.lower()]
    return fields[0].name if len(fields) == 1 and _has_order(fields[0].dataType) else None


def _has_order(kind: DataType) -> bool:
    # Texts of another collation are equal where their letters are not.
    return kind == StringType() or isinstance(kind, IntegralType | DateType)


def _values(
    session: WarmSession, source: DataFrame, columns: list[str]
) -> dict[str, tuple[tuple[_Value, ...], bool]]:
    """By column all values of a small source, else the least and the greatest; with which of it."""
    asked = [quoted(each).alias(f"c{number}") for number, each in enumerate(columns)]
    rows = source.select(*asked)
    few = session.run(lambda _: rows.limit(_MOST_VALUES + 1).collect(), description="merge")
    if len(few) <= _MOST_VALUES:
        return {
            column: (tuple({row[number] for row in few} - {None}), True)
            for number, column in enumerate(columns)
        }
    bounds = [bound(f"c{number}") for number in range(len(columns)) for bound in _BOUNDS]
    (row,) = session.run(lambda _: rows.agg(*bounds).collect(), description="merge")
    return {
        column: (
            tuple(each for each in row[2 * number : 2 * number + 2] if each is not None),
            False,
        )
        for number, column in enumerate(columns)
    }
