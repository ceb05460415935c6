"""What a dry run staged: kept, taken by the merge that publishes it, and forgotten in time."""

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from core.commit.data_copy import remove_copies
from core.commit.staged_results import (
    StagedResult,
    claim_staged,
    find_staged,
    forget_staged,
    is_claimed,
    keep_staged,
    staged_results,
)
from core.diff.history_move import count
from core.errors import NotFound
from core.format.json_text import JsonObject
from core.procedures.call import ProcedureCall
from core.procedures.merge_rows import messages_from, written_paths
from core.procedures.preview_merge import target_table
from core.procedures.stages import Facts
from core.procedures.warehouse import Warehouse
from core.table.data_file_paths import data_file_paths
from core.table.file_store_table import FileStoreTable

KEPT_MILLIS: Final = 24 * 3_600_000
"""How long a result is kept that nobody publishes: as long as other engines leave such files."""

_SWEEPER: Final = "forgotten"


def keep_result(
    warehouse: Warehouse, call: ProcedureCall, plan_id: str, written: Facts, judged: Facts
) -> bool:
    """Keep what was staged for a plan, in place of what was for an earlier one of this merge.

    Args:
        warehouse: Where the table lies.
        call: The merge that was tried.
        plan_id: Of its plan.
        written: What settled rows left.
        judged: What the quality gate said, where that may be relied on later.

    Returns:
        Whether a merge finds it: False where another result of the same plan is kept already.
    """
    target = target_table(warehouse, call)
    staged = StagedResult(
        plan_id=plan_id,
        subject=f"{call.find_text('branch')} into {target.branch}",
        branch=target.branch,
        time_millis=warehouse.clock(),
        written=written,
        judged=judged,
    )
    forget_old_results(warehouse, target, superseded_by=staged)
    return keep_staged(warehouse.store, target.paths, staged)


def has_result(warehouse: Warehouse, call: ProcedureCall, plan_id: str) -> bool:
    """Whether a result of a plan is kept that nobody has taken."""
    files, paths = warehouse.store.files, target_table(warehouse, call).paths
    return find_staged(files, paths, plan_id) is not None and not is_claimed(files, paths, plan_id)


def find_result(warehouse: Warehouse, call: ProcedureCall, plan_id: str) -> Facts:
    """Return `written` and `judged` of a kept result; nothing where a file of it is gone."""
    target = target_table(warehouse, call)
    staged = find_staged(warehouse.store.files, target.paths, plan_id)
    if staged is None or not _is_whole(warehouse, target, staged):
        return {}
    return {"written": dict(staged.written), "judged": dict(staged.judged)}


def take_result(warehouse: Warehouse, call: ProcedureCall, plan_id: str) -> Facts:
    """Return what `find_result` does, and let nobody else have it.

    Whoever takes a result publishes its files, or removes them; either way it is forgotten then.
    """
    paths = target_table(warehouse, call).paths
    if find_staged(warehouse.store.files, paths, plan_id) is None:
        return {}
    if not claim_staged(warehouse.store, paths, plan_id, call.operation_id):
        return {}
    found = find_result(warehouse, call, plan_id)
    if not found:
        forget_result(warehouse, call, plan_id)
    return found


def forget_result(warehouse: Warehouse, call: ProcedureCall, plan_id: str) -> None:
    """Forget a result that was taken."""
    forget_staged(warehouse.store, target_table(warehouse, call).paths, plan_id)


def forget_old_results(
    warehouse: Warehouse, table: FileStoreTable, *, superseded_by: StagedResult | None = None
) -> None:
    """Remove what nobody published in time, or what another result takes the place of.

    Files of a result that somebody has taken are left to them.
    """
    oldest = warehouse.clock() - KEPT_MILLIS
    for each in staged_results(warehouse.store.files, table.paths):
        is_superseded = (
            superseded_by is not None
            and each.subject == superseded_by.subject
            and each.plan_id != superseded_by.plan_id
        )
        if not is_superseded and each.time_millis > oldest:
            continue
        if claim_staged(warehouse.store, table.paths, each.plan_id, _SWEEPER):
            remove_copies(warehouse.store, _paths_of(table, each))
            forget_staged(warehouse.store, table.paths, each.plan_id)
        elif each.time_millis <= oldest:
            forget_staged(warehouse.store, table.paths, each.plan_id)


def rows_staged(written: Facts) -> str:
    """Tell how many rows were written, in a sentence; blank where none were."""
    messages = messages_from(JsonObject(dict(written), "staged result"), "rowMessages")
    files = [each.new_files for each in messages if each.new_files.num_rows]
    if not files:
        return ""
    rows = sum(int(pc.sum(each["row_count"]).as_py()) for each in files)
    number = sum(each.num_rows for each in files)
    return f"{count(rows, 'row')} staged in {count(number, 'file')}."


def _is_whole(warehouse: Warehouse, target: FileStoreTable, staged: StagedResult) -> bool:
    """Whether each file is there as it was written: other engines remove what no snapshot names."""
    files = warehouse.store.files
    messages = messages_from(JsonObject(dict(staged.written), "staged result"), "rowMessages")
    written = pa.concat_tables([each.new_files for each in messages]) if messages else None
    sizes = (
        {}
        if written is None
        else dict(
            zip(
                data_file_paths(target, written).to_pylist(),
                written["file_size"].to_pylist(),
                strict=True,
            )
        )
    )
    for path in written_paths(target, messages):
        found = files.status(path)
        if found is None or sizes.get(path, found.size) != found.size:
            return False
    return True


def _paths_of(table: FileStoreTable, staged: StagedResult) -> list[str]:
    messages = messages_from(JsonObject(dict(staged.written), "staged result"), "rowMessages")
    try:
        return written_paths(table.on(staged.branch), messages)
    except NotFound:
        # The branch was dropped: files of a table lie in the same places on every branch.
        return written_paths(table, messages)
