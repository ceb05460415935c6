"""The snapshots, tags and dates of each branch of a table, from which its origin is inferred."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.snapshot import Snapshot
from branch_console.format.tag import Tag

Lists: TypeAlias = tuple[str, str]
"""The same snapshot has the same lists on every branch, with or without a uuid beside them."""


@dataclass(frozen=True, kw_only=True)
class BranchTrace:
    """The snapshots and tags of one branch, from which its origin is inferred.

    Attributes:
        snapshots: The snapshots that have not expired, by rising id.
        tags: The branch's tags; their snapshots may have expired.
        created_millis: When its folder was made; None if the store does not record it.
    """

    branch: str
    snapshots: tuple[Snapshot, ...]
    tags: tuple[Tag, ...] = ()
    created_millis: int | None = None

    @property
    def head(self) -> Snapshot | None:
        """The newest snapshot."""
        return self.snapshots[-1] if self.snapshots else None

    @property
    def is_main(self) -> bool:
        """Whether this is the table's main branch."""
        return self.branch == MAIN_BRANCH

    @cached_property
    def places(self) -> Mapping[Lists, int]:
        """The index in `snapshots` of each snapshot, by its manifest lists."""
        return {
            (each.base_manifest_list, each.delta_manifest_list): at
            for at, each in enumerate(self.snapshots)
        }
