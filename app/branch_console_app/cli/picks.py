"""The commands that bring or take back a single snapshot."""

from typing import Annotated

import typer

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.procedures.call.call import Argument
from branch_console_app.cli.arguments import (
    BranchOption,
    JsonOption,
    OverrideGateOption,
    PolicyOption,
    TableArgument,
    WarehouseOption,
    WithoutCallbacksOption,
    named_table,
    text_of_file,
)
from branch_console_app.cli.branches import BackgroundOption, ReasonOption
from branch_console_app.cli.lifecycle import run_previewed
from branch_console_app.cli.preview_text import DryRunOption

picks = typer.Typer()


@picks.command()
def revert(
    table: TableArgument,
    operation: Annotated[
        str | None,
        typer.Argument(metavar="OPERATION", help="The operation to take back; or name a snapshot."),
    ] = None,
    branch: BranchOption = None,
    snapshot: Annotated[
        int | None,
        typer.Option(
            "--snapshot",
            metavar="ID",
            help="The snapshot to take back, whichever engine made it, in place of OPERATION.",
        ),
    ] = None,
    reason: ReasonOption = None,
    policy: PolicyOption = None,
    override_gate: OverrideGateOption = None,
    without_callbacks: WithoutCallbacksOption = None,
    dry_run: DryRunOption = False,
    background: BackgroundOption = False,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> int:
    """Take back what one snapshot did, by a new snapshot; what came later stays."""
    if (operation is None) == (snapshot is None):
        raise InvalidInput(
            "A revert takes back one thing: name an operation, or a snapshot by --snapshot.",
            kind=ErrorKind.INVALID_ARGUMENT,
        )
    arguments: dict[str, Argument] = {
        "table": named_table(table, branch).full_name,
        "operation": operation,
        "snapshot": snapshot,
        "reason": reason,
        "policy": None if policy is None else text_of_file(policy, "policy"),
        "override_gate": override_gate,
        "without_callbacks": without_callbacks,
    }
    return run_previewed(
        warehouse,
        "revert",
        arguments,
        dry_run=dry_run,
        background=background,
        as_json=as_json,
    )


@picks.command("cherry-pick")
def cherry_pick(
    table: TableArgument,
    branch: Annotated[str, typer.Argument(metavar="SOURCE", help="The branch that has it.")],
    snapshot: Annotated[
        int, typer.Argument(metavar="SNAPSHOT", help="The id of the snapshot on SOURCE.")
    ],
    target: Annotated[
        str, typer.Option("--to", metavar="TARGET", help="The branch that changes.")
    ] = MAIN_BRANCH,
    reason: ReasonOption = None,
    policy: PolicyOption = None,
    override_gate: OverrideGateOption = None,
    without_callbacks: WithoutCallbacksOption = None,
    dry_run: DryRunOption = False,
    background: BackgroundOption = False,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> int:
    """Bring what one snapshot of a branch did to another branch."""
    arguments: dict[str, Argument] = {
        "table": named_table(table).table_name,
        "branch": branch,
        "snapshot": snapshot,
        "target": target,
        "reason": reason,
        "policy": None if policy is None else text_of_file(policy, "policy"),
        "override_gate": override_gate,
        "without_callbacks": without_callbacks,
    }
    return run_previewed(
        warehouse,
        "cherry_pick",
        arguments,
        dry_run=dry_run,
        background=background,
        as_json=as_json,
    )
