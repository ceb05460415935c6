"""How many branches a table has, counted one way for every page and command."""

from collections.abc import Iterable
from dataclasses import dataclass

from branch_console.format.identifier import MAIN_BRANCH, RESERVED_PREFIXES

_RESCUE, _STAGING = RESERVED_PREFIXES


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchCounts:
    """Branches of a table, or of several.

    Attributes:
        branches: The branches of people, main among them.
        rescue: The branches that keep a state that an operation replaced or dropped.
        staging: The branches that keep a result before it is published.
    """

    branches: int
    rescue: int = 0
    staging: int = 0

    @classmethod
    def of(cls, names: Iterable[str]) -> "BranchCounts":
        """Count the branches of one table; main counts, whether it is named or not."""
        others = {*names} - {MAIN_BRANCH}
        rescue = sum(name.startswith(_RESCUE) for name in others)
        staging = sum(name.startswith(_STAGING) for name in others)
        return cls(branches=1 + len(others) - rescue - staging, rescue=rescue, staging=staging)

    @classmethod
    def total(cls, counts: Iterable["BranchCounts"]) -> "BranchCounts":
        """Add up the branches of several tables."""
        every = tuple(counts)
        return cls(
            branches=sum(each.branches for each in every),
            rescue=sum(each.rescue for each in every),
            staging=sum(each.staging for each in every),
        )

    @property
    def words(self) -> str:
        """The counts for people: `6 branches, 2 rescue`."""
        noun = "branch" if self.branches == 1 else "branches"
        return f"{self.branches:,} {noun}{self._others}"

    @property
    def cell(self) -> str:
        """The same below a heading that names branches: `6, 2 rescue`."""
        return f"{self.branches:,}{self._others}"

    @property
    def _others(self) -> str:
        parts = (
            f", {self.rescue:,} rescue" if self.rescue else "",
            f", {self.staging:,} staging" if self.staging else "",
        )
        return "".join(parts)
