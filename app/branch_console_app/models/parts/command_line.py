"""A command of a page as the words of the command line that do the same."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from branch_console.operations.argument import Argument, CommandSyntax, DeclaredArgument, WrittenAs
from branch_console.operations.declared import REQUESTS

PREVIEWED: Final = frozenset(
    name
    for name, request in REQUESTS.items()
    if isinstance(request.command, str) and "plan_id" in request.terms
)
"""The procedures that tell their consequences before they run."""

POLICY_FILE: Final = "policy.yaml"
"""The name of the policy file in a command line."""


def command_words(
    procedure: str, arguments: Mapping[str, Argument], confirm: str | None = None
) -> tuple[str, ...]:
    """Return the command with its arguments, without the program and the warehouse.

    Args:
        procedure: One that has a command.
        arguments: As the call has them.
        confirm: The name that a person types first.
    """
    request = REQUESTS[procedure]
    assert isinstance(request.command, str), procedure
    served = {each.name: (each, syntax) for each, syntax in request.in_command()}
    words = request.command.split()
    for each, syntax in served.values():
        if not syntax.options and arguments.get(each.name) is not None:
            is_file = each.written is WrittenAs.FILE
            words.append(POLICY_FILE if is_file else str(arguments[each.name]))
    for name, value in arguments.items():
        if name in served and value is not None:
            words += _option(*served[name], value)
    return (*words, *(("--confirm", confirm) if confirm is not None else ()))


def _option(argument: DeclaredArgument, syntax: CommandSyntax, value: Argument) -> list[str]:
    if not syntax.options:
        return []
    option = syntax.options[0]
    if isinstance(value, bool):
        return [] if value == argument.default else [option]
    if argument.written is WrittenAs.FILE:
        return [option, POLICY_FILE]
    if argument.written is WrittenAs.SEVERAL:
        return [word for each in str(value).split(",") for word in (option, each)]
    if argument.written is WrittenAs.TIME and isinstance(value, int):
        at = datetime.fromtimestamp(value / 1000, UTC)
        return [option, at.isoformat(timespec="milliseconds")]
    return [option, str(value)]
