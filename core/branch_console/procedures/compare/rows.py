"""Rows of two states, compared by the row engine as a job and kept where pages find them."""

from branch_console.diff.rows.row_diff import plan_row_diff
from branch_console.diff.rows.row_kind import RowKind
from branch_console.diff.state_diff import StateDiff
from branch_console.format.identifier import Identifier
from branch_console.format.receipt import Receipt
from branch_console.operations.compare_requests import CompareStatesRequest
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.row_engine import Progress, RowEngine
from branch_console.procedures.call.row_figures import states_name
from branch_console.procedures.call.stages import Facts, Stages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.compare.states import compare_states
from branch_console.procedures.run.receipts import receipt_of_stage
from branch_console.procedures.run.running_reads import holding, states_read


def row_diff_name(table: Identifier, diff: StateDiff) -> str:
    """Return what the rows of two states are kept under; the same for the same two contents."""
    before, after = ((each.schema, each.snapshot) for each in (diff.before, diff.after))
    return states_name(table, before, after)


def compare_rows_of_states(
    warehouse: Warehouse, rows: RowEngine, call: ProcedureCall, stages: Stages
) -> Receipt:
    """Find the rows in which two states of a table differ; the table is left as it is.

    Arguments of the call: `table`; `a` and `b`, states as `parse_state_name` reads them.

    Raises:
        InvalidInput: A text names no state, or the rows cannot be compared.
        NotFound: There is no such branch, snapshot or tag.
    """
    return receipt_of_stage(
        warehouse,
        call,
        stages,
        "compare rows",
        lambda progress: _compared(warehouse, rows, call, progress),
        message="Reading the files that only one side has, and what they overlap.",
    )


def _compared(
    warehouse: Warehouse, rows: RowEngine, call: ProcedureCall, progress: Progress
) -> Facts:
    asked = call.request(CompareStatesRequest)
    identifier = Identifier.parse(asked.table)
    diff = compare_states(warehouse, identifier, asked.before, asked.after)
    work, name = plan_row_diff(diff), row_diff_name(identifier, diff)
    facts = {
        "before": str(diff.before.pinned),
        "after": str(diff.after.pinned),
        "not_compared": list(work.not_compared),
        "finished_millis": warehouse.clock(),
    }
    table = warehouse.table(identifier)
    with holding(warehouse, call, states_read(table, diff)):
        counts = rows.compare_states(table, work, name, facts, progress)
    found = ", ".join(f"{counts.get(kind, 0):,} {kind}" for kind in RowKind)
    return {
        "plan_id": name,
        "notes": [f"Rows: {found}.", *work.not_compared, "Nothing was changed."],
    }
