"""The most frequent texts of a column, and the most by which a count may be too low.

Source: Misra and Gries, "Finding repeated elements"; Agarwal and others, "Mergeable summaries".
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TopValues:
    """The most frequent values.

    Attributes:
        values: Texts, the most frequent first and by value where two are as frequent.
        counts: How often each stands there, at least.
        error: How much more often it may; a value that is not listed is as rare as this.
    """

    values: pa.Array
    counts: pa.Array
    error: int = 0


def top_values(values: pa.Array, counts: pa.Array, limit: int | None) -> TopValues:
    """The most frequent ones of some texts.

    Args:
        values: Texts, some of them maybe several times.
        counts: How often each stands there.
        limit: How many are kept; None for all.
    """
    rows = pa.table({"value": values.cast(pa.string()), "count": counts.cast(pa.int64())})
    sums = rows.group_by("value", use_threads=False).aggregate([("count", "sum")])
    sums = sums.sort_by([("count_sum", "descending"), ("value", "ascending")])
    found = TopValues(
        values=sums["value"].combine_chunks(), counts=sums["count_sum"].combine_chunks()
    )
    return _cut(found, limit)


def merge_top_values(parts: Sequence[TopValues], limit: int | None) -> TopValues:
    """The most frequent values of all parts."""
    whole = top_values(
        pa.concat_arrays([pa.array([], pa.string()), *(each.values for each in parts)]),
        pa.concat_arrays([pa.array([], pa.int64()), *(each.counts for each in parts)]),
        None,
    )
    error = sum(each.error for each in parts)
    return _cut(TopValues(values=whole.values, counts=whole.counts, error=error), limit)


def _cut(found: TopValues, limit: int | None) -> TopValues:
    if limit is None or len(found.values) <= limit:
        return found
    most_left_out = pc.max(found.counts.slice(limit)).as_py()
    return TopValues(
        values=found.values.slice(0, limit),
        counts=found.counts.slice(0, limit),
        error=found.error + most_left_out,
    )
