"""Dangers to a branch that nobody touches, or to others by it, and their remedies.

The rules F00 to F16 and F23 stand for what files that are shared may suffer, F17 for the history of
a rescue branch, F22 for a branch that an option names and that is gone, F25 for a branch that was
not copied whole: other engines expire snapshots by
looking at one branch and at the tags of main, which they go through by id. A branch is safe from
its own expiry by a fence, and main by a fence or by a tag on the files that others need.
`write-only` and retention options hold until a dedicated job or an argument overrides them.
"""

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from branch_console.diff.health.base_rules import base
from branch_console.diff.health.facts import BranchFacts, TableFacts
from branch_console.diff.health.finding import HealthFinding
from branch_console.diff.health.folder_rules import (
    below_earliest,
    left_over,
    lost_branches,
    lost_fence,
    lost_schemas,
)
from branch_console.diff.health.judging import Judging
from branch_console.diff.health.sharing_rules import (
    replaced_main,
    rescued_history,
    shared_histories,
    sharing_merges,
)
from branch_console.diff.health.tag_rules import foreign_tags, hidden_base, made_tags, own_tags
from branch_console.format.identifier import MAIN_BRANCH

_Rule: TypeAlias = Callable[[Judging, BranchFacts], Iterator[HealthFinding]]
_MAIN_RULES: Final[tuple[_Rule, ...]] = (foreign_tags, left_over)
_BRANCH_RULES: Final[tuple[_Rule, ...]] = (
    base,
    own_tags,
    hidden_base,
    made_tags,
    shared_histories,
    replaced_main,
    sharing_merges,
    rescued_history,
)
_ANY_RULES: Final[tuple[_Rule, ...]] = (below_earliest, lost_branches, lost_fence, lost_schemas)


class Hazards:
    """The findings of a table, branch by branch."""

    def __init__(self, facts: TableFacts) -> None:
        self._judging = Judging(facts)

    @property
    def branches(self) -> tuple[str, ...]:
        """The branches that were looked at, main first."""
        return tuple(self._judging.branches)

    def of(self, branch: str) -> tuple[HealthFinding, ...]:
        """The findings of a branch, the worst first; each is reported on one branch only."""
        facts = self._judging.branches[branch]
        rules = _MAIN_RULES if branch == MAIN_BRANCH else _BRANCH_RULES
        found = [each for rule in (*rules, *_ANY_RULES) for each in rule(self._judging, facts)]
        return tuple(sorted(found, key=lambda each: (-each.severity.rank, each.rule)))
