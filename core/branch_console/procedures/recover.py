"""Finding operations that were cut off, and finishing them or taking them back."""

import platform
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from typing import TypeVar

from branch_console.commit.base.read_holds import forget_holds
from branch_console.commit.journal import BrokenIntent, Journal
from branch_console.commit.rows import row_write, staged_rows
from branch_console.errors import (
    CommitConflict,
    ErrorKind,
    FormatError,
    NotFound,
    PaimonError,
    Refused,
    StorageError,
)
from branch_console.format.journals.intent import End, Ending, Intent
from branch_console.format.journals.procedures import codec_of
from branch_console.format.receipt import Counts, Receipt
from branch_console.operations.branch_requests import RecoverRequest
from branch_console.operations.catalog_requests import MergeCatalogRequest
from branch_console.procedures.branch import create_branch
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.permissions import Role, check_role
from branch_console.procedures.call.row_engine import RowEngine
from branch_console.procedures.call.stages import Facts, Stages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.catalog.catalog_operation import CatalogOperation, paths_of
from branch_console.procedures.catalog_merge.partial_end import ask_for_partial
from branch_console.procedures.catalog_merge.publish_catalog import forget_prepared, look_again
from branch_console.procedures.catalog_merge.sign_of_life import as_last_seen
from branch_console.procedures.catalog_merge.step_actions import MergeOperation
from branch_console.procedures.catalog_merge.turn_back import turned_back_lately
from branch_console.procedures.registry import JOURNALLED_BY_CATALOG, PROCEDURES
from branch_console.procedures.run.all_tables import all_tables
from branch_console.procedures.run.dry_run_results import forget_old_results, names_kept
from branch_console.procedures.run.open_operation import FRESH_MILLIS, OpenOperation, Operation
from branch_console.procedures.run.procedure import finish_procedure
from branch_console.procedures.run.written_rows import names_of_rows, rows_of_journal
from branch_console.table.file_store_table import FileStoreTable

AnOperation = TypeVar("AnOperation", bound=OpenOperation)

_FOREIGN_MILLIS = 300_000
"""The age under which an operation of another machine may be running, as no lock shows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """The end of one operation that had been cut off; `error` if it is still open.

    Attributes:
        subject: The table or database that it changes.
    """

    subject: str
    operation_id: str
    statement: str
    ending: Ending | None
    message: str
    error: PaimonError | None = None


def recover(warehouse: Warehouse, rows: RowEngine, call: ProcedureCall, stages: Stages) -> Receipt:
    """Finish or take back operations that were cut off; a second run changes nothing.

    Arguments of the call: `table`, or none for all tables.
    """
    facts = stages.run(
        "recover",
        lambda _: _recover_all(warehouse, call),
        message="Looking for operations that were cut off.",
        publishes=True,
    )
    return Receipt.from_json(str(facts["receipt"]))


def recover_catalog(warehouse: Warehouse, *, running: Collection[str] = ()) -> tuple[Recovery, ...]:
    """Finish or take back the operations of the catalog; arguments as of `recover_table`."""
    paths = paths_of(warehouse)
    journal = Journal(warehouse.store, paths)
    found = journal.open_intents()
    done = [_unreadable("the catalog", each) for each in found.broken]
    for intent in found.readable:
        # A merge of many tables may take long, and says from time to time that it goes on.
        since = as_last_seen(journal, intent)
        if intent.operation_id in running or _may_be_at_work(journal, since, warehouse.clock()):
            continue
        operation = CatalogOperation(
            warehouse=warehouse, journal=journal, intent=intent, paths=paths
        )
        with operation.resumed() as held:
            if held is not None:
                done.append(_recover(held, _finish_of_catalog))
    done += _taken_back_late(warehouse, running)
    return tuple(done)


def _taken_back_late(warehouse: Warehouse, running: Collection[str]) -> Iterator[Recovery]:
    """Look again at merges of the catalog that turned back while somebody was asleep."""
    for operation in turned_back_lately(warehouse):
        if operation.intent.operation_id in running:
            continue
        message, error = None, None
        try:
            message = look_again(operation)
        except PaimonError as caught:
            message, error = caught.message, caught
        if message is not None:
            yield Recovery(
                subject=operation.subject,
                operation_id=operation.intent.operation_id,
                statement=operation.intent.statement,
                ending=Ending.ROLLED_BACK,
                message=message,
                error=error,
            )


def recover_table(
    warehouse: Warehouse, table: FileStoreTable, *, running: Collection[str] = ()
) -> tuple[Recovery, ...]:
    """Finish or take back the operations of one table, and forget what nobody published in time.

    One whose intent cannot be read is left alone and told with its error.

    Args:
        warehouse: The warehouse.
        table: The table.
        running: Operations that somebody is at work on; they are left alone.
    """
    forget_old_results(warehouse, table)
    journal = Journal(warehouse.store, table.paths)
    found = journal.open_intents()
    name = table.identifier.full_name
    done = [_unreadable(name, each) for each in found.broken]
    for intent in found.readable:
        if intent.catalog_operation is not None:
            # The catalog's own recovery comes before, and ends it; but not one that began later.
            done += _begun_too_late(warehouse, name, intent, intent.catalog_operation)
            continue
        try:
            if _is_running(journal, intent, running) or _may_be_at_work(
                journal, intent, warehouse.clock()
            ):
                continue
        except FormatError as error:
            broken = BrokenIntent(operation_id=intent.operation_id, error=error)
            done.append(_unreadable(name, broken))
            continue
        operation = Operation(warehouse=warehouse, table=table, journal=journal, intent=intent)
        with _taken_up(operation) as held:
            if held is not None:
                done.append(_recover(held, _finish))
    ended = {each.operation_id for each in done if each.ending is not None}
    forget_holds(table, warehouse.store, warehouse.clock(), ended)
    return tuple(done)


def _begun_too_late(
    warehouse: Warehouse, name: str, intent: Intent, whole: str
) -> Iterator[Recovery]:
    """Discard the steps of a runner that slept while its merge of the catalog was taken back."""
    operation = CatalogOperation.find(warehouse, whole)
    message = None if operation is None else forget_prepared(operation)
    if message is not None:
        yield Recovery(
            subject=name,
            operation_id=intent.operation_id,
            statement=intent.statement,
            ending=Ending.ROLLED_BACK,
            message=message,
        )


def _taken_up(operation: Operation) -> AbstractContextManager[Operation | None]:
    if operation.intent.procedure in (row_write.PROCEDURE, staged_rows.PROCEDURE):
        # Rows have steps of their own that tell whose they are.
        return nullcontext(replace(operation, is_resumed=True))
    return operation.resumed()


def _unreadable(subject: str, broken: BrokenIntent) -> Recovery:
    return Recovery(
        subject=subject,
        operation_id=broken.operation_id,
        statement=f"operation {broken.operation_id}",
        ending=None,
        message=broken.error.message,
        error=broken.error,
    )


def _is_running(journal: Journal, intent: Intent, running: Collection[str]) -> bool:
    if intent.procedure == staged_rows.PROCEDURE:
        return staged_rows.operation_of(journal, intent) in running
    return intent.operation_id in running


def _may_be_at_work(journal: Journal, intent: Intent, now_millis: int) -> bool:
    if intent.procedure == staged_rows.PROCEDURE:
        return staged_rows.is_at_work(journal, intent, now_millis)
    if intent.procedure == row_write.PROCEDURE:
        # A write may take hours, and says which process it is of.
        return row_write.is_at_work(journal, intent, now_millis)
    is_foreign = intent.host not in (None, platform.node())
    return now_millis - intent.time_millis < (_FOREIGN_MILLIS if is_foreign else FRESH_MILLIS)


def _recover(operation: AnOperation, finish: Callable[[AnOperation], End]) -> Recovery:
    intent = operation.intent
    try:
        end = finish(operation)
    except PaimonError as error:
        ended = operation.journal.end_of(intent.operation_id)
        return Recovery(
            subject=operation.subject,
            operation_id=intent.operation_id,
            statement=intent.statement,
            ending=None if ended is None else ended.ending,
            message=error.message,
            error=error,
        )
    return Recovery(
        subject=operation.subject,
        operation_id=intent.operation_id,
        statement=intent.statement,
        ending=end.ending,
        message=end.message or "Finished.",
    )


def _names_of_rows(operation: Operation, begun: Intent | None) -> set[str]:
    """The files of rows that an operation began with, or that dry runs keep."""
    if begun is None:
        return names_kept(operation.warehouse, operation.table)
    noted = operation.journal.decode(begun, codec_of(begun.procedure))
    return names_of_rows(rows_of_journal(noted))


def _finish(operation: Operation) -> End:
    match operation.intent.procedure:
        case "create_branch":
            # One that cannot be finished any more is taken back, and its end says why.
            with suppress(NotFound, CommitConflict):
                create_branch.finish_creation(operation)
        case row_write.PROCEDURE:
            warehouse = operation.warehouse
            row_write.recover_write(
                operation.table, warehouse.store, operation.intent, warehouse.clock
            )
        case staged_rows.PROCEDURE:
            warehouse = operation.warehouse
            text = staged_rows.recovered_rows(
                operation.table,
                warehouse.store,
                operation.intent,
                lambda begun: _names_of_rows(operation, begun),
            )
            # Of rows that nobody was shown no end is kept.
            return End(ending=Ending.ROLLED_BACK, time_millis=warehouse.clock(), message=text)
        case name if name in PROCEDURES:
            finish_procedure(PROCEDURES[name], operation)
        case _:
            raise _unknown(operation)
    return _end_of(operation)


def _end_as_partial(warehouse: Warehouse, operation_id: str, actor: str) -> Recovery:
    """End a merge of the catalog that waits half taken back, whatever stands in the way.

    Raises:
        NotFound: There is no such operation.
        Refused: It does not wait, or somebody is at work on it.
    """
    operation = CatalogOperation.find(warehouse, operation_id)
    if operation is None or operation.intent.procedure != MergeCatalogRequest.procedure:
        raise NotFound(
            f"{operation_id!r} is no merge of the catalog. Nothing was changed. Run branch-console "
            "doctor to see which operations wait.",
            kind=ErrorKind.OPERATION_NOT_FOUND,
            operation_id=operation_id,
        )
    ask_for_partial(MergeOperation.of(operation), actor)
    with operation.resumed() as held:
        if held is not None:
            return _recover(held, _finish_of_catalog)
    raise Refused(
        f"Operation {operation_id} is at work in another process, which ends it as partial where "
        "it still has to. Run branch-console doctor again later.",
        kind=ErrorKind.BRANCH_IN_USE,
        operation_id=operation_id,
    )


def _finish_of_catalog(operation: CatalogOperation) -> End:
    procedure = JOURNALLED_BY_CATALOG.get(operation.intent.procedure)
    if procedure is None:
        raise _unknown(operation)
    finish_procedure(procedure, operation)
    return _end_of(operation)


def _end_of(operation: OpenOperation) -> End:
    operation_id = operation.intent.operation_id
    end = operation.journal.end_of(operation_id)
    if end is None:
        raise StorageError(
            f"Operation {operation_id} was carried out, but the store does not show its end. Run "
            "again: branch-console recover.",
            operation_id=operation_id,
        )
    return end


def _unknown(operation: OpenOperation) -> Refused:
    intent = operation.intent
    return Refused(
        f"Operation {intent.operation_id} is a {intent.procedure!r}, which this version cannot "
        "finish. Upgrade Branch Console.",
        kind=ErrorKind.UNSUPPORTED,
    )


def _recover_all(warehouse: Warehouse, call: ProcedureCall) -> Facts:
    warehouse.check_writable()
    check_role(call.role, Role.OPERATOR, "recover operations")
    started = warehouse.clock()
    asked, running = call.request(RecoverRequest), {call.operation_id}
    named = asked.table
    ended = [] if asked.partial is None else [_end_as_partial(warehouse, asked.partial, call.actor)]
    # First those of the catalog: they may move tables, whose own operations then follow.
    found = [*ended, *(recover_catalog(warehouse, running=running) if named is None else ())]
    for table in tables_of(warehouse, named):
        found += recover_table(warehouse, table, running=running)
    receipt = Receipt(
        operation_id=call.operation_id,
        statement=call.statement,
        actor=call.actor,
        plan_id=call.operation_id,
        counts=Counts(),
        notes=tuple(f"{each.subject}: {each.statement}: {each.message}" for each in found)
        or ("Nothing was cut off.",),
        started_millis=started,
        finished_millis=warehouse.clock(),
    )
    return {"receipt": receipt.to_json()}


def tables_of(warehouse: Warehouse, name: str | None) -> tuple[FileStoreTable, ...]:
    """Return the table of that name, or all tables that can be opened: of main, and of branches."""
    if name is not None:
        return (warehouse.table(name),)
    return tuple(table for _, table in all_tables(warehouse))
