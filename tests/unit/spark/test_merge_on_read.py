"""Each merge engine against a loop over the rows of a key, in the order of their sequence."""

import math
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from branch_console.commit.schema.schema_commit import new_schema
from branch_console.errors import InvalidInput
from branch_console.format.data_types import BIGINT, INT, STRING, AtomicType, TypeRoot
from branch_console.spark.kernels.merge_on_read import check_mergeable, merge_rows

Row = tuple[int, int | None, str | None, int]

# Key, amount, name, row kind; the position in the list is the sequence number.
ROWS = st.lists(
    st.tuples(
        st.integers(0, 4),
        st.none() | st.integers(-5, 5),
        st.none() | st.sampled_from("abc"),
        st.sampled_from([0, 0, 0, 1, 2, 3]),
    ),
    max_size=30,
)


def merged(rows: list[Row], shuffle: list[int] | None = None, **options: str) -> list[Any]:
    schema = new_schema(
        [("id", INT), ("amount", BIGINT), ("name", STRING)],
        primary_keys=("id",),
        options={"bucket": "1", **options},
    )
    table = pa.table(
        {
            "id": pa.array([row[0] for row in rows], pa.int32()),
            "amount": pa.array([row[1] for row in rows], pa.int64()),
            "name": pa.array([row[2] for row in rows], pa.string()),
            "_SEQUENCE_NUMBER": pa.array(range(len(rows)), pa.int64()),
            "_VALUE_KIND": pa.array([row[3] for row in rows], pa.int8()),
        }
    )
    if shuffle:
        table = table.take(pa.array(shuffle))
    found = merge_rows(table, schema)
    return [tuple(row.values()) for row in found.to_pylist()]


def modelled(rows: list[Row], of_key: Callable[[list[Row]], Row | None]) -> list[Any]:
    keys: dict[int, list[Row]] = {}
    for row in rows:
        keys.setdefault(row[0], []).append(row)
    found = [of_key(keys[key]) for key in sorted(keys)]
    return [row[:3] for row in found if row is not None and row[3] in (0, 2)]


@given(ROWS, st.randoms(use_true_random=False))
def test_the_last_row_of_a_key_stays_in_whatever_order_they_come(
    rows: list[Row], any_: Any
) -> None:
    order = list(range(len(rows)))
    any_.shuffle(order)
    assert merged(rows, order) == modelled(rows, lambda of: of[-1])


@given(ROWS)
def test_deletes_may_be_ignored(rows: list[Row]) -> None:
    kept = [row for row in rows if row[3] in (0, 2)]
    assert merged(rows, **{"ignore-delete": "true"}) == modelled(kept, lambda of: of[-1])


@given(ROWS)
def test_the_first_row_of_a_key_stays(rows: list[Row]) -> None:
    assert merged(rows, **{"merge-engine": "first-row"}) == modelled(rows, lambda of: of[0])


@given(ROWS)
def test_a_row_with_the_greater_sequence_field_wins(rows: list[Row]) -> None:
    def winner(of: list[Row]) -> Row:
        # A row without a user sequence loses; of equal ones the later wins.
        return max(
            enumerate(of), key=lambda each: (each[1][1] is not None, each[1][1] or 0, each[0])
        )[1]

    assert merged(rows, **{"sequence.field": "amount"}) == modelled(rows, winner)


@given(ROWS)
def test_a_partial_update_keeps_the_last_value_that_is_there(rows: list[Row]) -> None:
    kept = [row for row in rows if row[3] in (0, 2)]

    def fold(of: list[Row]) -> Row:
        amounts = [row[1] for row in of if row[1] is not None]
        names = [row[2] for row in of if row[2] is not None]
        return (of[0][0], amounts[-1] if amounts else None, names[-1] if names else None, 0)

    assert merged(kept, **{"merge-engine": "partial-update"}) == modelled(kept, fold)


@pytest.mark.parametrize(
    ("function", "fold"),
    [
        ("sum", sum),
        ("max", max),
        ("min", min),
        ("last_non_null_value", lambda values: values[-1]),
        ("first_non_null_value", lambda values: values[0]),
    ],
)
@given(rows=ROWS)
def test_values_are_aggregated_and_nulls_left_out(
    function: str, fold: Callable[[list[int]], int], rows: list[Row]
) -> None:
    kept = [row for row in rows if row[3] in (0, 2)]

    def of_key(of: list[Row]) -> Row:
        values = [row[1] for row in of if row[1] is not None]
        return (of[0][0], fold(values) if values else None, of[-1][2], 0)

    options = {
        "merge-engine": "aggregation",
        "fields.amount.aggregate-function": function,
        "fields.name.aggregate-function": "last_value",
    }
    assert merged(kept, **options) == modelled(kept, of_key)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"merge-engine": "guess"}, "guess"),
        ({"merge-engine": "aggregation", "fields.name.aggregate-function": "hll_sketch"}, "hll_"),
        ({"merge-engine": "partial-update", "fields.amount.sequence-group": "nme"}, "'nme'"),
        ({"merge-engine": "aggregation", "fields.name.aggregate-function": "sum"}, "STRING"),
        ({"merge-engine": "aggregation", "fields.name.aggregate-function": "rbm64"}, "rbm64"),
    ],
)
def test_what_is_not_served_is_refused_by_name(options: dict[str, str], named: str) -> None:
    schema = new_schema(
        [("id", INT), ("amount", BIGINT), ("name", STRING)],
        primary_keys=("id",),
        options={"bucket": "1", **options},
    )
    with pytest.raises(InvalidInput, match=named):
        check_mergeable(schema)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"merge-engine": "partial-update"}, "delete"),
        ({"merge-engine": "aggregation", "fields.amount.aggregate-function": "max"}, "takes back"),
    ],
)
def test_a_delete_is_refused_where_the_engine_takes_none(
    options: dict[str, str], named: str
) -> None:
    with pytest.raises(InvalidInput, match=named):
        merged([(1, 1, "a", 0), (1, None, None, 3)], **options)


def test_zeros_are_two_keys_and_nans_are_one() -> None:
    schema = new_schema(
        [("id", AtomicType(root=TypeRoot.DOUBLE)), ("n", INT)],
        primary_keys=("id",),
        options={"bucket": "1"},
    )
    keys = [math.nan, 0.0, -0.0, math.nan, -0.0, 0.0, 1.0]
    table = pa.table(
        {
            "id": pa.array(keys),
            "n": pa.array(range(len(keys)), pa.int32()),
            "_SEQUENCE_NUMBER": pa.array(range(len(keys)), pa.int64()),
            "_VALUE_KIND": pa.array([0] * len(keys), pa.int8()),
        }
    )
    found = merge_rows(table, schema)
    assert str(found["id"].to_pylist()) == "[-0.0, 0.0, 1.0, nan]"
    assert found["n"].to_pylist() == [4, 5, 6, 3]


def test_an_engine_of_a_later_paimon_is_refused_by_name() -> None:
    with pytest.raises(InvalidInput, match="The merge engine 'last-two' is not known"):
        merged([(1, 1, "a", 0), (1, 2, "b", 0)], **{"merge-engine": "last-two"})
