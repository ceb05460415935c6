"""The command that merges a branch: the verdict first, then what would move and what collides."""

from typing import Annotated

import typer

from branch_console.errors import ErrorKind, InvalidInput, Refused
from branch_console.format.identifier import Identifier
from branch_console.operations.merge_requests import MergeRequest
from branch_console_app.cli.arguments import JsonOption, WarehouseOption, open_services
from branch_console_app.cli.branches import BackgroundOption
from branch_console_app.cli.request_options import AskedRequest, takes

merges = typer.Typer()


@merges.command(help=MergeRequest.__doc__)
@takes(MergeRequest)
def merge(
    asked: AskedRequest[MergeRequest],
    database: Annotated[
        str | None,
        typer.Option("--database", metavar="DATABASE", help="All its tables; not served yet."),
    ] = None,
    catalog: Annotated[bool, typer.Option("--catalog", help="All tables; not served yet.")] = False,
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
    """Merge a branch of one table."""
    identifier = one_table(asked.table, database, catalog=catalog)
    # A plan is made of rows about files: only who asks for one waits for what holds them.
    from branch_console_app.cli.merge_run import run_merge  # noqa: PLC0415

    return run_merge(
        open_services(warehouse),
        identifier,
        asked.arguments,
        preview=preview,
        dry_run=dry_run,
        background=background,
        as_json=as_json,
    )


def one_table(table: Identifier | None, database: str | None, *, catalog: bool) -> Identifier:
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
    if not table.is_main:
        raise InvalidInput(
            f"{table.full_name!r} names a branch. The branch that comes in is SOURCE, the one that "
            "changes --to.",
            kind=ErrorKind.INVALID_ARGUMENT,
        )
    return table
