"""The shared options of commands, and the table and branch that a command is about."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer.core import TyperGroup

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console_app.settings import Settings

if TYPE_CHECKING:
    from branch_console_app.services import Services
    from branch_console_app.table_lists import TableLists

WarehouseOption = Annotated[
    str | None,
    typer.Option(
        "--warehouse",
        "-w",
        metavar="PATH_OR_URL",
        help="The warehouse; BRANCH_CONSOLE_WAREHOUSE where left out.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document and no more.")]
BranchOption = Annotated[
    str | None,
    typer.Option("--branch", "-b", metavar="NAME", help="The branch; main where left out."),
]
LimitOption = Annotated[
    int | None,
    typer.Option(
        "--limit",
        "-n",
        metavar="ROWS",
        min=0,
        help="Rows to print, 0 for all; 50 where left out, all with --json.",
    ),
]
TableArgument = Annotated[
    str, typer.Argument(metavar="TABLE", help="database.table, or database.table$branch_NAME.")
]


def hand_down(context: typer.Context, *, warehouse: str | None, as_json: bool) -> None:
    """Let options that were given before a command count for it, unless it is told others.

    Raises:
        InvalidInput: The command does not take one of them.
    """
    name = context.invoked_subcommand
    if name is None:
        return
    assert isinstance(context.command, TyperGroup)
    command = context.command.commands[name]
    taken = {each.name for each in command.params}
    # A group without these options hands them down to its commands, which all have them.
    passed_to = command.commands if isinstance(command, TyperGroup) and not taken else ()
    if warehouse is not None and "warehouse" not in taken and not passed_to:
        raise InvalidInput(
            f"{name} names its warehouse itself: leave out --warehouse {warehouse}.",
            kind=ErrorKind.INVALID_ARGUMENT,
        )
    # What is left out before a command takes no default of its own away.
    said = {"warehouse": warehouse, "as_json": as_json or None}
    given = {key: value for key, value in said.items() if value is not None}
    context.default_map = {name: dict.fromkeys(passed_to, given) if passed_to else given}


def open_services(warehouse: str | None) -> Services:
    """Return the door to the core for the warehouse of a command."""
    return services_with(Settings.from_environment({"warehouse": warehouse}))


def open_lists(warehouse: str | None) -> TableLists:
    """Return the door to the lists alone, for a command that asks for nothing else."""
    from branch_console_app.table_lists import TableLists  # noqa: PLC0415 - as in `services_with`

    return TableLists(Settings.from_environment({"warehouse": warehouse}))


def services_with(settings: Settings) -> Services:
    """Return the door to the core for the settings of a command."""
    # Behind it is all that reads and decides, which nobody waits for who asks how to write a
    # command.
    from branch_console_app.services import services_for  # noqa: PLC0415

    return services_for(settings)


def named_table(table: str, branch: str | None = None) -> Identifier:
    """Return the table and branch that a command names.

    Raises:
        InvalidInput: The name is no table, or names another branch than `--branch` does.
    """
    identifier = Identifier.parse(table)
    if identifier.system_table is not None:
        raise InvalidInput(
            f"{table!r} is a system table. Read it with: "
            f"branch-console system '{identifier.table_name}' {identifier.system_table}.",
            kind=ErrorKind.INVALID_NAME,
        )
    if branch is None or branch == identifier.branch:
        return identifier
    if identifier.branch != MAIN_BRANCH:
        raise InvalidInput(
            f"{table!r} and --branch {branch!r} name two branches. Leave one of them out.",
            kind=ErrorKind.INVALID_ARGUMENT,
        )
    return identifier.on_branch(branch)


def text_of_file(path: Path, what: str) -> str:
    """Return what a file holds.

    Args:
        path: The file.
        what: What it holds, as it completes "The … FILE cannot be read".

    Raises:
        InvalidInput: It cannot be read as text.
    """
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(
            f"The {what} {path} cannot be read: {error}.", kind=ErrorKind.INVALID_ARGUMENT
        ) from error
