"""The commands that look at what a table holds: commits that it lost, what its files cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

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
from branch_console_app.cli.output import (
    count,
    fields_of,
    local_time,
    print_json,
    print_line,
    print_note,
    print_rows,
    size,
)

if TYPE_CHECKING:
    from branch_console.diff.expiry.storage_cost import FileAmount, OwnerCost, TableStorage

health = typer.Typer()

_FOUND: Final = 1
_PAIRS_SHOWN: Final = 10


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
        reported = {"lost_commits": found.items, "unread": found.unread}
        print_json({"table": identifier.full_name, **reported})
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


@health.command()
def storage(
    table: TableArgument, warehouse: WarehouseOption = None, as_json: JsonOption = False
) -> None:
    """Show which branches need the files of a table, alone or with others.

    Data files, changelog files and index files are counted. What branches share stands in the lines
    of each, so that the lines add up to more than the total.
    """
    identifier = named_table(table)
    found = open_services(warehouse).storage(identifier)
    if as_json:
        cost = {field.name: getattr(found.cost, field.name) for field in fields_of(found.cost)}
        beside = {"holds": found.holds, "orphans": found.orphans, "unread": found.unread}
        print_json({"table": identifier.table_name, **cost, **beside})
        return
    _print_storage(found)


@health.command()
def holds(
    table: TableArgument, warehouse: WarehouseOption = None, as_json: JsonOption = False
) -> None:
    """List what keeps snapshots, tags and files of a table from being removed, and until when."""
    identifier = named_table(table)
    found = open_services(warehouse).holds(identifier)
    if as_json:
        print_json({"table": identifier.table_name, "holds": [each.to_object() for each in found]})
        return
    print_rows(
        ("branch", "kind", "owner", ">from snapshot", "since", "until"),
        (
            (
                each.branch,
                str(each.kind),
                each.owner,
                "-" if each.since_snapshot is None else each.since_snapshot,
                "-" if each.since_millis is None else local_time(each.since_millis),
                "-" if each.until_millis is None else local_time(each.until_millis),
            )
            for each in found
        ),
    )


def _print_storage(found: TableStorage) -> None:
    cost = found.cost
    print_rows(
        ("needed by", "what", ">files", ">alone", ">with others", ">history", ">reclaimable"),
        map(_owner_row, cost.owners),
    )
    print_line()
    print_line(f"total        {_amount(cost.total)}, each file counted once")
    print_line(f"reclaimable  {_amount(cost.reclaimable)}")
    if found.orphans is None:
        print_line("orphans      nobody has looked for them: branch-console orphans")
    else:
        scan = found.orphans
        when = f"by {scan.operation_id}, {local_time(scan.time_millis)}"
        print_line(f"orphans      {_amount(scan.waiting)} wait since the last cleaning ({when})")
    if cost.overlaps:
        print_line()
        print_rows(
            ("shared by", "and", ">files", ">size"),
            (
                (
                    *(each.name for each in pair.owners),
                    pair.amount.file_count,
                    size(pair.amount.byte_count),
                )
                for pair in cost.overlaps[:_PAIRS_SHOWN]
            ),
            total=len(cost.overlaps),
        )
    for each in found.unread:
        print_note(f"{each.sentence} {each.error.message}")


def _owner_row(cost: OwnerCost) -> tuple[object, ...]:
    sizes = (cost.exclusive, cost.shared, cost.history, cost.reclaimable)
    files = cost.exclusive.file_count + cost.shared.file_count
    return cost.owner.name, str(cost.owner.kind), files, *(size(each.byte_count) for each in sizes)


def _amount(amount: FileAmount) -> str:
    return f"{size(amount.byte_count)} in {count(amount.file_count, 'file')}"
