"""What the journal of any operation may hold, and what everybody reads in any journal."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from branch_console.format.journals.codec import Codec, Layout
from branch_console.format.journals.keys import (
    Entry,
    both_numbers,
    counted,
    needed,
    part,
    perhaps,
    some_texts,
    texts,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallbacksLeftOut:
    """What an operator left out that Paimon does for others.

    Attributes:
        reason: Why.
        options: The options of the table that ask for it.
    """

    reason: str
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationJournal:
    """The journal that an operation writes before it begins.

    Attributes:
        plan_id: The preview that was agreed to.
        reason: Why, in the words of who asked for it.
        undoes: The operation that this one takes back.
        without_callbacks: What was left out that Paimon does for others.
        gate: What the quality gate said, as JSON values; None where it was not asked.
        rows_counted: All rows of the branch before and after; None where nobody counted them.
        notes: What the receipt is to tell.
        files_verified: Data files that were looked at before.
    """

    plan_id: str | None = None
    reason: str | None = None
    undoes: str | None = None
    without_callbacks: CallbacksLeftOut | None = None
    gate: Mapping[str, Any] | None = None
    rows_counted: tuple[int, int] | None = None
    notes: tuple[str, ...] = ()
    files_verified: int = 0


PLAN_ID: Final[Entry] = perhaps("planId", str)
REASON: Final[Entry] = perhaps("reason", str)
UNDOES: Final[Entry] = perhaps("undoes", str)
CALLBACKS: Final[Entry] = part(
    "withoutCallbacks",
    Layout(CallbacksLeftOut, needed("reason", str), texts("options")),
)
GATE: Final[Entry] = perhaps("gate", dict)
ROWS_COUNTED: Final[Entry] = both_numbers("rowsCounted")
NOTES: Final[Entry] = texts("notes")
VERIFIED: Final[Entry] = counted("filesVerified")

TERMS: Final = Codec(
    what="journal of an operation",
    reads={
        1: Layout(
            OperationJournal,
            PLAN_ID,
            REASON,
            UNDOES,
            CALLBACKS,
            GATE,
            ROWS_COUNTED,
            some_texts("notes"),
            VERIFIED,
        )
    },
)
"""Reads of the journal of any operation what a receipt and an event tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserved:
    """The subject of an operation, whichever release wrote its journal.

    Attributes:
        makes: Branches that come into being, whole only at the end.
        claims: The branch name that is reserved from the beginning.
        moves: The branch that something comes from, and the one that it goes to.
        subject: The object of the catalog that changes, for people.
    """

    makes: tuple[str, ...]
    claims: str | None
    moves: tuple[str, ...]
    subject: str | None

    @classmethod
    def by(cls, plan: Mapping[str, object]) -> "Reserved":
        """Read it from the JSON values of an intent; what has another type is not there."""
        makes, claims, subject = (plan.get(key) for key in ("makes", "claims", "subject"))
        moves = (plan.get(key) for key in ("source", "target"))
        return cls(
            makes=tuple(map(str, makes)) if isinstance(makes, list) else (),
            claims=claims if isinstance(claims, str) else None,
            moves=tuple(each for each in moves if isinstance(each, str)),
            subject=subject if isinstance(subject, str) else None,
        )
