"""Letting streaming readers read on elsewhere, and taking away what they keep from expiring."""

import re
from collections.abc import Sequence

from branch_console.commit.base.consumer_files import put_consumer
from branch_console.diff.history_move import count
from branch_console.errors import ErrorKind, FormatError, InvalidInput
from branch_console.format.journals.consumers import (
    CONSUMERS_JOURNAL,
    ConsumerChange,
    ConsumersJournal,
)
from branch_console.format.lineage_event import LineageKind
from branch_console.format.receipt import Receipt
from branch_console.operations.consumer_requests import (
    ClearConsumersRequest,
    ResetConsumerRequest,
)
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import (
    Consequence,
    Preview,
    blocks,
    changes,
    keeps,
    loses,
    plan_digest,
)
from branch_console.procedures.call.permissions import Role
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.run.open_operation import Operation
from branch_console.procedures.run.procedure import PlannedOperation, Procedure, table_of
from branch_console.procedures.run.receipts import event_of, receipt_of
from branch_console.storage.table_paths import FENCE_ID
from branch_console.table.consumer_manager import Consumer
from branch_console.table.file_store_table import FileStoreTable

_UNDO = "Undo puts each consumer back where it was, while nobody moved it since."


def plan_reset(warehouse: Warehouse, call: ProcedureCall) -> PlannedOperation:
    """Decide where one consumer reads on.

    Raises:
        InvalidInput: No consumer can have such an id.
        NotFound: There is no such table or branch.
    """
    asked, table = call.request(ResetConsumerRequest), table_of(warehouse, call)
    name, next_id = asked.consumer, asked.next_snapshot
    if not name.strip() or any(each in name for each in "/\\\0"):
        raise InvalidInput(
            f"{name!r} is no id of a consumer: it must not be blank, or hold '/' or '\\'. Nothing "
            "was changed.",
            kind=ErrorKind.INVALID_NAME,
            consumer=name,
        )
    before = find_content(table, name)
    after = None
    if next_id is not None:
        after = Consumer(id=name, next_snapshot_id=next_id).to_json()
    if name == FENCE_ID:
        consequences = [
            blocks(
                f"Consumer {name!r} is the fence of {table.branch!r}: it keeps other engines from "
                "removing files that other branches read. Take it away with fence_branch, fenced "
                "=> false.",
                ErrorKind.FILES_IN_USE,
            )
        ]
    elif next_id is None:
        consequences = _removal_consequences(table, name, before)
    else:
        consequences = _reset_consequences(table, name, before, next_id)
    return _planned(
        call,
        table,
        f"Reset consumer {name!r} of {table.identifier}",
        consequences,
        [ConsumerChange(consumer=name, before=before, after=after)],
        asked.reason,
    )


def plan_clearing(warehouse: Warehouse, call: ProcedureCall) -> PlannedOperation:
    """Decide which consumers of a branch go; its fence is none of them.

    Raises:
        InvalidInput: The included or excluded pattern is no regular expression.
        NotFound: There is no such table or branch.
    """
    asked, table = call.request(ClearConsumersRequest), table_of(warehouse, call)
    included = _pattern("including", asked.including or ".*")
    excluded = None if asked.excluding is None else _pattern("excluding", asked.excluding)
    names = [
        each.name
        for each in table.consumers.states()
        if included.fullmatch(each.name)
        and not (excluded is not None and excluded.fullmatch(each.name))
    ]
    going = [
        ConsumerChange(consumer=name, before=before, after=None)
        for name in names
        if (before := find_content(table, name)) is not None
    ]
    consequences = [
        each for one in going for each in _removal_consequences(table, one.consumer, one.before)
    ]
    if not going:
        text = f"Branch {table.branch!r} has no such consumer."
        consequences.append(blocks(text, ErrorKind.NOTHING_TO_DO))
    title = f"Take {count(len(going), 'consumer')} from {table.identifier}"
    return _planned(call, table, title, consequences, going, asked.reason)


def finish_consumers(operation: Operation, journal: ConsumersJournal) -> Receipt:
    """Write the consumers, or remove them.

    Raises:
        CommitConflict: The store did not say that one was written.
    """
    table = operation.table.on(operation.intent.branch)
    for change in journal.changes:
        put_consumer(table, operation.warehouse.store, change.consumer, change.after)
    receipt = receipt_of(
        operation, notes=tuple(_note(table.branch, each) for each in journal.changes)
    )
    return operation.complete(
        event_of(operation, LineageKind.CONSUMERS_RESET, receipt, undoes=journal.undoes)
    )


RESET_CONSUMER = Procedure(
    name="reset_consumer",
    what="reset a consumer",
    doing="Resetting the consumer.",
    plan=plan_reset,
    codec=CONSUMERS_JOURNAL,
    finish=finish_consumers,
)
CLEAR_CONSUMERS = Procedure(
    name="clear_consumers",
    what="take consumers away",
    doing="Taking consumers away.",
    plan=plan_clearing,
    codec=CONSUMERS_JOURNAL,
    finish=finish_consumers,
)


def find_content(table: FileStoreTable, consumer_id: str) -> str | None:
    """Return the file of a consumer, None if there is none."""
    data = table.reader.files.find(table.paths.consumer(consumer_id))
    return None if data is None else data.decode(errors="replace")


def find_next(content: str | None) -> int | None:
    """Return the snapshot that a consumer reads next, None if its file does not tell."""
    try:
        return (
            None if content is None else Consumer.from_json("", content.encode()).next_snapshot_id
        )
    except FormatError:
        return None


def _planned(
    call: ProcedureCall,
    table: FileStoreTable,
    title: str,
    consequences: list[Consequence],
    going: Sequence[ConsumerChange],
    reason: str | None,
) -> PlannedOperation:
    preview = Preview(
        procedure=call.name,
        title=title,
        # Not where readers stand: they go on while somebody looks.
        plan_id=plan_digest(call, [(each.consumer, each.after) for each in going]),
        consequences=tuple(consequences),
        typed_name=None,
        role=Role.OPERATOR,
        undo=_UNDO,
    )
    return PlannedOperation(
        preview=preview,
        table=table,
        branch=table.branch,
        journal=ConsumersJournal(plan_id=preview.plan_id, reason=reason, changes=tuple(going)),
    )


def _removal_consequences(
    table: FileStoreTable, name: str, before: str | None
) -> list[Consequence]:
    if before is None:
        text = f"Branch {table.branch!r} has no consumer {name!r}."
        return [blocks(text, ErrorKind.NOTHING_TO_DO)]
    next_id = find_next(before)
    kept = "" if next_id is None else f", and keeps snapshot {next_id} and later ones no more"
    return [
        loses(
            f"Consumer {name!r} of {table.branch!r} forgets where it reads{kept}. A reader that is "
            "at work writes it again."
        )
    ]


def _reset_consequences(
    table: FileStoreTable, name: str, before: str | None, next_id: int
) -> list[Consequence]:
    ids, old = table.snapshots.ids(), find_next(before)
    first, last = (ids[0], ids[-1] + 1) if ids else (1, 1)
    where = f"consumer {name!r} of {table.branch!r}"
    if not first <= next_id <= last:
        text = f"There is no snapshot {next_id} to read: {where} may read {first} to {last} next."
        return [blocks(text, ErrorKind.SNAPSHOT_NOT_FOUND)]
    if old == next_id:
        text = f"It is snapshot {next_id} that {where} reads next already."
        return [blocks(text, ErrorKind.NOTHING_TO_DO)]
    consequences = [changes(f"{where[0].upper()}{where[1:]} reads snapshot {next_id} next.")]
    if old is not None and old < next_id:
        consequences.append(loses(f"It does not read {_snapshots(old, next_id)} any more."))
    elif old is not None:
        consequences.append(changes(f"It reads {_snapshots(next_id, old)} again."))
    consequences.append(
        keeps(f"Snapshot {next_id} and later ones do not expire until it has read them.")
    )
    return consequences


def _snapshots(start: int, end: int) -> str:
    """Write the snapshots from one up to another, which is none of them."""
    return f"snapshot {start}" if end - start == 1 else f"snapshots {start} to {end - 1}"


def _note(branch: str, change: ConsumerChange) -> str:
    next_id = find_next(change.after)
    if next_id is None:
        return f"Consumer {change.consumer!r} of {branch!r} is gone."
    return f"Consumer {change.consumer!r} of {branch!r} reads snapshot {next_id} next."


def _pattern(argument: str, text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise InvalidInput(
            f"The argument {argument!r} of clear_consumers is {text!r}, which is no regular "
            f"expression: {error}. Nothing was changed.",
            kind=ErrorKind.INVALID_ARGUMENT,
            argument=argument,
        ) from error
