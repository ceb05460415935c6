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
