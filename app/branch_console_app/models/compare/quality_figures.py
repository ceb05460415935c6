"""The figures of a column on both sides as people read them, each with how good it is."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Context, Decimal
from typing import Final, TypeAlias

from branch_console.quality.comparison import (
    QUANTILES,
    ColumnComparison,
    QualityComparison,
    Scope,
    ScopeComparison,
    SideFigures,
)
from branch_console.quality.distribution import Number
from branch_console.quality.profile import ColumnKind
from branch_console_app.models.parts.exactness import EXACT, UNREAD, shares_label
from branch_console_app.models.parts.wording import MINUS, NOT_READ, count, shortened, signed

LONGEST: Final = 40
"""How much of a long text is shown."""

_DAY_MICROS: Final = 86_400_000_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# A decimal has 38 digits, and the difference of two may have one more.
_WIDE: Final = Context(prec=80)
_Get: TypeAlias = Callable[[SideFigures], Number | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureLine:
    """A figure of a column on both sides; `label` says how good it is."""

    name: str
    before: str
    after: str
    delta: str
    label: str


def figure_lines(column: ColumnComparison) -> tuple[FigureLine, ...]:
    """Return the figures of a column on both sides."""
    old, new = column.before, column.after
    lines = [
        _count_line("rows", old, new, lambda side: side.rows),
        _count_line("nulls", old, new, lambda side: side.nulls),
        _share_line(old, new),
    ]
    if column.kind is ColumnKind.NUMBER and any(side and side.nans for side in (old, new)):
        lines.append(_count_line("NaN", old, new, lambda side: side.nans))
    if column.kind is ColumnKind.OTHER:
        lines.append(
            FigureLine(name="distinct", before=NOT_READ, after=NOT_READ, delta="", label=UNREAD)
        )
        return tuple(lines)
    lines.append(_distinct_line(old, new))
    lines += [_end_line(name, column, get) for name, get in (("min", _low), ("max", _high))]
    if column.kind is ColumnKind.FLAG:
        return tuple(lines)
    what = "length, " if column.kind in (ColumnKind.TEXT, ColumnKind.BYTES) else ""
    lines.append(_measure_line(f"{what}mean", column, _mean, EXACT))
    lines.append(_measure_line(f"{what}deviation", column, _deviation, EXACT, is_span=True))
    error = max((side.rank_error for side in (old, new) if side), default=0.0)
    label = shares_label(error)
    lines += [
        _measure_line(f"{what}p{share:.0%}".rstrip("%"), column, _quantile(at), label)
        for at, share in enumerate(QUANTILES)
    ]
    return tuple(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureTable:
    """All figures of a column, a side a column."""

    titles: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownSide:
    """A side whose figures stand beside those of others.

    Attributes:
        scope: Where it is compared.
        is_after: Whether it is the other side there, else the first one.
        less: The side it is compared with; None for the first side.
    """

    title: str
    scope: ScopeComparison
    is_after: bool
    less: str | None = None

    def figures_of(self, name: str) -> SideFigures | None:
        """The figures of a column, None if it is not known here."""
        column = self.scope.find(name)
        if column is None:
            return None
        return column.after if self.is_after else column.before


def sides_beside(found: QualityComparison, scope: ScopeComparison) -> tuple[ShownSide, ...]:
    """Return the sides that stand beside each other: for all rows every one that is known."""
    whole, merged, since = map(found.find_scope, (Scope.WHOLE, Scope.MERGED, Scope.SINCE_BASE))
    if scope.scope is Scope.OWN or whole is None:
        return (
            ShownSide(title="A", scope=scope, is_after=False),
            ShownSide(title="B", scope=scope, is_after=True, less="A"),
        )
    sides = []
    if since is not None:
        sides.append(ShownSide(title="Base", scope=since, is_after=False))
    sides.append(ShownSide(title="A", scope=whole, is_after=False))
    first, other = ("Base", since) if scope.scope is Scope.SINCE_BASE else ("A", whole)
    sides.append(ShownSide(title="B", scope=other or whole, is_after=True, less=first))
    if merged is not None:
        sides.append(ShownSide(title="Merged", scope=merged, is_after=True, less="A"))
    return tuple(sides)


def figure_table(
    found: QualityComparison, scope: ScopeComparison, column: ColumnComparison
) -> FigureTable:
    """Put the figures of a column side by side: of A, of B and, for all rows, of all that is known.

    Args:
        found: The comparison.
        scope: The rows that are compared.
        column: One of them.
    """
    sides = sides_beside(found, scope)
    known = {
        side.title: {} if there is None else {line.name: line for line in figure_lines(there)}
        for side in sides
        for there in [side.scope.find(column.name)]
    }
    reported_sides = [side for side in sides if side.less is not None]
    lines = []
    for name in dict.fromkeys(name for there in known.values() for name in there):
        found_lines = [known[side.title].get(name) for side in sides]
        lines.append(
            (
                name,
                *(
                    NOT_READ if line is None else line.after if side.is_after else line.before
                    for side, line in zip(sides, found_lines, strict=True)
                ),
                *(
                    "" if name not in known[side.title] else known[side.title][name].delta
                    for side in reported_sides
                ),
                _weaker(*found_lines),
            )
        )
    return FigureTable(
        titles=(
            "Figure",
            *(side.title for side in sides),
            *(f"Difference ({side.title} {MINUS} {side.less})" for side in reported_sides),
            "Label",
        ),
        lines=tuple(lines),
    )


def _weaker(*lines: FigureLine | None) -> str:
    labels = [each.label for each in lines if each is not None]
    return next((each for each in labels if each != EXACT), labels[0])


def measure_text(value: Number | None, column: ColumnComparison, *, is_span: bool = False) -> str:
    """Write a measure of a column: dates as dates, spans of time as such, numbers shortly.

    Args:
        value: See `branch_console.quality.measures.to_measures`; what is exact is written to its
            last digit.
        column: What it is a measure of.
        is_span: Whether it is a distance of two measures.
    """
    if value is None or math.isnan(value):
        return NOT_READ
    if column.kind is not ColumnKind.TIME or math.isinf(value):
        if not isinstance(value, float):
            text = f"{value:,f}" if isinstance(value, Decimal) else f"{value:,}"
            return text.replace("-", MINUS)
        return f"{value:,.6g}".replace("-", MINUS) if abs(value) < 1e15 else f"{value:.6g}"
    value = float(value)
    is_date = column.type.startswith("DATE")
    micros = value * _DAY_MICROS if is_date else value
    if is_span:
        return _span(micros)
    if column.type.startswith("TIME("):
        return _time_of_day(micros)
    try:
        moment = _EPOCH + timedelta(microseconds=round(micros))
    except OverflowError:
        return f"{value:.6g}"
    return f"{moment:%Y-%m-%d}" if is_date else f"{moment:%Y-%m-%d %H:%M:%S}"


def _time_of_day(micros: float) -> str:
    seconds = round(micros / 1e6)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def _span(micros: float) -> str:
    sign = MINUS if micros < 0 else ""
    days = abs(micros) / _DAY_MICROS
    if days >= 1:
        return f"{sign}{days:,.2f} d"
    seconds = abs(micros) / 1e6
    return f"{sign}{seconds / 3600:.2f} h" if seconds >= 3600 else f"{sign}{seconds:.3g} s"


def _low(side: SideFigures | None) -> str | None:
    return side.low if side else None


def _high(side: SideFigures | None) -> str | None:
    return side.high if side else None


def _mean(side: SideFigures) -> float | None:
    return side.mean


def _deviation(side: SideFigures) -> float | None:
    return side.deviation


def _text(value: str | None, kind: ColumnKind) -> str:
    if value is None:
        return NOT_READ
    if kind is ColumnKind.NUMBER:
        return value.replace("-", MINUS)
    return shortened(value, LONGEST) if value else '""'


def _end_line(
    name: str, column: ColumnComparison, get: Callable[[SideFigures | None], str | None]
) -> FigureLine:
    before, after = get(column.before), get(column.after)
    delta = ""
    if column.kind is ColumnKind.NUMBER and before is not None and after is not None:
        ends = (Decimal(before), Decimal(after))
        if all(each.is_finite() for each in ends):
            apart = ends[1] - ends[0]
            delta = f"{apart:+,}".replace("-", MINUS) if apart else "0"
    return FigureLine(
        name=name,
        before=_text(before, column.kind),
        after=_text(after, column.kind),
        delta=delta,
        label=EXACT,
    )


def _quantile(at: int) -> _Get:
    return lambda side: side.quantiles[at] if side.quantiles else None


def _count_line(
    name: str,
    old: SideFigures | None,
    new: SideFigures | None,
    get: Callable[[SideFigures], int],
) -> FigureLine:
    before, after = (None if side is None else get(side) for side in (old, new))
    delta = "" if before is None or after is None else signed(after - before)
    return FigureLine(name=name, before=count(before), after=count(after), delta=delta, label=EXACT)


def _share_line(old: SideFigures | None, new: SideFigures | None) -> FigureLine:
    shares = [
        None if side is None or not side.rows else 100 * side.nulls / side.rows
        for side in (old, new)
    ]
    before, after = (NOT_READ if each is None else f"{each:.2f} %" for each in shares)
    delta = ""
    if shares[0] is not None and shares[1] is not None:
        delta = f"{shares[1] - shares[0]:+.2f} points".replace("-", MINUS)
    return FigureLine(name="null rate", before=before, after=after, delta=delta, label=EXACT)


def _distinct_line(old: SideFigures | None, new: SideFigures | None) -> FigureLine:
    line = _count_line("distinct", old, new, lambda side: side.distinct or 0)
    errors = [side.distinct_error for side in (old, new) if side]
    if not any(errors):
        return line
    return FigureLine(
        name=line.name,
        before=line.before,
        after=line.after,
        delta=line.delta,
        label=f"≈ ±{count(max(errors))} (99.99 %)",
    )


def _measure_line(
    name: str, column: ColumnComparison, get: _Get, label: str, *, is_span: bool = False
) -> FigureLine:
    before, after = (None if side is None else get(side) for side in (column.before, column.after))
    delta = ""
    if before is not None and after is not None:
        apart = _apart(before, after)
        sign = "+" if apart > 0 else ""
        delta = "0" if not apart else f"{sign}{measure_text(apart, column, is_span=True)}"
    return FigureLine(
        name=name,
        before=measure_text(before, column, is_span=is_span),
        after=measure_text(after, column, is_span=is_span),
        delta=delta,
        label=label,
    )


def _apart(before: Number, after: Number) -> Number:
    if isinstance(before, Decimal) and isinstance(after, Decimal):
        return _WIDE.subtract(after, before)
    if isinstance(before, Decimal) or isinstance(after, Decimal):
        return float(after) - float(before)
    return after - before
