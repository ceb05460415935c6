"""The current name and place of a branch since an operation, from the ledger alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from branch_console.format.lineage_event import (
    BIRTHS,
    LineageEvent,
    LineageKind,
    name_after_drop,
)

_MOVES: Final = frozenset({LineageKind.RENAMED, LineageKind.RESTORED})
_TAKES_OR_LEAVES: Final = BIRTHS | _MOVES | {LineageKind.DROPPED}


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowedBranch:
    """The path of a branch through its ledger events.

    Attributes:
        name: The name that it has now; of one that is gone the last one that it had.
        ended_by: The drop that it was not brought back from. Where other software removed it, what
            gave its name to another branch. None if the ledger knows of neither.
    """

    name: str
    ended_by: LineageEvent | None = None


def follow_branch(events: Sequence[LineageEvent], operation_id: str, branch: str) -> FollowedBranch:
    """Follow a branch from the end of an operation on.

    Args:
        events: The ledger as it was written, in the order things happened.
        operation_id: The operation.
        branch: The name that the branch had at its end.
    """
    ends = [at for at, event in enumerate(events, 1) if event.operation_id == operation_id]
    name, ended_by, holder = branch, None, branch
    for event in events[max(ends, default=0) :]:
        if event.kind in _MOVES and event.source_branch == holder:
            name = holder = event.branch
            ended_by = None
        elif event.branch != holder:
            continue
        elif event.kind is LineageKind.DROPPED:
            name, ended_by = holder, event
            # It lives on under this name, and may be brought back or renamed.
            holder = name_after_drop(event)
        elif event.kind in BIRTHS | _MOVES:
            return FollowedBranch(name=name, ended_by=event)
    return FollowedBranch(name=name, ended_by=ended_by)


@dataclass(frozen=True, slots=True, kw_only=True)
class Renamed:
    """A branch that was renamed, and the operation that removed its earlier name."""

    operation_id: str
    name: str


def renamed_since(events: Sequence[LineageEvent], branch: str) -> Renamed | None:
    """Return the present name of the branch that had this one last; None if none has another.

    Args:
        events: The ledger as it was written, in the order things happened.
        branch: A name that no branch has.
    """
    last = None
    for event in events:
        if event.kind in _MOVES and event.source_branch == branch:
            last = event
        elif event.branch == branch and event.kind in _TAKES_OR_LEAVES:
            last = None
    if last is None:
        return None
    trail = follow_branch(events, last.operation_id, last.branch)
    if trail.ended_by is not None:
        return None
    return Renamed(operation_id=last.operation_id, name=trail.name)
