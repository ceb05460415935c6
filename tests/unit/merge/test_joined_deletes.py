from collections import Counter
from itertools import compress

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from core.diff.three_way import ThreeWay
from core.merge.joined_deletes import kept_by_both

BYTES = pa.large_binary()
Rows = list[bytes]


def kept(
    base: Rows, ours: Rows, theirs: Rows, *, ours_new: Rows | None = None, new: Rows | None = None
) -> Rows | None:
    # In two chunks, as rows of several files come.
    sides = ThreeWay(
        base=pa.chunked_array([base[:1], base[1:]], BYTES),
        ours=pa.chunked_array([ours[:2], ours[2:]], BYTES),
        theirs=pa.chunked_array([theirs], BYTES),
    )
    inserted = (pa.chunked_array([ours_new or []], BYTES), pa.chunked_array([new or []], BYTES))
    found = kept_by_both(sides, inserted)
    return None if found is None else [*compress(ours, found[0]), *compress(theirs, found[1])]


def test_what_either_side_deleted_goes_and_the_order_of_the_target_stays() -> None:
    assert kept([b"a", b"b", b"c", b"d"], [b"d", b"a", b"b"], [b"a", b"c", b"d"]) == [b"d", b"a"]


def test_equal_rows_stay_as_often_as_the_side_with_fewer_has_them() -> None:
    assert kept([b"a"] * 4, [b"a"] * 3, [b"a"] * 2) == [b"a"] * 2


def test_nothing_is_left_where_each_deleted_what_the_other_kept() -> None:
    assert kept([b"a", b"b"], [b"a"], [b"b"]) == []


def test_all_rows_may_be_gone() -> None:
    assert kept([b"a"], [], []) == []
    assert kept([], [], []) == []


def test_a_row_that_the_base_has_not_is_no_deletion() -> None:
    assert kept([b"a", b"b"], [b"a"], [b"x"]) is None
    assert kept([b"a", b"b"], [b"a", b"a"], [b"b"]) is None


def test_what_a_side_inserted_stays_as_far_as_that_side_kept_it() -> None:
    assert kept([b"a", b"b"], [b"b"], [b"a", b"x"], new=[b"x", b"y"]) == [b"x"]
    assert kept([b"a", b"b"], [b"b", b"x"], [b"b"], ours_new=[b"x"]) == [b"b", b"x"]
    assert kept([b"a", b"b"], [b"b"], [b"a", b"x"], new=[b"y"]) is None


def test_an_inserted_row_that_equals_one_of_the_base_is_not_lost() -> None:
    assert kept([b"a"], [b"a"], [b"a", b"a"], new=[b"a"]) == [b"a", b"a"]
    assert kept([b"a"], [], [b"a", b"a"], new=[b"a"]) == [b"a"]


@given(
    st.lists(
        st.tuples(st.sampled_from([b"", b"a", b"b", b"c"]), st.booleans(), st.booleans()),
        max_size=30,
    )
)
def test_as_often_as_counting_says(rows: list[tuple[bytes, bool, bool]]) -> None:
    ours = [row for row, stays, _ in rows if stays]
    theirs = [row for row, _, stays in rows if stays]
    found = kept([row for row, *_ in rows], ours, theirs)
    assert found is not None
    assert Counter(found) == Counter(ours) & Counter(theirs)
