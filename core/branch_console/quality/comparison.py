"""The quality of two sides compared: figures of both, how far they lie apart, and what is exact."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final

import numpy as np

from branch_console.diff.rows.row_diff import ComparedColumn
from branch_console.quality.bins import Bin, bins_of
from branch_console.quality.distribution import Number
from branch_console.quality.drift import (
    LEAST_ROWS,
    Drift,
    Measure,
    Rating,
    measure_drift,
    numbers_rows,
)
from branch_console.quality.drift_map import DriftMap
from branch_console.quality.profile import ColumnKind, ColumnProfile, Profile, kind_of

QUANTILES: Final = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
"""The quantiles that are reported of each side."""

VERSION: Final = 5
"""The version of profiles and conclusions, a part of the keys they are kept under."""


class Scope(StrEnum):
    """The rows that are compared."""

    OWN = "own rows"
    """The rows of B that A does not share, and the rows of A that B does not share.

    If A has too few rows of its own to rate, all rows of A are used.
    """
    WHOLE = "whole sides"
    MERGED = "merged result"
    """All of what merging B into A would leave, against all of A."""
    SINCE_BASE = "since the base"
    """All of B, against all of where A and B parted."""

    @property
    def first(self) -> str:
        """The first side."""
        return "the base" if self is Scope.SINCE_BASE else "A"

    @property
    def other(self) -> str:
        """The second side."""
        return "the merged result" if self is Scope.MERGED else "B"


@dataclass(frozen=True, slots=True, kw_only=True)
class SideFigures:
    """The profile of a column on one side.

    Attributes:
        valid: Values that are neither null nor NaN.
        distinct: None if that is not known; with what it may be off by, with 99.99 % certainty.
        low, high: As texts.
        mean, deviation: The mean and deviation of measures, see `to_measures`; for texts and bytes,
            of their lengths.
        quantiles: The exact quantiles of the same values at QUANTILES; empty without values.
        rank_error: By how much the share that a quantile stands for may be off, for certain.
    """

    rows: int
    nulls: int
    nans: int
    valid: int
    distinct: int | None
    distinct_error: int
    low: str | None
    high: str | None
    mean: float | None
    deviation: float | None
    quantiles: tuple[Number, ...]
    rank_error: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnComparison:
    """A column of two sides.

    Attributes:
        type: As Paimon writes it.
        before: None if the first side has no such column.
        after: None if the second one has none.
        drifts: Empty if nothing is rated.
        bins: How the values of both lie over the bins of the first.
        bins_error: By how much a share of a bin may be off.
        why_not_rated: A sentence on why its values are not compared; None if they are.
    """

    name: str
    type: str
    kind: ColumnKind
    before: SideFigures | None
    after: SideFigures | None
    drifts: tuple[Drift, ...]
    bins: tuple[Bin, ...]
    bins_error: float
    rating: Rating
    why_not_rated: str | None

    @property
    def worst(self) -> Drift | None:
        """The measure farthest beyond its threshold; None if nothing is rated."""
        return max(
            self.drifts,
            key=lambda each: (each.rating.rank, each.severity, each.value / each.alarms_at),
            default=None,
        )

    @property
    def severity(self) -> float:
        """See `Drift.severity`; 0 if nothing is rated."""
        return 0.0 if self.worst is None else self.worst.severity


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyFigures:
    """Rows whose key stands there before; a lower bound where it is not exact."""

    duplicates: int
    is_exact: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeComparison:
    """Some rows of two sides.

    Attributes:
        rows: The numbers of rows of both sides.
        is_base_whole: Whether own rows stand against all of A, which has too few of its own.
        columns: The worst first.
        keys: The figures of the keys of both sides; None for a table without a key.
    """

    scope: Scope
    rows: tuple[int, int]
    is_base_whole: bool
    columns: tuple[ColumnComparison, ...]
    keys: tuple[KeyFigures, KeyFigures] | None

    def find(self, name: str) -> ColumnComparison | None:
        """Return a column, None if it was not compared."""
        return next((each for each in self.columns if each.name == name), None)

    @property
    def rating(self) -> Rating:
        """The worst of any column."""
        ratings = (each.rating for each in self.columns)
        return max(ratings, key=lambda each: each.rank, default=Rating.NOT_RATED)


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityComparison:
    """The profiles of the data of two states.

    Attributes:
        before, after: The names of these very states.
        scopes: At least that of own rows; others only if shared files were read.
        open_conflicts: How many conflicts a merge would leave to be settled, which count as A has
            it; None if merging was not looked at.
        drift_map: By partition; None for a table without, or if none differs.
        base: The name of the state that both come from; None if it is one of them, or not known.
        units_read: The number of units read for it.
        units_known: The number of units whose profiles were kept.
        bytes_read: The bytes of files that were read.
        notes: Sentences on what is left out.
        finished_millis: When it was done.
    """

    before: str
    after: str
    scopes: tuple[ScopeComparison, ...]
    units_read: int
    units_known: int
    bytes_read: int
    notes: tuple[str, ...]
    finished_millis: int
    open_conflicts: int | None = None
    drift_map: DriftMap | None = None
    base: str | None = None

    def find_scope(self, scope: Scope) -> ScopeComparison | None:
        """Return what is said of some rows, None if they were not compared."""
        return next((each for each in self.scopes if each.scope is scope), None)

    def to_json(self) -> str:
        """Encode as JSON, which `from_json` reads."""
        return json.dumps({"version": VERSION, **asdict(self)}, default=_decimal_text)

    @classmethod
    def from_json(cls, text: str) -> "QualityComparison":
        """Decode what `to_json` wrote.

        Raises:
            ValueError, KeyError, TypeError: The text is something else, or of another release.
        """
        raw = json.loads(text)
        drift_map = raw["drift_map"]
        if raw.pop("version") != VERSION:
            raise ValueError("of another release")
        return cls(
            **{
                **raw,
                "scopes": tuple(map(_scope, raw["scopes"])),
                "notes": tuple(raw["notes"]),
                "drift_map": None if drift_map is None else DriftMap.from_object(drift_map),
            }
        )


def compare_profiles(
    before: Profile,
    after: Profile,
    columns: Sequence[ComparedColumn],
    keys: Sequence[str],
    scope: Scope,
    *,
    is_base_whole: bool = False,
) -> ScopeComparison:
    """Compare the profiles of two sides.

    Args:
        before: The base of every measure.
        after: The other side.
        columns: The columns that both were profiled for.
        keys: Names of those that make up the key.
        scope: The rows of both profiles.
        is_base_whole: See `ScopeComparison`.
    """
    compared = [
        _compared(
            column, before.columns[column.name], after.columns[column.name],
            is_key=column.name in keys, scope=scope,
        )
        for column in columns
    ]  # fmt: skip
    found = [_key_figures(each) for each in (before, after)]
    return ScopeComparison(
        scope=scope,
        rows=(before.rows, after.rows),
        is_base_whole=is_base_whole,
        # Sorting keeps the order of the table among columns that are as bad.
        columns=tuple(sorted(compared, key=lambda each: (-each.rating.rank, -each.severity))),
        keys=(found[0], found[1]) if found[0] and found[1] else None,
    )


def _compared(
    column: ComparedColumn, old: ColumnProfile, new: ColumnProfile, *, is_key: bool, scope: Scope
) -> ColumnComparison:
    kind = kind_of(column.type)
    sides = (None if column.before is None else old, None if column.after is None else new)
    why = _why_not_rated(sides, scope, is_key=is_key)
    drifts: tuple[Drift, ...] = ()
    is_unrated = why is not None
    if not is_unrated:
        drifts = measure_drift(old, new, kind, with_distinct=scope is not Scope.OWN)
        if kind.has_measures and numbers_rows(old, new, kind):
            why = "Its values number the rows, as a serial number does: only nulls are compared."
    rating = max((each.rating for each in drifts), key=lambda each: each.rank, default=None)
    if rating is None:
        is_short = not is_unrated and min(old.rows, new.rows) < LEAST_ROWS
        rating = Rating.FEW_ROWS if is_short else Rating.NOT_RATED
    errors = [each.distribution.rank_error for each in (old, new) if each.distribution]
    errors += [each.top.error / each.rows for each in (old, new) if each.top and each.rows]
    return ColumnComparison(
        name=column.name,
        type=str(column.type),
        kind=kind,
        before=None if sides[0] is None else _figures(old),
        after=None if sides[1] is None else _figures(new),
        drifts=drifts,
        bins=bins_of(old, new, kind),
        bins_error=2 * max(errors, default=0.0),
        rating=rating,
        why_not_rated=why,
    )


def _why_not_rated(
    sides: tuple[ColumnProfile | None, ColumnProfile | None], scope: Scope, *, is_key: bool
) -> str | None:
    if sides[0] is None or sides[1] is None:
        return f"Only {scope.first if sides[1] is None else scope.other} has this column."
    if is_key:
        return "It belongs to the key."
    return None


def _figures(profile: ColumnProfile) -> SideFigures:
    found, distinct, moments = profile.distribution, profile.distinct, profile.moments
    has_values = found is not None and found.count > 0
    return SideFigures(
        rows=profile.rows,
        nulls=profile.nulls,
        nans=profile.nans,
        valid=profile.valid,
        distinct=None if distinct is None else distinct.count,
        distinct_error=0 if distinct is None else distinct.error,
        low=profile.low,
        high=profile.high,
        mean=None if moments is None else moments.mean,
        deviation=None if moments is None else moments.deviation,
        quantiles=tuple(found.numbers(found.quantiles(np.array(QUANTILES))))
        if found is not None and has_values
        else (),
        rank_error=0.0 if found is None else found.rank_error,
    )


def _key_figures(profile: Profile) -> KeyFigures | None:
    duplicates = profile.duplicate_keys
    if profile.keys is None or duplicates is None:
        return None
    return KeyFigures(duplicates=duplicates, is_exact=profile.keys.is_complete)


def _scope(raw: Mapping[str, Any]) -> ScopeComparison:
    keys = raw["keys"]
    return ScopeComparison(
        scope=Scope(raw["scope"]),
        rows=(raw["rows"][0], raw["rows"][1]),
        is_base_whole=raw["is_base_whole"],
        columns=tuple(map(_column, raw["columns"])),
        keys=None if keys is None else (KeyFigures(**keys[0]), KeyFigures(**keys[1])),
    )


def _column(raw: Mapping[str, Any]) -> ColumnComparison:
    return ColumnComparison(
        **{
            **raw,
            "kind": ColumnKind(raw["kind"]),
            "before": _side(raw["before"]),
            "after": _side(raw["after"]),
            "drifts": tuple(
                Drift(
                    **{
                        **each,
                        "measure": Measure(each["measure"]),
                        "rating": Rating(each["rating"]),
                    }
                )
                for each in raw["drifts"]
            ),
            "bins": tuple(map(_bin, raw["bins"])),
            "rating": Rating(raw["rating"]),
        }
    )


def _side(raw: Mapping[str, Any] | None) -> SideFigures | None:
    if raw is None:
        return None
    return SideFigures(**{**raw, "quantiles": tuple(map(_number, raw["quantiles"]))})


def _bin(raw: Mapping[str, Any]) -> Bin:
    ends = {name: None if raw[name] is None else _number(raw[name]) for name in ("low", "high")}
    return Bin(**{**raw, **ends})


def _decimal_text(value: object) -> str:
    if isinstance(value, Decimal):
        return str(value)
    raise TypeError(type(value))


def _number(raw: float | str) -> Number:
    return Decimal(raw) if isinstance(raw, str) else raw
