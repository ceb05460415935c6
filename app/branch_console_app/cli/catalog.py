"""The commands about branches of the whole catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer

from branch_console.operations.catalog_requests import (
    AddToCatalogBranchRequest,
    CreateCatalogBranchRequest,
    CreateCatalogTagRequest,
    DeleteCatalogTagRequest,
    DropCatalogBranchRequest,
)
from branch_console_app.cli.arguments import JsonOption, WarehouseOption, open_services
from branch_console_app.cli.check import print_check
from branch_console_app.cli.lifecycle import add_previewed
from branch_console_app.cli.output import (
    count,
    local_time,
    print_fields,
    print_json,
    print_line,
    print_rows,
)
from branch_console_app.judged_heads import JudgementReads, read_catalog_checks

if TYPE_CHECKING:
    from branch_console.procedures.catalog.browse_catalog import ChangedObject

catalog = typer.Typer(help="Branches of the whole catalog: one name over many tables.")

NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="The name of the catalog branch.")
]

for _request in (
    CreateCatalogBranchRequest,
    AddToCatalogBranchRequest,
    DropCatalogBranchRequest,
    CreateCatalogTagRequest,
    DeleteCatalogTagRequest,
):
    add_previewed(catalog, _request)

_SHOWN: Final = 100


@catalog.command("list")
def list_branches(warehouse: WarehouseOption = None, as_json: JsonOption = False) -> None:
    """List the branches of the catalog, with what each holds and how much of it changed."""
    services = open_services(warehouse)
    found = services.catalog_branches()
    names = [each.name for each in found]
    checks = read_catalog_checks(JudgementReads.of(services), names, services.catalog_overview)
    if as_json:
        checked = {name: check.to_object() for name, check in checks.items()}
        print_json({"branches": found, "checks": checked})
        return
    print_rows(
        ("branch", "version", "holds", "from", "tables", "changed", "made", "lost", "owner"),
        [
            (
                each.name,
                each.version,
                each.scope if each.error is None else each.error.message,
                each.base,
                each.tables,
                each.changed,
                each.made,
                each.lost,
                each.owner,
            )
            for each in found
        ],
    )
    for name, check in checks.items():
        print_check(name, check)


@catalog.command("show")
def show(
    name: NameArgument,
    every: Annotated[
        bool, typer.Option("--all", help="All tables, also those that nobody changed.")
    ] = False,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a branch of the catalog: what changed on it, and its tables, changed ones first."""
    found = open_services(warehouse).catalog_branch(name)
    if as_json:
        print_json(found)
        return
    item = found.item
    print_fields(
        {
            "branch": item.name,
            "version": item.version,
            "holds": item.scope,
            "from": item.base,
            "created": local_time(item.created_millis),
            "owner": item.owner,
            "reason": item.reason,
            "tables": f"{item.tables:,}: {item.made:,} made, {item.not_made:,} not made yet, "
            f"{item.lost:,} lost",
            "changed": f"{item.changed:,}",
        }
    )
    for left, reason in found.left_out:
        print_line(f"left out: {left}: {reason}")
    if found.changes:
        print_rows(
            ("changed", "name", "what happened"),
            [(each.kind, each.name, _happened(each)) for each in found.changes],
        )
    items = found.members if every else found.members[:_SHOWN]
    print_rows(
        ("table", "state", "changed", "base", "head"),
        [
            (
                each.name,
                each.state,
                "yes" if each.is_changed else "no",
                each.base,
                None if each.head is None else each.head.id,
            )
            for each in items
        ],
    )
    if len(items) < len(found.members):
        print_line(f"… {count(len(found.members) - len(items), 'more table')}; --all prints them")


def _happened(change: ChangedObject) -> str:
    """Return the changes of a database or table, with its earlier name and its properties."""
    # Who asks for help, or for another command, does not wait for what reads a catalog.
    from branch_console.procedures.catalog.browse_catalog import ObjectChange  # noqa: PLC0415

    words: list[str] = []
    for each in change.did:
        more = f" from {change.was}" if each is ObjectChange.RENAMED else ""
        words.append(f"{each}{more}")
    keys = f": {', '.join(change.properties)}" if change.properties else ""
    return f"{', '.join(words)}{keys}"


@catalog.command("compare")
def compare(
    before: Annotated[str, typer.Argument(metavar="A", help="A catalog branch, or main.")],
    after: Annotated[
        str, typer.Argument(metavar="B", help="The branch compared with it.")
    ] = "main",
    quality: Annotated[
        bool,
        typer.Option(
            "--quality", help="Let a worker judge each table that differs by its quality rules."
        ),
    ] = False,
    every: Annotated[bool, typer.Option("--all", help="All objects that differ.")] = False,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell which databases and tables differ between two branches of the catalog.

    Rows are told from metadata: a number, or how many there are at most. Objects that are the same
    are counted and not opened.

    For example: branch-console catalog compare main dev
    """
    # Who asks for help does not wait for what compares.
    from branch_console_app.cli.compare_catalogs import compare_branches  # noqa: PLC0415

    compare_branches(
        open_services(warehouse), (before, after), quality=quality, every=every, as_json=as_json
    )


@catalog.command("log")
def log(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The catalog branch; main where left out.")
    ] = "main",
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the versions of a catalog branch, or of main, newest first."""
    found = open_services(warehouse).catalog_log(name)
    if as_json:
        print_json({"versions": [each.to_object() for each in found]})
        return
    print_rows(
        ("version", "kind", "time", "by", "databases", "tables", "statement"),
        [
            (
                str(each.name),
                str(each.kind),
                local_time(each.time_millis),
                each.actor,
                len(each.databases),
                len(each.tables),
                each.statement,
            )
            for each in found
        ],
    )


@catalog.command("tags")
def tags(warehouse: WarehouseOption = None, as_json: JsonOption = False) -> None:
    """List the tags of the catalog."""
    found = open_services(warehouse).catalog_tags()
    if as_json:
        print_json({"tags": found})
        return
    print_rows(
        ("tag", "of", "tables", "created", "by"),
        [
            (
                each.name,
                str(each.version),
                len(each.tables),
                local_time(each.time_millis),
                each.actor,
            )
            for each in found
        ],
    )
