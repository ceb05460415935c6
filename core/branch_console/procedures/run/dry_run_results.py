"""The staged results of dry runs: kept, used by the merge that publishes them, then removed."""

from dataclasses import replace
from typing import Final

import pyarrow.compute as pc

from branch_console.commit.branch.data_copy import remove_copies
from branch_console.commit.rows.staged_results import (
    claim_staged,
    find_staged,
    forget_staged,
    is_claimed,
    keep_staged,
    staged_results,
)
from branch_console.diff.history_move import count
from branch_console.errors import ErrorKind, NotFound, Refused
from branch_console.format.identifier import Identifier
from branch_console.format.journals.written import JudgedResult, StagedResult, WrittenRows
from branch_console.merge.known_rows import STAGED_KEPT_MILLIS, StagedFigures
from branch_console.operations.merge_requests import MergeRequest
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.permissions import Role, check_role
from branch_console.procedures.call.target_branch import target_table
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.run.quality_gate import depends_on_time
from branch_console.procedures.run.written_messages import messages_of, written_paths
from branch_console.procedures.run.written_rows import (
    adopt_staged_rows,
    names_of_rows,
)
from branch_console.storage.table_paths import TablePaths
from branch_console.table.data_file_paths import data_file_paths, index_file_paths
from branch_console.table.file_store_table import FileStoreTable

KEPT_EARLIER_RESULT: Final = "What was staged before is as good: it is published as it is."
"""The note of a dry run that keeps an earlier result of the same plan."""

_SWEEPER: Final = "forgotten"


def keep_result(
    warehouse: Warehouse,
    call: ProcedureCall,
    target: FileStoreTable,
    plan_id: str,
    written: WrittenRows,
    judged: JudgedResult | None,
) -> str | None:
    """Keep the staged result of a plan; it replaces the result of an earlier plan of this merge.

    Args:
        warehouse: The warehouse of the table.
        call: The merge that was tried.
        target: The table on the branch that is merged into.
        plan_id: The id of its plan.
        written: What settled rows left, in files that nothing names; removed if none keeps it.
        judged: What the quality gate said; not kept where time or a person's reason made it.

    Returns:
        A sentence on what was kept; None if somebody publishes this very plan by now.
    """
    if has_result(warehouse, target, plan_id):
        # Another dry run was first; nothing came to name the files of this one.
        remove_copies(warehouse.store, written_paths(target, messages_of(written.row_messages)))
        return KEPT_EARLIER_RESULT
    lasts = call.agreement.override_gate is None and not depends_on_time(warehouse, call)
    staged = StagedResult(
        plan_id=plan_id,
        subject=f"{call.request(MergeRequest).source} into {target.branch}",
        branch=target.branch,
        time_millis=warehouse.clock(),
        written=written,
        judged=judged if lasts else None,
    )
    forget_old_results(warehouse, target, superseded_by=staged)
    if not keep_staged(warehouse.store, target.paths, staged):
        return None
    return "Kept for a day: while no head moves, it is published as it is."


def has_result(warehouse: Warehouse, target: FileStoreTable, plan_id: str) -> bool:
    """Whether a result of a plan is kept that nobody has taken."""
    files, paths = warehouse.store.files, target.paths
    return find_staged(files, paths, plan_id) is not None and not is_claimed(files, paths, plan_id)


def find_staged_figures(
    warehouse: Warehouse, table: Identifier, plan_id: str
) -> StagedFigures | None:
    """Return the counts of the result that is kept for a plan; None if a merge can use none.

    Raises:
        NotFound: There is no such table or branch.
    """
    staged = _find_offered(warehouse, warehouse.table(table).paths, plan_id)
    return None if staged is None else StagedFigures.of(staged)


def find_judgement(
    warehouse: Warehouse, target: FileStoreTable, plan_id: str
) -> JudgedResult | None:
    """Return the verdict on the result that is kept for a plan; None if the rules run again."""
    staged = _find_offered(warehouse, target.paths, plan_id)
    return None if staged is None else staged.judged


def _find_offered(warehouse: Warehouse, paths: TablePaths, plan_id: str) -> StagedResult | None:
    """Return a kept result that a merge can still take."""
    files = warehouse.store.files
    staged = find_staged(files, paths, plan_id)
    if staged is None or staged.time_millis <= warehouse.clock() - STAGED_KEPT_MILLIS:
        return None
    return None if is_claimed(files, paths, plan_id) else staged


def find_result(warehouse: Warehouse, target: FileStoreTable, plan_id: str) -> StagedResult | None:
    """Return a kept result; one of which a file is gone is forgotten."""
    staged = find_staged(warehouse.store.files, target.paths, plan_id)
    if staged is None:
        return None
    if _is_whole(warehouse, target, staged):
        # Under this name nobody but the merge that takes them speaks of the rows.
        return replace(staged, written=replace(staged.written, staged_rows=None))
    _drop(warehouse, target, staged, _SWEEPER)
    return None


def take_result(
    warehouse: Warehouse, call: ProcedureCall, target: FileStoreTable, plan_id: str
) -> StagedResult | None:
    """Return what `find_result` does, and let nobody else have it.

    Whoever takes a result publishes its files, or removes them; either way it is forgotten then.
    """
    staged = find_staged(warehouse.store.files, target.paths, plan_id)
    if staged is None:
        return None
    if not claim_staged(warehouse.store, target.paths, plan_id, call.operation_id):
        return None
    if _is_whole(warehouse, target, staged):
        adopt_staged_rows(warehouse, call, target, staged.written)
        return staged
    _drop(warehouse, target, staged, call.operation_id)
    return None


def forget_result(warehouse: Warehouse, target: FileStoreTable, plan_id: str) -> None:
    """Forget a result that was taken."""
    forget_staged(warehouse.store, target.paths, plan_id)


def discard_result(warehouse: Warehouse, call: ProcedureCall, plan_id: str) -> None:
    """Discard what a dry run staged: its files, and the note of it; nothing if none is kept.

    Args:
        warehouse: Where the table lies.
        call: The merge that was tried; its actor discards.
        plan_id: Of its plan.

    Raises:
        NotAllowed: The role does not reach, or the warehouse is open for reading only.
        Refused: A merge has taken the result, and publishes it now.
    """
    check_role(call.role, Role.EDITOR, "discard a staged result")
    warehouse.check_writable()
    target = target_table(warehouse, call)
    staged = find_staged(warehouse.store.files, target.paths, plan_id)
    if staged is not None and not _drop(warehouse, target, staged, _SWEEPER):
        raise Refused(
            f"The staged result for {target.branch!r} was not discarded: a merge publishes it now. "
            "Undo that merge once it is done.",
            kind=ErrorKind.BRANCH_IN_USE,
            plan_id=plan_id,
        )


def forget_old_results(
    warehouse: Warehouse, table: FileStoreTable, *, superseded_by: StagedResult | None = None
) -> None:
    """Remove results that nobody published in time, or that a newer result replaces.

    Files of a result that somebody has taken are left to them.
    """
    oldest = warehouse.clock() - STAGED_KEPT_MILLIS
    for each in staged_results(warehouse.store.files, table.paths):
        is_superseded = (
            superseded_by is not None
            and each.subject == superseded_by.subject
            and each.plan_id != superseded_by.plan_id
        )
        if not is_superseded and each.time_millis > oldest:
            continue
        if not _drop(warehouse, table, each, _SWEEPER) and each.time_millis <= oldest:
            forget_staged(warehouse.store, table.paths, each.plan_id)


def names_kept(warehouse: Warehouse, table: FileStoreTable) -> set[str]:
    """The names of the files of all kept results that nobody has taken."""
    files, paths = warehouse.store.files, table.paths
    return {
        name
        for each in staged_results(files, paths)
        if not is_claimed(files, paths, each.plan_id)
        for name in names_of_rows(each.written.row_messages)
    }


def rows_staged(written: WrittenRows) -> str:
    """Tell how many records were written, in a sentence; blank if none were."""
    files = [
        each.new_files for each in messages_of(written.row_messages) if each.new_files.num_rows
    ]
    if not files:
        return ""
    records = sum(int(pc.sum(each["row_count"]).as_py()) for each in files)
    number = sum(each.num_rows for each in files)
    return f"{count(records, 'record')} staged in {count(number, 'file')}."


def _drop(warehouse: Warehouse, table: FileStoreTable, staged: StagedResult, holder: str) -> bool:
    """Remove the files of a result and forget it; False if it is somebody else's."""
    if not claim_staged(warehouse.store, table.paths, staged.plan_id, holder):
        return False
    remove_copies(warehouse.store, _paths_of(table, staged))
    forget_staged(warehouse.store, table.paths, staged.plan_id)
    return True


def _is_whole(warehouse: Warehouse, target: FileStoreTable, staged: StagedResult) -> bool:
    """Whether each file is there as it was written: other engines remove what no snapshot names."""
    for each in messages_of(staged.written.row_messages):
        paths = [
            *data_file_paths(target, each.new_files).to_pylist(),
            *index_file_paths(target, each.new_index_files),
        ]
        sizes = [
            *each.new_files["file_size"].to_pylist(),
            *each.new_index_files["file_size"].to_pylist(),
        ]
        for path, size in zip(paths, sizes, strict=True):
            found = warehouse.store.files.status(path)
            if found is None or found.size != size:
                return False
    return True


def _paths_of(table: FileStoreTable, staged: StagedResult) -> list[str]:
    messages = messages_of(staged.written.row_messages)
    try:
        return written_paths(table.on(staged.branch), messages)
    except NotFound:
        # The branch was dropped: files of a table lie in the same places on every branch.
        return written_paths(table, messages)
