"""The findings that the card of a branch tells."""

from dataclasses import replace

import pytest

from branch_console.diff.health.finding import HazardSeverity
from branch_console.procedures.browse.page_values import BranchItem, Health
from branch_console_app.models.branches.file_health import findings_of_card
from tests.console.pretend import unpinned

ONE_TAG = replace(
    unpinned("Only one tag keeps it."), rule="F00", severity=HazardSeverity.INFO,
    evidence=("tag branch-base-dev",),
)  # fmt: skip
ENDS = unpinned("The tag that keeps its base ends in 2 days.")


@pytest.mark.parametrize(
    ("base_tag", "told"), [("branch-base-dev", (ENDS,)), ("other", (ONE_TAG, ENDS)), (None, None)]
)
def test_that_a_branch_has_the_tag_it_was_made_with_is_no_news(
    base_tag: str | None, told: tuple[object, ...] | None
) -> None:
    item = BranchItem(
        name="dev", health=Health.HEALTHY, findings=(ONE_TAG, ENDS), created_millis=0,
        base_tag=base_tag,
    )  # fmt: skip
    assert findings_of_card(item) == ((ONE_TAG, ENDS) if told is None else told)
