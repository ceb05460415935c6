"""Which parts of long branch names tell them apart."""

import pytest

from branch_console_app.models.branches.alike_names import alike_parts

_LETTERS = 16


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (
            ["backfill-flights-2013-11-carrier-codes", "backfill-flights-2013-12-carrier-codes"],
            [["11"], ["12"]],
        ),
        (["feature_of_a_team_with_a_name_1", "feature_of_a_team_with_a_name_2"], [["1"], ["2"]]),
        (["feature-of-a-team-x", "feature-of-a-team-x-2"], [["x"], ["x-2"]]),
        (["a" * 40, "a" * 40 + "b"], [["aaaa"], ["aaaab"]]),
        (
            [
                f"backfill-flights-2013-{month}-carrier-{n}"
                for month, n in ((11, 1), (11, 2), (12, 1))
            ],
            [["11", "1"], ["11", "2"], ["12"]],
        ),
    ],
)
def test_names_that_begin_alike_are_told_apart_where_they_differ(
    names: list[str], told: list[list[str]]
) -> None:
    found = alike_parts([*names, "main", "backfill-flights"], _LETTERS)
    assert set(found) == set(names)
    assert [list(found[name][1::2]) for name in names] == told
    assert all("".join(parts) == name for name, parts in found.items())


def test_names_that_differ_in_what_is_seen_stay_as_they_are() -> None:
    assert alike_parts(["main", "a" * 40, "b" * 40, "a" * 15 + "b" * 25], _LETTERS) == {}
    assert alike_parts([], _LETTERS) == {}
