"""Replacing a branch by another one, decided: the target becomes the source's history, no more."""

from dataclasses import dataclass

from branch_console.diff.fast_forward import kept_tag_notes, plan_id, sharing_notes
from branch_console.diff.history_move import (
    Arrivals,
    BranchHistory,
    Removals,
    arrivals,
    removals,
    replaced_fork,
)
from branch_console.format.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    """The decision on one pair of heads.

    Attributes:
        id: The digest of everything the decision rests on.
        kept: The newest snapshot that stays; None if none does.
    """

    id: str
    source: str
    target: str
    source_head: Snapshot | None
    target_head: Snapshot | None
    kept: Snapshot | None
    arrives: Arrivals
    removes: Removals
    notes: tuple[str, ...]

    @property
    def is_empty(self) -> bool:
        """Whether the target is the source's history already."""
        return self.arrives.is_empty and not (
            self.removes.snapshots or self.removes.schema_ids or self.removes.tags
        )


def plan_replacement(table: str, source: BranchHistory, target: BranchHistory) -> Replacement:
    """Decide what comes and goes where `target` takes over the whole history of `source`."""
    kept = replaced_fork(source, target)
    arrives, removed = arrivals(source, target, kept), removals(source, target, kept)
    return Replacement(
        id=plan_id(table, source, target, removed),
        source=source.branch,
        target=target.branch,
        source_head=source.head,
        target_head=target.head,
        kept=kept,
        arrives=arrives,
        removes=removed,
        notes=(
            *sharing_notes(source.branch, target.branch, arrives),
            *kept_tag_notes(target.branch, removed),
        ),
    )
