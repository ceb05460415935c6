"""Rows of a comparison on the command line: found by a worker, listed or written to a file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pyarrow.parquet as pq

from branch_console.diff.rows.row_diff_index import RowFilter
from branch_console.diff.state_diff import StateDiff
from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.identifier import Identifier
from branch_console.jobs.kept_diffs import KeptDiff
from branch_console.operations.compare_requests import CompareStatesRequest
from branch_console_app.cli.jobs import find_by_job
from branch_console_app.cli.output import print_line, print_note, print_rows
from branch_console_app.models.compare.rows import (
    MARKS,
    csv_of,
    export_rows,
    row_lines,
    shown_columns,
)
from branch_console_app.services import Services

CSV: Final = ".csv"
PARQUET: Final = ".parquet"


def check_export(path: Path | None, kinds: Sequence[str]) -> None:
    """Refuse a file of another kind, before a job is started.

    Raises:
        InvalidInput: The name ends in none of `kinds`.
    """
    if path is not None and path.suffix not in kinds:
        raise InvalidInput(
            f"{str(path)!r} is not {' or '.join(kinds)}. Name the file so.",
            kind=ErrorKind.INVALID_ARGUMENT,
        )


def compared_rows(services: Services, identifier: Identifier, diff: StateDiff) -> KeptDiff:
    """Return the rows in which two states differ; a worker looks for them if nobody has yet.

    Raises:
        PaimonError: The job was refused, failed or was cancelled.
    """
    found = services.row_diff(identifier, diff)
    if found is not None:
        return found
    return find_by_job(
        services,
        CompareStatesRequest.procedure,
        identifier,
        diff,
        services.row_diff,
        lost="The rows were compared and are not kept any more. Compare them again.",
    )


def check_filter(kept: KeptDiff, wanted: RowFilter) -> None:
    """Refuse a filter that the rows cannot be asked for.

    Raises:
        InvalidInput: There is no such column, or the condition cannot be read.
    """
    kept.check(wanted)
    column = wanted.column
    if column is not None and column not in kept.index.columns:
        raise InvalidInput(
            f"No column {column!r} was compared. There are {', '.join(kept.index.columns)}.",
            kind=ErrorKind.INVALID_ARGUMENT,
        )


def rows_document(kept: KeptDiff, wanted: RowFilter, limit: int) -> dict[str, object]:
    """Return counts and rows for a JSON document."""
    index = kept.index
    rows = kept.page(wanted, 0, limit or kept.count(wanted))
    (named,) = export_rows([rows], index)
    return {
        "changed_cells": index.changed_cells(),
        "not_compared": index.facts.get("not_compared"),
        "differing_rows": named,
    }


def print_row_lines(kept: KeptDiff, wanted: RowFilter, limit: int) -> None:
    """Print how many rows differ, and the first of them."""
    index = kept.index
    number = kept.count(wanted)
    names = shown_columns(index, only_changed=wanted.column is not None)
    lines = row_lines(kept.page(wanted, 0, limit or number), index)
    print_line()
    copies = () if index.keys else (">copies",)
    print_rows(
        ("", *copies, *names),
        (
            (
                MARKS[line.kind],
                *(() if index.keys else (line.copies,)),
                *(line.cells[name] for name in names),
            )
            for line in lines
        ),
        total=number,
    )


def write_rows(kept: KeptDiff, wanted: RowFilter, path: Path) -> None:
    """Write the wanted rows to a file, group by group."""
    tables = kept.all_rows(wanted)
    if path.suffix == CSV:
        with path.open("wb") as file:
            for piece in csv_of(tables, kept.index):
                file.write(piece)
    else:
        writer = None
        for rows in export_rows(tables, kept.index):
            writer = writer or pq.ParquetWriter(path, rows.schema)
            writer.write_table(rows)
        if writer is not None:
            writer.close()
    print_note(f"{kept.count(wanted):,} rows written to {path}.")
