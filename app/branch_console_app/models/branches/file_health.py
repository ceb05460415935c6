"""How the state of a table's or branch's files is called on pages and command line.

It is about files alone: a branch with intact files can still fail a quality rule.
"""

from typing import Final

from branch_console.procedures.browse.page_values import Health

_WORDS: Final = {
    Health.HEALTHY: "intact",
    Health.UNCHECKED: "not checked",
    Health.AT_RISK: "at risk",
    Health.BROKEN: "broken",
}


def files_word(health: Health) -> str:
    """Return the word for a column *Files*, or behind the noun."""
    return _WORDS[health]
