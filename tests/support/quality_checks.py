"""Figures of comparisons beside what plain Python finds in the same values, counted."""

import datetime as dt
import math
from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any, Final

import numpy as np

from branch_console.quality.comparison import QUANTILES, ColumnComparison, SideFigures
from branch_console.quality.drift import Measure
from branch_console.quality.profile import ColumnKind
from tests.support import quality_oracle as oracle

EPOCH: Final = dt.datetime(1970, 1, 1)
HAIR: Final = 1e-9
_WIDE: Final = Context(prec=60)


def measures(values: Sequence[Any], kind: str) -> list[Any] | None:
    """Values on a line, exact: days, microseconds, lengths."""
    found = [each for each in values if each is not None]
    if kind == "BOOLEAN" or kind.startswith(("ARRAY", "MAP", "ROW")):
        return None
    if kind == "STRING" or kind.startswith("CHAR") or kind == "BYTES":
        return [len(each) for each in found]
    if kind == "DATE":
        return [(each - EPOCH.date()).days for each in found]
    if kind.startswith("TIMESTAMP"):
        return [_micros(each) for each in found]
    if kind.startswith("TIME"):
        return [(each.hour * 3600 + each.minute * 60 + each.second) * 10**6 for each in found]
    return found


def _micros(moment: dt.datetime | Decimal) -> int | Decimal:
    """Microseconds since 1970, of decimal seconds with what lies behind them."""
    if isinstance(moment, Decimal):
        return moment.scaleb(6, _WIDE)
    return (moment.replace(tzinfo=None) - EPOCH) // dt.timedelta(microseconds=1)


class Checked:
    """Figures that were looked at, and those that are wrong."""

    def __init__(self) -> None:
        self.count, self.outside = 0, list[Any]()

    def equal(self, told: Any, wanted: Any, *where: Any) -> None:
        self.holds(told == wanted, told, wanted, *where)

    def close(self, told: float | None, wanted: float | None, *where: Any) -> None:
        """Rounded once and rounded once more may differ in the last digit."""
        is_close = told == wanted or (
            told is not None and wanted is not None and math.isclose(told, wanted, rel_tol=4e-16)
        )
        self.holds(is_close, told, wanted, *where)

    def holds(self, is_right: bool, *where: Any) -> None:
        self.count += 1
        if not is_right:
            self.outside.append(where)


def check_side(
    checked: Checked, told: SideFigures, values: list[Any], kind: str, *, is_number: bool
) -> None:
    there = [each for each in values if each is not None]
    valid = [each for each in there if not (isinstance(each, float) and math.isnan(each))]
    checked.equal(told.rows, len(values), kind, "rows")
    checked.equal(told.nulls, len(values) - len(there), kind, "nulls")
    checked.equal(told.nans, len(there) - len(valid), kind, "nans")
    checked.equal(told.valid, len(valid), kind, "valid")
    found = measures(valid, kind)
    if kind.startswith(("ARRAY", "MAP", "ROW")):
        checked.equal((told.distinct, told.low, told.mean), (None, None, None), kind)
        return
    number = len(set(valid)) + (len(valid) < len(there))
    assert told.distinct is not None
    checked.holds(abs(told.distinct - number) <= told.distinct_error, kind, "distinct", told)
    if found is None or not found:
        checked.equal((told.mean, told.quantiles), (None, ()), kind, "nothing")
        return
    finite = [each for each in found if not (isinstance(each, float) and math.isinf(each))]
    checked.close(told.mean, oracle.mean(found), kind, "mean")
    checked.close(told.deviation, oracle.deviation(found), kind, "deviation", len(finite))
    if is_number:
        for name, end, wanted in (("low", told.low, min(valid)), ("high", told.high, max(valid))):
            assert end is not None
            if kind == "FLOAT":
                checked.equal(np.float32(end), np.float32(wanted), kind, name)
            else:
                is_float = isinstance(wanted, float)
                checked.equal(float(end) if is_float else Decimal(end), wanted, kind, name)
    ordered = sorted(found)
    for share, quantile in zip(QUANTILES, told.quantiles, strict=True):
        at = max(1, math.ceil(Fraction(str(share)) * len(found)))
        below = sum(each < quantile for each in ordered)
        upto = sum(each <= quantile for each in ordered)
        slack = told.rank_error * len(found) + HAIR
        checked.holds(below - slack < at <= upto + slack, kind, share, quantile, told.rank_error)
        if not told.rank_error:
            checked.equal(quantile, ordered[at - 1], kind, share)


def check_drift(checked: Checked, told: ColumnComparison, sides: list[list[Any]]) -> None:
    if not told.drifts:
        return
    wanted: dict[Measure, float | None] = {}
    rates = [sum(each is None for each in side) / len(side) for side in sides]
    wanted[Measure.NULLS] = abs(rates[1] - rates[0])
    if told.kind in (ColumnKind.BYTES, ColumnKind.OTHER):
        checked.equal([each.measure for each in told.drifts][:1], [Measure.NULLS], told.type)
    elif told.kind.has_categories:
        texts = [[each if each is None else str(each).lower() if told.type == "BOOLEAN" else each
                  for each in side] for side in sides]  # fmt: skip
        bins = oracle.bins_of_texts(texts[0], texts[1])
        wanted[Measure.JS] = oracle.js(bins)
        wanted[Measure.PSI] = oracle.psi(bins)
    else:
        on_line = [_on_line(side, told.type) for side in sides]
        bins = oracle.bins_of_numbers(on_line[0], on_line[1])
        found = {each.measure for each in told.drifts}
        wanted[Measure.KS] = oracle.ks(*on_line) if Measure.KS in found else None
        wanted[Measure.W] = oracle.w(*on_line) if Measure.W in found else None
        wanted[Measure.PSI] = oracle.psi(bins)
    for drift in told.drifts:
        exact = wanted.get(drift.measure)
        if exact is not None:
            slack = HAIR * max(1.0, exact)
            is_within = drift.sure - slack <= exact <= drift.value + drift.error + slack
            checked.holds(is_within, told.type, drift, exact)


def _on_line(side: list[Any], kind: str) -> list[Any]:
    found = iter(measures(side, kind) or ())
    return [None if each is None else next(found) for each in side]
