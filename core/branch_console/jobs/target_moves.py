"""Whether a job that failed while it published changed its target: the journal has the answer."""

from collections.abc import Iterator
from typing import Final

from branch_console.commit.journal import Journal
from branch_console.errors import PaimonError
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.format.journals.intent import Ending
from branch_console.jobs.progress import TargetMove
from branch_console.procedures.call.call import AGAIN, ProcedureCall
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.catalog.catalog_operation import paths_of
from branch_console.procedures.registry import PROCEDURES, find_catalog_procedure
from branch_console.sql.statement import COMPACT, COMPACT_DATABASE
from branch_console.sql.tables import TableStatementKind
from branch_console.sql.writes import WriteKind

# Their one stage changes rows or files, and says to nobody that it publishes.
_WRITES: Final = frozenset({"build_demo", COMPACT, COMPACT_DATABASE, *map(str, WriteKind)})


def writes_in_any_stage(call: ProcedureCall) -> bool:
    """Whether each stage of a call may change the target, and not only one that publishes."""
    return call.name in _WRITES


def keeps_journal(call: ProcedureCall) -> bool:
    """Whether a journal has every change of a call, so that recovery ends what was cut off."""
    return find_catalog_procedure(call) is not None or call.name in PROCEDURES


def target_when_done(call: ProcedureCall, so_far: TargetMove, *, is_kept: bool) -> TargetMove:
    """Return whether a call that has ended well changed its target.

    Args:
        call: The call.
        so_far: What its stages say.
        is_kept: Whether a ledger has its receipt, or the receipt names a head that moved.
    """
    if so_far is TargetMove.UNCHANGED or (not is_kept and keeps_journal(call)):
        return TargetMove.UNCHANGED
    return TargetMove.MOVED if is_kept else TargetMove.UNKNOWN


def target_after_failure(
    warehouse: Warehouse, call: ProcedureCall, error: PaimonError
) -> TargetMove | None:
    """Return what the journal says of an operation that an error ended while it published.

    The intent is durable before anything else is done, so that without one nothing has changed; an
    open one is finished or taken back by recovery. None if no journal has every change of the call.

    Args:
        warehouse: The warehouse.
        call: The call of the job.
        error: What ended it; names the operation where the job had more than one.
    """
    named = str(error.facts.get("operation_id", call.operation_id))
    try:
        found = [_in_journal(each, call, named) for each in _journals(warehouse, call)]
    except (PaimonError, OSError):
        return TargetMove.UNKNOWN
    for move in (TargetMove.UNKNOWN, TargetMove.MOVED):
        if move in found:
            return move
    return TargetMove.UNCHANGED if found and keeps_journal(call) else None


def _journals(warehouse: Warehouse, call: ProcedureCall) -> Iterator[Journal]:
    """Return the journals in which the operation is, if it has begun; none if it keeps none."""
    if find_catalog_procedure(call) is not None or call.name in set(TableStatementKind):
        yield Journal(warehouse.store, paths_of(warehouse))
    elif call.name in PROCEDURES:
        named = Identifier.parse(call.table)
        for name in dict.fromkeys((named.on_branch(MAIN_BRANCH), named)):
            table = warehouse.find_table(name)
            if table is not None:
                yield Journal(warehouse.store, table.paths)


def _in_journal(journal: Journal, call: ProcedureCall, named: str) -> TargetMove:
    open_ones = journal.open_intents()
    ids = [each.operation_id for each in open_ones.readable]
    ids += [each.operation_id for each in open_ones.broken]
    # A run that others were faster than is another operation of the same job.
    if any(each.partition(AGAIN)[0] == call.operation_id for each in ids):
        return TargetMove.UNKNOWN
    ends = [journal.end_of(each) for each in dict.fromkeys((call.operation_id, named))]
    changed = (Ending.DONE, Ending.PARTIAL)
    is_moved = any(each is not None and each.ending in changed for each in ends)
    return TargetMove.MOVED if is_moved else TargetMove.UNCHANGED
