"""The program: its commands, and how a failure ends it.

Exit codes: 0 done; 1 refused, conflicts, or the name is taken; 2 wrong usage; 3 failed.
"""

import logging
import os
import sys
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from typing import Annotated, Any

import typer

from branch_console.errors import ErrorKind, InvalidInput, PaimonError, StorageError
from branch_console_app.cli.arguments import JsonOption, WarehouseOption, hand_down
from branch_console_app.cli.branches import branches
from branch_console_app.cli.browse import browse
from branch_console_app.cli.catalog import catalog
from branch_console_app.cli.check import checks
from branch_console_app.cli.compare import compare
from branch_console_app.cli.conflicts import conflicts
from branch_console_app.cli.console import console
from branch_console_app.cli.count_rows import counts
from branch_console_app.cli.doctor import doctor_commands
from branch_console_app.cli.exit_codes import DONE, FAILED, REFUSED, STOPPED, WRONG_USAGE, exit_code
from branch_console_app.cli.health import health
from branch_console_app.cli.jobs import jobs
from branch_console_app.cli.lifecycle import lifecycle
from branch_console_app.cli.maintenance.policy import policy
from branch_console_app.cli.merge import merges
from branch_console_app.cli.output import print_error
from branch_console_app.cli.picks import picks
from branch_console_app.cli.sql import statements
from branch_console_app.settings import Settings

__all__ = ["DONE", "FAILED", "REFUSED", "STOPPED", "WRONG_USAGE", "exit_code", "program", "run"]

_log = logging.getLogger(__name__)

program = typer.Typer(
    name="branch-console",
    rich_markup_mode=None,
)
for commands in (
    console,
    browse,
    compare,
    counts,
    checks,
    branches,
    merges,
    conflicts,
    picks,
    statements,
    lifecycle,
    health,
    doctor_commands,
):
    program.add_typer(commands)
program.add_typer(jobs, name="jobs")
program.add_typer(catalog, name="catalog")
program.add_typer(policy, name="policy")


def _tell_version(is_wanted: bool) -> None:
    if is_wanted:
        sys.stdout.write(f"branch-console {version('paimon-branch-console')}\n")
        raise typer.Exit


@program.callback()
def _branch_console(
    context: typer.Context,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_tell_version, is_eager=True, help="Print the version and stop."
        ),
    ] = False,
) -> None:
    """See, compare and merge the branches of Apache Paimon tables.

    Give --warehouse and --json before the command or after it.
    """
    hand_down(context, warehouse=warehouse, as_json=as_json)


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code; nothing is raised."""
    as_json = "--json" in arguments
    try:
        logging.basicConfig(level=Settings.from_environment().log_level.upper())
        answer = _commands()(
            args=list(arguments) or ["--help"],
            prog_name="branch-console",
            standalone_mode=False,
        )
        sys.stdout.flush()
        return answer if isinstance(answer, int) else DONE
    except PaimonError as error:
        print_error(error, as_json=as_json)
        return exit_code(error)
    except typer.TyperException as error:
        print_error(_usage_error(error), as_json=as_json)
        return WRONG_USAGE
    except (KeyboardInterrupt, typer.Abort):
        return STOPPED
    except BrokenPipeError:
        return _reader_left()
    except SystemExit as stop:
        # Typer makes an exit code of 1 out of a broken pipe.
        return _reader_left() if isinstance(stop.__context__, BrokenPipeError) else FAILED
    except OSError as error:
        _log.debug("A command failed", exc_info=True)
        print_error(_not_usable(error), as_json=as_json)
        return FAILED
    except Exception as error:
        # The last line of defence: a traceback is for the log, a person gets a sentence.
        _log.debug("A command failed", exc_info=True)
        print_error(_unexpected(error), as_json=as_json)
        return FAILED


@cache
def _commands() -> Any:
    # Typer would build the tree of all commands for each call.
    return typer.main.get_command(program)


def _reader_left() -> int:
    """The reader of a pipe has seen enough, which is no failure."""
    # Python must not flush into the pipe once more at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return DONE


def _usage_error(error: typer.TyperException) -> InvalidInput:
    message = error.format_message()
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "branch-console"
    stop = "" if message.endswith((".", "?", "!")) else "."
    return InvalidInput(f"{message}{stop} See: {command} --help.")


def _not_usable(error: OSError) -> PaimonError:
    """Return an error for a refusal of the machine, such as a folder without write permission."""
    if error.filename is None:
        return _unexpected(error)
    path = os.fsdecode(error.filename) if isinstance(error.filename, bytes) else error.filename
    return StorageError(
        f"{path} cannot be used: {error.strerror}. Check the path and what you may do there.",
        path=str(path),
    )


def _unexpected(error: Exception) -> PaimonError:
    return PaimonError(
        f"{type(error).__name__}: {error}. This is a defect; run again with "
        "BRANCH_CONSOLE_LOG_LEVEL=debug for the details.",
        kind=ErrorKind.UNEXPECTED,
    )
