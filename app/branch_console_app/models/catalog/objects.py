"""Databases and tables by branch: which are listed, in which order, and how each stands."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from branch_console.diff.catalog_standing import ObjectOnBranch, ObjectStanding
from branch_console.merge.catalog.object_merge import ObjectKind
from branch_console.procedures.browse.catalog_values import (
    CatalogBranchStanding,
    CatalogObject,
    CatalogOverview,
)

MOST_BRANCHES: Final = 5
"""How many branches have a column beside each other."""

_ABSENT: Final = ObjectOnBranch(standings=(ObjectStanding.ABSENT,), name=None)


class ListedObjects(StrEnum):
    """The objects that are listed."""

    CHANGED = "changed"
    EVERY = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectLine:
    """A database or a table in the list, with how each shown branch has it."""

    object: CatalogObject
    on: Mapping[str, ObjectOnBranch]

    @property
    def is_changed(self) -> bool:
        """Whether any shown branch changed it."""
        return any(each.is_changed for each in self.on.values())

    @property
    def is_lost(self) -> bool:
        """Whether any shown branch has lost it."""
        return any(ObjectStanding.LOST in each.standings for each in self.on.values())


def shown_branches(overview: CatalogOverview, selected: str | None) -> tuple[str, ...]:
    """Return the branches that have a column: the selected one first, then the newest."""

    def rank(branch: CatalogBranchStanding) -> tuple[bool, int, str]:
        newest = branch.versions[0].time_millis if branch.versions else 0
        return (branch.item.name != selected, -newest, branch.item.name)

    ordered = sorted(overview.branches, key=rank)
    return tuple(each.item.name for each in ordered if each.item.error is None)[:MOST_BRANCHES]


def object_lines(overview: CatalogOverview, branches: Sequence[str]) -> list[ObjectLine]:
    """Return all objects, lost and changed ones first, then by name."""
    by_name = {each.item.name: each for each in overview.branches}
    lines = [
        ObjectLine(
            object=each,
            on={
                branch: by_name[branch].objects.get(each.id, _ABSENT)
                for branch in branches
                if branch in by_name
            },
        )
        for each in overview.objects
    ]
    return sorted(lines, key=lambda line: (not line.is_lost, not line.is_changed))


def choose_objects(
    lines: Iterable[ObjectLine],
    *,
    words: str = "",
    kind: ObjectKind | None = None,
    standing: ObjectStanding | None = None,
    shown: ListedObjects = ListedObjects.EVERY,
) -> list[ObjectLine]:
    """Return the lines that the filters leave.

    Args:
        lines: In the order in which they are listed.
        words: Parts of a name, of main or of any shown branch; all must be in one of them.
        kind: Databases or tables; None for both.
        standing: How any shown branch must have the object.
        shown: Whether those that no shown branch changed are listed.
    """
    wanted = words.lower().split()
    return [
        line
        for line in lines
        if (kind is None or line.object.kind is kind)
        and (standing is None or any(standing in each.standings for each in line.on.values()))
        and (shown is ListedObjects.EVERY or line.is_changed)
        and (not wanted or any(_has(name, wanted) for name in _names(line)))
    ]


def _names(line: ObjectLine) -> set[str]:
    return {line.object.name, *(each.name for each in line.on.values() if each.name is not None)}


def _has(name: str, words: Sequence[str]) -> bool:
    return all(word in name.lower() for word in words)
