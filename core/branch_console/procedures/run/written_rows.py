"""Rows of a merge that are written before anything is published, from a call's side.

Whoever writes them names them in what its stage leaves (`WrittenRows.staged_rows`), for the
operation that takes them, or for recovery.
"""

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from branch_console.commit.branch.data_copy import remove_copies
from branch_console.commit.rows.staged_rows import StagedRows
from branch_console.commit.rows.write_files import names_in
from branch_console.errors import CommitConflict, ErrorKind, PaimonError, Refused
from branch_console.format.journals.merge import MergeJournal
from branch_console.format.journals.written import WrittenBucket, WrittenRows
from branch_console.merge.plan import Plan, merging
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.run.written_messages import messages_of, written_paths
from branch_console.table.file_store_table import FileStoreTable

_log = logging.getLogger(__name__)


@contextmanager
def staging(
    warehouse: Warehouse, call: ProcedureCall, target: FileStoreTable, plan: Plan
) -> Iterator[StagedRows | None]:
    """Tell the journal of rows that are about to be written; None if a plan writes none.

    What was written goes where the body fails. Tasks that were stopped may yet end a file: recovery
    looks for it once more.
    """
    merge = merging(plan)
    if merge is None or not merge.writes_rows:
        yield None
        return
    staged = begin_staged_rows(warehouse, call, target)
    try:
        yield staged
    except Refused:
        staged.forget()
        raise
    except BaseException:
        try:
            staged.remove()
            staged.release()
        except PaimonError as error:
            _log.warning("files of %s stay until recovery: %s", staged.id, error)
        raise


def withdraw_rows(
    warehouse: Warehouse, call: ProcedureCall, target: FileStoreTable, written: WrittenRows
) -> None:
    """Remove the files of settled rows of a merge that is not carried out."""
    remove_copies(warehouse.store, written_paths(target, messages_of(written.row_messages)))
    forget_staged_rows(warehouse, call, target, written)


def begin_staged_rows(
    warehouse: Warehouse,
    call: ProcedureCall,
    target: FileStoreTable,
    staged_id: str | None = None,
) -> StagedRows:
    """Record the rows that a call will write, or takes from another, in the journal."""
    return StagedRows.begin(
        target,
        warehouse.store,
        operation_id=call.operation_id,
        actor=call.actor,
        statement=call.statement,
        clock=warehouse.clock,
        staged_id=staged_id,
    )


def take_staged_rows(
    warehouse: Warehouse, call: ProcedureCall, target: FileStoreTable, written: WrittenRows
) -> None:
    """Make the rows that a stage wrote those of the operation that is about to begin.

    Raises:
        CommitConflict: Recovery removed them, as their run seemed to be over.
    """
    staged = _staged_rows(warehouse, target, written)
    if staged is not None and not staged.take(call.operation_id):
        raise CommitConflict(
            "The rows that were settled are gone: recovery removed them, as this run was cancelled "
            "or cut off. Nothing was changed; merge again.",
            kind=ErrorKind.INTERRUPTED,
        )


def hand_over_staged_rows(
    warehouse: Warehouse,
    call: ProcedureCall,
    target: FileStoreTable,
    written: WrittenRows,
    begun: Iterable[WrittenBucket] | None,
) -> None:
    """Leave the rows that a stage wrote to the operation that has begun.

    Args:
        warehouse: The warehouse of the table.
        call: The merge.
        target: The table on the branch that is merged into.
        written: What the stage left.
        begun: The rows that the operation began with. Another run may have begun it, with rows of
            its own: those of this one are removed.
    """
    staged = _staged_rows(warehouse, target, written)
    if staged is None:
        return
    if names_of_rows(written.row_messages).isdisjoint(names_of_rows(begun)):
        withdraw_rows(warehouse, call, target, written)
    else:
        staged.forget()


def forget_staged_rows(
    warehouse: Warehouse, call: ProcedureCall, target: FileStoreTable, written: WrittenRows
) -> None:
    """Forget rows of a call that somebody else names from here on, or that are gone."""
    staged = _staged_rows(warehouse, target, written)
    if staged is not None and staged.is_for(call.operation_id):
        staged.forget()


def adopt_staged_rows(
    warehouse: Warehouse, call: ProcedureCall, target: FileStoreTable, written: WrittenRows
) -> None:
    """Record in the journal that a call owns the rows which a dry run wrote."""
    staged = _staged_rows(warehouse, target, written)
    if staged is not None:
        staged.forget()  # the dry run was cut off before it could
        begin_staged_rows(warehouse, call, target, staged.id)


def release_staged_rows(
    warehouse: Warehouse, call: ProcedureCall, target: FileStoreTable, written: WrittenRows
) -> None:
    """Leave rows to recovery, as their run ends here; it may be taken up again before that."""
    staged = _staged_rows(warehouse, target, written)
    try:
        if staged is not None:
            staged.release()
    except PaimonError as error:
        _log.warning("rows of %s stay until their process ends: %s", call.operation_id, error)


def rows_of_journal(journal: object) -> tuple[WrittenBucket, ...] | None:
    """The files of rows that an operation began with; None if it has none."""
    return journal.row_messages if isinstance(journal, MergeJournal) else None


def names_of_rows(buckets: Iterable[WrittenBucket] | None) -> set[str]:
    """The names of the files of rows that a stage wrote, from what it or a journal tells."""
    return names_in(messages_of(buckets))


def _staged_rows(
    warehouse: Warehouse, target: FileStoreTable, written: WrittenRows
) -> StagedRows | None:
    name = written.staged_rows
    return None if name is None else StagedRows(target, warehouse.store, name)
