"""Which runs of the quality rules are about the branches of a merge."""

import pytest

from branch_console.procedures.browse.page_values import BranchItem, Health
from branch_console_app.models.merge.gate_run import latest_creation


def item(name: str, created_millis: int | None) -> BranchItem:
    return BranchItem(name=name, health=Health.HEALTHY, findings=(), created_millis=created_millis)


@pytest.mark.parametrize(
    ("sides", "millis"),
    [
        ((item("main", 9), item("dev", 5)), 5),
        ((item("audit", 7), item("dev", 5)), 7),
        ((item("main", 9), item("dev", None)), 0),
        ((item("dev", 5), item("main", 9)), 5),
    ],
)
def test_a_new_partition_of_main_makes_no_other_branch_of_it(
    sides: tuple[BranchItem, BranchItem], millis: int
) -> None:
    assert latest_creation(*sides) == millis
