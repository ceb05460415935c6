"""What a condition of a MERGE says of all rows that match."""

import pytest

from branch_console.sql.pushdown import Matching, PushedComparison, matching_in

NOTHING = Matching(equal=(), comparisons=())


def test_columns_that_are_equal_and_comparisons_of_the_target_are_found() -> None:
    assert matching_in(
        "(t.id = S.other) AND `s`.x = T.`a b` and t.day = '2026-01-02' AND 3 > t.n"
        " AND s.y = 4 AND t.z BETWEEN 1 AND 9",
        "t",
        "s",
    ) == Matching(
        equal=(("id", "other"), ("a b", "x")),
        comparisons=(
            PushedComparison(column="day", sign="=", values=("2026-01-02",)),
            PushedComparison(column="n", sign="<", values=(3,)),
            PushedComparison(column="z", sign="<=", values=(9,)),
            PushedComparison(column="z", sign=">=", values=(1,)),
        ),
    )


@pytest.mark.parametrize(
    "condition",
    [
        "t.id = s.id OR t.x = s.x",
        "NOT t.id = s.id",
        "t.id <=> s.id",
        "id = s.id",  # of either side
        "t.id = id",
        "t.id + 1 = s.id",
        "t.id = coalesce(s.id, 1)",
        "t.id = s.id = true",
        "t.id = s.id IS NULL",
        "t.r.id = s.id",
        "t.id = s.id COLLATE UNICODE_CI",
        "t.id = t.x AND s.id = s.x",
        "t.name = 'it\\'s'",
        "t.id =",
    ],
)
def test_what_may_mean_something_else_says_nothing(condition: str) -> None:
    assert matching_in(condition, "t", "s") == NOTHING
