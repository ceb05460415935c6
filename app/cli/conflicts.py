"""The command that lists the rows which both sides of a merge changed."""

from pathlib import Path
from typing import Annotated, Final

import pyarrow as pa
import typer

from app.cli.arguments import JsonOption, WarehouseOption, open_services
from app.cli.jobs import finish_job
from app.cli.merge import arguments_of, one_table
from app.cli.output import print_json, print_line, print_rows
from app.models.resolver import groups_of
from app.models.row_conflicts import conflict_lines
from core.format.fine_times import readable
from core.format.identifier import MAIN_BRANCH
from core.merge.merge_plan import MergePlan
from core.merge.row_work import ROWS_OF_SIDES

conflicts = typer.Typer()

_LISTED: Final = 50
_OPEN: Final = 1
_NULL: Final = "NULL"


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
    if as_json:
        print_json(_document(plan, found, limit))
    else:
        _print(found, limit)
    return _OPEN if found is not None and found["take"].null_count else 0


def _document(plan: MergePlan, found: pa.Table | None, limit: int) -> dict[str, object]:
    return {
        "plan": plan.id,
        "verdict": str(plan.verdict),
        "conflicts": 0 if found is None else found.num_rows,
        "open": 0 if found is None else found["take"].null_count,
        "groups": [] if found is None else list(groups_of(found)),
        "rows": [] if found is None else _rows(found, limit),
    }


def _rows(found: pa.Table, limit: int) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = readable(
        found.slice(0, limit or None).drop_columns(ROWS_OF_SIDES)
    ).to_pylist()
    return rows


def _print(found: pa.Table | None, limit: int) -> None:
    if found is None or not found.num_rows:
        print_line("No row was changed on both sides.")
        return
    print_rows(
        ("kind", "column", ">conflicts", ">open"),
        ((each.kind, each.column, each.number, each.open_number) for each in groups_of(found)),
    )
    print_line()
    lines = conflict_lines(found, slice(0, limit or None))
    print_rows(
        ("key", "column", "base", "target", "source", "result"),
        (
            (
                each.key,
                each.column,
                *(_NULL if side is None else side for side in (each.base, each.ours, each.theirs)),
                "needs another look" if each.needs_another_look else each.result,
            )
            for each in lines
        ),
        total=found.num_rows,
    )
