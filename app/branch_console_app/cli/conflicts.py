"""The command that lists the rows which both sides of a merge changed."""

from pathlib import Path
from typing import Annotated, Final

import typer

from branch_console.format.identifier import MAIN_BRANCH
from branch_console_app.cli.arguments import JsonOption, WarehouseOption, open_services
from branch_console_app.cli.jobs import finish_job
from branch_console_app.cli.merge import arguments_of, one_table
from branch_console_app.cli.output import print_json

conflicts = typer.Typer()

_LISTED: Final = 50
_OPEN: Final = 1


@conflicts.command("conflicts")
def list_conflicts(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="The branch that comes in.")],
    table: Annotated[
        str, typer.Option("--table", "-t", metavar="TABLE", help="The table, as database.table.")
    ],
    target: Annotated[
        str, typer.Option("--to", metavar="TARGET", help="The branch that changes.")
    ] = MAIN_BRANCH,
    policy: Annotated[
        Path | None,
        typer.Option("--policy", metavar="FILE", help="Show what this YAML file makes of them."),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", min=0, help="Conflicts to list, 0 for all.")
    ] = _LISTED,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> int:
    """List rows and cells that a merge finds changed on both sides, and what settles them.

    Rows are compared by a worker, once for two heads and a policy; nothing is changed.
    """
    services = open_services(warehouse)
    identifier = one_table(table, None, catalog=False)
    arguments = arguments_of(identifier, source, target, policy=policy)
    plan = services.preview_merge(arguments).plan
    found = services.row_conflicts(identifier, plan.id)
    if found is None and plan.cost.buckets_to_compare:
        finish_job(services, "compare_rows", arguments)
        found = services.row_conflicts(identifier, plan.id)
    # Only who asks for rows waits for what holds them.
    from branch_console_app.cli.conflict_text import conflicts_document, print_conflicts  # noqa: PLC0415

    if as_json:
        print_json(conflicts_document(plan, found, limit))
    else:
        print_conflicts(found, limit)
    return _OPEN if found is not None and found["take"].null_count else 0
