"""The command that compares two states of a table."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final

import typer

from branch_console.diff.rows.row_diff_index import RowFilter
from branch_console.diff.rows.row_kind import RowKind
from branch_console.errors import ErrorKind, InvalidInput
from branch_console.operations.compare_requests import CompareQualityRequest
from branch_console_app.cli.arguments import (
    JsonOption,
    WarehouseOption,
    open_services,
)
from branch_console_app.cli.output import print_json
from branch_console_app.cli.request_options import AskedRequest, takes

compare = typer.Typer()

_LISTED: Final = 20


@compare.command("compare")
@takes(CompareQualityRequest)
def compare_states(
    *,
    files: Annotated[
        bool, typer.Option("--files", help="List the files that only one side has.")
    ] = False,
    rows: Annotated[
        bool, typer.Option("--rows", help="Let a worker compare rows, and list those that differ.")
    ] = False,
    quality: Annotated[
        bool,
        typer.Option(
            "--quality", help="Let a worker profile the columns, and tell which of them drifted."
        ),
    ] = False,
    asked: AskedRequest[CompareQualityRequest],
    kind: Annotated[
        RowKind | None, typer.Option("--kind", help="With --rows, only rows of this kind.")
    ] = None,
    column: Annotated[
        str | None,
        typer.Option(
            "--column", metavar="NAME", help="With --rows, only rows that changed in this column."
        ),
    ] = None,
    where: Annotated[
        str | None,
        typer.Option(
            "--where",
            metavar="CONDITION",
            help='With --rows, only rows of which this holds on either side, such as "delay > 60".',
        ),
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option(
            "--export",
            metavar="FILE",
            help="Write the rows as .csv or .parquet, the quality as .html.",
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=0, help="Lines of each list, 0 for all.")
    ] = _LISTED,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell what differs between two states of a table, from its manifests alone.

    A state is a branch, branch@snapshot-id, branch@time, tag:NAME or branch@tag:NAME.

    For example: branch-console compare air.flights main@7 tag:2013-q3 --rows

    With --rows a worker reads the files that only one side has, and what they overlap. With
    --quality it reads these, and those of both sides where they are few.
    """
    # Only who compares waits for what holds rows.
    from branch_console_app.cli import compare_quality, compare_rows, compare_text  # noqa: PLC0415

    identifier, request = asked.named_table, asked.request
    wanted = RowFilter(kind=kind, column=column, where=where)
    compare_rows.check_export(
        export, (compare_quality.HTML,) if quality else (compare_rows.CSV, compare_rows.PARQUET)
    )
    services = open_services(warehouse)
    found = services.compare_states(identifier, request.before, request.after)
    if quality and rows:
        raise InvalidInput(
            "--quality and --rows are two comparisons. Ask for one after the other.",
            kind=ErrorKind.INVALID_ARGUMENT,
        )
    if quality:
        compared = compare_quality.compared_quality(
            services, identifier, found, reads_all=request.whole, merges=request.merged
        )
        if export is not None:
            compare_quality.write_report(identifier, compared, export)
        if as_json:
            print_json(compare_quality.quality_document(identifier, compared))
        else:
            compare_quality.print_quality(compared)
        return
    kept = None
    if rows or export is not None:
        kept = compare_rows.compared_rows(services, identifier, found)
        compare_rows.check_filter(kept, wanted)
        found = replace(found, rows=kept.index.difference)
    if export is not None and kept is not None:
        compare_rows.write_rows(kept, wanted, export)
    if as_json:
        document = {
            "table": identifier.table_name,
            **compare_text.states_document(found, files=files),
        }
        if kept is not None:
            document |= compare_rows.rows_document(kept, wanted, limit)
        print_json(document)
    elif kept is not None:
        compare_text.print_summary(found)
        compare_rows.print_row_lines(kept, wanted, limit)
    else:
        compare_text.print_states(found, limit, files=files)
