"""The command that merges a branch: the verdict first, then what would move and what collides."""

from pathlib import Path
from typing import Annotated

import typer

from branch_console.errors import ErrorKind, InvalidInput, Refused
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.operations.isolation import InsertScope, Isolation
from branch_console.procedures.call.call import Argument
from branch_console_app.cli.arguments import (
    JsonOption,
    OverrideGateOption,
    PolicyOption,
    WarehouseOption,
    WithoutCallbacksOption,
    named_table,
    open_services,
    text_of_file,
)
from branch_console_app.cli.branches import BackgroundOption, ReasonOption

merges = typer.Typer()


@merges.command()
def merge(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="The branch that comes in.")],
    target: Annotated[
        str, typer.Option("--to", metavar="TARGET", help="The branch that changes.")
    ] = MAIN_BRANCH,
    table: Annotated[
        str | None,
        typer.Option("--table", "-t", metavar="TABLE", help="The table, as database.table."),
    ] = None,
    database: Annotated[
        str | None,
        typer.Option("--database", metavar="DATABASE", help="All its tables; not served yet."),
    ] = None,
    catalog: Annotated[bool, typer.Option("--catalog", help="All tables; not served yet.")] = False,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Have as conflicts what the rules else decide against a side and only report.",
        ),
    ] = False,
    scope: Annotated[
        InsertScope | None,
        typer.Option(
            "--scope",
            help="Where rows that the target added may meet a delete or update of the source: "
            "in the whole table, or only in the partitions that this touched; "
            "table where left out.",
        ),
    ] = None,
    isolation: Annotated[
        Isolation | None,
        typer.Option(
            "--isolation",
            help="Whether they meet it at all: they do where serializable, nowhere where "
            "snapshot; serializable where left out.",
        ),
    ] = None,
    policy: PolicyOption = None,
    reason: ReasonOption = None,
    override_gate: OverrideGateOption = None,
    without_callbacks: WithoutCallbacksOption = None,
    plan_again: Annotated[
        bool,
        typer.Option(
            "--plan-again",
            help="Where the target gets a commit that touches what is merged, plan again and go on "
            "while conflicts and decisions are the same.",
        ),
    ] = False,
    wait: Annotated[
        str | None,
        typer.Option(
            "--wait",
            metavar="TIME",
            help="How long to keep trying while others commit to the target, such as 60s; with "
            "--plan-again it plans again as often as that allows.",
        ),
    ] = None,
    preview: Annotated[
        bool,
        typer.Option(
            "--preview", help="Tell from metadata alone what would move and collide; run nothing."
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Do all but publish; a merge afterwards publishes what this staged."
        ),
    ] = False,
    background: BackgroundOption = False,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> int:
    """Bring what a branch changed into another one; nothing of either is lost.

    For example: branch-console merge fix-delays --table air.flights --preview
    """
    identifier = one_table(table, database, catalog=catalog)
    arguments: dict[str, Argument] = {
        **arguments_of(identifier, source, target, policy=policy),
        "strict": strict or None,
        "scope": None if scope is None else str(scope),
        "isolation": None if isolation is None else str(isolation),
        "reason": reason,
        "override_gate": override_gate,
        "without_callbacks": without_callbacks,
        "wait": wait,
    }
    # A plan is made of rows about files: only who asks for one waits for what holds them.
    from branch_console_app.cli.merge_run import run_merge  # noqa: PLC0415

    return run_merge(
        open_services(warehouse),
        identifier,
        arguments,
        plan_again=plan_again,
        preview=preview,
        dry_run=dry_run,
        background=background,
        as_json=as_json,
    )


def arguments_of(
    identifier: Identifier, source: str, target: str, *, policy: Path | None
) -> dict[str, Argument]:
    """Return what every command on a merge asks of its procedure.

    Raises:
        InvalidInput: The policy cannot be read.
    """
    return {
        "table": identifier.table_name,
        "branch": source,
        "target": target,
        "policy": None if policy is None else text_of_file(policy, "policy"),
    }


def one_table(table: str | None, database: str | None, *, catalog: bool) -> Identifier:
    """Return the table that is merged.

    Raises:
        InvalidInput: None is named, or one of its branches.
        Refused: A database or the catalog is asked for.
    """
    if database is not None or catalog:
        what = f"the database {database!r}" if database is not None else "the catalog"
        raise Refused(
            f"Merging a branch of {what} at once is not served yet: that asks for one commit over "
            "many tables. Merge table by table: --table.",
            kind=ErrorKind.UNSUPPORTED,
        )
    if table is None:
        raise InvalidInput(
            "Name what is merged: --table DATABASE.TABLE.", kind=ErrorKind.INVALID_ARGUMENT
        )
    identifier = named_table(table)
    if not identifier.is_main:
        raise InvalidInput(
            f"{table!r} names a branch. The branch that comes in is SOURCE, the one that changes "
            "--to.",
            kind=ErrorKind.INVALID_ARGUMENT,
        )
    return identifier
