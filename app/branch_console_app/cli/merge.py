"""The command that merges a branch: the verdict first, then what would move and what collides."""

from collections.abc import Mapping
from typing import Annotated

import typer

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.identifier import Identifier
from branch_console.operations.argument import Argument
from branch_console.operations.merge_requests import MergeRequest
from branch_console_app.cli.arguments import JsonOption, WarehouseOption, open_services
from branch_console_app.cli.branches import BackgroundOption
from branch_console_app.cli.request_options import AskedRequest, takes

merges = typer.Typer()


@merges.command(help=MergeRequest.__doc__)
@takes(MergeRequest, optional=("table",))
def merge(
    asked: AskedRequest[MergeRequest],
    database: Annotated[
        str | None,
        typer.Option(
            "--database",
            metavar="DATABASE",
            help="Merge one database of the catalog branch SOURCE; leave --table out.",
        ),
    ] = None,
    catalog: Annotated[
        bool,
        typer.Option(
            "--catalog", help="Merge all of the catalog branch SOURCE; leave --table out."
        ),
    ] = False,
    preview: Annotated[
        bool,
        typer.Option("--preview", help="Show the verdict and stop; nothing is changed."),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Build and check the result, and change nothing; the next merge publishes it.",
        ),
    ] = False,
    background: BackgroundOption = False,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> int:
    """Merge a branch of one table, of a database or of the catalog."""
    if database is not None or catalog:
        # As below, only who merges waits for what plans need.
        from branch_console_app.cli.catalog_merge import run_catalog_merge  # noqa: PLC0415

        arguments = of_catalog(asked.table, asked.arguments, database, catalog=catalog)
        services = open_services(warehouse)
        return run_catalog_merge(
            services,
            arguments,
            # What is decided before anything is published is all that there is to try out.
            preview=preview or dry_run,
            as_json=as_json,
            background=background,
            plan_again=asked.agreement.plan_again,
        )
    identifier = one_table(asked.table)
    # A plan is made of rows about files: only who asks for one waits for what holds them.
    from branch_console_app.cli.merge_run import run_merge  # noqa: PLC0415

    return run_merge(
        open_services(warehouse),
        identifier,
        asked.arguments,
        plan_again=asked.agreement.plan_again,
        preview=preview,
        dry_run=dry_run,
        background=background,
        as_json=as_json,
    )


def of_catalog(
    table: Identifier | None,
    arguments: Mapping[str, Argument],
    database: str | None,
    *,
    catalog: bool,
) -> Mapping[str, Argument]:
    """Return the arguments of a merge of the catalog, or of one database of it.

    Raises:
        InvalidInput: Two of a table, a database and the catalog are named.
    """
    if table is not None or (database is not None and catalog):
        raise InvalidInput(
            "Name one of --table, --database and --catalog: the part of SOURCE to merge.",
            kind=ErrorKind.INVALID_ARGUMENT,
        )
    given = {name: value for name, value in arguments.items() if value not in (None, False)}
    return {**given, "database": database}


def one_table(table: Identifier | None) -> Identifier:
    """Return the table that is merged.

    Raises:
        InvalidInput: None is named, or one of its branches.
    """
    if table is None:
        raise InvalidInput(
            "Name what is merged: --table DATABASE.TABLE, --database DATABASE or --catalog.",
            kind=ErrorKind.INVALID_ARGUMENT,
        )
    if not table.is_main:
        raise InvalidInput(
            f"{table.full_name!r} names a branch. Name the source branch as SOURCE and the target "
            "branch with --to.",
            kind=ErrorKind.INVALID_ARGUMENT,
        )
    return table
