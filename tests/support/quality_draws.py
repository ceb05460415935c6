"""Columns of one population, drawn again and again; and the same with a drift that is planted."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from branch_console.diff.rows.row_diff import ComparedColumn
from branch_console.format.data_types import DataField, parse_data_type
from branch_console.quality.comparison import ColumnComparison, Scope, compare_profiles
from branch_console.quality.profile import EXACT, Detail, Profile
from branch_console.quality.profile_rows import profile_rows

Rng = np.random.Generator
Values = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Population:
    """A column.

    Attributes:
        type: As Paimon writes it.
        draw: Draws so many rows of it, the first of which has a number.
    """

    type: str
    draw: Callable[[Rng, int, int], pa.Array]


Draw = Callable[[Rng, int, int], pa.Array]
Planted = Callable[[pa.Array, Bools, Rng], pa.Array]


def _evenly(values: int) -> Draw:
    return lambda rng, size, _: _texts(rng.integers(0, values, size))


def _skewed(values: int) -> Draw:
    weights = 1 / np.arange(1, values + 1)
    return lambda rng, size, _: _texts(rng.choice(values, size, p=weights / weights.sum()))


def _texts(numbers: Values) -> pa.Array:
    return pa.array(np.char.add("t", numbers.astype(str)))


def _null(rate: float) -> Draw:
    return lambda rng, size, _: pa.array(rng.normal(size=size), mask=rng.random(size) < rate)


def _sparse(rng: Rng, size: int, first: int) -> pa.Array:
    return pa.array(np.arange(first, first + size) * 1_000 + rng.integers(0, 1_000, size))


_DRAWS: Final[dict[str, tuple[str, Draw]]] = {
    "numbers": ("DOUBLE", lambda rng, size, _: pa.array(rng.normal(size=size))),
    "counts": ("INT", lambda rng, size, _: pa.array(rng.poisson(3, size).astype(np.int32))),
    "dates": ("DATE", lambda rng, size, _: pa.array(
        rng.integers(18_000, 18_365, size).astype(np.int32), pa.date32())),
    **{f"text, {each} even": ("STRING", _evenly(each)) for each in (5, 50, 200, 1_000)},
    **{f"text, {each} skewed": ("STRING", _skewed(each)) for each in (5, 50, 200, 1_000)},
    "serial ids": ("BIGINT", lambda _, size, first: pa.array(np.arange(first, first + size))),
    "serial ids, sparse": ("BIGINT", _sparse),
    "booleans": ("BOOLEAN", lambda rng, size, _: pa.array(rng.random(size) < 0.3)),
    **{f"nulls, {each:.1%}": ("DOUBLE", _null(each)) for each in (0.002, 0.02, 0.3)},
}  # fmt: skip

POPULATIONS: Final = {
    name: Population(type=kind, draw=draw) for name, (kind, draw) in _DRAWS.items()
}


def compared(
    before: pa.Array, after: pa.Array, kind: str, scope: Scope, detail: Detail = EXACT
) -> ColumnComparison:
    """Compare a column of two sides as a comparison of tables does."""
    field = DataField(id=0, name="x", type=parse_data_type(kind))
    column = ComparedColumn(name="x", type=field.type, before=field, after=field)
    sides = [profile(each, field, detail) for each in (before, after)]
    return compare_profiles(sides[0], sides[1], [column], [], scope).columns[0]


def profile(values: pa.Array, field: DataField, detail: Detail = EXACT) -> Profile:
    """Profile a column."""
    return profile_rows(pa.table({"x": values}), [field], [], detail)


def _where(at: Bools, changed: Values, rows: pa.Array) -> pa.Array:
    return pa.array(np.where(at, changed, np.asarray(rows))).cast(rows.type)


def _nulled(rows: pa.Array, at: Bools) -> pa.Array:
    cells = zip(at, rows.to_pylist(), strict=True)
    return pa.array([None if gone else each for gone, each in cells], rows.type)


SHARES: Final = (0.01, 0.05, 0.1, 0.3)
"""How much of the rows that came is planted."""

PLANTS: Final[dict[str, tuple[str, Planted]]] = {
    "numbers, a hundred times larger": ("numbers", lambda rows, at, _: _where(
        at, np.asarray(rows) * 100, rows)),
    "numbers, all one value": ("numbers", lambda rows, at, _: _where(
        at, np.zeros(len(at)), rows)),
    "counts, three more": ("counts", lambda rows, at, _: _where(at, np.asarray(rows) + 3, rows)),
    "text of 50, a new value": ("text, 50 skewed", lambda rows, at, _: _where(
        at, np.full(len(at), "new"), rows)),
    "text of 1,000, a new value": ("text, 1000 even", lambda rows, at, _: _where(
        at, np.full(len(at), "new"), rows)),
    "text of 50, new values": ("text, 50 skewed", lambda rows, at, rng: _where(
        at, np.char.add("n", rng.integers(0, 5, len(at)).astype(str)), rows)),
    "nulls where there were none": ("numbers", lambda rows, at, _: _nulled(rows, at)),
    "nulls where there were 2 %": ("nulls, 2.0%", lambda rows, at, _: _nulled(rows, at)),
    "nulls in text": ("text, 50 skewed", lambda rows, at, _: _nulled(rows, at)),
}  # fmt: skip
