"""The terms that every kind of journal may contain, and facts that are read from any."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from branch_console.format.journals.codec import Codec, Layout
from branch_console.format.journals.keys import (
    Entry,
    counted,
    fixed_numbers,
    needed,
    part,
    perhaps,
    some_texts,
    texts,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallbacksLeftOut:
    """Callbacks that Paimon runs after a commit and that an operator left out of this one.

    Attributes:
        reason: The operator's reason.
        options: The options of the table that ask for the callbacks.
    """

    reason: str
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationJournal:
    """The journal that an operation writes before it begins.

    Attributes:
        plan_id: The preview that was agreed to.
        reason: The reason in the words of the caller.
        undoes: The operation that this one takes back.
        without_callbacks: The callbacks of Paimon that were left out; None without any.
        gate: The verdict of the quality gate, as JSON values; None if it did not run.
        rows_counted: Numbers of rows of the branch before and after; None if not counted.
        rows_changed: Numbers of rows added, removed and changed; None if not counted.
        notes: Sentences for the receipt.
        files_verified: How many data files were checked before.
    """

    plan_id: str | None = None
    reason: str | None = None
    undoes: str | None = None
    without_callbacks: CallbacksLeftOut | None = None
    gate: Mapping[str, Any] | None = None
    rows_counted: tuple[int, int] | None = None
    rows_changed: tuple[int, int, int] | None = None
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
ROWS_COUNTED: Final[Entry] = fixed_numbers("rowsCounted", 2)
ROWS_CHANGED: Final[Entry] = fixed_numbers("rowsChanged", 3)
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
            ROWS_CHANGED,
            some_texts("notes"),
            VERIFIED,
        )
    },
)
"""Reads the facts of a receipt and an event from the journal of any operation."""


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
