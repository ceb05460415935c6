"""The commands that look for damage."""

from typing import Final

import typer

from branch_console_app.cli.arguments import (
    BranchOption,
    JsonOption,
    TableArgument,
    WarehouseOption,
    named_table,
    open_services,
)
from branch_console_app.cli.exit_codes import DONE
from branch_console_app.cli.output import print_json, print_line, print_note, print_rows

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
        told = {"lost_commits": found.items, "unread": found.unread}
        print_json({"table": identifier.full_name, **told})
        return _FOUND if found.items else DONE
    if found.items:
        print_rows(
            ("told by", "user", ">files", ">records", "what happened"),
            (
                (item.trace, item.user or "unknown", len(item.files), item.records, item.reason)
                for item in found.items
            ),
            total=len(found.items),
        )
    else:
        print_line(f"No commit to {identifier.full_name} is lost.")
    for each in found.unread:
        print_note(f"Not all of branch {each.branch!r} can be read: {each.error.message}")
    return _FOUND if found.items else DONE
