"""The commands that bring or take back a single snapshot."""

import typer

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.operations.merge_requests import CherryPickRequest, RevertRequest
from branch_console_app.cli.arguments import JsonOption, WarehouseOption
from branch_console_app.cli.branches import BackgroundOption
from branch_console_app.cli.lifecycle import add_previewed, run_previewed
from branch_console_app.cli.preview_text import DryRunOption
from branch_console_app.cli.request_options import AskedRequest, takes

picks = typer.Typer()


@picks.command(help=RevertRequest.__doc__)
@takes(RevertRequest)
def revert(
    asked: AskedRequest[RevertRequest],
    dry_run: DryRunOption = False,
    background: BackgroundOption = False,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> int:
    """Revert one thing, which is named in one of two ways."""
    if (asked.request.operation is None) == (asked.request.snapshot is None):
        raise InvalidInput(
            "A revert takes back one thing: name an operation, or a snapshot by --snapshot.",
            kind=ErrorKind.INVALID_ARGUMENT,
        )
    return run_previewed(
        warehouse,
        RevertRequest.procedure,
        asked.arguments,
        dry_run=dry_run,
        background=background,
        as_json=as_json,
    )


add_previewed(picks, CherryPickRequest)
