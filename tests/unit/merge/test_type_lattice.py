"""Column types as an order: wider, narrower, neither, and the narrowest type above two."""

import itertools

import pytest

from branch_console.format.data_types import parse_data_type
from branch_console.merge.type_lattice import can_widen, join_types
from tests.support.type_order import TypeOrder, compare_types


def row(*fields: tuple[int, str, object]) -> dict[str, object]:
    return {
        "type": "ROW",
        "fields": [{"id": each, "name": name, "type": kind} for each, name, kind in fields],
    }


def array(element: object) -> dict[str, object]:
    return {"type": "ARRAY", "element": element}


def a_map(key: object, value: object) -> dict[str, object]:
    return {"type": "MAP", "key": key, "value": value}


def vector(element: object, length: int) -> dict[str, object]:
    return {"type": "VECTOR", "element": element, "length": length}


WIDENINGS = [
    ("TINYINT", "SMALLINT"),
    ("SMALLINT", "INT"),
    ("INT", "BIGINT"),
    ("TINYINT", "BIGINT"),
    ("FLOAT", "DOUBLE"),
    ("SMALLINT", "FLOAT"),
    ("INT", "DOUBLE"),
    ("INT", "DECIMAL(10, 0)"),
    ("BIGINT", "DECIMAL(21, 2)"),
    ("VARCHAR(3)", "VARCHAR(4)"),
    ("VARCHAR(3)", "STRING"),
    ("CHAR(3)", "VARCHAR(3)"),
    ("VARBINARY(3)", "BYTES"),
    ("BINARY(3)", "VARBINARY(4)"),
    ("DECIMAL(10, 2)", "DECIMAL(12, 2)"),
    ("DECIMAL(10, 2)", "DECIMAL(12, 4)"),
    ("TIMESTAMP(3)", "TIMESTAMP(6)"),
    ("TIMESTAMP(3) WITH LOCAL TIME ZONE", "TIMESTAMP(9) WITH LOCAL TIME ZONE"),
    ("TIME(0)", "TIME(3)"),
    (array("INT"), array("BIGINT")),
    (array("INT NOT NULL"), array("INT")),
    ({"type": "MULTISET", "element": "INT"}, {"type": "MULTISET", "element": "BIGINT"}),
    (a_map("INT", "FLOAT"), a_map("BIGINT", "FLOAT")),
    (a_map("INT", "FLOAT"), a_map("INT", "DOUBLE")),
    (vector("FLOAT", 4), vector("DOUBLE", 4)),
    (row((1, "a", "INT")), row((1, "a", "BIGINT"))),
    (row((1, "a", "INT")), row((1, "a", "INT"), (2, "b", "STRING"))),
    (row((1, "a", "INT NOT NULL")), row((1, "b", "INT"))),
]
STRANGERS = [
    ("INT", "STRING"),
    ("BIGINT", "DOUBLE"),
    ("DATE", "TIMESTAMP(3)"),
    ("TIMESTAMP(3)", "TIMESTAMP(3) WITH LOCAL TIME ZONE"),
    ("BOOLEAN", "TINYINT"),
    ("STRING", "BYTES"),
    ("DECIMAL(38, 0)", "DECIMAL(38, 38)"),
    ("GEOMETRY(EPSG:1)", "GEOMETRY(EPSG:2)"),
    ("INT", array("INT")),
    (array("INT"), {"type": "MULTISET", "element": "INT"}),
    (array("INT"), array("STRING")),
    (vector("FLOAT", 4), vector("FLOAT", 5)),
    (a_map("INT", "INT"), a_map("STRING", "INT")),
    (a_map("INT", "INT"), a_map("INT", "STRING")),
    (row((1, "a", "INT")), row((1, "a", "STRING"))),
    (row((1, "a", "INT")), row((2, "a", "INT"))),
]
JOINS = [
    ("DECIMAL(10, 2)", "DECIMAL(8, 4)", "DECIMAL(12, 4)"),
    ("INT", "DECIMAL(5, 2)", "DECIMAL(12, 2)"),
    ("FLOAT", "INT", "DOUBLE"),
    ("CHAR(9)", "VARCHAR(5)", "VARCHAR(9)"),
    ("BINARY(9)", "VARBINARY(5)", "VARBINARY(9)"),
    (array("FLOAT"), array("INT"), array("DOUBLE")),
    (
        {"type": "MULTISET", "element": "FLOAT"},
        {"type": "MULTISET", "element": "INT"},
        {"type": "MULTISET", "element": "DOUBLE"},
    ),
    (vector("FLOAT", 4), vector("INT", 4), vector("DOUBLE", 4)),
    (a_map("INT", "BIGINT"), a_map("BIGINT", "INT"), a_map("BIGINT", "BIGINT")),
    (array("INT NOT NULL"), array("SMALLINT"), array("INT")),
]
# Every type above, and a few more, as one catalogue for the laws.
CATALOGUE = [
    parse_data_type(each)
    for each in {str(kind): kind for pair in (*WIDENINGS, *STRANGERS) for kind in pair}.values()
]


@pytest.mark.parametrize(("narrow", "wide"), WIDENINGS, ids=str)
def test_a_type_widens_and_does_not_narrow(narrow: object, wide: object) -> None:
    left, right = parse_data_type(narrow), parse_data_type(wide)
    assert compare_types(left, right) is TypeOrder.WIDER
    assert compare_types(right, left) is TypeOrder.NARROWER
    assert join_types(left, right) == join_types(right, left) == right


@pytest.mark.parametrize(("one", "other"), STRANGERS, ids=str)
def test_a_type_without_a_common_one(one: object, other: object) -> None:
    left, right = parse_data_type(one), parse_data_type(other)
    assert compare_types(left, right) is TypeOrder.INCOMPARABLE
    assert compare_types(right, left) is TypeOrder.INCOMPARABLE
    assert join_types(left, right) is None
    assert join_types(right, left) is None


@pytest.mark.parametrize(("one", "other", "joined"), JOINS, ids=str)
def test_two_types_meet_in_a_third(one: object, other: object, joined: object) -> None:
    left, right = parse_data_type(one), parse_data_type(other)
    assert compare_types(left, right) is TypeOrder.INCOMPARABLE
    assert join_types(left, right) == join_types(right, left) == parse_data_type(joined)


def test_rows_meet_in_one_with_the_fields_of_both() -> None:
    left = parse_data_type(row((1, "a", "INT NOT NULL"), (2, "b", "FLOAT")))
    right = parse_data_type(row((2, "b", "INT"), (3, "c", "INT NOT NULL")))
    assert join_types(left, right) == parse_data_type(
        row((1, "a", "INT"), (2, "b", "DOUBLE"), (3, "c", "INT"))
    )


def test_rows_whose_fields_would_share_a_name_do_not_meet() -> None:
    left = parse_data_type(row((1, "a", "INT")))
    assert join_types(left, parse_data_type(row((2, "a", "INT")))) is None


def test_a_new_field_that_forbids_null_is_no_widening() -> None:
    left = parse_data_type(row((1, "a", "INT")))
    right = parse_data_type(row((1, "a", "INT"), (2, "b", "INT NOT NULL")))
    assert not can_widen(left, right)


def test_nullability_of_the_column_itself_is_left_aside() -> None:
    left, right = parse_data_type("INT"), parse_data_type("INT NOT NULL")
    assert compare_types(left, right) is TypeOrder.SAME
    assert join_types(right, right) == right
    assert join_types(left, right) == join_types(right, left) == left


def test_the_order_is_reflexive_and_transitive() -> None:
    above = {a: {b for b in CATALOGUE if can_widen(a, b)} for a in CATALOGUE}
    for narrow, wider in above.items():
        assert narrow in wider
        assert all(above[each] <= wider for each in wider)


def test_a_join_is_the_least_type_above_both() -> None:
    for a, b in itertools.product(CATALOGUE, repeat=2):
        joined = join_types(a, b)
        above = [each for each in CATALOGUE if can_widen(a, each) and can_widen(b, each)]
        if joined is None:
            assert above == []
            continue
        assert can_widen(a, joined)
        assert can_widen(b, joined)
        assert all(can_widen(joined, each) for each in above)
