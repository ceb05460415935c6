"""The rows of a table that a statement can need at most, by comparisons that readers understand.

Only certain cases are used: comparisons of a column with a plain number or text, in a SELECT over
that one table or in the condition of a MERGE for all matching rows. Spark filters and joins again,
so a comparison that is left out here makes a read slower but never wrong.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from types import MappingProxyType
from typing import Final

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

# Texts that Spark and sqlglot cannot read differently.
_PLAIN: Final = re.compile(r"[\w .:/@+-]*", re.ASCII)
_SIGNS: Final[Mapping[type[exp.Expr], tuple[str, str]]] = MappingProxyType(
    {
        exp.EQ: ("=", "="),
        exp.LT: ("<", ">"),
        exp.LTE: ("<=", ">="),
        exp.GT: (">", "<"),
        exp.GTE: (">=", "<="),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PushedComparison:
    """A column compared with values; `in` has one or more of them, every other sign one."""

    column: str
    sign: str
    values: tuple[str | int | date, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching:
    """Return conditions that hold for every matching pair of a target row and a source row.

    Attributes:
        equal: Columns of the target that are equal to columns of the source.
        comparisons: Comparisons of the target alone.
    """

    equal: tuple[tuple[str, str], ...]
    comparisons: tuple[PushedComparison, ...]


def matching_in(condition: str, target: str, source: str) -> Matching:
    """Return what a condition of a MERGE says of rows that match; nothing if that is in doubt.

    Args:
        condition: The condition under which rows match.
        target: How it calls the target; columns without that name may be of either side.
        source: How it calls the source.
    """
    try:
        tree = parse_one(condition, dialect="spark")
    except (SqlglotError, RecursionError):
        return Matching(equal=(), comparisons=())
    names, others = {target.lower()}, {source.lower()}
    equal = []
    for each in _conjuncts(tree):
        if isinstance(each, exp.EQ):
            for left, right in ((each.left, each.right), (each.right, each.left)):
                own, other = _column(left, names), _column(right, others)
                if own is not None and other is not None:
                    equal.append((own, other))
    return Matching(equal=tuple(equal), comparisons=tuple(_comparisons(tree, names)))


def _conjuncts(condition: exp.Expr) -> Iterator[exp.Expr]:
    # A chain of thousands is as many levels deep.
    left = [condition]
    while left:
        each = left.pop()
        if isinstance(each, exp.And):
            left += [each.right, each.left]
        elif isinstance(each, exp.Paren):
            left.append(each.this)
        else:
            yield each


def comparisons_in(tree: exp.Expr) -> Mapping[int, tuple[PushedComparison, ...]]:
    """Return the comparisons that hold for every row that is used of a table.

    Returns:
        By the first character of the table in the text.
    """
    found: dict[int, tuple[PushedComparison, ...]] = {}
    for select in tree.find_all(exp.Select):
        source, where = select.args.get("from_"), select.args.get("where")
        table = source.this if source is not None else None
        if where is None or not isinstance(table, exp.Table) or not _is_alone(select, table):
            continue
        names = {"", table.alias_or_name.lower()}
        asked = tuple(_comparisons(where.this, names))
        if asked:
            found[table.args["db"].meta["start"]] = asked
    return MappingProxyType(found)


def _is_alone(select: exp.Expr, table: exp.Table) -> bool:
    """Whether a SELECT reads one table, whose rows go to its WHERE as they are."""
    if table.args.get("db") is None:
        return False
    between = ("joins", "laterals", "pivots", "sample", "match")
    if any(table.args.get(each) or select.args.get(each) for each in between):
        return False
    alias = table.args.get("alias")
    return alias is None or not alias.args.get("columns")


def _comparisons(condition: exp.Expr, names: set[str]) -> Iterator[PushedComparison]:
    for each in _conjuncts(condition):
        yield from _compared_in(each, names)


def _compared_in(condition: exp.Expr, names: set[str]) -> Iterator[PushedComparison]:
    match condition:
        case exp.Between():
            column = _column(condition.this, names)
            ends = (("<=", condition.args["high"]), (">=", condition.args["low"]))
            for sign, end in ends:
                value = _value(end)
                if column is not None and value is not None and not condition.args.get("symmetric"):
                    yield PushedComparison(column=column, sign=sign, values=(value,))
        case exp.In():
            column = _column(condition.this, names)
            values = [_value(each) for each in condition.expressions]
            known = tuple(value for value in values if value is not None)
            if column is not None and known and len(known) == len(values):
                yield PushedComparison(column=column, sign="in", values=known)
        case exp.EQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
            yield from _compared(condition, names)


def _compared(condition: exp.Binary, names: set[str]) -> Iterator[PushedComparison]:
    as_it_is, turned = _SIGNS[type(condition)]
    sides = ((condition.left, condition.right, as_it_is), (condition.right, condition.left, turned))
    for left, right, sign in sides:
        column, value = _column(left, names), _value(right)
        if column is not None and value is not None:
            yield PushedComparison(column=column, sign=sign, values=(value,))


def _column(node: exp.Expr, names: set[str]) -> str | None:
    if not isinstance(node, exp.Column) or node.args.get("db") is not None:
        return None
    return node.name if node.table.lower() in names else None


def _value(node: exp.Expr) -> str | int | None:
    if isinstance(node, exp.Neg):
        inner = _value(node.this)
        return -inner if isinstance(inner, int) else None
    if not isinstance(node, exp.Literal):
        return None
    text = str(node.this)
    if node.is_string:
        return text if _PLAIN.fullmatch(text) else None
    return int(text) if text.isdigit() else None
