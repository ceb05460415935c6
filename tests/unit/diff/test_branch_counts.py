"""Branches are counted one way: main counts, what the product keeps for itself stands apart."""

import pytest

from branch_console.diff.branch_counts import BranchCounts


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ((), "1 branch"),
        (("main",), "1 branch"),
        (("main", "dev"), "2 branches"),
        (("dev", "rescue-0a", "rescue-0b"), "2 branches, 2 rescue"),
        (("merge-5f", "rescue-0a"), "1 branch, 1 rescue, 1 staging"),
        (("rescued", "merged"), "3 branches"),
    ],
)
def test_of_one_table(names: tuple[str, ...], words: str) -> None:
    assert BranchCounts.of(names).words == words


def test_of_several_tables() -> None:
    counts = [BranchCounts.of(names) for names in ([], ["dev", "rescue-0a"], ["dev", "merge-1"])]
    total = BranchCounts.total(counts)
    assert total == BranchCounts(branches=5, rescue=1, staging=1)
    assert total.cell == "5, 1 rescue, 1 staging"
    assert BranchCounts.total([]) == BranchCounts(branches=0)
