"""The page that a remedy of an obstacle is on."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from branch_console.errors import ErrorKind


class CheckRemedy(StrEnum):
    """A place where a block is cleared; the value is the label of its button."""

    JOBS = "View jobs"
    PIN = "Pin the branch"
    BOTH_SIDES = "Compare both branches"
    FAST_FORWARD = "Fast-forward instead"
    MERGE = "Merge instead"
    BRANCH = "View branch"
    SETTLE = "Settle"
    DRY_RUN = "Dry run…"
    ROWS = "Show rows"


BY_KIND: Final[Mapping[ErrorKind, tuple[str, tuple[CheckRemedy, ...]]]] = {
    ErrorKind.NO_COMMON_HISTORY: (
        "A merge needs a snapshot that both branches contain. Copy the rows by SQL, or create the "
        "branch again from the right snapshot.",
        (CheckRemedy.BOTH_SIDES,),
    ),
    ErrorKind.SNAPSHOT_NOT_FOUND: (
        "What has expired does not come back: no tag keeps it any more. Bring the rows over by "
        "SQL.",
        (CheckRemedy.BOTH_SIDES, CheckRemedy.BRANCH),
    ),
    ErrorKind.BRANCH_EMPTY: ("", (CheckRemedy.FAST_FORWARD,)),
    ErrorKind.BRANCH_IN_USE: ("", (CheckRemedy.JOBS,)),
    ErrorKind.TARGET_MOVED: ("", (CheckRemedy.MERGE,)),
    ErrorKind.UNSUPPORTED: ("", (CheckRemedy.BOTH_SIDES,)),
}
"""The advice for an obstacle by its kind, if the obstacle's own text has none."""


def remedy_of(kind: ErrorKind | None) -> CheckRemedy:
    """Return the place that clears a block of a merge first of all."""
    _, remedies = BY_KIND.get(kind or ErrorKind.UNEXPECTED, ("", ()))
    return remedies[0] if remedies else CheckRemedy.BOTH_SIDES


def remedy_of_forward(kind: ErrorKind | None) -> CheckRemedy:
    """Return the place that clears a refusal of a fast-forward: never the fast-forward again."""
    remedy = remedy_of(kind)
    return CheckRemedy.BRANCH if remedy is CheckRemedy.FAST_FORWARD else remedy
