"""The command that runs statements about branches."""

from typing import Annotated

import typer

from app.cli.arguments import JsonOption, WarehouseOption
from app.cli.lifecycle import run_previewed
from app.cli.output import print_line
from core.errors import ErrorKind, InvalidInput
from core.sql.parser import parse_statements

statements = typer.Typer()


@statements.command("sql")
def sql(
    text: Annotated[
        str,
        typer.Argument(
            metavar="STATEMENTS", help="Such as: 'MERGE BRANCH dev ON TABLE db.t DRY RUN'."
        ),
    ],
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> int:
    """Run statements that semicolons divide, up to the first that is refused or fails."""
    found = parse_statements(text)
    if as_json and len(found) != 1:
        raise InvalidInput(
            f"With --json one statement makes one document; {len(found)} were given.",
            kind=ErrorKind.INVALID_ARGUMENT,
        )
    for number, statement in enumerate(found):
        if number:
            print_line()
        code = run_previewed(
            warehouse,
            statement.procedure,
            statement.arguments,
            confirm=statement.confirms,
            dry_run=statement.is_dry,
            background=False,
            as_json=as_json,
        )
        if code:
            return code
    return 0
