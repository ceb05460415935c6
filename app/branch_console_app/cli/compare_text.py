"""The differences of two states of a table, as a document and as lines."""

from dataclasses import asdict
from typing import Final

import pyarrow as pa

from branch_console.diff.rows.row_bounds import CountBounds
from branch_console.diff.state_diff import ComparedState, StateDiff, StateTotals
from branch_console_app.cli.output import print_fields, print_line, print_rows, size
from branch_console_app.models.compare.states import (
    PartitionLine,
    bounds_text,
    label_of,
    moved_noun,
    net_words,
    partition_lines,
    partitions_of,
    summary,
)

_FILE_COLUMNS: Final = (
    "bucket", "level", "file_name", "file_size", "row_count", "masked", "schema_id",
)  # fmt: skip


def states_document(diff: StateDiff, *, files: bool) -> dict[str, object]:
    """Return what differs for a JSON document, with the files of one side where wanted."""
    listed = partition_lines(partitions_of(diff.places), diff.after.schema)
    document: dict[str, object] = {
        "summary": summary(diff),
        "a": _state_object(diff.before),
        "b": _state_object(diff.after),
        "same": diff.is_empty,
        "rows": {
            "added": bounds_object(diff.rows.added),
            "removed": bounds_object(diff.rows.removed),
            "changed": bounds_object(diff.rows.changed),
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
        "partitions": [_partition_object(line, moved_noun(diff)) for line in listed],
        "schema": {"verdict": str(diff.schema.verdict), "changes": diff.schema.changes},
        "manifests": {"of_one_side": diff.manifests_read, "of_both": diff.manifests_skipped},
    }
    if files:
        document["only_a"] = _listed_files(diff, after=False)
        document["only_b"] = _listed_files(diff, after=True)
    return document


def _state_object(state: ComparedState) -> dict[str, object]:
    snapshot = state.snapshot
    return {
        "name": str(state.name),
        "pinned": str(state.pinned),
        "branch": state.branch,
        "snapshot": None if snapshot is None else snapshot.id,
        "identity": None if snapshot is None else snapshot.identity.short,
        "schema": state.schema.id,
    }


def _partition_object(line: PartitionLine, noun: str) -> dict[str, object]:
    """Return a partition as JSON values; keys such as `rows_before` name what is counted."""
    sides = {f"rows_{side}": f"{noun}_{side}" for side in ("before", "after")}
    return {sides.get(key, key): value for key, value in asdict(line).items()}


def bounds_object(bounds: CountBounds) -> dict[str, object]:
    """Return a number as far as it is known, for a JSON document."""
    return {"at_least": bounds.low, "at_most": bounds.high, "label": label_of(bounds)}


def _listed_files(diff: StateDiff, *, after: bool) -> pa.Table:
    return diff.files_of(after=after).select(list(_FILE_COLUMNS))


def print_summary(diff: StateDiff) -> None:
    """Print what differs, in a line."""
    print_line(summary(diff))


def print_states(diff: StateDiff, limit: int, *, files: bool) -> None:
    """Print what differs: a summary, the partitions, the files where wanted, the schema."""
    print_summary(diff)
    print_line()
    _print_figures(diff)
    _print_partitions(diff, limit)
    if files:
        _print_files(diff, limit)
    _print_schema(diff)


def _print_figures(diff: StateDiff) -> None:
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
            "why not exact": list(diff.rows.reasons) or None,
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


def _totals(totals: StateTotals) -> str:
    records = "-" if totals.record_count is None else f"{totals.record_count:,}"
    return f"{totals.file_count:,} files, {size(totals.byte_count)}, {records} records in them"


def _print_partitions(diff: StateDiff, limit: int) -> None:
    partitions = partitions_of(diff.places)
    if not partitions.num_rows:
        return
    print_line()
    lines = partition_lines(partitions, diff.after.schema, slice(0, limit or None))
    what, has_deletes = moved_noun(diff), any(line.has_deletes for line in lines)
    headings = ("partition", ">files A", ">files B", ">bytes A", ">bytes B", f">{what} A")
    print_rows(
        (*headings, f">{what} B", *((">deletes A", ">deletes B") if has_deletes else ())),
        (
            (
                line.name,
                line.files_before,
                line.files_after,
                size(line.bytes_before),
                size(line.bytes_after),
                line.rows_before,
                line.rows_after,
                *((line.deletes_before, line.deletes_after) if has_deletes else ()),
            )
            for line in lines
        ),
        total=partitions.num_rows,
    )


def _print_files(diff: StateDiff, limit: int) -> None:
    print_line()
    listed = diff.files.slice(0, limit or None).select(["is_after", *_FILE_COLUMNS])
    print_rows(
        ("only in", ">bucket", ">level", "file", ">bytes", ">records", ">hidden", ">schema"),
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
