"""Which rows of a table a query can need at most, by comparisons that readers understand.

Only what is beyond doubt: comparisons of a column with a plain number or text that a SELECT over
that one table asks for. Spark filters again, so that nothing rests on what is left out here.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from sqlglot import exp

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
class Comparison:
    """A column compared with values; `in` has one or more of them, every other sign one."""

    column: str
    sign: str
    values: tuple[str | int, ...]


def comparisons_in(tree: exp.Expr) -> Mapping[int, tuple[Comparison, ...]]:
    """Return the comparisons that hold for every row that is used of a table.

    Returns:
        By the first character of the table in the text.
    """
    found: dict[int, tuple[Comparison, ...]] = {}
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


def _comparisons(condition: exp.Expr, names: set[str]) -> Iterator[Comparison]:
    match condition:
        case exp.And():
            yield from _comparisons(condition.left, names)
            yield from _comparisons(condition.right, names)
        case exp.Paren():
            yield from _comparisons(condition.this, names)
        case exp.Between():
            column = _column(condition.this, names)
            ends = (("<=", condition.args["high"]), (">=", condition.args["low"]))
            for sign, end in ends:
                value = _value(end)
                if column is not None and value is not None and not condition.args.get("symmetric"):
                    yield Comparison(column=column, sign=sign, values=(value,))
        case exp.In():
            column = _column(condition.this, names)
            values = [_value(each) for each in condition.expressions]
            known = tuple(value for value in values if value is not None)
            if column is not None and known and len(known) == len(values):
                yield Comparison(column=column, sign="in", values=known)
        case exp.EQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
            yield from _compared(condition, names)


def _compared(condition: exp.Binary, names: set[str]) -> Iterator[Comparison]:
    as_it_is, turned = _SIGNS[type(condition)]
    sides = ((condition.left, condition.right, as_it_is), (condition.right, condition.left, turned))
    for left, right, sign in sides:
        column, value = _column(left, names), _value(right)
        if column is not None and value is not None:
            yield Comparison(column=column, sign=sign, values=(value,))


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
