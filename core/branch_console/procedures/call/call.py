"""The one command of the product: button, command line, SQL and jobs all make a ProcedureCall."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final, TypeVar

from branch_console.errors import ErrorKind, FormatError, InvalidInput
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.operations.agreement import SEEN, Agreement
from branch_console.operations.argument import Argument
from branch_console.operations.declared import REQUESTS, check_arguments
from branch_console.operations.request import Request

__all__ = ["AGAIN", "Argument", "ProcedureCall", "argument_text"]

AGAIN: Final = "-again-"
"""The text between the id of a job and the number of an operation that it retried."""

R = TypeVar("R", bound=Request)


class _StoredArguments(dict[str, Argument]):
    """The arguments of a call that was made before; an earlier version may have had others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcedureCall:
    """A procedure with its arguments, said by somebody; raises InvalidInput for arguments it lacks.

    Attributes:
        name: The procedure, as `branch_console.procedures.dispatch` knows it.
        arguments: JSON scalars by name.
        actor: The person who asked; kept in the ledger and on the receipt.
        operation_id: The idempotency key: two calls with one id are the same operation.
        role: The role of the actor when the call was made.
    """

    name: str
    arguments: Mapping[str, Argument] = field(default_factory=lambda: MappingProxyType({}))
    actor: str
    operation_id: str
    role: str = "operator"

    def __post_init__(self) -> None:
        if not isinstance(self.arguments, _StoredArguments):
            check_arguments(self.name, self.arguments)

    def __hash__(self) -> int:
        return hash((self.name, self.operation_id))

    def request(self, kind: type[R]) -> R:
        """Read what is asked for; a procedure does so once, before all else.

        Args:
            kind: The request of the procedure, or a base that it shares with others.

        Raises:
            InvalidInput: An argument is missing, of another type, or none of the choices.
        """
        declared = REQUESTS.get(self.name)
        if declared is None:
            raise InvalidInput(
                f"There is no procedure {self.name!r} in this release.",
                kind=ErrorKind.INVALID_NAME,
                procedure=self.name,
            )
        assert issubclass(declared, kind), self.name
        return declared.decode(self.name, self.arguments)

    @property
    def agreement(self) -> Agreement:
        """The agreement of the caller; raises InvalidInput as `request` does."""
        return Agreement.decode(self.name, self.arguments)

    def asking(self, request: Request) -> "ProcedureCall":
        """Another request of the same person, under the same agreement where it has one."""
        kept = {name: each for name, each in self.arguments.items() if name in request.terms}
        return replace(self, name=request.procedure, arguments={**request.encode(), **kept})

    def agreeing(self, agreement: Agreement) -> "ProcedureCall":
        """The same call with more that was seen or allowed, as an agreement says it."""
        kind = _StoredArguments if isinstance(self.arguments, _StoredArguments) else dict
        return replace(self, arguments=kind({**self.arguments, **agreement.encode()}))

    @property
    def find_table(self) -> str | None:
        """The table that the request names; None if it names none."""
        value = self.arguments.get("table")
        return value if isinstance(value, str) and value else None

    @property
    def table(self) -> str:
        """The table that the request names; raises InvalidInput if it names none."""
        if self.find_table is None:
            raise InvalidInput(
                f"{self.name} needs the argument 'table'. Name it and call again.",
                kind=ErrorKind.INVALID_ARGUMENT,
                argument="table",
            )
        return self.find_table

    @property
    def reason(self) -> str | None:
        """Why it is asked for, of any request; None if nobody says."""
        value = self.arguments.get("reason")
        return value if isinstance(value, str) and value else None

    @property
    def asked(self) -> dict[str, Argument]:
        """The arguments that say what is done; not those that say what was looked at before."""
        return {
            name: value
            for name, value in self.arguments.items()
            if value is not None and name not in SEEN
        }

    def to_json(self) -> str:
        """Encode; `from_json` reads it back."""
        return json.dumps(
            {
                "name": self.name,
                "arguments": dict(self.arguments),
                "actor": self.actor,
                "operation_id": self.operation_id,
                "role": self.role,
            },
            sort_keys=True,
        )

    @classmethod
    def from_json(cls, text: str) -> "ProcedureCall":
        """Decode what `to_json` wrote."""
        try:
            raw = json.loads(text)
            return cls(
                name=raw["name"],
                arguments=_StoredArguments(raw["arguments"]),
                actor=raw["actor"],
                operation_id=raw["operation_id"],
                role=raw.get("role", "operator"),
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise FormatError(f"A stored procedure call cannot be read: {error}.") from error

    @property
    def statement(self) -> str:
        """The same call as SQL, for lists and receipts; of any plan, not of its own."""
        sql, branch = self.arguments.get("sql"), self.arguments.get("branch")
        if isinstance(sql, str):
            # A call that is a statement: it says itself best.
            return sql if branch in (None, MAIN_BRANCH) else f"USE BRANCH `{branch}`; {sql}"
        arguments = ", ".join(
            argument_text(name, value) for name, value in sorted(self.asked.items())
        )
        return f"CALL sys.{self.name}({arguments})"


def argument_text(name: str, value: Argument) -> str:
    """Write a named argument of a call as SQL."""
    return f"{name} => {_literal(value)}"


def _literal(value: Argument) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    # As in Spark, where two quotes end one text and begin another.
    text = str(value).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{text}'"
