"""Rows of states on the command line: told by their files, or counted by reading keys."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.operations.compare_requests import CountRowsRequest
from branch_console_app.cli.arguments import (
    JsonOption,
    TableArgument,
    WarehouseOption,
    named_table,
    open_services,
)
from branch_console_app.cli.jobs import find_by_job
from branch_console_app.cli.output import print_fields, print_json, print_line, progress

if TYPE_CHECKING:
    from branch_console.diff.fast_forward import ForwardDecision
    from branch_console.diff.rows.row_figure import RowCounts
    from branch_console.diff.state_diff import StateDiff
    from branch_console_app.services import Services

counts = typer.Typer()


@counts.command("count")
def count_rows(
    table: TableArgument,
    state: Annotated[
        str, typer.Argument(metavar="STATE", help="Such as a branch, main@7 or tag:NAME.")
    ] = MAIN_BRANCH,
    other: Annotated[
        str | None,
        typer.Argument(metavar="OTHER", help="A second state, to count the rows that differ."),
    ] = None,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Count the rows of a state as a query would, and those that differ in a second one."""
    services = open_services(warehouse)
    identifier = named_table(table)
    diff = services.compare_states(identifier, state, other or state)
    figure = services.state_figure(identifier, diff.before)
    found = None
    if figure.rows is None or other is not None:
        found = counted_rows(services, identifier, diff)
    rows = figure.rows if found is None else found.before
    if as_json:
        document = {"table": identifier.table_name, "state": str(diff.before.pinned)}
        counted = {"rows": rows, "records": figure.records}
        print_json({**document, **counted, **counts_document(found if other else None)})
        return
    print_fields(
        {
            "state": str(diff.before.pinned),
            "rows": f"{rows:,}",
            "records in files": f"{figure.records or 0:,}",
            **_other_fields(found, other),
        }
    )


def _other_fields(found: RowCounts | None, other: str | None) -> dict[str, str]:
    if found is None or other is None:
        return {}
    return {f"rows of {other}": f"{found.after:,}", "differ": found.words}


def counted_rows(services: Services, identifier: Identifier, diff: StateDiff) -> RowCounts:
    """Return the rows of two states; a worker counts them if they are many.

    Raises:
        PaimonError: The table has no primary key, or the job was refused, failed or was cancelled.
    """
    found = find_or_count(services, identifier, diff)
    if found is not None:
        return found
    return find_by_job(
        services,
        CountRowsRequest.procedure,
        identifier,
        diff,
        services.row_counts,
        lost="The rows were counted and are not kept any more. Count them again.",
    )


def find_or_count(services: Services, identifier: Identifier, diff: StateDiff) -> RowCounts | None:
    """Return the rows of two states if they are known, or few enough to be counted here."""
    found = services.row_counts(identifier, diff)
    if found is not None or not services.count_work(identifier, diff).is_small:
        return found
    # What reads data files takes a second to import, which nobody else should wait for.
    from branch_console.jobs.warm_rows import WarmRows  # noqa: PLC0415
    from branch_console.procedures.compare.count_rows import count_rows_of  # noqa: PLC0415

    rows = WarmRows(services.job_settings, services.warehouse.file_io)
    try:
        with progress() as tell:
            tell("Counting rows.", 0, None)
            return count_rows_of(
                services.warehouse,
                rows,
                identifier,
                diff,
                lambda done, total: tell("Counting rows.", done, total),
            )
    finally:
        rows.close()


def counts_of_forward(services: Services, plan: ForwardDecision) -> RowCounts | None:
    """Return in how many rows the target will differ, None if it takes a job to tell."""
    has_rows = plan.arrives.figure.rows is not None or plan.target_head is None
    if has_rows or not plan.arrives.snapshots:
        return None
    identifier = Identifier.parse(plan.table)
    diff = services.compare_states(identifier, plan.target, plan.source)
    return find_or_count(services, identifier, diff)


def counts_document(found: RowCounts | None) -> dict[str, object]:
    """Return what a document holds of rows that were counted; nothing if none were."""
    return {} if found is None else {"counted_rows": asdict(found)}


def print_counts_of_forward(plan: ForwardDecision, found: RowCounts | None) -> None:
    """Print in how many rows the target will differ, or how to count them."""
    if found is not None:
        print_line(f"rows of {plan.target}: {found.before:,} to {found.after:,}, {found.words}")
    elif plan.arrives.figure.rows is None and plan.arrives.snapshots:
        command = f"branch-console count {plan.table} {plan.target} {plan.source}"
        print_line(f"Records are not rows: several may have one key. Count rows: {command}")
