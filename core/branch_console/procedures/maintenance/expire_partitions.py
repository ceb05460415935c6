"""Expiring partitions: their rows go in one new snapshot, and no byte before that expires."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final

from branch_console.commit.snapshot.file_store_commit import FileStoreCommit
from branch_console.commit.snapshot.publish_check import renew_hints
from branch_console.diff.expiry.partition_time import PartitionTime
from branch_console.diff.expiry.partitions import (
    AgedPartition,
    ExpiryStrategy,
    PartitionRetention,
    expired_partitions,
)
from branch_console.diff.history_move import count
from branch_console.errors import CommitConflict, ErrorKind, InvalidInput
from branch_console.format.journals.partitions import (
    DROP_PARTITIONS_JOURNAL,
    DropPartitionsJournal,
    DroppedPartition,
)
from branch_console.format.kept_elsewhere import Act
from branch_console.format.lineage_event import LineageKind
from branch_console.format.options import (
    PARTITION_EXPIRATION_MAX_NUM,
    PARTITION_EXPIRATION_STRATEGY,
    PARTITION_EXPIRATION_TIME,
    PARTITION_TIMESTAMP_FORMATTER,
    PARTITION_TIMESTAMP_PATTERN,
)
from branch_console.format.partition_path import partition_strings, value_text
from branch_console.format.read_branches import ChainRule
from branch_console.format.receipt import AnswerRow, Expected, Receipt
from branch_console.format.snapshot import Snapshot
from branch_console.format.table_schema import TableSchema
from branch_console.format.values.binary_row import decode_row
from branch_console.operations.partition_requests import ExpirePartitionsRequest
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import (
    NOTHING_TO_UNDO,
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
from branch_console.procedures.history.dependents import options_naming
from branch_console.procedures.history.protection import protection_of, rule_text
from branch_console.procedures.run.open_operation import Operation
from branch_console.procedures.run.procedure import PlannedOperation, Procedure, table_of
from branch_console.procedures.run.receipts import (
    end_commit,
    receipt_without_change,
)
from branch_console.table.fallback_branch import read_fallback
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.file_tables import count_files

_MOST_SHOWN: Final = 20


def plan_partition_expiry(warehouse: Warehouse, call: ProcedureCall) -> PlannedOperation:
    """Decide which partitions of a branch expire.

    Raises:
        InvalidInput: Nothing says how long partitions stay, an option is none, or the table has no
            partitions.
        NotFound: There is no such table or branch.
        FormatError: Metadata of the branch is missing or broken.
    """
    asked, table = call.request(ExpirePartitionsRequest), table_of(warehouse, call)
    started, schema, head = warehouse.clock(), table.schema(), table.head()
    retention = _retention(asked, table, schema)
    now = datetime.fromtimestamp(started / 1000)  # a clock on the wall, as Paimon's
    going = expired_partitions(
        _partitions(table, schema, head), retention, schema.partition_keys, now
    )
    names = tuple(_name(schema, each) for each in going)
    consequences = _consequences(table, schema, going, names)
    rule = protection_of(table.ledger.whole(), table.branch)
    if rule is not None and going:
        consequences.append(changes(f"Branch {table.branch!r} is protected by {rule_text(rule)}."))
    preview = Preview(
        procedure=call.name,
        title=f"Expire partitions of {table.identifier}",
        plan_id=plan_digest(call, names, str(head and head.identity)),
        consequences=tuple(consequences),
        typed_name=None,
        role=Role.EDITOR if rule is None else Role.APPROVER,
        undo=(
            f"You can undo this until the next commit on {table.branch!r}."
            if going
            else NOTHING_TO_UNDO
        ),
        expected=Expected(answer=_answer(names)),
    )
    nothing = receipt_without_change(
        call,
        preview.plan_id,
        tuple(each.text for each in consequences),
        started_millis=started,
        finished_millis=warehouse.clock(),
    )
    return PlannedOperation(
        preview=preview,
        act=Act.COMMIT,
        table=table,
        branch=table.branch,
        journal=DropPartitionsJournal(
            plan_id=preview.plan_id,
            reason=asked.reason,
            partitions=tuple(
                DroppedPartition(partition=each.partition, name=name)
                for each, name in zip(going, names, strict=True)
            ),
            expected_head=None if head is None else head.identity,
            expected_head_id=None if head is None else head.id,
        ),
        earlier_receipt=None if going else nothing,
    )


def finish_partition_expiry(operation: Operation, journal: DropPartitionsJournal) -> Receipt:
    """Commit the overwrite.

    Raises:
        CommitConflict: The branch moved in the meantime; nothing was dropped.
    """
    table, store = operation.table.on(operation.intent.branch), operation.warehouse.store
    landed = FileStoreCommit(
        table, store, without_callbacks=journal.without_callbacks is not None
    ).overwrite(
        (),
        user=operation.intent.actor,
        partitions=[each.partition for each in journal.partitions],
        identifier=operation.commit_identifier,
        expected_head=journal.expected_head,
        # A merge takes it for what it is without being told: partitions that were dropped.
        properties={"branch.operation-id": operation.intent.operation_id},
        seen_id=journal.expected_head_id or 0,
    )
    if landed is None:
        raise CommitConflict(
            f"No partition of {table.identifier} was named to be dropped. Nothing was changed.",
            kind=ErrorKind.NOTHING_TO_DO,
        )
    renew_hints(table, store, landed)
    return end_commit(
        operation,
        table,
        landed,
        LineageKind.PARTITIONS_EXPIRED,
        records_added=landed.delta_record_count or 0,
        notes=(
            f"{count(len(journal.partitions), 'partition')} of {table.branch!r} went with snapshot "
            f"{landed.id}.",
        ),
        answer=_answer(each.name for each in journal.partitions),
    )


EXPIRE_PARTITIONS = Procedure(
    name="expire_partitions",
    what="expire partitions",
    doing="Expiring partitions.",
    plan=plan_partition_expiry,
    codec=DROP_PARTITIONS_JOURNAL,
    finish=finish_partition_expiry,
)


def _answer(names: Iterable[str]) -> tuple[AnswerRow, ...]:
    return tuple({"expired_partitions": name} for name in names)


def _retention(
    asked: ExpirePartitionsRequest, table: FileStoreTable, schema: TableSchema
) -> PartitionRetention:
    if not schema.partition_keys:
        raise InvalidInput(
            f"{table.identifier} has no partitions, so none can expire. Delete rows instead.",
            kind=ErrorKind.UNSUPPORTED,
        )
    if ChainRule.of(schema, table.branch) is not None:
        raise InvalidInput(
            f"{table.identifier} is a chain table: its partitions expire together with those of "
            "the branches that it reads. No partition expired; let Paimon expire them.",
            kind=ErrorKind.UNSUPPORTED,
        )
    options = schema.options.merged(asked.option_pairs())
    millis = asked.expiration_millis()
    if millis is None:
        millis = options.read(PARTITION_EXPIRATION_TIME)
    if millis is None:
        raise InvalidInput(
            f"Nothing says how long partitions of {table.identifier} stay. No partition expired; "
            "say expiration_time, or set option partition.expiration-time.",
            kind=ErrorKind.INVALID_ARGUMENT,
        )
    strategy = asked.expire_strategy or options.read(PARTITION_EXPIRATION_STRATEGY)
    if strategy not in [str(each) for each in ExpiryStrategy]:
        raise InvalidInput(
            f"{strategy!r} is no strategy by which partitions expire. No partition expired; choose "
            f"{' or '.join(ExpiryStrategy)}.",
            kind=ErrorKind.INVALID_ARGUMENT,
        )
    return PartitionRetention(
        strategy=ExpiryStrategy(strategy),
        time_retained=timedelta(milliseconds=millis),
        most=asked.max_expires or options.read(PARTITION_EXPIRATION_MAX_NUM),
        time=PartitionTime(
            pattern=asked.timestamp_pattern or options.read(PARTITION_TIMESTAMP_PATTERN),
            formatter=asked.timestamp_formatter or options.read(PARTITION_TIMESTAMP_FORMATTER),
        ),
    )


def _partitions(
    table: FileStoreTable, schema: TableSchema, head: Snapshot | None
) -> list[AgedPartition]:
    if head is None:
        return []
    types = schema.partition_type.types
    found = []
    for row in count_files(table, head, ["partition"]).to_pylist():
        values = decode_row(row["partition"], types)
        found.append(
            AgedPartition(
                partition=row["partition"],
                values=tuple(
                    None if value is None else value_text(value, kind, is_legacy=True)
                    for value, kind in zip(values, types, strict=True)
                ),
                texts=partition_strings(values, schema),
                updated=row["last_update_time"],
                file_count=row["file_count"],
                row_count=row["record_count"],
            )
        )
    return found


def _name(schema: TableSchema, partition: AgedPartition) -> str:
    pairs = zip(schema.partition_keys, partition.texts, strict=True)
    return ", ".join(f"{key}={text}" for key, text in pairs)


def _consequences(
    table: FileStoreTable,
    schema: TableSchema,
    going: Sequence[AgedPartition],
    names: Sequence[str],
) -> list[Consequence]:
    if not going:
        return [keeps(f"No partition of {table.branch!r} is due to expire.")]
    files, records = (
        sum(each.file_count for each in going),
        sum(each.row_count for each in going),
    )
    return [
        *_hidden_rows(table, going, names),
        loses(
            f"{count(len(going), 'partition')} of {table.branch!r} go, with {count(files, 'file')} "
            f"of {count(records, 'record')}.",
            tuple(names[:_MOST_SHOWN]),
        ),
        changes("Merges with other branches see that these partitions were dropped."),
        *_readers_elsewhere(table),
        keeps("No file is removed before the snapshots that hold these partitions expire."),
    ]


def _hidden_rows(
    table: FileStoreTable, going: Sequence[AgedPartition], names: Sequence[str]
) -> list[Consequence]:
    """Refuse where readers would get older rows of these partitions from another branch."""
    gone = {each.partition for each in going}
    now, then = read_fallback(table), read_fallback(table, without=gone)
    if now is None or then is None:
        return []
    own, other = (
        set(read.from_branch(branch)["partition"].to_pylist())
        for read, branch in ((now, table.branch), (then, then.rule.branch))
    )
    again = tuple(
        name
        for each, name in zip(going, names, strict=True)
        if each.partition in own and each.partition in other
    )
    if not again:
        return []
    return [
        blocks(
            f"Readers of {table.branch!r} would see older rows of "
            f"{count(len(again), 'partition')} again, which branch {now.rule.branch!r} holds and "
            f"option {str(now.rule.order)!r} shows. Expire them on {now.rule.branch!r} first, or "
            "unset the option.",
            ErrorKind.UNSUPPORTED,
            again[:_MOST_SHOWN],
        )
    ]


def _readers_elsewhere(table: FileStoreTable) -> list[Consequence]:
    uses = options_naming(table, table.branch)
    if not uses:
        return []
    shown = tuple(f"{use.key} of {use.branch}" for use in uses)
    return [changes(f"Options send readers of other branches to {table.branch!r}, too.", shown)]
