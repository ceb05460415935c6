from datetime import date
from decimal import Decimal

import pyarrow as pa
import pytest

from branch_console.errors import InvalidInput
from branch_console.expr.predicate import Join, Name, holds, names_in, parse_condition

COLUMNS = {
    Name(side=None, column="id"): pa.array([1, 2, 3], pa.int32()),
    Name(side=None, column="dt"): pa.array([date(2026, 10, 31), date(2026, 11, 1), None]),
    Name(side="base", column="x"): pa.array(["a", None, "it's"]),
    Name(side="ours", column="x"): pa.array([1.5, None, -2.0]),
    Name(side="theirs", column="x"): pa.array([Decimal("1.50"), Decimal("2.25"), None]),
    Name(side="theirs", column="my col"): pa.array([True, False, None]),
}

CASES = {
    "id = 2": [False, True, False],
    "id <> 2": [True, False, True],
    "2 < id": [False, False, True],
    "id >= 1.5": [False, True, True],
    "dt < '2026-11-01'": [True, False, None],
    "dt is null": [False, False, True],
    "theirs.x < 100000000000000000000": [True, True, None],
    "base.x = 'it''s'": [False, None, True],
    "ours.x > -2.5 and base.x is not null": [True, False, True],
    "not (ours.x < 0 or id = 1)": [False, None, False],
    "theirs.x > 2": [False, True, None],
    "theirs.x = 1.5": [True, False, None],
    "id in (1, 3)": [True, False, True],
    "base.x not in ('a')": [False, None, True],
    "theirs.`my col` = true": [True, False, None],
    "id = 1 OR id = 2 AND dt IS NOT NULL": [True, True, False],
}


@pytest.mark.parametrize("text", CASES)
def test_a_condition_holds_where_it_says(text: str) -> None:
    found = holds(parse_condition(text), lambda name: COLUMNS[name])
    assert found.to_pylist() == CASES[text]


def test_the_names_of_a_condition_are_known_before_it_is_tried() -> None:
    names = names_in(parse_condition("not (a = ours.b or 1 < base.c) and d in (1) and e is null"))
    assert {(name.side, name.column) for name in names} == {
        (None, "a"), ("ours", "b"), ("base", "c"), (None, "d"), (None, "e")
    }  # fmt: skip


@pytest.mark.parametrize(
    "text", ["", "id", "id =", "id = 1 2", "id = 'x", "mine.x = 1", "(id = 1", "id in ()", "id ! 1"]
)
def test_what_is_no_condition_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"cannot be read from|ends too early"):
        parse_condition(text)


@pytest.mark.parametrize("text", ["id = 'x'", "dt > 'soon'", "base.x < 3", "1 = 2", "id in ('x')"])
def test_what_cannot_be_compared_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="compare"):
        holds(parse_condition(text), lambda name: COLUMNS[name])


@pytest.mark.parametrize(
    "text",
    [
        "(" * 5_000 + "a = 1" + ")" * 5_000,
        "not " * 5_000 + "a = 1",
        "(not " * 60 + "a = 1" + ")" * 60,
        "(" * 5_000,
    ],
)
def test_a_condition_of_thousands_of_brackets_is_told_in_a_sentence(text: str) -> None:
    with pytest.raises(InvalidInput, match="more than 100 levels of brackets") as error:
        parse_condition(text)
    assert len(error.value.message) < 200


def test_a_long_condition_is_read_or_refused_in_a_moment() -> None:
    parse_condition("(" * 100 + "a = 1" + ")" * 100)
    found = parse_condition(" or ".join(["a = 1"] * 20_000))
    assert isinstance(found, Join)
    assert len(found.conditions) == 20_000
    with pytest.raises(InvalidInput, match="characters"):
        parse_condition(" or ".join(["a = 1"] * 200_000))
    with pytest.raises(InvalidInput, match="cannot be read"):
        parse_condition(f"a = {'9' * 5_000}")


@pytest.mark.parametrize("number", ["9223372036854775808", "-9223372036854775809", "9" * 90])
@pytest.mark.parametrize("text", ["id = {}", "ours.x < {}", "id in (1, {})"])
def test_a_number_beyond_64_bits_is_told(text: str, number: str) -> None:
    condition = parse_condition(text.format(number))
    with pytest.raises(InvalidInput, match=f"with {number}, which is beyond 64 bits"):
        holds(condition, lambda name: COLUMNS[name])
