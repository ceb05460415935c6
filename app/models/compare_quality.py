"""The quality of two sides as people read it: ratings in words, figures with labels, bars, bins."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Final, TypeAlias

from app.models.wording import MINUS, count, plural, shortened, signed
from core.quality.comparison import (
    QUANTILES,
    ColumnComparison,
    QualityComparison,
    Scope,
    ScopeComparison,
    SideFigures,
)
from core.quality.drift import NAN_BIN, NULL_BIN, OTHER_BIN, Bin, Drift, Measure, Rating
from core.quality.profile import ColumnKind

EXACT: Final = "exact"
NOT_READ: Final = "not read"
NOTHING: Final = "\N{EN DASH}"
_MOST_BARS: Final = 20
_MOST_CATEGORIES: Final = 15
_LONGEST: Final = 40
_DAY_MICROS: Final = 86_400_000_000
_Get: TypeAlias = Callable[[SideFigures], float | None]
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureLine:
    """A figure of a column on both sides; `label` says how good it is."""

    name: str
    before: str
    after: str
    delta: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftBar:
    """How far a column lies beyond its threshold; 1 is where it alarms."""

    column: str
    severity: float
    rating: Rating
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftBars:
    """The columns that differ beyond chance, the worst first.

    Attributes:
        left_out: Rated columns without a bar: these differ less, or by chance.
    """

    bars: tuple[DriftBar, ...]
    left_out: int
    alt: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BinShares:
    """How the values of both sides lie over the bins of the first.

    Attributes:
        labels: Of the bins.
        before, after: Shares of all rows of the side, in percent.
        ordered: How many of the first bins lie on a line, so that their shares add up.
    """

    labels: tuple[str, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]
    ordered: int
    alt: str


def summary(scope: ScopeComparison) -> str:
    """Tell what the columns of a scope come to."""
    if min(scope.rows) == 0:
        return "One side has no rows to compare."
    found = {rating: [each for each in scope.columns if each.rating is rating] for rating in Rating}
    alarms, watched = found[Rating.ALARM], found[Rating.WATCH]
    if alarms or watched:
        worst = (alarms or watched)[0].name
        if len(alarms) + len(watched) == 1:
            return f"1 column {'drifted' if alarms else 'is to be watched'}: {worst}."
        parts = [
            f"{plural(len(each), 'column')} {words}"
            for each, words in ((alarms, "drifted"), (watched, "to be watched"))
            if each
        ]
        return f"{', '.join(parts)}; {worst} most."
    if found[Rating.FEW_ROWS]:
        return "Too few rows to rate: a side has fewer than 100."
    return "No column drifted." if found[Rating.CALM] else "No column can be rated."


def scope_words(scope: ScopeComparison) -> str:
    """Tell which rows are compared."""
    before, after = (plural(each, "row") for each in scope.rows)
    if scope.scope is Scope.WHOLE:
        return f"All {before} of A against all {after} of B."
    if scope.is_base_whole:
        return (
            f"{after} in units that only B has, against all {before} of A, which has too few of "
            "its own."
        )
    return f"{after} in units that only B has, against {before} in units that only A has."


def read_words(found: QualityComparison) -> str:
    """Tell what was read for a comparison."""
    known = f", {count(found.units_known)} known from before" if found.units_known else ""
    return (
        f"{plural(found.units_read, 'unit')} read{known}. A unit is a file, or files that are "
        "merged when they are read."
    )


def rating_words(column: ColumnComparison) -> str:
    """Tell why a column is rated as it is, in one line."""
    if column.why_not_rated is not None:
        return column.why_not_rated
    worst = column.worst
    if column.rating is Rating.FEW_ROWS or worst is None:
        return str(column.rating)
    return drift_words(worst)


def drift_words(drift: Drift) -> str:
    """Write a measure with its value and what it may be off by."""
    if not drift.value:
        return "no difference" if drift.measure is not Measure.NULLS else "as many nulls"
    if drift.measure is Measure.W:
        return f"quantiles moved by {drift.value:.3f} deviations"
    percent = drift.measure in (Measure.NULLS, Measure.DISTINCT)
    scale, unit, digits = (100.0, " %", 1) if percent else (1.0, "", 3)
    error = f" ±{drift.error * scale:.{digits}f}" if drift.error else ""
    chance = ", no more than chance" if 0 < drift.value <= drift.chance else ""
    names = {Measure.NULLS: "null rate differs by", Measure.DISTINCT: "distinct values differ by"}
    name = names.get(drift.measure, str(drift.measure))
    return f"{name} {drift.value * scale:.{digits}f}{error}{unit}{chance}"


def drift_bars(scope: ScopeComparison) -> DriftBars:
    """Rank the columns that are rated."""
    rated = [each for each in scope.columns if each.worst is not None]
    shown = [each for each in rated if each.severity][:_MOST_BARS]
    bars = tuple(
        DriftBar(
            column=each.name,
            severity=each.severity,
            rating=each.rating,
            words=f"{each.rating}: {'; '.join(map(drift_words, each.drifts))}",
        )
        for each in shown
    )
    return DriftBars(
        bars=bars, left_out=len(rated) - len(shown), alt=f"Drift by column. {summary(scope)}"
    )


def bin_shares(column: ColumnComparison) -> BinShares:
    """Return how the values of a column lie on both sides."""
    bins = _most_frequent(column.bins)
    totals = [max(1, sum(each)) for each in ([b.base for b in bins], [b.other for b in bins])]
    before = tuple(100 * each.base / totals[0] for each in bins)
    after = tuple(100 * each.other / totals[1] for each in bins)
    labels = tuple(_bin_label(each, column) for each in bins)
    alt = f"{column.name}: no values"
    if bins:
        apart = [abs(new - old) for old, new in zip(before, after, strict=True)]
        at = apart.index(max(apart))
        alt = (
            f"{column.name}: {labels[at]} has {before[at]:.1f} % of A and {after[at]:.1f} % of B, "
            "the largest difference of any bin"
        )
    return BinShares(
        labels=labels,
        before=before,
        after=after,
        ordered=sum(each.name is None and each.value is None for each in bins),
        alt=alt,
    )


def _most_frequent(bins: Sequence[Bin]) -> list[Bin]:
    """Bins of which no more are categories than can be told apart; the rest is one of them."""
    categories = [each for each in bins if each.value is not None]
    rest = [*categories[_MOST_CATEGORIES:], *(each for each in bins if each.name == OTHER_BIN)]
    if len(rest) < 2:
        return list(bins)
    others = Bin(
        name=OTHER_BIN,
        base=sum(each.base for each in rest),
        other=sum(each.other for each in rest),
    )
    apart = [each for each in bins if each.name in (NAN_BIN, NULL_BIN)]
    return [*categories[:_MOST_CATEGORIES], others, *apart]


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
            FigureLine(name="distinct", before=NOTHING, after=NOTHING, delta="", label=NOT_READ)
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
    label = EXACT if not error else f"≈ ±{100 * error:.2f} % of rows"
    lines += [
        _measure_line(f"{what}p{share:.0%}".rstrip("%"), column, _quantile(at), label)
        for at, share in enumerate(QUANTILES)
    ]
    return tuple(lines)


def measure_text(value: float | None, column: ColumnComparison, *, is_span: bool = False) -> str:
    """Write a measure of a column: dates as dates, spans of time as such, numbers shortly.

    Args:
        value: See `core.quality.profile_rows.to_measures`.
        column: What it is a measure of.
        is_span: Whether it is a distance of two measures.
    """
    if value is None or math.isnan(value):
        return NOTHING
    if column.kind is not ColumnKind.TIME or math.isinf(value):
        return f"{value:,.6g}".replace("-", MINUS) if abs(value) < 1e15 else f"{value:.6g}"
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


def _bin_label(each: Bin, column: ColumnComparison) -> str:
    if each.name is not None:
        return each.name
    if each.value is not None:
        is_plain = each.value not in ("", NAN_BIN, NULL_BIN, OTHER_BIN)
        return shortened(each.value, _LONGEST) if is_plain else f'"{each.value}"'
    low, high = (measure_text(end, column) for end in (each.low, each.high))
    if column.kind is ColumnKind.TIME:
        # Both ends would not fit below a bar, and the one begins where the other ends.
        return f"≤ {high}" if each.high is not None else f"> {low}" if each.low else "all"
    if each.low is None:
        return "all" if each.high is None else f"≤ {high}"
    return f"> {low}" if each.high is None else f"{low} … {high}"


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
        return NOTHING
    if kind is ColumnKind.NUMBER:
        return value.replace("-", MINUS)
    return shortened(value, _LONGEST) if value else '""'


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
    before, after = (NOTHING if each is None else f"{each:.2f} %" for each in shares)
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
        label=f"≈ ±{count(max(errors))} (95 %)",
    )


def _measure_line(
    name: str, column: ColumnComparison, get: _Get, label: str, *, is_span: bool = False
) -> FigureLine:
    before, after = (None if side is None else get(side) for side in (column.before, column.after))
    delta = ""
    if before is not None and after is not None:
        apart = after - before
        sign = "+" if apart > 0 else ""
        delta = "0" if not apart else f"{sign}{measure_text(apart, column, is_span=True)}"
    return FigureLine(
        name=name,
        before=measure_text(before, column, is_span=is_span),
        after=measure_text(after, column, is_span=is_span),
        delta=delta,
        label=label,
    )


def key_words(scope: ScopeComparison) -> Sequence[tuple[str, str]]:
    """Return what is said of keys, each with its label; empty for a table without a key."""
    if scope.keys is None:
        return ()
    return tuple(
        (
            f"{plural(each.duplicates, 'duplicate key')} in {side}",
            EXACT if each.is_exact else "at least",
        )
        for each, side in zip(scope.keys, "AB", strict=True)
    )
