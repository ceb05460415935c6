"""Which branch a partition is read from, decided over the live files of two branches."""

from collections.abc import Sequence

import pyarrow as pa
import pytest

from branch_console.commit.schema.schema_commit import new_schema
from branch_console.format.data_types import BIGINT, INT, STRING, DataType, with_nullable
from branch_console.format.read_branches import FallbackOrder, FallbackRule, rows_elsewhere
from branch_console.format.table_schema import TableSchema
from branch_console.format.values.binary_row import encode_row
from branch_console.table.fallback_branch import FallbackRead, plan_fallback, row_type_problem
from tests.support.commit_tables import data_files

OWN_FIRST = FallbackRule(order=FallbackOrder.OWN_FIRST, branch="other")
OTHER_FIRST = FallbackRule(order=FallbackOrder.OTHER_FIRST, branch="other")


def day(number: int) -> bytes:
    return encode_row([number], [INT])


def files(*days: int) -> pa.Table:
    entries = data_files([f"{number}-{at}" for at, number in enumerate(days)], rows=10)
    return entries.set_column(
        entries.schema.get_field_index("partition"),
        entries.schema.field("partition"),
        pa.array([day(number) for number in days], pa.binary()),
    )


def plan(rule: FallbackRule, own: Sequence[int], other: Sequence[int]) -> FallbackRead:
    return plan_fallback(rule, "main", files(*own), files(*other))


def places(read: FallbackRead) -> dict[bytes, str]:
    return dict(
        zip(
            read.partitions["partition"].to_pylist(),
            read.partitions["branch"].to_pylist(),
            strict=True,
        )
    )


@pytest.mark.parametrize(
    ("rule", "shared"), [(OWN_FIRST, "main"), (OTHER_FIRST, "other")], ids=["fallback", "primary"]
)
@pytest.mark.parametrize(
    ("own", "other"),
    [((1, 2), (2, 3)), ((), (1, 2)), ((1, 2), ()), ((), ()), ((1,), (1,)), ((1, 1), (1, 2, 2))],
    ids=["overlap", "own empty", "other empty", "both empty", "the same", "several files"],
)
def test_each_partition_is_read_from_one_branch(
    rule: FallbackRule, shared: str, own: tuple[int, ...], other: tuple[int, ...]
) -> None:
    expected = {day(each): "other" for each in other}
    expected |= {day(each): "main" for each in own if each not in other}
    expected |= {day(each): shared for each in own if each in other}
    assert places(plan(rule, own, other)) == expected


def test_counts_are_those_of_the_branch_that_is_read() -> None:
    read = plan(OWN_FIRST, (1, 1), (1, 2, 2, 2))
    (own,) = read.from_branch("main").to_pylist()
    (other,) = read.from_branch("other").to_pylist()
    assert (own["file_count"], own["row_count"]) == (2, 20)
    assert (other["file_count"], other["row_count"]) == (3, 30)


def schema(options: dict[str, str], columns: Sequence[tuple[str, DataType]] = ()) -> TableSchema:
    return new_schema(columns or [("id", BIGINT), ("name", STRING)], options=options)


@pytest.mark.parametrize(
    ("options", "branch", "expected"),
    [
        ({}, "main", None),
        ({"scan.fallback-branch": "other"}, "main", OWN_FIRST),
        ({"scan.primary-branch": "other"}, "main", OTHER_FIRST),
        ({"scan.fallback-branch": "other"}, "other", None),
        ({"scan.fallback-branch": " "}, "main", None),
        ({"scan.fallback-branch": "other", "scan.primary-branch": "x"}, "main", OWN_FIRST),
        ({"scan.fallback-branch": "other", "chain-table.enabled": "true"}, "main", None),
    ],
    ids=["none", "fallback", "primary", "on itself", "blank", "both", "chain table"],
)
def test_the_rule_is_the_option_of_the_branch(
    options: dict[str, str], branch: str, expected: FallbackRule | None
) -> None:
    assert FallbackRule.of(schema(options), branch) == expected


CHAIN = {
    "chain-table.enabled": "true",
    "scan.fallback-snapshot-branch": "full",
    "scan.fallback-delta-branch": "changes",
}


@pytest.mark.parametrize(
    ("options", "branch", "named"),
    [
        (CHAIN, "main", "chain table"),
        (CHAIN, "dev", "chain table"),
        (CHAIN, "full", None),
        (CHAIN, "Changes", None),
        ({**CHAIN, "chain-table.enabled": "false"}, "main", None),
        ({"chain-table.enabled": "true"}, "main", None),
        ({"scan.fallback-branch": "other"}, "main", "'scan.fallback-branch'"),
        ({"scan.primary-branch": "other"}, "other", None),
    ],
)
def test_a_branch_with_rows_elsewhere_is_named_by_its_kind(
    options: dict[str, str], branch: str, named: str | None
) -> None:
    kind = rows_elsewhere(schema(options), branch)
    assert kind is None if named is None else named in str(kind)


@pytest.mark.parametrize(
    ("columns", "fits"),
    [
        ([("id", BIGINT), ("name", STRING)], True),
        ([("id", with_nullable(BIGINT, False)), ("name", STRING)], True),
        ([("key", BIGINT), ("label", STRING)], True),
        ([("id", INT), ("name", STRING)], False),
        ([("id", BIGINT)], False),
        ([("name", STRING), ("id", BIGINT)], False),
    ],
    ids=["same", "not null", "renamed", "another type", "fewer", "another order"],
)
def test_row_types_must_agree_by_position(
    columns: Sequence[tuple[str, DataType]], fits: bool
) -> None:
    problem = row_type_problem("main", schema({}), OWN_FIRST, schema({}, columns))
    assert (problem is None) == fits
    if problem is not None:
        assert "'main'" in problem
        assert "'other'" in problem
        assert "scan.fallback-branch" in problem
