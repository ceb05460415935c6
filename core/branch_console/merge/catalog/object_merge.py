"""The decision of a merge of the catalog on one database or table."""

from dataclasses import dataclass
from enum import StrEnum

from branch_console.diff.three_way import ThreeWay
from branch_console.merge.conflict import Conflict
from branch_console.merge.file_moves import Block
from branch_console.merge.plan import MergeVerdict, Plan, did_of, plan_object, verdict_of
from branch_console.merge.side_work import NOTHING_DONE, SideWork


class ObjectKind(StrEnum):
    """The kinds of objects that a merge of the catalog is about."""

    DATABASE = "database"
    TABLE = "table"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ObjectMerge:
    """A database or a table that the source changed, or that the merge changes.

    Attributes:
        names: Its name on each side; None if the side lacks it.
        merged_name: Its name on the target after the merge; None if it is not there.
        did: The changes of each side since the base, in words; none at the base.
        cells: The cells of the matrix that both fall into, such as `table/rename.drop`.
        reported: Sentences on decisions of the rules or a choice against a side.
        brings_content: Whether the target gets what the source did to the content of a table that
            both have.
        is_adopted: Whether the target has not made its branch of the table since the base, and so
            makes it with the content of the source.
        plan: How that content is merged; None if it was not planned.
    """

    kind: ObjectKind
    id: str
    names: ThreeWay[str | None]
    merged_name: str | None
    did: ThreeWay[tuple[str, ...]]
    cells: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    blocks: tuple[Block, ...] = ()
    reported: tuple[str, ...] = ()
    brings_content: bool = False
    is_adopted: bool = False
    plan: Plan | None = None

    @property
    def name(self) -> str:
        """Its name for people: by the source, else by the target, else at the base."""
        return self.names.theirs or self.names.ours or self.names.base or self.id

    @property
    def work(self) -> ThreeWay[SideWork]:
        """Each side's changes to the content of a table, as far as they were read."""
        return NOTHING_DONE if self.plan is None else did_of(self.plan)

    @property
    def is_undecided(self) -> bool:
        """Whether rows of it have to be compared before anybody knows whether they collide."""
        if not self.brings_content or self.is_adopted:
            return False
        return self.plan is None or verdict_of(self.plan) is MergeVerdict.UNDECIDED

    def to_object(self) -> dict[str, object]:
        """Return JSON values."""
        return {
            "kind": str(self.kind),
            "id": self.id,
            "name": {
                "base": self.names.base,
                "ours": self.names.ours,
                "theirs": self.names.theirs,
                "merged": self.merged_name,
            },
            "theirs_did": list(self.did.theirs),
            "ours_did": list(self.did.ours),
            "theirs_work": self.work.theirs.to_object(),
            "ours_work": self.work.ours.to_object(),
            "cells": list(self.cells),
            "conflicts": [each.to_object() for each in self.conflicts],
            "blocks": [{"kind": str(each.kind), "text": each.text} for each in self.blocks],
            "reported": list(self.reported),
            "plan": None if self.plan is None else plan_object(self.plan),
        }
