"""The files by which an operation begins and ends."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from branch_console.errors import FormatError
from branch_console.format.journals.terms import Reserved
from branch_console.format.json_text import JsonObject, to_pretty_json, without_nulls


class Ending(StrEnum):
    """How an operation ended; a partial one was taken back except for steps with an obstacle."""

    DONE = "done"
    ROLLED_BACK = "rolled-back"
    PARTIAL = "partial"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """The record of a planned operation, written before its first change.

    Attributes:
        procedure: Its name, which has a codec for `plan`.
        branch: The branch that changes.
        time_millis: When it was written, by the clock of its writer.
        event_millis: The time of its event, which is later than that of every event before.
        host: The machine that it began on; None if an earlier release wrote it.
        plan: JSON values with all that finishing or rolling back needs; see `Journal.decode`.
        catalog_operation: The operation of the catalog to which this one belongs; only that
            operation finishes it or takes it back.
    """

    operation_id: str
    procedure: str
    actor: str
    branch: str
    statement: str
    time_millis: int
    event_millis: int
    plan: Mapping[str, object]
    host: str | None = None
    catalog_operation: str | None = None

    @property
    def subject(self) -> str | None:
        """The object of the catalog that this changes, for people."""
        return Reserved.by(self.plan).subject

    @property
    def makes(self) -> tuple[str, ...]:
        """Branches that come into being by this, whole only at its end."""
        return Reserved.by(self.plan).makes

    @property
    def claims(self) -> str | None:
        """The branch name that this reserves from its beginning."""
        return Reserved.by(self.plan).claims

    @property
    def branches(self) -> tuple[str, ...]:
        """Every branch that this changes, makes or takes from."""
        reserved = Reserved.by(self.plan)
        return (self.branch, *reserved.makes, *reserved.moves)

    @classmethod
    def from_json(cls, text: str | bytes) -> "Intent":
        """Decode an intent file; raises FormatError."""
        raw = JsonObject.parse(text, "intent of an operation")
        return cls(
            operation_id=raw.get("operationId", str),
            procedure=raw.get("procedure", str),
            actor=raw.get("actor", str),
            branch=raw.get("branch", str),
            statement=raw.get("statement", str),
            time_millis=raw.get("timeMillis", int),
            event_millis=raw.find("eventMillis", int) or raw.get("timeMillis", int),
            plan=raw.get("plan", dict),
            host=raw.find("host", str),
            catalog_operation=raw.find("catalogOperation", str),
        )

    def to_json(self) -> str:
        """Encode as JSON text."""
        content = without_nulls({"host": self.host, "catalogOperation": self.catalog_operation})
        return to_pretty_json(
            {
                "operationId": self.operation_id,
                "procedure": self.procedure,
                "actor": self.actor,
                "branch": self.branch,
                "statement": self.statement,
                "timeMillis": self.time_millis,
                "eventMillis": self.event_millis,
                **content,
                "plan": self.plan,
            }
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """The end of an operation, with a sentence where it was not carried out."""

    ending: Ending
    time_millis: int
    message: str | None = None

    @classmethod
    def from_json(cls, text: str | bytes) -> "End":
        """Decode the file of an end; raises FormatError."""
        raw = JsonObject.parse(text, "end of an operation")
        try:
            ending = Ending(raw.get("ending", str))
        except ValueError:
            raise FormatError(f"The {raw.what} has an unknown ending.") from None
        return cls(
            ending=ending,
            time_millis=raw.get("timeMillis", int),
            message=raw.find("message", str),
        )

    def to_json(self) -> str:
        """Encode as JSON text."""
        return to_pretty_json(
            without_nulls(
                {
                    "ending": str(self.ending),
                    "timeMillis": self.time_millis,
                    "message": self.message,
                }
            )
        )
