"""The words and options of a command, made of the request of its procedure."""

import functools
import inspect
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final, Generic, TypeVar

import typer

from branch_console.errors import InvalidInput
from branch_console.format.identifier import Identifier
from branch_console.operations.agreement import Agreement
from branch_console.operations.argument import (
    Argument,
    CommandSyntax,
    DeclaredArgument,
    WrittenAs,
)
from branch_console.operations.request import Request
from branch_console_app.cli.arguments import BranchOption, named_table, text_of_file
from branch_console_app.cli.preview_text import ConfirmOption

R = TypeVar("R", bound=Request)

_ASKED: Final = "asked"
_BRANCH: Final = "branch_of_table"
_CONFIRM: Final = "confirm"
_KEYWORD: Final = inspect.Parameter.KEYWORD_ONLY


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedRequest(Generic[R]):
    """The arguments that a command gives to a procedure.

    Attributes:
        arguments: The arguments of the call; None means left out.
        table: The named table, with its branch; None without one.
        confirm: The name that the user typed to confirm.
    """

    of: type[R]
    arguments: dict[str, Argument]
    table: Identifier | None
    confirm: str | None

    @property
    def named_table(self) -> Identifier:
        """The table, of a command that has a word for it."""
        assert self.table is not None
        return self.table

    @property
    def agreement(self) -> Agreement:
        """The agreement of the command; raises InvalidInput as `request` does."""
        return Agreement.decode(self.of.procedure, self.arguments)

    @property
    def request(self) -> R:
        """The request; raises InvalidInput if an argument is wrong."""
        return self.of.decode(self.of.procedure, self.arguments)


def takes(
    request: type[Request],
    only: Collection[str] | None = None,
    *,
    optional: Collection[str] = (),
) -> Callable[[Callable[..., int | None]], Callable[..., int | None]]:
    """Give a command the words and options of a request in place of its parameter `asked`.

    Its own parameters stay before or behind them, as they stand in its signature.

    Args:
        request: The request.
        only: The fields that the command takes, and those of the agreement; all if left out.
        optional: Fields of options that the request needs, and another option may stand for.
    """
    served = tuple(
        (each, syntax)
        for each, syntax in request.in_command()
        if only is None or each.field in only
    )
    taken = tuple(_parameters(request, served, optional, has_confirm=only is None))
    names = {each.name for each in taken}

    def replace(command: Callable[..., int | None]) -> Callable[..., int | None]:
        signature = inspect.signature(command, eval_str=True)
        parameters = [
            each.replace(kind=_KEYWORD)
            for own in signature.parameters.values()
            for each in (taken if own.name == _ASKED else (own,))
        ]

        @functools.wraps(command)
        def run(**found: Any) -> int | None:
            given = {name: found.pop(name) for name in names}
            return command(**{_ASKED: _asked(request, served, given)}, **found)

        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        return run

    return replace


def _parameters(
    request: type[Request],
    served: Collection[tuple[DeclaredArgument, CommandSyntax]],
    optional: Collection[str],
    *,
    has_confirm: bool,
) -> Iterator[inspect.Parameter]:
    """The words first, then the options of the request, of its confirmation, of its agreement."""
    words = [(each, syntax) for each, syntax in served if not syntax.options]
    options = [(each, syntax) for each, syntax in served if syntax.options]
    yield from (_parameter(*each, optional) for each in words)
    if any(each.written is WrittenAs.TABLE_AND_BRANCH for each, _ in served):
        yield inspect.Parameter(_BRANCH, _KEYWORD, default=None, annotation=BranchOption)
    of_request = {each.field for each in request.declared()}
    yield from (_parameter(*each, optional) for each in options if each[0].field in of_request)
    if has_confirm and request.confirmed_by:
        yield inspect.Parameter(_CONFIRM, _KEYWORD, default=None, annotation=ConfirmOption)
    yield from (_parameter(*each, optional) for each in options if each[0].field not in of_request)


def _parameter(
    argument: DeclaredArgument, syntax: CommandSyntax, optional: Collection[str]
) -> inspect.Parameter:
    kind: Any = argument.kind
    if argument.written is WrittenAs.FILE:
        kind = Path
    elif argument.written is WrittenAs.TIME:
        kind = str
    default: Any = None
    if kind is bool:
        default = False
    elif argument.is_required and argument.field not in optional:
        default = inspect.Parameter.empty
    elif kind is str:
        default = argument.default
    if default is None:
        kind = kind | None
    if argument.written is WrittenAs.SEVERAL:
        kind, default = list[str] | None, None
    described = (
        typer.Option(*syntax.options, metavar=syntax.metavar, help=syntax.help)
        if syntax.options
        else typer.Argument(metavar=syntax.metavar, help=syntax.help)
    )
    return inspect.Parameter(
        argument.field, _KEYWORD, default=default, annotation=Annotated[kind, described]
    )


def _asked(
    request: type[R],
    served: Collection[tuple[DeclaredArgument, CommandSyntax]],
    given: dict[str, Any],
) -> AskedRequest[R]:
    arguments: dict[str, Argument] = {}
    table: Identifier | None = None
    for each, _ in served:
        value = given[each.field]
        if value is None:
            continue
        match each.written:
            case WrittenAs.TABLE:
                table = named_table(value)
                arguments[each.name] = table.table_name
            case WrittenAs.TABLE_AND_BRANCH:
                table = named_table(value, given[_BRANCH])
                arguments[each.name] = table.full_name
            case WrittenAs.FILE:
                arguments[each.name] = text_of_file(value, each.name)
            case WrittenAs.TIME:
                arguments[each.name] = _millis(value)
            case WrittenAs.SEVERAL:
                arguments[each.name] = ",".join(value)
            case WrittenAs.PLAIN:
                arguments[each.name] = _plain(each, value)
    return AskedRequest(of=request, arguments=arguments, table=table, confirm=given.get(_CONFIRM))


def _plain(argument: DeclaredArgument, value: str | int | bool) -> Argument:
    if argument.kind is bool:
        # A flag turns its default around; without it the request keeps the default.
        return (not argument.default) if value else None
    return str(value) if isinstance(value, StrEnum) else value


def _millis(text: str) -> int:
    try:
        return int(datetime.fromisoformat(text).timestamp() * 1000)
    except ValueError as error:
        raise InvalidInput(
            f"{text!r} is no time. Write 2026-01-31T12:00, or with a zone 2026-01-31T12:00+01:00."
        ) from error
