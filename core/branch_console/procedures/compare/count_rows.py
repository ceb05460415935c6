"""Rows of two states of a table with a primary key, counted by the row engine."""

from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.diff.file_figures import state_figure, tells_rows
from branch_console.diff.rows.row_diff import plan_row_diff
from branch_console.diff.rows.row_figure import RowCounts, RowFigure
from branch_console.diff.state_diff import ComparedState, StateDiff
from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.identifier import Identifier
from branch_console.format.manifest_entry import NO_FILES
from branch_console.format.receipt import Receipt
from branch_console.operations.compare_requests import CountRowsRequest
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.row_engine import Progress, RowEngine
from branch_console.procedures.call.row_figures import figure_of_files
from branch_console.procedures.call.stages import Facts, Stages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.compare.rows import row_diff_name
from branch_console.procedures.compare.states import compare_states
from branch_console.procedures.run.receipts import receipt_of_stage
from branch_console.procedures.run.running_reads import holding, states_read
from branch_console.table.file_store_table import FileStoreTable

COUNT_ROWS: Final = CountRowsRequest.procedure
MOST_RECORDS: Final = 200_000
MOST_BYTES: Final = 64 << 20
"""Up to either of both, a page counts rows without being asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CountWork:
    """The most that counting rows would read; sizes in bytes."""

    records: int
    size: int

    @property
    def is_small(self) -> bool:
        """Whether it is done before anybody has decided whether to ask for it."""
        return self.records <= MOST_RECORDS or self.size <= MOST_BYTES


def count_name(table: Identifier, diff: StateDiff) -> str:
    """Return what the rows of two states are kept under; the same for the same two contents."""
    return row_diff_name(table, diff)


def weigh_count(warehouse: Warehouse, identifier: Identifier, diff: StateDiff) -> CountWork:
    """Tell from the entries of both states how much counting their rows would read at most."""
    table, sides = warehouse.table(identifier), (diff.before, diff.after)
    found = [_files_to_read(table.on(side.branch), side, diff) for side in sides]
    return CountWork(
        records=max(_sum(files["row_count"]) for files in found),
        size=max(_sum(files["file_size"]) for files in found),
    )


def _sum(column: pa.ChunkedArray) -> int:
    return int(pc.sum(column).as_py() or 0)


def _files_to_read(table: FileStoreTable, state: ComparedState, diff: StateDiff) -> pa.Table:
    """The files of a state in buckets that differ, or whose entries do not tell their rows."""
    if state.snapshot is None:
        return NO_FILES
    files = table.live_files(state.snapshot)
    differs = pc.is_in(files["partition"], value_set=pc.unique(diff.places["partition"]))
    return files.filter(pc.or_(differs, pc.invert(tells_rows(files, state.schema))))


def count_rows(
    warehouse: Warehouse, rows: RowEngine, call: ProcedureCall, stages: Stages
) -> Receipt:
    """Count the rows of two states of a table; the table is left as it is.

    Arguments of the call: `table`; `a` and `b`, states as `parse_state_name` reads them.

    Raises:
        InvalidInput: A text names no state, or the table has no primary key.
        NotFound: There is no such branch, snapshot or tag.
    """
    return receipt_of_stage(
        warehouse,
        call,
        stages,
        "count rows",
        lambda progress: _counted(warehouse, rows, call, progress),
        message="Reading the keys of files that may have a key in common.",
    )


def _counted(
    warehouse: Warehouse, rows: RowEngine, call: ProcedureCall, progress: Progress
) -> Facts:
    asked = call.request(CountRowsRequest)
    identifier = Identifier.parse(asked.table)
    diff = compare_states(warehouse, identifier, asked.before, asked.after)
    with holding(warehouse, call, states_read(warehouse.table(identifier), diff)):
        found = count_rows_of(warehouse, rows, identifier, diff, progress)
    return {
        "plan_id": count_name(identifier, diff),
        "notes": [
            f"Rows {found.before:,} \N{RIGHTWARDS ARROW} {found.after:,}: {found.words}.",
            "Nothing was changed.",
        ],
    }


def count_rows_of(
    warehouse: Warehouse,
    rows: RowEngine,
    identifier: Identifier,
    diff: StateDiff,
    progress: Progress,
) -> RowCounts:
    """Count the rows of two states that were compared by their files.

    Raises:
        InvalidInput: The table has no primary key, or the states have different ones.
    """
    if not diff.after.schema.primary_keys:
        raise InvalidInput(
            f"Rows are counted by their primary key, which table {identifier.table_name} lacks. "
            "Compare the rows of two states instead.",
            kind=ErrorKind.UNSUPPORTED,
        )
    name = count_name(identifier, diff)
    return rows.count_rows(warehouse.table(identifier), plan_row_diff(diff), name, progress)


def figure_of_state(
    warehouse: Warehouse, identifier: Identifier, state: ComparedState
) -> RowFigure:
    """Tell from its files how many rows a state has.

    Raises:
        FormatError: A manifest cannot be decoded.
    """
    table = warehouse.table(identifier).on(state.branch)
    snapshot = state.snapshot
    if snapshot is None or not table.schema().primary_keys:
        return state_figure(snapshot, table.schema(), state.branch, table.index_entries)
    return figure_of_files(table, snapshot, table.live_files(snapshot), state.schema)
