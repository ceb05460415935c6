"""Rows of two states compared in this process: the tasks of the worker, without Spark."""

from collections.abc import Iterator

import pyarrow as pa

from branch_console.diff.rows.row_diff import RowDiffWork, plan_row_diff
from branch_console.format.identifier import Identifier
from branch_console.jobs.kept_diffs import KeptDiffs
from branch_console.procedures.compare.rows import row_diff_name
from branch_console.procedures.compare.states import compare_states
from branch_console.spark.compare.compare_units import plan_units
from branch_console.spark.compare.row_compare import task_of
from branch_console.storage.file_io import FileIO
from branch_console.table.file_store_table import FileStoreTable
from branch_console_app.services import Services


def compared_rows(store: FileIO, table: FileStoreTable, work: RowDiffWork) -> Iterator[pa.Table]:
    """What `compare_rows` finds, with the columns of `work.layout`."""
    task, units = task_of(store, table, work), plan_units(store, table, work)
    if work.keys:
        yield from (task.compare(unit) for unit in units)
        return
    counts = [batch for unit in units for batch in task.count(unit)]
    if counts:
        yield from task.summed(pa.Table.from_batches(counts))


def keep_rows(services: Services, identifier: Identifier, before: str, after: str) -> None:
    """Let a page find the rows in which two states differ, as a job would have kept them."""
    warehouse = services.warehouse
    diff = compare_states(warehouse, identifier, before, after)
    work = plan_row_diff(diff)
    found = compared_rows(warehouse.file_io, warehouse.table(identifier), work)
    kept = KeptDiffs(folder=services.job_settings.diffs_path)
    with kept.draft(row_diff_name(identifier, diff)) as draft:
        draft.write(found, work, {"not_compared": []})
