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
_RULES: Final = frozenset({LineageKind.PROTECTED, LineageKind.UNPROTECTED})


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
class DepartedBranch:
    """The last branch that had a name which no branch has now.

    Attributes:
        left_by: The rename, restore or drop that took the name from it.
        name: The name that it has now, be it that of its rescue branch. Of one that was dropped
            later, under another name, the last one that it had.
        dropped_by: The drop that it was not brought back from; None if it has a name of its own.
    """

    left_by: LineageEvent
    name: str
    dropped_by: LineageEvent | None = None


def find_departed(events: Sequence[LineageEvent], branch: str) -> DepartedBranch | None:
    """Return the branch that had a name last; None if the ledger does not tell for sure.

    It does not if something happened under the name since, as other software must have removed
    what had it then.

    Args:
        events: The ledger as it was written, in the order things happened.
        branch: A name that no branch has.
    """
    last = None
    for event in events:
        is_dropped = event.kind is LineageKind.DROPPED and event.branch == branch
        if is_dropped or (event.kind in _MOVES and event.source_branch == branch):
            last = event
        elif last is not None and _shows(event, branch, last):
            last = None
    if last is None:
        return None
    is_drop = last.kind is LineageKind.DROPPED
    kept_as = name_after_drop(last) if is_drop else last.branch
    trail = follow_branch(events, last.operation_id, kept_as)
    if is_drop and trail.name == kept_as:
        # Whether its rescue branch is still there, or was released since, it was dropped.
        return DepartedBranch(left_by=last, name=kept_as, dropped_by=last)
    if trail.ended_by is None:
        return DepartedBranch(left_by=last, name=trail.name)
    if trail.ended_by.kind is not LineageKind.DROPPED:
        return None
    return DepartedBranch(left_by=last, name=trail.name, dropped_by=trail.ended_by)


def _shows(event: LineageEvent, branch: str, left_by: LineageEvent) -> bool:
    """Whether an event shows that a branch has a name again. A rule may name none that there is."""
    return (
        event.branch == branch
        and event.operation_id != left_by.operation_id
        and event.kind not in _RULES
    )


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
    departed = find_departed(events, branch)
    if departed is None or departed.dropped_by is not None:
        return None
    if departed.left_by.kind is LineageKind.DROPPED:
        # Its rescue branch has another name now: the drop renamed nothing.
        return None
    return Renamed(operation_id=departed.left_by.operation_id, name=departed.name)
