"""Profiles as Arrow tables, a row a column: so they travel between processes and are kept."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import pyarrow as pa

from branch_console.errors import FormatError
from branch_console.quality.distinct_values import ALL_HASHES, DistinctValues
from branch_console.quality.distribution import Distribution, Points
from branch_console.quality.moments import Moments
from branch_console.quality.profile import ColumnProfile, Profile
from branch_console.quality.top_values import TopValues

_POINTS: Final[Mapping[str, pa.DataType]] = MappingProxyType(
    {"points": pa.float64(), "whole_points": pa.int64(), "wide_points": pa.string()}
)
# By what the points are an array of.
_POINTS_OF: Final = MappingProxyType({"f": "points", "i": "whole_points", "O": "wide_points"})

PROFILE: Final = pa.schema(
    [
        pa.field("column", pa.string()),
        *(pa.field(name, pa.int64(), nullable=False) for name in ("rows", "nulls", "nans")),
        *(pa.field(name, pa.string()) for name in ("low", "high")),
        pa.field("moments", pa.struct([("count", pa.int64()), ("total", pa.string()),
                                       ("squares", pa.string()), ("exponent", pa.int64()),
                                       ("scale", pa.int64())])),
        *(pa.field(name, pa.list_(kind)) for name, kind in _POINTS.items()),
        pa.field("scale", pa.int64()),
        pa.field("weights", pa.list_(pa.int64())),
        pa.field("rank_error", pa.int64()),
        pa.field("hashes", pa.list_(pa.uint64())),
        pa.field("hashes_below", pa.uint64()),
        pa.field("top", pa.list_(pa.string())),
        pa.field("top_counts", pa.list_(pa.int64())),
        pa.field("top_error", pa.int64()),
    ]
)  # fmt: skip
"""A ColumnProfile a row; what a column does not have is null.

Sums are hexadecimal texts, as no number of Arrow holds them; so are points beyond 64 bits.

The row without a column is of the key: `rows` are those of the unit, `nulls` those whose key stands
there before. `hashes_below` is null if no hash was left out.
"""


def profile_to_table(profile: Profile) -> pa.Table:
    """Return a profile with the columns of PROFILE."""
    key = {
        "rows": profile.rows,
        "nulls": profile.repeated_keys,
        "nans": 0,
        **_distinct_cells(profile.keys),
    }
    rows = [key, *(_cells(name, each) for name, each in profile.columns.items())]
    return pa.Table.from_pylist(rows, schema=PROFILE)


def profile_from_table(table: pa.Table) -> Profile:
    """Return what `profile_to_table` made a table of.

    Raises:
        FormatError: The table has other columns.
    """
    if not table.schema.equals(PROFILE) or not table.num_rows:
        raise FormatError("A profile has other columns than it should. Compare the states again.")
    key, *columns = table.to_pylist()
    return Profile(
        rows=key["rows"],
        columns={row["column"]: _column(row) for row in columns},
        keys=_distinct(key),
        repeated_keys=key["nulls"],
    )


def _cells(name: str, column: ColumnProfile) -> dict[str, Any]:
    found, top, moments = column.distribution, column.top, column.moments
    return {
        "column": name,
        "rows": column.rows,
        "nulls": column.nulls,
        "nans": column.nans,
        "low": column.low,
        "high": column.high,
        "moments": None
        if moments is None
        else {
            "count": moments.count,
            "total": hex(moments.total),
            "squares": hex(moments.squares),
            "exponent": moments.exponent,
            "scale": moments.scale,
        },
        **({} if found is None else _point_cells(found)),
        "weights": None if found is None else found.weights,
        "rank_error": None if found is None else found.error,
        "top": None if top is None else top.values.to_pylist(),
        "top_counts": None if top is None else top.counts.to_pylist(),
        "top_error": None if top is None else top.error,
        **_distinct_cells(column.distinct),
    }


def _point_cells(found: Distribution) -> dict[str, Any]:
    kind = found.points.dtype.kind
    points = found.points if kind != "O" else [hex(each) for each in found.points.tolist()]
    return {_POINTS_OF[kind]: points, "scale": found.scale}


def _distinct_cells(found: DistinctValues | None) -> dict[str, Any]:
    if found is None:
        return {}
    below = None if found.is_complete else found.below
    return {"hashes": found.hashes, "hashes_below": below}


def _column(row: Mapping[str, Any]) -> ColumnProfile:
    return ColumnProfile(
        rows=row["rows"],
        nulls=row["nulls"],
        nans=row["nans"],
        low=row["low"],
        high=row["high"],
        moments=None if row["moments"] is None else _moments(row["moments"]),
        distribution=None
        if row["weights"] is None
        else Distribution(
            points=_points(row),
            weights=np.array(row["weights"], np.int64),
            error=row["rank_error"],
            scale=row["scale"],
        ),
        distinct=_distinct(row),
        top=None
        if row["top"] is None
        else TopValues(
            values=pa.array(row["top"], pa.string()),
            counts=pa.array(row["top_counts"], pa.int64()),
            error=row["top_error"],
        ),
    )


def _moments(row: Mapping[str, Any]) -> Moments:
    sums = {name: int(row[name], 16) for name in ("total", "squares")}
    return Moments(**{**row, **sums})


def _points(row: Mapping[str, Any]) -> Points:
    if row["points"] is not None:
        return np.array(row["points"], np.float64)
    if row["whole_points"] is not None:
        return np.array(row["whole_points"], np.int64)
    return np.array([int(each, 16) for each in row["wide_points"]], object)


def _distinct(row: Mapping[str, Any]) -> DistinctValues | None:
    if row["hashes"] is None:
        return None
    below = ALL_HASHES if row["hashes_below"] is None else row["hashes_below"]
    return DistinctValues(hashes=np.array(row["hashes"], np.uint64), below=below)
