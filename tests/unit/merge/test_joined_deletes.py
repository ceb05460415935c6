from collections import Counter
from collections.abc import Iterable
from itertools import compress

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from branch_console.diff.three_way import ThreeWay, each_side
from branch_console.merge.joined_deletes import Update, kept_by_both, kept_by_columns, kept_by_ids

BYTES = pa.large_binary()
Rows = list[bytes]


def kept(
    base: Rows,
    ours: Rows,
    theirs: Rows,
    *,
    ours_new: Rows | None = None,
    new: Rows | None = None,
    update: Update | None = None,
) -> Rows | None:
    # In two chunks, as rows of several files come.
    sides = ThreeWay(
        base=pa.chunked_array([base[:1], base[1:]], BYTES),
        ours=pa.chunked_array([ours[:2], ours[2:]], BYTES),
        theirs=pa.chunked_array([theirs], BYTES),
    )
    inserted = (pa.chunked_array([ours_new or []], BYTES), pa.chunked_array([new or []], BYTES))
    found = kept_by_both(sides, inserted, update)
    return None if found is None else [*compress(ours, found.stay), *compress(theirs, found.come)]


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


def test_what_the_target_updated_goes_where_the_source_deleted_it() -> None:
    pure, inferred = Update.PURE, Update.INFERRED
    for update in Update:
        assert kept([b"a", b"b"], [b"a", b"x"], [b"a", b"b"], update=update) == [b"a", b"x"]
        assert kept([b"a", b"b"], [b"a", b"x"], [b"b"], update=update) == [b"x"]
    assert kept([b"a", b"b"], [b"a", b"x"], [b"a"], update=pure) == [b"a"]
    assert kept([b"a", b"b"], [b"x", b"y"], [], update=pure) == []
    # What was written may be a row of its own, and the deleted one deleted by both.
    assert kept([b"a", b"b"], [b"a", b"x"], [b"a"], update=inferred) is None


def test_a_row_that_an_update_moved_to_another_bucket_is_not_deleted_by_both() -> None:
    base, nobody = np.array([1, 2]), np.empty(0, np.int64)
    rows, left = (pa.chunked_array([each], BYTES) for each in ([b"a", b"b"], [b"b"]))
    ids = ThreeWay(base=base, ours=base[1:], theirs=base[1:])
    of_sides = ThreeWay(base=rows, ours=left, theirs=left)
    for update in Update:
        assert kept([b"a", b"b"], [b"b"], [b"b"], update=update) is None
        assert kept([b"a", b"b"], [b"b"], [b"a"], update=update) == []
        assert kept_by_ids(ids, (nobody, nobody), of_sides, update) is None
    assert kept_by_ids(ids, (nobody, nobody), of_sides) is not None


def test_nothing_is_left_to_chance_where_some_of_the_updated_rows_were_deleted() -> None:
    pure = Update.PURE
    assert kept([b"a", b"b"], [b"x", b"y"], [b"b"], update=pure) is None
    # One of two equal rows was updated, and one deleted: perhaps the same.
    assert kept([b"a", b"a"], [b"a", b"x"], [b"a"], update=pure) is None
    # What was updated may be a row of the target's own.
    assert kept([b"a"], [b"x", b"y"], [], ours_new=[b"n"], update=pure) is None
    # A row went and another one came besides the update.
    assert kept([b"a", b"b"], [b"x"], [], update=pure) is None


def known_again(
    base: list[str], ours: list[str], theirs: list[str], update: Update, new: tuple[str, ...] = ()
) -> tuple[list[str], int] | None:
    """What is left of rows of single letters as columns, and how many updated ones are gone."""

    columns = range(len(base[0]))

    def column(rows: Iterable[str], at: int) -> pa.ChunkedArray:
        return pa.chunked_array([[row[at].encode() for row in rows]], BYTES)

    found = kept_by_columns(
        [
            ThreeWay(base=column(base, at), ours=column(ours, at), theirs=column(theirs, at))
            for at in columns
        ],
        [(column((), at), column(new, at)) for at in columns],
        update,
    )
    if found is None:
        return None
    return [*compress(ours, found.stay), *compress(theirs, found.come)], found.overruled_rows


@pytest.mark.parametrize("update", Update)
def test_a_column_that_no_two_rows_share_tells_which_version_was_deleted(update: Update) -> None:
    base = ["1ka", "2la", "3mb"]
    two = known_again(base, ["1kx", "2ly", "3mb"], ["2la", "3mb"], update)
    assert two == (["2ly", "3mb"], 1)
    assert known_again(base, ["3mb", "2ly", "1kx"], ["3mb"], update) == (["3mb"], 2)
    assert known_again(base, ["1kx", "2la", "3mb"], ["1ka", "3mb"], update) == (["1kx", "3mb"], 0)
    came = known_again(base, ["1kx", "2la", "3mb"], ["2la", "3mb", "9nz"], update, new=("9nz",))
    assert came == (["2la", "3mb", "9nz"], 1)


def test_rows_that_share_half_of_their_columns_are_versions_only_where_an_update_is_recorded() -> (
    None
):
    base, ours, theirs = ["1ak", "2bl"], ["3ax", "2bl"], ["2bl"]
    assert known_again(base, ours, theirs, Update.PURE) == (["2bl"], 1)
    # Somebody may have deleted 1 and inserted 3.
    assert known_again(base, ours, theirs, Update.INFERRED) is None
    assert known_again(["1a", "2b"], ["1x", "2b"], ["2b"], Update.INFERRED) is None


@pytest.mark.parametrize("update", Update)
@pytest.mark.parametrize(
    ("base", "ours", "theirs"),
    [
        (["1a", "2a"], ["9a", "2a"], ["2a"]),
        (["1a", "2b"], ["9x", "2b"], ["2b"]),
        (["1a", "1b"], ["1x", "1b"], ["1b"]),
        (["1a", "2b"], ["1x", "2b", "3c"], ["2b"]),
        (["1a", "2b"], ["1x"], ["2b"]),
        (["1a", "2b"], ["1x", "2b"], ["2x"]),
    ],
    ids=["shared column", "no column", "equal rows", "one more", "one less", "both updated"],
)
def test_columns_that_do_not_tell_rows_from_each_other_tell_nothing(
    base: list[str], ours: list[str], theirs: list[str], update: Update
) -> None:
    assert known_again(base, ours, theirs, update) is None


def test_a_row_that_stood_alone_is_known_again_only_where_the_update_is_recorded() -> None:
    assert known_again(["1a"], ["1x"], [], Update.PURE) == ([], 1)
    assert known_again(["1a"], ["1x"], [], Update.INFERRED) is None


_ACTS = st.lists(
    st.tuples(
        st.sampled_from([b"a", b"b", b"c"]),
        st.sampled_from(["keep", "delete", "x", "y"]),
        st.booleans(),
    ),
    max_size=8,
)


def _acted(
    acts: list[tuple[bytes, str, bool]],
) -> tuple[list[tuple[int, bytes]], list[tuple[int, bytes]], list[tuple[int, bytes]]]:
    """What the sides hold, and what must be left, each row with its id."""
    images = {
        at: row if act == "keep" else act.encode()
        for at, (row, act, _) in enumerate(acts)
        if act != "delete"
    }
    theirs = [(at, row) for at, (row, _, stays) in enumerate(acts) if stays]
    left = [(at, image) for at, image in images.items() if acts[at][2]]
    return list(images.items()), theirs, left


@given(_ACTS, st.lists(st.sampled_from([b"x", b"z"]), max_size=2))
def test_what_is_left_is_what_was_done_or_nothing_is_told(
    acts: list[tuple[bytes, str, bool]], inserted: list[bytes]
) -> None:
    ours, theirs, left = _acted(acts)
    base, rows = [row for row, *_ in acts], [row for _, row in ours]
    update = Update.INFERRED if inserted else Update.PURE
    found = kept(base, [*rows, *inserted], [row for _, row in theirs], update=update)
    if found is not None:
        wanted = Counter(row for _, row in left)
        for row in set(base):
            done = [(act, stays) for each, act, stays in acts if each == row]
            if {act for act, _ in done} <= {"keep", "delete"}:
                # Equal rows cannot be told apart: as many stay as the side with fewer has.
                wanted[row] = min(sum(act == "keep" for act, _ in done), sum(s for _, s in done))
        assert Counter(found) == +wanted + Counter(inserted)
    elif not inserted:
        # A row that is gone on both sides may be one that the update moved to another bucket; of
        # equal rows nothing tells whether it is one of them that both lack.
        lacking = {row for row, act, _ in acts if act == "delete"}
        lacking &= {row for row, _, stays in acts if not stays}
        assert lacking or any(act in ("x", "y") for _, act, _ in acts)


@given(_ACTS)
def test_ids_always_tell_what_is_left(acts: list[tuple[bytes, str, bool]]) -> None:
    ours, theirs, left = _acted(acts)
    base = [(at, row) for at, (row, *_) in enumerate(acts)]
    sides = ThreeWay(base=base, ours=ours[::-1], theirs=theirs)
    nobody = np.empty(0, np.int64)
    found = kept_by_ids(
        each_side(sides, lambda side: np.array([at for at, _ in side], np.int64)),
        (nobody, nobody),
        each_side(sides, lambda side: pa.chunked_array([[row for _, row in side]], BYTES)),
    )
    assert found is not None
    assert sorted(compress(sides.ours, found.stay)) == sorted(left)
    assert not found.come.any()
    gone = [act for _, act, stays in acts if not stays]
    assert found.overruled_rows == sum(act in ("x", "y") for act in gone)


def test_ids_that_a_writer_gave_anew_and_rows_that_the_source_updated_tell_nothing() -> None:
    base, nobody = np.array([1, 2]), np.empty(0, np.int64)
    rows = pa.chunked_array([[b"a", b"b"]], BYTES)
    changed = pa.chunked_array([[b"a", b"x"]], BYTES)
    again = ThreeWay(base=base, ours=np.array([3, 4]), theirs=base)
    assert kept_by_ids(again, (nobody, nobody), ThreeWay(base=rows, ours=rows, theirs=rows)) is None
    same = ThreeWay(base=base, ours=base, theirs=base)
    of_theirs = ThreeWay(base=rows, ours=rows, theirs=changed)
    assert kept_by_ids(same, (nobody, nobody), of_theirs) is None


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
