from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from branch_console.format.data_types import DataField, RowType
from branch_console.format.partition_path import escape_path_name
from branch_console.format.values.arrow_types import to_arrow
from branch_console.format.values.binary_row import decode_row
from branch_console.format.values.simple_stats import (
    FULL,
    StatsKind,
    StatsMode,
    collect_stats,
    truncate_max,
    truncate_min,
)
from tests.property.format.strategies import atomic_types, for_arrow, values
from tests.support.path_names import unescape_path_name


@given(st.one_of(st.text(), st.binary()), st.integers(1, 5))
def test_cut_bounds_enclose_what_they_were_cut_from(value: str | bytes, length: int) -> None:
    least, greatest = truncate_min(value, length), truncate_max(value, length)
    assert _key(least) <= _key(value)
    assert len(least) <= length
    if greatest is not None:
        assert _key(value) <= _key(greatest)
        assert len(greatest) <= length


@given(st.data(), atomic_types, st.sampled_from([FULL, None]))
def test_collected_bounds_enclose_every_value(
    data: st.DataObject, data_type: Any, mode: StatsMode | None
) -> None:
    mode = mode or StatsMode(kind=StatsKind.TRUNCATE, length=2)
    column = data.draw(st.lists(values(data_type), max_size=5))
    row_type = RowType(fields=(DataField(id=0, name="a", type=data_type),))
    table = pa.table([pa.array(list(map(for_arrow, column)), to_arrow(data_type))], names=["a"])
    stats = collect_stats(table, row_type, [mode])
    assert stats.null_counts == (column.count(None),)
    (least,) = decode_row(stats.min_values, row_type.types)
    (greatest,) = decode_row(stats.max_values, row_type.types)
    assert (least is None) == (greatest is None)
    if least is not None:
        assert all(_key(least) <= _key(v) <= _key(greatest) for v in column if v is not None)


@given(st.text())
def test_escaped_names_come_back_and_stay_in_their_folder(name: str) -> None:
    escaped = escape_path_name(name)
    assert unescape_path_name(escaped) == name
    assert "/" not in escaped
    assert "\\" not in escaped


def _key(value: Any) -> Any:
    """What Paimon orders by: text by its bytes."""
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
