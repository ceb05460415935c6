"""The consequences of a merge that follow from its rows, before and after jobs looked at them."""

from dataclasses import replace
from typing import Final

from branch_console.diff.history_move import count
from branch_console.diff.rows.row_figure import with_sign
from branch_console.errors import ErrorKind
from branch_console.merge.known_rows import (
    NOTHING_KNOWN,
    KnownRows,
    ResultFigures,
    count_result,
)
from branch_console.merge.plan import Plan, ThreeWayPlan, cost_of, merging
from branch_console.procedures.call.consequence import Consequence, Preview, blocks, changes

COUNTED_BY_DRY_RUN: Final = "A dry run counts the data files that change, and their records."
COUNTED_ONCE_SETTLED: Final = (
    "Once all conflicts are settled, a dry run counts the data files that change, and their "
    "records."
)
"""When the changes of a merge are known, which the comparison of rows does not count."""


def preview_knowing(preview: Preview, plan: Plan, known: KnownRows) -> Preview:
    """Return the preview of a merge with what jobs have found out about the rows of its plan.

    Args:
        preview: Made from the plan alone.
        plan: The merge.
        known: The conflicts that a comparison found, and the result that a dry run staged.
    """
    found = merging(plan)
    if found is None:
        return preview
    said = zip(_of_rows(found, NOTHING_KNOWN), _of_rows(found, known), strict=True)
    instead = dict(said)
    return replace(
        preview, consequences=tuple(instead.get(each, each) for each in preview.consequences)
    )


def _of_rows(plan: ThreeWayPlan, known: KnownRows) -> list[Consequence]:
    """The consequences that depend on what is known of rows."""
    return [*comparison_consequences(plan, known), snapshot_consequence(plan, known)]


def comparison_consequences(plan: Plan, known: KnownRows = NOTHING_KNOWN) -> list[Consequence]:
    """Say that rows are compared first, or what their comparison found; nothing if none is due."""
    if not cost_of(plan).buckets_to_compare:
        return []
    if not known.is_compared:
        text = "Rows are compared first. If some collide, the merge stops and"
        return [changes(f"{text} {plan.target!r} is not changed.")]
    if known.open_conflicts:
        return [
            blocks(
                f"{count(known.open_conflicts, 'conflict')} of rows must be settled first.",
                ErrorKind.CONFLICTS_OPEN,
            )
        ]
    if known.conflicts:
        one, many = "the one conflict is", f"all {count(known.conflicts, 'conflict')} are"
        settled = one if known.conflicts == 1 else many
        return [changes(f"Rows were compared; {settled} settled.")]
    return [changes("Rows were compared; none of them collide.")]


def snapshot_consequence(plan: ThreeWayPlan, known: KnownRows = NOTHING_KNOWN) -> Consequence:
    """Say that the target gets a snapshot, and what is counted of its change."""
    return changes(f"{plan.target!r} gets 1 snapshot. {_counted(plan, known)}".rstrip())


def _counted(plan: ThreeWayPlan, known: KnownRows) -> str:
    """Say how many files and rows a merge changes, or when that is known; empty if it never is."""
    result = count_result(plan, known)
    if result is None:
        if plan.conflicts or known.open_conflicts:
            return COUNTED_ONCE_SETTLED
        return "" if known.is_stopped else COUNTED_BY_DRY_RUN
    files = _files(result.files_added, result.files_removed, plan.target)
    if result.rows_counted is not None:
        before, after = result.rows_counted
        if before == after:
            kept = same_rows_words(result, after, has_key=plan.did.ours.has_key)
            return f"{files}. {plan.target!r} has {kept}."
        return f"{files}. {plan.target!r} has {before:,} rows now and {after:,} after the merge."
    reads = "" if plan.reads_rows else " Files are reused, so no row is read or rewritten."
    if result.figure.rows == 0:
        return f"{files}; the number of rows stays the same.{reads}"
    return f"{files}: {result.figure.words(with_sign)}.{reads}"


def same_rows_words(result: ResultFigures, rows: int, *, has_key: bool) -> str:
    """Say that a target has as many rows after a merge as before, and what may differ.

    Args:
        result: The counts of the merge.
        rows: The number of rows.
        has_key: Whether the table has a primary key, so that a record can change or delete a row.
    """
    same = f"{count(rows, 'row')} before and after"
    if not result.records_in:
        return same
    # The number alone reads as if nothing changed.
    hold = "the added file holds" if result.files_added == 1 else "the added files hold"
    written = f"{same}, as many added as deleted; {hold} {count(result.records_in, 'record')}"
    return written if has_key else f"{written}, and a rewritten file repeats the rows that stay"


def _files(added: int, removed: int, target: str) -> str:
    """Say how many data files a target gets and loses; a zero is left out."""
    if not added and removed:
        return f"{count(removed, 'data file')} {_is(removed)} removed from {target!r}"
    lost = f", {removed:,} {_is(removed)} removed" if removed else ""
    return f"{count(added, 'data file')} {_is(added)} added to {target!r}{lost}"


def _is(number: int) -> str:
    return "is" if number == 1 else "are"
