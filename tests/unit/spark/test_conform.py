"""Rows in the columns and types of a table: what fits, what is changed on the way, what is not."""

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from branch_console.errors import InvalidInput
from branch_console.format.data_types import parse_data_type
from branch_console.spark.files.conform import check_assignable, conform, constant_for, names_for
from branch_console.spark.kernels.merge_on_read import VALUE_KIND
from tests.support.table_files import a_schema


def one(kind: str, values: list[Any] | pa.Array) -> list[Any]:
    schema = a_schema(columns=[("a", parse_data_type(kind))])
    found: list[Any] = conform(pa.table({"a": values}), schema)["a"].to_pylist()
    return found


@pytest.mark.parametrize(
    ("kind", "given", "found"),
    [
        ("VARCHAR(3)", ["äöü", None], ["äöü", None]),
        ("DECIMAL(5, 2)", [1.005, -1.25], [Decimal("1.00"), Decimal("-1.25")]),
        ("DECIMAL(5, 1)", [Decimal("1.25"), Decimal("-1.25")], [Decimal("1.3"), Decimal("-1.3")]),
        (
            "TIMESTAMP(3)",
            [dt.datetime(1969, 12, 31, 23, 59, 59, 999_999)],
            [dt.datetime(1969, 12, 31, 23, 59, 59, 999_000)],
        ),
        ("BIGINT", pa.array([1, 2], pa.int8()), [1, 2]),
        ("DOUBLE", [Decimal("0.5")], [0.5]),
    ],
)
def test_values_that_fit(kind: str, given: Any, found: list[Any]) -> None:
    assert one(kind, given) == found


@pytest.mark.parametrize(
    ("kind", "given", "message"),
    [
        ("VARCHAR(3)", ["abcd"], "4 characters"),
        ("VARBINARY(1)", [b"ab"], "2 bytes"),
        ("TINYINT", [128], "cannot take"),
        ("INT", [0.5], "cannot take"),
        ("DECIMAL(3, 1)", [Decimal("100.0")], "cannot take"),
        ("INT NOT NULL", [None, 1], "1 of 2 rows"),
    ],
)
def test_values_that_do_not_fit_name_their_column(kind: str, given: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=f"Column 'a' .*{message}") as caught:
        one(kind, given)
    assert "\n" not in caught.value.message


def test_columns_are_found_by_name_or_by_position() -> None:
    schema = a_schema(columns=[("a", parse_data_type("INT")), ("b", parse_data_type("INT"))])
    assert names_for(["b", "a"], schema) == ("b", "a")
    assert names_for(["x", "y"], schema, by_position=True) == ("a", "b")
    assert names_for(["x"], schema, by_position=True, constants=("a",)) == ("b",)
    for given, how, message in (
        (["a", "a"], {}, "twice"),
        (["c"], {}, "no column 'c'"),
        (["a"], {"constants": ("a",)}, "by the statement"),
        (["x"], {"by_position": True}, "takes 2 columns"),
    ):
        with pytest.raises(InvalidInput, match=message):
            names_for(given, schema, **how)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wanted", "given"),
    [
        ("INT", pa.string()),
        ("STRING", pa.int32()),
        ("BOOLEAN", pa.int8()),
        ("DATE", pa.string()),
        ("BYTES", pa.string()),
        ({"type": "ARRAY", "element": "INT"}, pa.int32()),
    ],
)
def test_types_that_do_not_fit_are_known_before_any_value(wanted: Any, given: pa.DataType) -> None:
    schema = a_schema(columns=[("a", parse_data_type(wanted))])
    with pytest.raises(InvalidInput, match=r"Column 'a' is .* takes no"):
        check_assignable({"a": given}, schema)


def test_a_constant_takes_the_type_of_its_column() -> None:
    schema = a_schema(columns=[("a", parse_data_type("DATE")), ("b", parse_data_type("INT"))])
    assert constant_for("2024-01-02", schema.field("a")).as_py() == dt.date(2024, 1, 2)
    with pytest.raises(InvalidInput, match="Column 'b'"):
        constant_for("x", schema.field("b"))


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({}, [0, 1, 2, 3]),
        ({"ignore-update-before": "true"}, [0, 2, 3]),
        ({"ignore-delete": "true"}, [0, 2]),
        ({"deduplicate.ignore-delete": "true"}, [0, 2]),
        ({"deduplicate.ignore-delete": "true", "ignore-delete": "false"}, [0, 1, 2, 3]),
    ],
)
def test_row_kinds_that_a_table_ignores_are_left_out(
    options: dict[str, str], kept: list[int]
) -> None:
    schema = a_schema(
        columns=[("id", parse_data_type("INT NOT NULL"))], primary_keys=("id",), options=options
    )
    given = pa.table({"id": [1, 2, 3, 4], VALUE_KIND: pa.array([0, 1, 2, 3], pa.int8())})
    assert conform(given, schema)[VALUE_KIND].to_pylist() == kept
