"""The actions that a person can start on a page, and the call of each."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from enum import StrEnum
from typing import Final

from branch_console.format.identifier import branch_name_problem
from branch_console.operations.argument import Argument
from branch_console.operations.request import Request

DO: Final = "do"
WHAT: Final = "what"
"""The parameters of an address that open a dialog: the action, and what it is about."""

TAG_PREFIX: Final = "tag:"
"""The prefix of a subject that is a tag, for subjects that may be snapshots too."""


class Action(StrEnum):
    """A verb of the lifecycle, by the name it has in addresses."""

    CREATE = "create-branch"
    RENAME = "rename-branch"
    PROTECT = "protect-branch"
    DROP = "drop-branch"
    REPLACE_MAIN = "replace-main"
    PIN = "pin-branch"
    FENCE = "fence"
    REPAIR = "repair-branch"
    TAG = "create-tag"
    DELETE_TAG = "delete-tag"
    ROLLBACK = "rollback"
    UNDO = "undo"
    REVERT = "revert"
    PICK = "cherry-pick"
    AGAIN = "run-again"
    REMEDY = "remedy"
    RELEASE = "release-branch"
    CREATE_CATALOG = "create-catalog-branch"
    DROP_CATALOG = "drop-catalog-branch"
    MERGE = "merge"
    FAILING_ROWS = "failing-rows"
    MERGE_CATALOG = "merge-catalog-branch"


class Start(StrEnum):
    """The start of a new branch."""

    HEAD = "head"
    TAG = "tag"
    SNAPSHOT = "snapshot"
    TIME = "time"
    EMPTY = "empty"


class DroppedFiles(StrEnum):
    """The fate of files that only a dropped branch needs."""

    STAY = "keep in a rescue branch"
    LATER = "remove after a grace period"
    NOW = "remove now"


KEPT_FOR: Final[Mapping[str, str | None]] = {
    "for good": None,
    "7 days": "P7D",
    "30 days": "P30D",
    "90 days": "P90D",
}
"""How long a tag may last, in words; other durations are written as ISO 8601 has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A filled-in form: the procedure it calls with its arguments, and the label of its button."""

    procedure: str
    arguments: Mapping[str, Argument]
    label: str
    icon: str

    @classmethod
    def of(cls, request: Request, label: str, icon: str) -> "Form":
        """Return the form that asks for a request."""
        return cls(procedure=request.procedure, arguments=request.encode(), label=label, icon=icon)


def snapshot_id(what: str | None) -> int | None:
    """Return the snapshot that an address speaks of; None if it names none."""
    return int(what) if what and what.isdecimal() else None


def name_problem(name: str, taken: tuple[str, ...]) -> str | None:
    """Say why a branch cannot get a name; None if it can, and while nothing is typed."""
    if not name:
        return None
    problem = branch_name_problem(name)
    if problem is None and name in taken:
        return f"There is a branch {name!r} already."
    return problem


def start_arguments(start: Start, place: str | int | None) -> dict[str, Argument] | None:
    """Return the arguments that name where a branch begins; None while that is not chosen yet.

    Args:
        start: The kind of place.
        place: The tag, the snapshot id or the time in milliseconds.
    """
    match start:
        case Start.HEAD:
            return {}
        case Start.EMPTY:
            return {"empty": True}
        case Start.TAG | Start.SNAPSHOT | Start.TIME:
            name = "timestamp" if start is Start.TIME else str(start)
            return None if place is None else {name: place}


def millis_of(moment: datetime, zone: tzinfo | None) -> int:
    """Return the milliseconds of a wall clock of the person who looks; whole minutes are enough.

    The minute counts in full: a commit within it is meant too.
    """
    at = moment.replace(second=59, microsecond=999_000, tzinfo=zone or UTC)
    return int(at.timestamp() * 1000)


def kept_for(words: str) -> str | None:
    """Return how long a tag lasts as an ISO 8601 duration; None is for good."""
    return KEPT_FOR.get(words, words.strip().upper())
