"""Groups of equal rows, against counting by hand."""

from collections import Counter

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from branch_console.diff.rows.row_groups import group_rows

_ROWS = st.lists(st.tuples(st.binary(max_size=2), st.integers(-2, 3), st.booleans()))


@given(rows=_ROWS)
def test_rows_are_grouped_by_all_columns(rows: list[tuple[bytes, int, bool]]) -> None:
    types = (pa.binary(), pa.int32(), pa.bool_())
    columns = [
        pa.chunked_array([pa.array([row[at] for row in rows], arrow_type)])
        for at, arrow_type in enumerate(types)
    ]
    found = group_rows(columns)
    first = found.first.tolist()
    assert sorted(first) == sorted({row: rows.index(row) for row in rows}.values())
    assert [rows[first[group]] for group in found.group] == rows
    counted = Counter(rows)
    assert found.sums([1] * len(rows)).tolist() == [counted[rows[each]] for each in first]


def test_sums_are_exact_where_floating_point_is_not() -> None:
    groups = group_rows([pa.array(["a", "a", "b"])])
    assert groups.sums([2**60, 1, 3]).tolist() == [2**60 + 1, 3]
