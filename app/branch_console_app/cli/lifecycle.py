"""The commands of the lifecycle: each tells its consequences first, and can stop there."""

from collections.abc import Callable, Mapping
from typing import Annotated, Final

import typer

from branch_console.procedures.call.call import Argument
from branch_console_app.cli.arguments import (
    BranchOption,
    JsonOption,
    TableArgument,
    WarehouseOption,
    WithoutCallbacksOption,
    named_table,
    open_services,
)
from branch_console_app.cli.branches import (
    BackgroundOption,
    OperationArgument,
    ReasonOption,
    run_call,
)
from branch_console_app.cli.output import error_beside, print_error, print_json
from branch_console_app.cli.preview_text import (
    ConfirmOption,
    DryRunOption,
    confirm_words,
    print_preview,
    refusal_of,
)

lifecycle = typer.Typer()

BranchArgument = Annotated[str, typer.Argument(metavar="BRANCH", help="The name of the branch.")]

_REFUSED: Final = 1


@lifecycle.command("rename-branch")
def rename_branch(
    table: TableArgument,
    branch: BranchArgument,
    to: Annotated[str, typer.Argument(metavar="NAME", help="The new name.")],
    update_options: Annotated[
        bool,
        typer.Option("--update-options", help="Change the options that name the branch, too."),
    ] = False,
    reason: ReasonOption = None,
    without_callbacks: WithoutCallbacksOption = None,
    dry_run: DryRunOption = False,
    background: BackgroundOption = False,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> int:
    """Give a branch another name; owner, protection, fork and history follow it."""
    arguments: dict[str, Argument] = {
        "table": named_table(table).table_name,
        "branch": branch,
        "to": to,
        "update_options": update_options or None,
        "reason": reason,
        "without_callbacks": without_callbacks,
    }
    return run_previewed(
        warehouse,
        "rename_branch",
        arguments,
        dry_run=dry_run,
        background=background,
        as_json=as_json,
    )


@lifecycle.command("protect-branch")
def protect_branch(
    table: TableArgument,
    branch: Annotated[
        str, typer.Argument(metavar="BRANCH", help="A name, or a pattern such as 'release-*'.")
    ],
    remove: Annotated[bool, typer.Option("--remove", help="Take the protection back.")] = False,
    reason: ReasonOption = None,
    dry_run: DryRunOption = False,
    background: BackgroundOption = False,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> int:
    """Keep branches from being dropped or renamed, and let only approvers move them."""
    arguments: dict[str, Argument] = {
        "table": named_table(table).table_name,
        "branch": branch,
        "protected": False if remove else None,
        "reason": reason,
    }
    return run_previewed(
        warehouse,
        "protect_branch",
        arguments,
        dry_run=dry_run,
        background=background,
        as_json=as_json,
    )


@lifecycle.command("drop-branch")
def drop_branch(
    table: TableArgument,
    branch: BranchArgument,
    reason: ReasonOption = None,
    confirm: ConfirmOption = None,
    dry_run: DryRunOption = False,
    background: BackgroundOption = False,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> int:
    """Drop a branch; a rescue branch keeps it, so that it can be brought back."""
    arguments: dict[str, Argument] = {
        "table": named_table(table).table_name,
        "branch": branch,
        "reason": reason,
    }
    return run_previewed(
        warehouse,
        "drop_branch",
        arguments,
        confirm=confirm,
        dry_run=dry_run,
        background=background,
        as_json=as_json,
    )


@lifecycle.command("replace-main")
def replace_main(
    table: TableArgument,
    branch: BranchArgument,
    reason: ReasonOption = None,
    confirm: ConfirmOption = None,
    without_callbacks: WithoutCallbacksOption = None,
    dry_run: DryRunOption = False,
    background: BackgroundOption = False,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> int:
    """Make main the history of a branch; a rescue branch keeps what main was."""
    arguments: dict[str, Argument] = {
        "table": named_table(table).table_name,
        "branch": branch,
        "reason": reason,
        "without_callbacks": without_callbacks,
    }
    return run_previewed(
        warehouse,
        "replace_main",
        arguments,
        confirm=confirm,
        dry_run=dry_run,
        background=background,
        as_json=as_json,
    )


@lifecycle.command()
def rollback(
    table: TableArgument,
    branch: BranchOption = None,
    snapshot: Annotated[
        int | None, typer.Option("--snapshot", metavar="ID", help="Go back to this snapshot.")
    ] = None,
    tag: Annotated[
        str | None, typer.Option("--tag", metavar="TAG", help="Go back to this tag.")
    ] = None,
    cut: Annotated[
        bool, typer.Option("--cut", help="Move the history back instead of adding a snapshot.")
    ] = False,
    reason: ReasonOption = None,
    confirm: ConfirmOption = None,
    without_callbacks: WithoutCallbacksOption = None,
    dry_run: DryRunOption = False,
    background: BackgroundOption = False,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> int:
    """Go back to an earlier snapshot or tag, by a new snapshot that holds what it held.

    For example: branch-console rollback air.weather --snapshot 2 --dry-run
    """
    arguments: dict[str, Argument] = {
        "table": named_table(table, branch).full_name,
        "snapshot": snapshot,
        "tag": tag,
        "cut": cut or None,
        "reason": reason,
        "without_callbacks": without_callbacks,
    }
    return run_previewed(
        warehouse,
        "rollback",
        arguments,
        confirm=confirm,
        dry_run=dry_run,
        background=background,
        as_json=as_json,
    )


@lifecycle.command("create-tag")
def create_tag(
    table: TableArgument,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the tag.")],
    branch: BranchOption = None,
    snapshot: Annotated[
        int | None,
        typer.Option(
            "--snapshot", metavar="ID", help="The snapshot to name; the head where left out."
        ),
    ] = None,
    replace: Annotated[
        bool,
        typer.Option(
            "--replace", help="Where there is such a tag, move it or change how long it is kept."
        ),
    ] = False,
    time_retained: Annotated[
        str | None,
        typer.Option(
            "--time-retained",
            metavar="DURATION",
            help="How long the tag is kept: P7D is seven days, PT12H twelve hours; for ever "
            "where left out.",
        ),
    ] = None,
    without_callbacks: WithoutCallbacksOption = None,
    dry_run: DryRunOption = False,
    background: BackgroundOption = False,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> int:
    """Name a snapshot, for ever or for a time."""
    arguments: dict[str, Argument] = {
        "table": named_table(table, branch).full_name,
        "tag": name,
        "snapshot": snapshot,
        "replace": replace or None,
        "time_retained": time_retained,
        "without_callbacks": without_callbacks,
    }
    return run_previewed(
        warehouse,
        "create_tag",
        arguments,
        dry_run=dry_run,
        background=background,
        as_json=as_json,
    )


@lifecycle.command("delete-tag")
def delete_tag(
    table: TableArgument,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the tag.")],
    branch: BranchOption = None,
    reason: ReasonOption = None,
    confirm: ConfirmOption = None,
    without_callbacks: WithoutCallbacksOption = None,
    dry_run: DryRunOption = False,
    background: BackgroundOption = False,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> int:
    """Delete a tag that no branch stands on."""
    arguments: dict[str, Argument] = {
        "table": named_table(table, branch).full_name,
        "tag": name,
        "reason": reason,
        "without_callbacks": without_callbacks,
    }
    return run_previewed(
        warehouse,
        "delete_tag",
        arguments,
        confirm=confirm,
        dry_run=dry_run,
        background=background,
        as_json=as_json,
    )


@lifecycle.command("pin-branch")
def pin_branch(
    table: TableArgument,
    branch: BranchArgument,
    twin: Annotated[
        bool,
        typer.Option(
            "--twin", help="Where that tag stands, make a second one, so that either may go."
        ),
    ] = False,
    dry_run: DryRunOption = False,
    background: BackgroundOption = False,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> int:
    """Keep what a branch began at from expiring, by a tag on main."""
    arguments: dict[str, Argument] = {
        "table": named_table(table).table_name,
        "branch": branch,
        "twin": twin or None,
    }
    return run_previewed(
        warehouse,
        "pin_branch",
        arguments,
        dry_run=dry_run,
        background=background,
        as_json=as_json,
    )


@lifecycle.command("repair-branch")
def repair_branch(
    table: TableArgument,
    branch: BranchArgument,
    reason: ReasonOption = None,
    dry_run: DryRunOption = False,
    background: BackgroundOption = False,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> int:
    """Copy schemas from main that files of a branch need and that the branch lost."""
    arguments: dict[str, Argument] = {
        "table": named_table(table).table_name,
        "branch": branch,
        "reason": reason,
    }
    return run_previewed(
        warehouse,
        "repair_branch",
        arguments,
        dry_run=dry_run,
        background=background,
        as_json=as_json,
    )


@lifecycle.command("fence")
def fence_branch(
    table: TableArgument,
    branch: Annotated[
        str, typer.Argument(metavar="BRANCH", help="The branch; main may be one, too.")
    ],
    remove: Annotated[bool, typer.Option("--remove", help="Take the fence away.")] = False,
    reason: ReasonOption = None,
    dry_run: DryRunOption = False,
    background: BackgroundOption = False,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> int:
    """Keep other engines from expiring snapshots of a branch, by a consumer that reads nothing."""
    arguments: dict[str, Argument] = {
        "table": named_table(table).table_name,
        "branch": branch,
        "fenced": False if remove else None,
        "reason": reason,
    }
    return run_previewed(
        warehouse,
        "fence_branch",
        arguments,
        dry_run=dry_run,
        background=background,
        as_json=as_json,
    )


@lifecycle.command()
def undo(
    operation_id: OperationArgument,
    table: Annotated[
        str | None,
        typer.Option(
            "--table", metavar="TABLE", help="The table that it changed; looked for where left out."
        ),
    ] = None,
    confirm: ConfirmOption = None,
    without_callbacks: WithoutCallbacksOption = None,
    dry_run: DryRunOption = False,
    background: BackgroundOption = False,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> int:
    """Take an operation back, while nothing builds on what it did."""
    found = (
        named_table(table)
        if table
        else open_services(warehouse).find_table_of_operation(operation_id)
    )
    arguments: dict[str, Argument] = {
        "table": None if found is None else found.table_name,
        "operation": operation_id,
        "without_callbacks": without_callbacks,
    }
    return run_previewed(
        warehouse,
        "undo",
        arguments,
        confirm=confirm,
        dry_run=dry_run,
        background=background,
        as_json=as_json,
    )


def run_previewed(
    warehouse: str | None,
    name: str,
    arguments: Mapping[str, Argument],
    *,
    dry_run: bool,
    background: bool,
    as_json: bool,
    confirm: str | None = None,
    words: Callable[[str], str] = confirm_words,
) -> int:
    """Tell the consequences and, unless that is all or something stands in the way, run."""
    services = open_services(warehouse)
    preview = services.preview(name, arguments)
    refusal = refusal_of(preview, confirm, dry_run=dry_run, words=words)
    beside = {"preview": preview.to_object()}
    if not as_json:
        print_preview(preview)
    if dry_run or refusal is not None:
        if as_json:
            print_json({**beside, **error_beside(refusal)})
        if refusal is None:
            return 0
        if not as_json:
            print_error(refusal, as_json=False)
        return _REFUSED
    return run_call(
        services,
        name,
        {**arguments, "plan_id": preview.plan_id},
        background=background,
        as_json=as_json,
        beside=beside,
    )
