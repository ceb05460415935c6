"""The statements that there are, and the procedures that other programs call by name."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from branch_console.operations.argument import Argument, Unserved
from branch_console.operations.declared import REQUESTS
from branch_console.operations.request import Request, ResultColumn

QUERY: Final = "query"
"""The procedure that answers a query."""

COMPACT: Final = "compact"
"""The procedure that writes a table's files anew."""

COMPACT_DATABASE: Final = "compact_database"
"""The procedure that does so for many tables."""

CONFIRM: Final = "confirm"
"""The argument of a call that names what is taken away, as it is typed elsewhere."""

DRY_RUN: Final = "dry_run"
"""The argument of a call that only tells what it would do."""

EITHER: Final = "either"
"""Arguments of Paimon that stand for one or another of ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A statement that became a procedure with arguments.

    Attributes:
        text: As it was written; empty while it is being read.
        is_dry: Whether it only tells what it would do.
        confirms: The name that the statement itself says of what it takes away, for procedures
            that ask for it.
        called: The name behind `CALL sys.`, by which it is answered; None of other statements.
    """

    procedure: str
    arguments: Mapping[str, Argument]
    text: str = ""
    is_dry: bool = False
    confirms: str | None = None
    called: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """A procedure that `CALL sys.…` knows: our name of it and of its arguments.

    Attributes:
        order: The names of the arguments that need not be named, first to last. Those that
            `arguments` lacks are Paimon's, and not served here.
        either: What arguments that are `EITHER` stand for: a number, or another text.
        confirms: The arguments that name what is taken away, the first that is given. One of them
            is `CONFIRM`, which is told nobody else.
        refuses: Why arguments of Paimon are not served, by their names.
        answers: The columns of the answer.
    """

    procedure: str
    arguments: Mapping[str, str]
    either: Mapping[str, tuple[str, str]]
    refuses: Mapping[str, str]
    answers: tuple[ResultColumn, ...]
    order: tuple[str, ...] = ()
    confirms: tuple[str, ...] = ()

    def find_name(self, said: str) -> str | None:
        """Return an argument as it is declared, whatever the case; None if there is none."""
        known = (*self.arguments, *self.order, *self.refuses)
        return next((each for each in known if each.lower() == said.lower()), None)


def _called(request: type[Request]) -> Iterator[tuple[str, Called]]:
    """Return what the names of a procedure take in SQL; nothing if it has none."""
    names: dict[str, str] = {}
    second: dict[str, str] = {}
    for each in request.arguments():
        if not isinstance(each.sql, Unserved):
            names[each.sql[0]] = each.name
            second |= dict.fromkeys(each.sql[1:], each.name)
    for known in () if isinstance(request.in_sql, Unserved) else request.in_sql:
        found = {**names, **second}
        either = {name: EITHER for name, _ in known.either}
        confirm = {CONFIRM: CONFIRM} if request.confirmed_by else {}
        dry = {DRY_RUN: DRY_RUN} if known.can_be_dry else {}
        arguments = {name: found[name] for name in known.takes or found}
        yield (
            known.name,
            Called(
                procedure=request.procedure,
                arguments=MappingProxyType({**arguments, **either, **confirm, **dry}),
                either=MappingProxyType(dict(known.either)),
                order=known.order or tuple(name for name in arguments if name in names),
                confirms=request.confirmed_by,
                refuses=MappingProxyType(dict(known.refuses)),
                answers=known.answers,
            ),
        )


CALLED: Final[Mapping[str, Called]] = MappingProxyType(
    {name: called for request in REQUESTS.values() for name, called in _called(request)}
)
"""By the name in SQL; what a receipt calls its statement runs again."""
