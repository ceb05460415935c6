"""When two cells hold the same value."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from branch_console.format.values.fine_times import as_numbers, map_parts
from branch_console.format.values.key_order import sortable
from branch_console.format.values.nested_arrays import list_like, map_like

Bools: TypeAlias = npt.NDArray[np.bool_]


def same_values(left: pa.Array, right: pa.Array) -> Bools:
    """Return a mask of equal values; null equals null, and NaN equals NaN, on every level."""
    if pa.types.is_nested(left.type):
        values = (as_numbers(plain_floats(side)).to_pylist() for side in (left, right))
        pairs = zip(*values, strict=True)
        return np.fromiter((_plain(a) == _plain(b) for a, b in pairs), bool, len(left))
    equal = pc.fill_null(pc.equal(left, right), False)
    if pa.types.is_floating(left.type):
        nans = pc.and_(pc.is_nan(left), pc.is_nan(right))
        equal = pc.or_(equal, pc.fill_null(nans, False))
    found = pc.or_(equal, pc.and_(pc.is_null(left), pc.is_null(right)))
    same: Bools = found.to_numpy(zero_copy_only=False)
    return same


def plain_floats(array: pa.Array) -> pa.Array:
    """Return an array with one NaN and one zero, on every level: they are equal, bytes are not."""
    return map_parts(array, pa.types.is_floating, _plain_numbers)


def sorted_maps(array: pa.Array) -> pa.Array:
    """Return an array whose maps have their entries by key, on every level.

    Maps are equal in whatever order they were written, as Spark groups them; bytes are not.
    """
    kind = array.type
    if not _has_map(kind):
        return array
    if pa.types.is_struct(kind):
        parts = [sorted_maps(array.field(at)) for at in range(kind.num_fields)]
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=array.is_null())
    if pa.types.is_list(kind):
        return list_like(array, sorted_maps(array.values), kind)
    keys, items = sorted_maps(array.keys), sorted_maps(array.items)
    order = _entries_by_key(array, keys)
    return map_like(array, keys.take(order), items.take(order), kind)


def _has_map(kind: pa.DataType) -> bool:
    if pa.types.is_map(kind):
        return True
    is_nested = pa.types.is_nested(kind)
    return is_nested and any(_has_map(kind.field(at).type) for at in range(kind.num_fields))


def _entries_by_key(maps: pa.Array, keys: pa.Array) -> pa.Array:
    """Positions of all entries, those of each map by key; entries of no map keep their place."""
    offsets = maps.offsets.to_numpy()
    of_map = np.searchsorted(offsets, np.arange(len(keys)), side="right")
    if pa.types.is_nested(keys.type):
        texts = [repr(_plain(each)) for each in as_numbers(keys).to_pylist()]
        keys = pa.array(texts, pa.string())
    entries = pa.table({"map": of_map, "key": sortable(keys)})
    return pc.sort_indices(entries, sort_keys=[("map", "ascending"), ("key", "ascending")])


def _plain_numbers(numbers: pa.Array) -> pa.Array:
    nan = pa.scalar(float("nan"), numbers.type)
    # Minus zero and zero add up to zero.
    return pc.add(pc.if_else(pc.is_nan(numbers), nan, numbers), pa.scalar(0.0, numbers.type))


def _plain(value: Any) -> Any:
    """Maps come as lists of pairs, whose order means nothing; NaN is told by its text."""
    match value:
        case dict():
            return {name: _plain(each) for name, each in value.items()}
        case [tuple(), *_]:
            return sorted((repr(_plain(key)), repr(_plain(each))) for key, each in value)
        case list():
            return [_plain(each) for each in value]
        case _:
            return repr(value)
