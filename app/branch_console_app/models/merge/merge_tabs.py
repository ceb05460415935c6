"""The tabs of a merge, by the name that an address has and by the label that a page shows."""

from collections.abc import Mapping, Sequence
from enum import StrEnum

from branch_console_app.models.merge.eligibility import Check, checks_title
from branch_console_app.models.parts.wording import full_count


class MergeTab(StrEnum):
    """A tab; an address names it whatever its count is by now."""

    SUMMARY = "summary"
    CHANGES = "changes"
    CONFLICTS = "conflicts"
    CHECKS = "checks"
    DETAILS = "details"

    @classmethod
    def parse(cls, text: str | None) -> "MergeTab":
        """Return the tab that an address names; the first one without a name that there is."""
        return cls(text) if text in list(cls) else cls.SUMMARY


def tab_labels(
    conflict_count: int, checks: Sequence[Check], settled: int = 0
) -> Mapping[MergeTab, str]:
    """Return the labels, with what is counted.

    Args:
        conflict_count: All conflicts that are known, settled ones too.
        checks: The lines of the tab of that name.
        settled: How many of the conflicts are settled.
    """
    number = full_count(conflict_count)
    if settled:
        all_settled = settled == conflict_count
        counted = f"{number}, all" if all_settled else f"{full_count(settled)} of {number}"
        conflicts = f"Conflicts ({counted} settled)"
    else:
        conflicts = f"Conflicts ({number})" if conflict_count else "Conflicts"
    return {
        MergeTab.SUMMARY: "Summary",
        MergeTab.CHANGES: "Changes",
        MergeTab.CONFLICTS: conflicts,
        MergeTab.CHECKS: checks_title(checks),
        MergeTab.DETAILS: "Details",
    }
