"""The rows which both sides of a merge changed, as a document and as lines."""

import pyarrow as pa

from branch_console.format.values.readable import readable
from branch_console.merge.plan import Plan, conflicts_of, verdict_of
from branch_console.merge.row_work import without_rows
from branch_console_app.cli.output import print_line, print_rows
from branch_console_app.models.merge.resolver import groups_of
from branch_console_app.models.merge.row_conflicts import conflict_lines


def conflicts_document(plan: Plan, found: pa.Table | None, limit: int) -> dict[str, object]:
    """Return the conflicts of a plan for a JSON document; None says rows were not compared."""
    return {
        "plan": plan.id,
        "verdict": str(verdict_of(plan)),
        "conflicts": 0 if found is None else found.num_rows,
        "open": 0 if found is None else found["take"].null_count,
        "groups": [] if found is None else list(groups_of(found)),
        "rows": [] if found is None else _rows(found, limit),
        # Of files and schemas, which also make the command end with 1.
        "other_conflicts": [each.to_object() for each in conflicts_of(plan)],
    }


def _rows(found: pa.Table, limit: int) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = readable(
        without_rows(found.slice(0, limit or None))
    ).to_pylist()
    return rows


def print_conflicts(found: pa.Table | None, limit: int) -> None:
    """Print how many rows of which kind were changed on both sides, and the first of them."""
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
                each.base,
                each.ours,
                each.theirs,
                "a value changed since" if each.needs_another_look else each.result,
            )
            for each in lines
        ),
        total=found.num_rows,
    )
