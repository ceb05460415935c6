"""Rows in key order, seen as groups of one key each, and kernels that merge a column over them.

A kernel does for all keys at once what a `FieldAggregator` does for the rows of one key, if no
row takes a value back. Source: as `branch_console.spark.kernels.field_aggregators`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from branch_console.format.values.key_order import sortable

INSERTS: Final = pa.array([0, 2], pa.int8())
"""The row kinds that leave a row: +I and +U."""

Ints: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KeyGroups:
    """The first and last row of each key, and the kinds of the rows.

    Attributes:
        starts, lasts: Positions of the first and the last row of each key.
        kinds: The row kind of each row.
    """

    starts: Ints
    lasts: Ints
    kinds: npt.NDArray[np.int8]

    @classmethod
    def of(cls, ordered: pa.Table, keys: Sequence[str], kind: str) -> "KeyGroups":
        """Find the keys.

        Args:
            ordered: At least one row, by key, each column in one piece.
            keys: The columns of the key.
            kind: The column of the row kinds.
        """
        changes = np.zeros(ordered.num_rows, dtype=bool)
        changes[0] = True
        for key in keys:
            held = ordered[key].chunk(0) if ordered[key].num_chunks else ordered[key]
            column = sortable(held)
            before, after = column.slice(0, len(column) - 1), column.slice(1)
            differs = pc.not_equal(after, before)
            if column.null_count:
                differs = pc.coalesce(differs, pc.xor(after.is_null(), before.is_null()))
            changes[1:] |= differs.to_numpy(zero_copy_only=False)
        starts = np.flatnonzero(changes)
        lasts = np.r_[starts[1:], ordered.num_rows] - 1
        return cls(starts=starts, lasts=lasts, kinds=ordered[kind].to_numpy())

    @property
    def is_insert(self) -> Mask:
        """A mask of the rows that a change leaves visible: inserts, new values of updates."""
        # Paimon's row kinds: 0 is +I, 1 is -U, 2 is +U, 3 is -D.
        found: Mask = (self.kinds == 0) | (self.kinds == 2)
        return found

    @property
    def is_first(self) -> Mask:
        """A mask of the rows that are the first of their key."""
        found = np.zeros(len(self.kinds), dtype=bool)
        found[self.starts] = True
        return found

    @property
    def of_many(self) -> Mask:
        """A mask of the keys that have more than one row."""
        found: Mask = self.lasts > self.starts
        return found

    @property
    def with_retract(self) -> Mask:
        """A mask of the keys with several rows of which one deletes or retracts."""
        return self.of_many & self.any_of(~self.is_insert)

    @property
    def ends_with_insert(self) -> Mask:
        """A mask of the keys with one row that is visible."""
        found: Mask = ~self.of_many & self.is_insert[self.lasts]
        return found

    def any_of(self, mask: Mask) -> Mask:
        """Return a mask of the keys that have a row in a mask."""
        found: Mask = np.logical_or.reduceat(mask, self.starts)
        return found

    def from_last_masked(self, mask: Mask) -> Mask:
        """Return a mask of each key's rows from its last masked row on.

        All rows of a key without a masked row are in it.
        """
        at = np.where(mask, np.arange(len(mask)), -1)
        found: Mask = np.arange(len(mask)) >= self.spread(np.maximum.reduceat(at, self.starts))
        return found

    def spread(self, of_keys: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """A value of each key as a value of each row."""
        return np.repeat(of_keys, self.lasts - self.starts + 1)

    def greatest(self, columns: Sequence[pa.ChunkedArray]) -> pa.Array:
        """The last row of each key with the greatest values, null if all rows have none.

        Args:
            columns: The compared columns, the first one first; null is below all values.
        """
        is_set = np.zeros(len(self.kinds), dtype=bool)
        ranks = []
        for column in columns:
            is_valid = column.is_valid().to_numpy()
            rank = pc.rank(column, sort_keys="ascending", tiebreaker="dense").to_numpy()
            ranks.append(np.where(is_valid, rank, 0))
            is_set |= is_valid
        keys = self.spread(np.arange(len(self.starts)))
        order = np.lexsort([*reversed(ranks), is_set, keys])
        found = order[self.lasts]
        return pa.array(found, mask=~is_set[found])

    def slices(
        self, rows: pa.Array | pa.Table, chosen: Mask
    ) -> Iterator[tuple[list[Any], list[int]]]:
        """The values, and the row kinds, of each chosen key."""
        for start, last in zip(
            self.starts[chosen].tolist(), self.lasts[chosen].tolist(), strict=True
        ):
            count = last - start + 1
            yield rows.slice(start, count).to_pylist(), self.kinds[start : last + 1].tolist()

    def replaced(self, values: pa.Array, chosen: Mask, others: pa.Array) -> pa.Array:
        """Values of keys with those of the chosen keys replaced, in order."""
        if not len(others):
            return values
        at = np.arange(len(values))
        at[chosen] = len(values) + np.arange(len(others))
        return pa.concat_arrays([values, others]).take(pa.array(at))


Kernel: TypeAlias = Callable[[pa.Array, KeyGroups], pa.Array]


def find_kernel(function: str, column: pa.Array) -> Kernel | None:
    """The kernel of an aggregate function, None if it would not be exact for a column."""
    kernel = _KERNELS.get(function)
    if kernel is None:
        return None
    if function in ("max", "min"):
        has_nan = pa.types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py()
        return None if has_nan else kernel
    if function == "sum":
        return kernel if _sums_are_exact(column) else None
    return kernel


def _sums_are_exact(column: pa.Array) -> bool:
    if not pa.types.is_integer(column.type):
        return bool(pa.types.is_float64(column.type))
    # Arrow's sums wrap around: far from that, no sum of some of the values can.
    total = pc.sum(pc.abs(column.cast(pa.float64()))).as_py() or 0.0
    return total < float(1 << (column.type.bit_width - 2))


def last_non_null(column: pa.Array, groups: KeyGroups, counts: Mask) -> pa.Array:
    """The last value that is not null, of the rows that count."""
    at = np.where(_is_valid(column) & counts, np.arange(len(column)), -1)
    found = np.maximum.reduceat(at, groups.starts)
    return column.take(pa.array(found, mask=found < 0))


def _last_non_null(column: pa.Array, groups: KeyGroups) -> pa.Array:
    return last_non_null(column, groups, np.ones(len(column), dtype=bool))


def _last_value(column: pa.Array, groups: KeyGroups) -> pa.Array:
    return column.take(pa.array(groups.lasts))


def _first_value(column: pa.Array, groups: KeyGroups) -> pa.Array:
    return column.take(pa.array(groups.starts))


def _first_non_null(column: pa.Array, groups: KeyGroups) -> pa.Array:
    nowhere = len(column)
    at = np.where(_is_valid(column), np.arange(nowhere), nowhere)
    found = np.minimum.reduceat(at, groups.starts)
    return column.take(pa.array(found, mask=found == nowhere))


def _is_valid(column: pa.Array) -> Mask:
    valid: Mask = pc.is_valid(column).to_numpy(zero_copy_only=False)
    return valid


def _grouped(function: str) -> Kernel:
    def merge(column: pa.Array, groups: KeyGroups) -> pa.Array:
        keys = groups.spread(np.arange(len(groups.starts)))
        table = pa.table({"key": pa.array(keys), "value": column})
        found = table.group_by("key", use_threads=False).aggregate([("value", function)])
        return found[f"value_{function}"].combine_chunks().cast(column.type)

    return merge


_KERNELS: Final[Mapping[str, Kernel]] = MappingProxyType(
    {
        "sum": _grouped("sum"),
        "max": _grouped("max"),
        "min": _grouped("min"),
        "bool_and": _grouped("all"),
        "bool_or": _grouped("any"),
        "last_value": _last_value,
        "last_non_null_value": _last_non_null,
        "first_value": _first_value,
        "first_non_null_value": _first_non_null,
        "first_not_null_value": _first_non_null,
    }
)
