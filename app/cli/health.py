"""The commands that look for damage."""

from typing import Final

import typer

from app.cli.arguments import (
    BranchOption,
    JsonOption,
    TableArgument,
    WarehouseOption,
    named_table,
    open_services,
)
from app.cli.output import print_json, print_line, print_rows

health = typer.Typer()

_FOUND: Final = 1


@health.command("lost-commits")
def lost_commits(
    table: TableArgument,
    branch: BranchOption = None,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> int:
    """Look for commits that another writer replaced or built past; exit 1 if there are any."""
    identifier = named_table(table, branch)
    found = open_services(warehouse).lost_commits(identifier)
    if as_json:
        print_json({"table": identifier.full_name, "lost_commits": found})
        return _FOUND if found else 0
    if not found:
        print_line(f"No commit to {identifier.full_name} is lost.")
        return 0
    print_rows(
        ("told by", "user", ">files", ">rows", "what happened"),
        (
            (item.trace, item.user or "unknown", len(item.files), item.rows, item.reason)
            for item in found
        ),
        total=len(found),
    )
    return _FOUND
