"""The command that compares two states of a table."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final

import pyarrow as pa
import typer

from app.cli.arguments import (
    JsonOption,
    TableArgument,
    WarehouseOption,
    named_table,
    open_services,
)
from app.cli.compare_quality import (
    HTML,
    compared_quality,
    print_quality,
    quality_document,
    write_report,
)
from app.cli.compare_rows import (
    CSV,
    PARQUET,
    check_export,
    check_filter,
    compared_rows,
    print_row_lines,
    rows_document,
    write_rows,
)
from app.cli.output import (
    print_fields,
    print_json,
    print_line,
    print_rows,
    size,
    to_plain,
)
from app.models.compare import (
    bounds_text,
    label_of,
    net_words,
    partition_lines,
    partitions_of,
    summary,
)
from core.diff.row_bounds import Bounds
from core.diff.row_diff import RowKind
from core.diff.row_diff_index import RowFilter
from core.diff.state_diff import StateDiff, TableState, Totals
from core.errors import ErrorKind, InvalidInput

compare = typer.Typer()

_LISTED: Final = 20
_FILE_COLUMNS: Final = (
    "bucket", "level", "file_name", "file_size", "row_count", "masked", "schema_id",
)  # fmt: skip


@compare.command("compare")
def compare_states(
    table: TableArgument,
    before: Annotated[str, typer.Argument(metavar="A", help="The state before.")],
    after: Annotated[
        str,
        typer.Argument(
            metavar="B",
            help="The state after.",
        ),
    ],
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
    whole: Annotated[
        bool,
        typer.Option("--whole", help="With --quality, read also all files that both sides have."),
    ] = False,
    merged: Annotated[
        bool,
        typer.Option("--merged", help="With --quality, look also at what merging B into A leaves."),
    ] = False,
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
    identifier, wanted = named_table(table), RowFilter(kind=kind, column=column, where=where)
    check_export(export, (HTML,) if quality else (CSV, PARQUET))
    services = open_services(warehouse)
    found = services.compare_states(identifier, before, after)
    if quality and rows:
        raise InvalidInput(
            "--quality and --rows are two comparisons. Ask for one after the other.",
            kind=ErrorKind.INVALID_ARGUMENT,
        )
    if quality:
        compared = compared_quality(services, identifier, found, reads_all=whole, merges=merged)
        if export is not None:
            write_report(identifier, compared, export)
        if as_json:
            print_json(quality_document(identifier, compared))
        else:
            print_quality(compared)
        return
    kept = None
    if rows or export is not None:
        kept = compared_rows(services, identifier, found)
        check_filter(kept, wanted)
        found = replace(found, rows=kept.index.difference)
    if export is not None and kept is not None:
        write_rows(kept, wanted, export)
    if as_json:
        document = {"table": identifier.table_name, **_document(found, files=files)}
        print_json(document if kept is None else {**document, **rows_document(kept, wanted, limit)})
        return
    if kept is not None:
        print_line(summary(found))
        print_row_lines(kept, wanted, limit)
        return
    _print_summary(found)
    _print_partitions(found, limit)
    if files:
        _print_files(found, limit)
    _print_schema(found)


def _document(diff: StateDiff, *, files: bool) -> dict[str, object]:
    listed = partition_lines(partitions_of(diff.places), diff.after.schema)
    document: dict[str, object] = {
        "summary": summary(diff),
        "a": _state_object(diff.before),
        "b": _state_object(diff.after),
        "same": diff.is_empty,
        "rows": {
            "added": _bounds_object(diff.rows.added),
            "removed": _bounds_object(diff.rows.removed),
            "changed": _bounds_object(diff.rows.changed),
            "net": diff.rows.net,
            "exact": diff.rows.is_exact,
            "why_not_exact": list(diff.rows.reasons),
        },
        "files": {
            "only_a": diff.only_in(after=False),
            "only_b": diff.only_in(after=True),
            "shared": diff.shared,
            "with_other_deletion_vectors": len(diff.masks),
        },
        "partitions": [to_plain(line) for line in listed],
        "schema": {"verdict": str(diff.schema.verdict), "changes": diff.schema.changes},
        "manifests": {"of_one_side": diff.manifests_read, "of_both": diff.manifests_skipped},
    }
    if files:
        document["only_a"] = _listed_files(diff, after=False)
        document["only_b"] = _listed_files(diff, after=True)
    return document


def _state_object(state: TableState) -> dict[str, object]:
    snapshot = state.snapshot
    return {
        "name": str(state.name),
        "pinned": str(state.pinned),
        "branch": state.branch,
        "snapshot": None if snapshot is None else snapshot.id,
        "identity": None if snapshot is None else snapshot.identity.short,
        "schema": state.schema.id,
    }


def _bounds_object(bounds: Bounds) -> dict[str, object]:
    return {"at_least": bounds.low, "at_most": bounds.high, "label": label_of(bounds)}


def _listed_files(diff: StateDiff, *, after: bool) -> pa.Table:
    return diff.files_of(after=after).select(list(_FILE_COLUMNS))


def _print_summary(diff: StateDiff) -> None:
    print_line(summary(diff))
    print_line()
    rows = {
        f"rows {what}": f"{bounds_text(bounds)}  ({label_of(bounds)})"
        for what, bounds in (
            ("added", diff.rows.added),
            ("removed", diff.rows.removed),
            ("changed", diff.rows.changed),
        )
        if bounds.high or what != "changed"
    }
    print_fields(
        {
            **rows,
            "row count": net_words(diff.rows),
            "why bounds": list(diff.rows.reasons) or None,
            "only in A": _totals(diff.only_in(after=False)),
            "only in B": _totals(diff.only_in(after=True)),
            "in both": _totals(diff.shared),
            "deletion vectors": f"differ for {len(diff.masks):,} shared files"
            if diff.masks
            else None,
            "schema": "same" if diff.schema.is_empty else str(diff.schema.verdict),
            "manifests": f"{diff.manifests_read:,} of one side, {diff.manifests_skipped:,} of both",
        }
    )


def _totals(totals: Totals) -> str:
    rows = "-" if totals.row_count is None else f"{totals.row_count:,}"
    return f"{totals.file_count:,} files, {size(totals.byte_count)}, {rows} rows in them"


def _print_partitions(diff: StateDiff, limit: int) -> None:
    partitions = partitions_of(diff.places)
    if not partitions.num_rows:
        return
    print_line()
    lines = partition_lines(partitions, diff.after.schema, slice(0, limit or None))
    print_rows(
        ("partition", ">files A", ">files B", ">bytes A", ">bytes B", ">rows A", ">rows B"),
        (
            (
                line.name,
                line.files_before,
                line.files_after,
                size(line.bytes_before),
                size(line.bytes_after),
                line.rows_before,
                line.rows_after,
            )
            for line in lines
        ),
        total=partitions.num_rows,
    )


def _print_files(diff: StateDiff, limit: int) -> None:
    print_line()
    listed = diff.files.slice(0, limit or None).select(["is_after", *_FILE_COLUMNS])
    print_rows(
        ("only in", ">bucket", ">level", "file", ">bytes", ">rows", ">hidden", ">schema"),
        (("AB"[row.pop("is_after")], *row.values()) for row in listed.to_pylist()),
        total=diff.files.num_rows,
    )


def _print_schema(diff: StateDiff) -> None:
    if diff.schema.is_empty:
        return
    print_line()
    print_rows(
        ("change", "of", "from", "to", "verdict", "why"),
        (
            (str(each.kind), each.subject, each.before, each.after, str(each.verdict), each.reason)
            for each in diff.schema.changes
        ),
    )
