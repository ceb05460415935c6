"""The consequences of a procedure, shown before it runs: one type for every procedure."""

import hashlib
import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from branch_console.diff.expiry.retention import TableHold
from branch_console.errors import ErrorKind, Refused
from branch_console.format.identifier import rescue_name
from branch_console.format.receipt import Expected
from branch_console.operations.shared_arguments import CHANGES_NO_PLAN
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.permissions import Role

NOTHING_TO_UNDO: Final = "There is nothing to undo."
"""The sentence of a preview about undo, if the call would change nothing."""


class Weight(StrEnum):
    """How a consequence is to be taken."""

    BLOCKS = "blocks"
    LOSES = "loses"
    CHANGES = "changes"
    KEEPS = "keeps"


@dataclass(frozen=True, slots=True, kw_only=True)
class Consequence:
    """One thing that would happen.

    Attributes:
        text: A whole sentence.
        details: The objects of the sentence, one by one.
        kind: The code of the obstacle.
        excused_by: The argument by which an operator overrides it, with a reason.
        rules_of: The table whose quality rules judge the result, if it is about these.
    """

    weight: Weight
    text: str
    details: tuple[str, ...] = ()
    kind: ErrorKind | None = None
    excused_by: str | None = None
    rules_of: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """The consequences of a call; what is shown is what runs.

    Attributes:
        title: The title of the preview: the action and its object.
        plan_id: The digest of the call and of all that the decision rests on.
        typed_name: The name that a person types to confirm; None if a click is enough.
        role: The least role that may run it.
        undo: How it can be undone, or why it cannot, in a sentence.
        holds: Why something stays that would have gone.
        expected: The result of a run in SQL; None if a dry run has no rows in Paimon.
        is_idle: Whether there is nothing to do: a run would end with a receipt and no change.
        rescues: Whether a run keeps what it removes on a rescue branch of its own.
    """

    procedure: str
    title: str
    plan_id: str
    consequences: tuple[Consequence, ...]
    typed_name: str | None
    role: Role
    undo: str
    holds: tuple[TableHold, ...] = ()
    expected: Expected | None = None
    is_idle: bool = False
    rescues: bool = False

    @property
    def can_run(self) -> bool:
        """Whether nothing stands in the way."""
        return not self.blocks

    @property
    def blocks(self) -> tuple[Consequence, ...]:
        """The consequences that keep the procedure from running."""
        return tuple(each for each in self.consequences if each.weight is Weight.BLOCKS)

    def rescue_branch(self, operation_id: str) -> str | None:
        """Return the rescue branch that a run under this id makes; None if it makes none."""
        return rescue_name(operation_id) if self.rescues else None

    def to_object(self) -> dict[str, object]:
        """Return the preview as JSON values."""
        return {
            "procedure": self.procedure,
            "title": self.title,
            "plan_id": self.plan_id,
            "can_run": self.can_run,
            "consequences": [
                {
                    "weight": str(each.weight),
                    "text": each.text,
                    "details": list(each.details),
                    "kind": None if each.kind is None else str(each.kind),
                }
                for each in self.consequences
            ],
            "typed_name": self.typed_name,
            "role": str(self.role),
            "undo": self.undo,
            **({"holds": [each.to_object() for each in self.holds]} if self.holds else {}),
        }

    def raise_unless_runnable(self, plan_id: str | None) -> None:
        """Refuse what is blocked, and what is no longer what was previewed.

        Args:
            plan_id: The id of the preview that was agreed to; None if nobody looked at one.

        Raises:
            Refused: Nothing was changed.
        """
        if plan_id is not None and plan_id != self.plan_id:
            raise Refused(
                f"{self.title}: this preview is out of date. Nothing was changed; look at the new "
                "preview.",
                kind=ErrorKind.HEAD_MOVED,
                plan_id=self.plan_id,
            )
        if self.blocks:
            reasons = " ".join(each.text for each in self.blocks)
            raise Refused(
                f"{self.title} is refused. {reasons} Nothing was changed.",
                kind=self.blocks[0].kind,
                preview=self.to_object(),
            )


def blocks(text: str, kind: ErrorKind, details: tuple[str, ...] = ()) -> Consequence:
    """Return what stands in the way."""
    return Consequence(weight=Weight.BLOCKS, text=text, details=details, kind=kind)


def loses(text: str, details: tuple[str, ...] = ()) -> Consequence:
    """Return what would no longer be where it is."""
    return Consequence(weight=Weight.LOSES, text=text, details=details)


def changes(text: str, details: tuple[str, ...] = ()) -> Consequence:
    """Return what would be different."""
    return Consequence(weight=Weight.CHANGES, text=text, details=details)


def keeps(text: str, details: tuple[str, ...] = ()) -> Consequence:
    """Return what would stay, where somebody may doubt it."""
    return Consequence(weight=Weight.KEEPS, text=text, details=details)


def plan_digest(call: ProcedureCall, *facts: object) -> str:
    """Hash a call with the facts that its plan rests on, as JSON values."""
    asked = {
        name: value
        for name, value in call.arguments.items()
        if name not in CHANGES_NO_PLAN and value is not None
    }
    content = json.dumps([call.name, asked, facts], sort_keys=True, default=str)
    return hashlib.sha256(content.encode()).hexdigest()[:16]
