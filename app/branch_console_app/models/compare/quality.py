"""The quality of two sides as people read it: ratings in words, ranked bars, shares of bins."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from branch_console.quality.attribution import explaining_bins
from branch_console.quality.bins import NAN_BIN, NULL_BIN, OTHER_BIN, Bin
from branch_console.quality.comparison import (
    ColumnComparison,
    QualityComparison,
    Scope,
    ScopeComparison,
)
from branch_console.quality.drift import Drift, Measure, Rating
from branch_console.quality.profile import ColumnKind
from branch_console_app.models.compare.quality_figures import LONGEST, measure_text
from branch_console_app.models.parts.exactness import EXACT
from branch_console_app.models.parts.wording import count, plural, shortened, size

_MOST_BARS: Final = 20
_MOST_CATEGORIES: Final = 15


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
        labels: The labels of the bins.
        before, after: Shares of all rows of the side, in percent.
        ordered: How many of the first bins lie on a line, so that their shares add up.
        first, other: The names of the sides.
    """

    labels: tuple[str, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]
    ordered: int
    first: str
    other: str
    alt: str


def summary(scope: ScopeComparison) -> str:
    """Tell what the columns of a scope come to."""
    if min(scope.rows) == 0:
        return "One side has no rows to compare."
    found = {rating: [each for each in scope.columns if each.rating is rating] for rating in Rating}
    alarms, watched = found[Rating.ALARM], found[Rating.WATCH]
    if alarms:
        others = f"; watch {count(len(watched))} more" if watched else ""
        return f"{_worst_of(alarms)} beyond the alarm threshold{others}."
    if watched:
        return f"No column is beyond the alarm threshold; watch {_named(watched)}."
    small = found[Rating.SMALL]
    if small:
        verb = "differ" if len(small) > 1 else "differs"
        return (
            f"No column drifted far; {plural(len(small), 'column')} {verb} little but for certain: "
            f"{small[0].name}{' most' if len(small) > 1 else ''}."
        )
    if found[Rating.FEW_ROWS]:
        return "Too few rows to rate: a side has fewer than 100."
    return "No column drifted." if found[Rating.CALM] else "No column can be rated."


def scope_words(scope: ScopeComparison, base: str | None = None) -> str:
    """Tell which rows are compared; `base` is what both sides come from."""
    before, after = (plural(each, "row") for each in scope.rows)
    if scope.scope is Scope.SINCE_BASE:
        return f"All {before} of the base of A and B ({base}) against all {after} of B."
    if scope.scope is Scope.WHOLE:
        return f"All {before} of A against all {after} of B."
    if scope.scope is Scope.MERGED:
        return f"All {before} of A against the {after} that merging B into A would leave."
    if scope.keys is not None:
        # Both sides have most rows of a bucket that was written to.
        of_base = (
            f"all {before} of A"
            if scope.is_base_whole
            else f"{before} of A without an equal row on B"
        )
        return f"{after} of B without an equal row on A, against {of_base}."
    if scope.is_base_whole:
        return (
            f"{after} in files that only B has, against all {before} of A, which has too few of "
            "its own."
        )
    return f"{after} in files that only B has, against {before} in files that only A has."


def _worst_of(columns: Sequence[ColumnComparison]) -> str:
    return f"{_named(columns)} {'is' if len(columns) == 1 else 'are'}"


def _named(columns: Sequence[ColumnComparison]) -> str:
    """Name the first of some columns, and count the others."""
    worst, *others = columns
    return f"{worst.name} and {count(len(others))} more" if others else worst.name


def conflict_words(found: QualityComparison, scope: ScopeComparison) -> str | None:
    """Say how many conflicts of a merged result are open; None if none is, or for another scope."""
    if scope.scope is not Scope.MERGED or not found.open_conflicts:
        return None
    return (
        f"{plural(found.open_conflicts, 'conflict')} not settled yet: the values of A are measured "
        "for them."
    )


def side_titles(scope: Scope) -> tuple[str, str]:
    """Name both sides, as titles."""
    first = "Base" if scope is Scope.SINCE_BASE else "A"
    return first, "Merged" if scope is Scope.MERGED else "B"


def read_words(found: QualityComparison) -> str:
    """Tell what was read for a comparison."""
    known = f", {count(found.units_known)} known from before" if found.units_known else ""
    return (
        f"{plural(found.units_read, 'unit')} read ({size(found.bytes_read)}){known}. A unit is a "
        "file, or several files that are merged as they are read."
    )


def rating_words(column: ColumnComparison) -> str:
    """Tell why a column is rated as it is, in one line."""
    if column.why_not_rated is not None and not column.rating.is_reported:
        return column.why_not_rated
    worst = column.worst
    if column.rating is Rating.FEW_ROWS or worst is None:
        return str(column.rating)
    return drift_words(worst)


def drift_words(drift: Drift) -> str:
    """Write a measure with its value and what it may be off by."""
    if not drift.value:
        return "no difference" if drift.measure is not Measure.NULLS else "as many nulls"
    percent = drift.measure not in (Measure.PSI, Measure.KS, Measure.JS, Measure.W)
    scale, unit, digits = (100.0, " %", 1) if percent else (1.0, "", 3)
    if drift.measure is Measure.W:
        unit = " deviations"
    error = f" ±{drift.error * scale:.{digits}f}" if drift.error else ""
    # The error reaches farther up than down where a bin may be empty.
    sure = f", at least {drift.sure * scale:.{digits}f}{unit}" if error and drift.sure else ""
    chance = ", no more than chance" if drift.sure <= drift.chance else ""
    names = {
        Measure.NULLS: "null rate differs by",
        Measure.DISTINCT: "distinct values differ by",
        Measure.SHARE: f"share of {_quoted(drift.of)} differs by",
        Measure.ENDS: f"share of the {drift.of} values differs by",
        Measure.W: "quantiles moved by",
        Measure.PSI: "shift of the distribution (PSI)",
    }
    name = names.get(drift.measure, str(drift.measure))
    return f"{name} {drift.value * scale:.{digits}f}{error}{unit}{sure}{chance}"


def _quoted(text: str | None) -> str:
    return f'"{shortened(text or "", LONGEST)}"'


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


def bin_shares(column: ColumnComparison, scope: Scope = Scope.WHOLE) -> BinShares:
    """Return how the values of a column lie on both sides."""
    first, other = side_titles(scope)
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
            f"{column.name}: {labels[at]} has {before[at]:.1f} % of {first} and "
            f"{after[at]:.1f} % of {other}, the largest difference of any bin"
        )
    return BinShares(
        labels=labels,
        before=before,
        after=after,
        ordered=sum(each.name is None and each.value is None for each in bins),
        first=first,
        other=other,
        alt=alt,
    )


def explaining_words(column: ColumnComparison, scope: Scope) -> str | None:
    """Tell in which values the sides of a column differ most; None if it did not drift."""
    if not column.rating.is_reported:
        return None
    first, other = side_titles(scope)
    parts = [
        f"{100 * part.share:.0f} % in {_bin_label(part.bin, column)} "
        f"({100 * part.before:.1f} % of {first}, {100 * part.after:.1f} % of {other})"
        for part in explaining_bins(column.bins)
    ]
    return f"Most of the difference: {'; '.join(parts)}." if parts else None


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


def _bin_label(each: Bin, column: ColumnComparison) -> str:
    if each.name is not None:
        return each.name
    if each.value is not None:
        is_plain = each.value not in ("", NAN_BIN, NULL_BIN, OTHER_BIN)
        return shortened(each.value, LONGEST) if is_plain else f'"{each.value}"'
    low, high = (measure_text(end, column) for end in (each.low, each.high))
    if column.kind is ColumnKind.TIME:
        # Both ends would not fit below a bar, and the one begins where the other ends.
        if each.high is not None:
            return f"≤ {high}"
        return "all" if each.low is None else f"> {low}"
    if each.low is None:
        return "all" if each.high is None else f"≤ {high}"
    return f"> {low}" if each.high is None else f"{low} … {high}"


def key_words(scope: ScopeComparison) -> Sequence[tuple[str, str]]:
    """Return what is said of keys, each with its label; empty for a table without a key."""
    if scope.keys is None:
        return ()
    return tuple(
        (
            f"{plural(each.duplicates, 'duplicate key')} in {side}",
            EXACT if each.is_exact else "at least",
        )
        for each, side in zip(scope.keys, (scope.scope.first, scope.scope.other), strict=True)
    )
