"""How the state of a table's or branch's files is called on pages and command line.

It is about files alone: a branch with intact files can still fail a quality rule.
"""

from typing import Final

from branch_console.diff.health.finding import HealthFinding
from branch_console.procedures.browse.page_values import BranchItem, Health

_WORDS: Final = {
    Health.HEALTHY: "intact",
    Health.UNCHECKED: "not checked",
    Health.AT_RISK: "at risk",
    Health.BROKEN: "broken",
}


def files_word(health: Health) -> str:
    """Return the word for a column *Files*, or behind the noun."""
    return _WORDS[health]


def health_of_address(value: str | None) -> Health | None:
    """Return the state that an address names by a value other than its word; None for others.

    That is how addresses named it when pages called it by these values.
    """
    found = next((each for each in Health if each == value), None)
    return None if found is None or files_word(found) == value else found


def findings_of_card(item: BranchItem) -> tuple[HealthFinding, ...]:
    """Return the findings that the card of a branch tells; Health and the doctor tell all.

    Every branch begins with a tag of its own that keeps what it began at, and Branch Console does
    not delete that while it is needed: that it is the only one is no news of this branch.
    """
    return tuple(
        each
        for each in item.findings
        if not (each.rule == "F00" and each.evidence == (f"tag {item.base_tag}",))
    )
