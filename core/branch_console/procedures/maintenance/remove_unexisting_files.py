"""Removing unexisting files: a branch names no longer what its store lost, and reads again.

Rows of these files are gone already; readers of the branch fail on each of them until then.
Source: Paimon RemoveUnexistingFilesAction.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.commit.base.commit_message import CommitMessage
from branch_console.commit.base.message_codec import decode_messages, encode_messages
from branch_console.commit.base.metadata_copy import publish_files
from branch_console.commit.snapshot.file_store_commit import FileStoreCommit
from branch_console.commit.snapshot.publish_check import renew_hints
from branch_console.diff.health.damage_rules import move_back_words
from branch_console.diff.history_move import count
from branch_console.errors import CommitConflict, ErrorKind, FormatError
from branch_console.format.index_manifest import NO_INDEX_FILES, deletion_vector_entries
from branch_console.format.journals.missing_files import (
    MISSING_FILES_JOURNAL,
    MissingFilesJournal,
)
from branch_console.format.kept_elsewhere import Act
from branch_console.format.lineage_event import LineageKind
from branch_console.format.manifest_entry import MANIFEST_ENTRY, NO_FILES
from branch_console.format.partition_path import partition_words
from branch_console.format.receipt import AnswerRow, Expected, Receipt
from branch_console.format.snapshot import Snapshot
from branch_console.format.values.binary_row import decode_row
from branch_console.operations.maintenance_requests import (
    UNEXISTING_FILE,
    RemoveUnexistingFilesRequest,
)
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
from branch_console.procedures.history.protection import protection_of, rule_text
from branch_console.procedures.maintenance.kept_vectors import kept_vectors, vector_files
from branch_console.procedures.maintenance.missing_files import (
    branches_naming,
    find_missing_files,
    find_missing_index_files,
    find_trashed,
)
from branch_console.procedures.run.open_operation import Operation
from branch_console.procedures.run.procedure import PlannedOperation, Procedure, table_of
from branch_console.procedures.run.receipts import end_commit, receipt_without_change
from branch_console.table.file_store_table import FileStoreTable

_MOST_SHOWN: Final = 20


def plan_removal(warehouse: Warehouse, call: ProcedureCall) -> PlannedOperation:
    """Decide which files a branch is to name no longer.

    Raises:
        NotFound: There is no such table or branch.
        FormatError: Metadata of the branch is missing or broken.
        StorageError: The store did not answer, so whether a file is there is not known.
    """
    asked, table = call.request(RemoveUnexistingFilesRequest), table_of(warehouse, call)
    started, head = warehouse.clock(), table.head()
    found = _nothing() if head is None else find_missing_files(table, head)
    found = found.sort_by("path")
    paths = tuple(found["path"].to_pylist())
    missing = found.select(MANIFEST_ENTRY.names)
    given_up = _vectors_of(table, head, missing)
    kept = kept_vectors(table, given_up, set(missing["file_name"].to_pylist()))
    lost_indexes = () if head is None else find_missing_index_files(table, head)
    consequences = (
        *_consequences(warehouse, table, found, given_up),
        *_index_consequences(table, lost_indexes),
    )
    preview = Preview(
        procedure=call.name,
        title=f"Remove unexisting files of {table.identifier}",
        plan_id=plan_digest(call, paths, str(head and head.identity)),
        consequences=consequences,
        typed_name=table.branch if paths else None,
        role=Role.OPERATOR,
        undo=(
            f"You can undo this until the next commit on {table.branch!r}; then the files are "
            "missing again."
            if paths
            else NOTHING_TO_UNDO
        ),
        expected=Expected(answer=_answer(paths)),
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
        journal=MissingFilesJournal(
            plan_id=preview.plan_id,
            reason=asked.reason,
            messages=encode_messages(_messages(missing, given_up, kept)),
            paths=paths,
            expected_head=None if head is None else head.identity,
            expected_head_id=None if head is None else head.id,
        ),
        earlier_receipt=None if paths else nothing,
    )


def finish_removal(operation: Operation, journal: MissingFilesJournal) -> Receipt:
    """Commit the entries that go.

    Raises:
        CommitConflict: The branch moved in the meantime; nothing was removed.
    """
    table, store = operation.table.on(operation.intent.branch), operation.warehouse.store
    messages = decode_messages(journal.messages)
    for each in messages:
        files = vector_files(
            table, each.deleted_index_files.to_pylist(), each.new_index_files.to_pylist()
        )
        publish_files(store, files)
    landed = FileStoreCommit(
        table, store, without_callbacks=journal.without_callbacks is not None
    ).commit(
        messages,
        user=operation.intent.actor,
        identifier=operation.commit_identifier,
        expected_head=journal.expected_head,
        # A merge takes it for what it is without being told: rows that are gone.
        properties={"branch.operation-id": operation.intent.operation_id},
        seen_id=journal.expected_head_id or 0,
    )
    if landed is None:
        raise CommitConflict(
            f"No file of {table.identifier} was missing. Nothing was changed.",
            kind=ErrorKind.NOTHING_TO_DO,
        )
    renew_hints(table, store, landed)
    return end_commit(
        operation,
        table,
        landed,
        LineageKind.MISSING_FILES_REMOVED,
        records_added=landed.delta_record_count or 0,
        notes=(
            f"Snapshot {landed.id} of {table.branch!r} names {count(len(journal.paths), 'file')} "
            "no longer that were missing.",
        ),
        answer=_answer(journal.paths),
    )


REMOVE_UNEXISTING_FILES = Procedure(
    name="remove_unexisting_files",
    what="remove unexisting files",
    doing="Removing what is missing from the branch.",
    plan=plan_removal,
    codec=MISSING_FILES_JOURNAL,
    finish=finish_removal,
)


def _answer(paths: Sequence[str]) -> tuple[AnswerRow, ...]:
    return tuple({UNEXISTING_FILE: path} for path in paths)


def _nothing() -> pa.Table:
    return NO_FILES.append_column("path", pa.array([], pa.string()))


def _vectors_of(table: FileStoreTable, head: Snapshot | None, missing: pa.Table) -> pa.Table:
    """The index files with deletion vectors of missing files, with INDEX_MANIFEST_ENTRY."""
    if head is None or not missing.num_rows:
        return NO_INDEX_FILES
    names = set(missing["file_name"].to_pylist())
    entries = deletion_vector_entries(table.index_entries(head))
    is_theirs = [
        not names.isdisjoint(each["data_file"] for each in ranges or ())
        for ranges in entries["dv_ranges"].to_pylist()
    ]
    return entries.filter(pa.array(is_theirs, pa.bool_()))


def _messages(missing: pa.Table, given_up: pa.Table, kept: pa.Table) -> Iterator[CommitMessage]:
    places = missing.group_by(["partition", "bucket"], use_threads=False)
    for place in places.aggregate([("total_buckets", "max")]).to_pylist():
        yield CommitMessage(
            partition=place["partition"],
            bucket=place["bucket"],
            total_buckets=place["total_buckets_max"],
            deleted_files=_in_bucket(missing, place["partition"], place["bucket"]),
            new_index_files=_in_bucket(kept, place["partition"], place["bucket"]),
            deleted_index_files=_in_bucket(given_up, place["partition"], place["bucket"]),
        )


def _in_bucket(files: pa.Table, partition: bytes, bucket: int) -> pa.Table:
    is_there = pc.equal(files["partition"], pa.scalar(partition, pa.binary()))
    return files.filter(pc.and_(is_there, pc.equal(files["bucket"], bucket)))


def _consequences(
    warehouse: Warehouse, table: FileStoreTable, found: pa.Table, given_up: pa.Table
) -> Iterator[Consequence]:
    if not found.num_rows:
        yield keeps(f"Every data file that {table.branch!r} names is there.")
        return
    yield from _ways_out(warehouse, table, found)
    records_of = _records(found, given_up)
    records = sum(records_of.values())
    size = int(pc.sum(found["file_size"]).as_py())
    yield loses(
        f"{count(found.num_rows, 'data file')} of {table.branch!r} with "
        f"{count(records, 'record')} and {size:,} bytes are missing. The branch names them no "
        "longer: their rows are gone for good.",
        tuple(found["path"].to_pylist()[:_MOST_SHOWN]),
    )
    yield from _partitions(table, records_of)
    if table.schema().primary_keys:
        yield changes(
            "Older rows of the same keys may show again, deleted ones too: what replaced or "
            "deleted them is missing."
        )
    yield changes("Merges with other branches take these rows for deleted.")
    rule = protection_of(table.ledger.whole(), table.branch)
    if rule is not None:
        yield changes(f"Branch {table.branch!r} is protected by {rule_text(rule)}.")
    others = branches_naming(table, found)
    if others:
        yield keeps(
            "Other branches name some of these files, too, and stay as they are. Look at each "
            "of them.",
            tuple(f"{branch}: {count(number, 'file')}" for branch, number in others.items()),
        )


def _index_consequences(table: FileStoreTable, paths: Sequence[str]) -> Iterator[Consequence]:
    if paths:
        yield keeps(
            f"{count(len(paths), 'index file')} of {table.branch!r} "
            f"{'is missing and stays named' if len(paths) == 1 else 'are missing and stay named'}: "
            "without what they say, rows that were deleted would come back. Readers fail until "
            "you restore them from a copy, or roll back to a whole snapshot: branch-console "
            f"doctor {table.identifier.table_name} --deep names one.",
            tuple(paths[:_MOST_SHOWN]),
        )


def _ways_out(
    warehouse: Warehouse, table: FileStoreTable, found: pa.Table
) -> Iterator[Consequence]:
    """Refuse where a file is not lost, as it waits in the trash."""
    trashed = find_trashed(warehouse, table, found["path"].to_pylist())
    if trashed.unlisted:
        first, *others = trashed.unlisted
        lie = f"and {count(len(others), 'other file')} lie" if others else "lies"
        unread = " ".join(each.message for each in trashed.errors)
        raise FormatError(
            f"{first} {lie} in the trash of the table. {unread} "
            f"{move_back_words(tuple(trashed.unlisted.values()))}, then try again.",
            path=first,
        )
    if trashed.paths:
        yield blocks(
            "Some of the files wait in the trash of the table. Undo what put them there.",
            ErrorKind.FILES_IN_USE,
            tuple(trashed.paths),
        )


def _records(found: pa.Table, given_up: pa.Table) -> Counter[bytes]:
    """The records of missing files by partition, without those that had been deleted before.

    Paimon 0.9 did not count what a vector deletes; such rows count as records.
    """
    deleted = {
        each["data_file"]: each["cardinality"] or 0
        for ranges in given_up["dv_ranges"].to_pylist()
        for each in ranges
    }
    records = Counter[bytes]()
    for file in found.select(["partition", "file_name", "row_count"]).to_pylist():
        records[file["partition"]] += file["row_count"] - deleted.get(file["file_name"], 0)
    return records


def _partitions(table: FileStoreTable, records: Counter[bytes]) -> Iterator[Consequence]:
    schema = table.schema()
    if not schema.partition_keys:
        return
    types = schema.partition_type.types
    yield loses(
        f"{count(len(records), 'partition')} of {table.branch!r} lose records.",
        tuple(
            f"{partition_words(decode_row(partition, types), schema)}: {count(number, 'record')}"
            for partition, number in sorted(records.items())[:_MOST_SHOWN]
        ),
    )
