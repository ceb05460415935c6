"""Carrying out a merge: copies and schemas first, then one snapshot, then the receipt."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.commit.base.commit_message import CommitMessage
from branch_console.commit.base.metadata_copy import publish_files
from branch_console.commit.branch.data_copy import copy_data_files, remove_copies
from branch_console.commit.schema.schema_commit import withdraw_schemas
from branch_console.commit.snapshot.commit_identity import snapshots_after
from branch_console.commit.snapshot.file_store_commit import FileStoreCommit
from branch_console.commit.snapshot.operation_manifests import remove_lost_manifests, uuids_of
from branch_console.diff.changes.file_history import original_names
from branch_console.diff.changes.received_files import is_reverting
from branch_console.diff.lineage import (
    MERGE_BASE_IDENTITY,
    MERGE_COMPLETE,
    MERGE_FIELD_IDS,
    MERGE_REWRITES,
    MERGE_SCHEMA_ID,
    MERGE_SOURCE,
    MERGE_SOURCE_IDENTITY,
    OPERATION,
    REVERTS,
    REWRITES_ALL,
    TAKES_BACK,
    Rewrites,
    rewrites_from,
)
from branch_console.errors import CommitConflict, ErrorKind, FormatError, NotFound
from branch_console.format.journals.history import HistoryJournal
from branch_console.format.journals.merge import AnyMergeJournal, MergeJournal
from branch_console.format.receipt import Counts, HeadMove, Receipt, identity_to
from branch_console.format.snapshot import Snapshot, SnapshotIdentity
from branch_console.format.table_schema import TableSchema
from branch_console.merge.conflict import ConflictKind, Take
from branch_console.merge.file_moves import FileMoves, MergeRules
from branch_console.merge.plan import ThreeWayPlan, UpToDatePlan, merging
from branch_console.merge.plan_merge import plan_merge
from branch_console.operations.isolation import InsertScope, Isolation
from branch_console.procedures.history.file_sharing import (
    notes_of_sharing,
    put_fences,
    put_pins,
)
from branch_console.procedures.history.history_transfer import finish_history_transfer
from branch_console.procedures.merge.carried_plan import CarriedPlan
from branch_console.procedures.merge.file_messages import copies_of, moved_messages
from branch_console.procedures.merge.inputs import remembered_plan
from branch_console.procedures.merge.merge_kind import (
    MergeKind,
    MergeSpec,
    option_notes,
    sides_of,
)
from branch_console.procedures.merge.row_messages import joined_messages
from branch_console.procedures.run.open_operation import Operation
from branch_console.procedures.run.quality_gate import gate_properties
from branch_console.procedures.run.receipts import event_of, receipt_of
from branch_console.procedures.run.written_messages import messages_of, written_paths
from branch_console.table.file_store_table import FileStoreTable

_USERS_NAMED: Final = 2


def journal_of_merge(spec: MergeSpec, plan: ThreeWayPlan) -> MergeJournal:
    """Return the journal of a three-way merge: everything that finishing it needs."""
    heads = plan.heads
    return MergeJournal(
        source=spec.source,
        target=spec.target,
        snapshot_id=spec.snapshot_id,
        reverts=spec.reverts,
        ours=heads.ours.identity,
        ours_id=heads.ours.id,
        theirs=heads.theirs.identity,
        theirs_id=heads.theirs.id,
        base=heads.base.identity,
        strict=plan.rules.strict,
        scope=str(plan.rules.scope),
        isolation=str(plan.rules.isolation),
        policy=plan.rules.policy,
        kinds={str(kind): str(take) for kind, take in plan.rules.kinds},
        moves=_digest(plan.moves),
        shares=plan.shares_files,
        files_shared=plan.cost.files_added if plan.shares_files else 0,
        files_to_copy=plan.cost.files_to_copy,
        bytes_to_copy=plan.cost.bytes_to_copy,
        schemas=tuple(schema.to_json() for schema in plan.schema.schemas),
        schema_id_after=plan.schema.final_id,
        source_schema_id=plan.source_schema_id,
        id_map=plan.schema.id_map,
        field_ids=plan.schema.field_ids,
        notes=tuple(plan.notes),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Publication:
    """The parts of a merge that are published: copied files, schemas, then the commit."""

    spec: MergeSpec
    plan: ThreeWayPlan
    ours: Snapshot
    messages: tuple[CommitMessage, ...]
    copies: tuple[tuple[str, str], ...]
    schemas: tuple[TableSchema, ...]
    properties: Mapping[str, str]
    brings_back: bool


def finish_merge(operation: Operation, journal: AnyMergeJournal) -> Receipt:
    """Merge as the journal says, from wherever it was cut off.

    Raises:
        CommitConflict: The target moved; it is as it was, and what was made for it is removed.
            Or it cannot be told whether the merge landed, as its snapshot has expired.
    """
    if isinstance(journal, HistoryJournal):
        return finish_history_transfer(operation, journal)
    return complete_merge(operation, journal, publish_merge(operation, journal))


def publish_merge(operation: Operation, journal: MergeJournal) -> Snapshot:
    """Bring the snapshot of a merge to its target, and leave its end open; raises CommitConflict.

    A try that was cut off is finished, and one that landed returns its snapshot.
    """
    target = operation.table.on(operation.intent.branch)
    # A merge that landed needs nothing of what it was made from, which may have expired since.
    landed = find_landed(operation, journal) if operation.is_resumed else None
    if landed is None:
        landed = _publish(operation, target, journal)
    _remove_lost_manifests(operation, target, landed)
    put_pins(operation, journal.sharing, landed)
    return landed


def complete_merge(operation: Operation, journal: MergeJournal, landed: Snapshot) -> Receipt:
    """Record a merge whose snapshot is there, and write its end."""
    target = operation.table.on(operation.intent.branch)
    spec = MergeSpec.from_journal(operation.intent.procedure, journal)
    ours, theirs = journal.ours, journal.theirs
    over = _carried_over(target, journal.ours_id, landed)
    if over and over[-1].id == landed.id - 1:
        ours = over[-1].identity
    move = HeadMove(
        branch=target.branch,
        before=ours,
        before_id=landed.id - 1,
        after=landed.identity,
        after_id=landed.id,
    )
    of_rows = [each.files.table["file_size"] for each in journal.row_messages or ()]
    receipt = receipt_of(
        operation,
        moves=(move,),
        counts=Counts(
            snapshots_added=1,
            schemas_added=len(journal.schemas),
            files_verified=journal.files_verified,
            files_shared=journal.files_shared,
            records_added=landed.delta_record_count or 0,
            files_written=journal.files_to_copy + sum(map(len, of_rows)),
            bytes_written=journal.bytes_to_copy
            + sum(pc.sum(sizes).as_py() or 0 for sizes in of_rows),
            tags_added=len(journal.sharing.tags),
        ),
        notes=(
            f"{spec.title}: done as snapshot {landed.id}.",
            *_carried_sentences(journal.ours_id, landed, over),
            *notes_of_sharing(journal.sharing),
            *_option_notes(spec, journal),
            *journal.notes,
            *(journal.row_notes or ()),
        ),
    )
    if over:
        # What was counted holds for where it was planned.
        receipt = replace(
            receipt, counts=replace(receipt.counts, rows_before=None, rows_after=None)
        )
    parents = (ours, theirs) if spec.kind is MergeKind.MERGE else (ours,)
    return operation.complete(
        event_of(
            operation,
            spec.kind.event,
            receipt,
            branch=target.branch,
            source_branch=None if spec.source == spec.target else spec.source,
            before=ours,
            after=landed.identity,
            parents=tuple(each for each in parents if each is not None),
            undoes=spec.reverts,
        )
    )


def _option_notes(spec: MergeSpec, journal: MergeJournal) -> tuple[str, ...]:
    if spec.kind is not MergeKind.MERGE:
        return ()
    return option_notes(spec.source, spec.target, isolation=journal.isolation, scope=journal.scope)


def _carried_over(
    target: FileStoreTable, planned_id: int, landed: Snapshot
) -> tuple[Snapshot, ...]:
    """The commits of others after the planned head that a merge builds on.

    Those that have expired since are left out.
    """
    found = map(target.snapshots.find, range(planned_id + 1, landed.id))
    return tuple(each for each in found if each is not None)


def _carried_sentences(
    planned_id: int, landed: Snapshot, over: Sequence[Snapshot]
) -> tuple[str, ...]:
    first, last = planned_id + 1, landed.id - 1
    if last < first:
        return ()
    which = f"snapshot {first}" if first == last else f"snapshots {first} to {last}"
    users = sorted({each.commit_user for each in over})
    # Batch writers of Paimon are another user with each commit.
    by = f" by {' and '.join(users)}" if 0 < len(users) <= _USERS_NAMED else ""
    return (
        f"Planned at snapshot {planned_id}, then carried over {which}{by}: nothing that this moves "
        "was touched.",
    )


def _publish(operation: Operation, target: FileStoreTable, journal: MergeJournal) -> Snapshot:
    publication = _decided(operation, target, journal)
    try:
        return _land(operation, target, journal, publication)
    except CommitConflict:
        # Whoever else finishes this operation may have been quicker; then all of it is needed.
        standing = find_landed(operation, journal)
        if standing is None:
            _withdraw(operation, journal, publication)
            raise
        return standing


def _decided(operation: Operation, target: FileStoreTable, journal: MergeJournal) -> _Publication:
    """Plan again what the journal decided on; raises CommitConflict if that is not there."""
    spec = MergeSpec.from_journal(operation.intent.procedure, journal)
    source = target.on(spec.source)
    ours = _snapshot(target, journal.ours_id, journal.ours)
    theirs = _snapshot(source, journal.theirs_id, journal.theirs)
    rules = rules_of_journal(journal)
    plan = remembered_plan(operation.warehouse, target, spec, rules, ours, theirs)
    if plan is None:
        planned = plan_merge(sides_of(target, spec, ours, theirs), rules)
        # Where a try has published the schema, nothing else may be left that would be a change.
        plan = planned.found if isinstance(planned, UpToDatePlan) else merging(planned)
    if plan is None or _digest(plan.moves) != journal.moves:
        raise CommitConflict(
            "The files of this merge are no longer what was decided on. Nothing was changed; plan "
            "again.",
            kind=ErrorKind.HEAD_MOVED,
        )
    moves = plan.moves
    operation_id = operation.intent.operation_id
    mark = None if journal.shares else operation_id
    moved, index = moved_messages(moves, (target, source), (ours, theirs), journal.id_map, mark)
    copies = index.copies
    if not journal.shares:
        copies = (
            *copies_of(source, target, pa.concat_tables([moves.add, moves.replays]), operation_id),
            *copies_of(target, target, moves.restore, operation_id),
            *copies,
        )
    return _Publication(
        spec=spec,
        plan=plan,
        ours=ours,
        messages=joined_messages(moved, messages_of(journal.row_messages), target, ours),
        copies=copies,
        schemas=tuple(TableSchema.from_json(text) for text in journal.schemas),
        properties={
            OPERATION: str(spec.kind).removesuffix("_branch"),
            "branch.operation-id": operation_id,
            **gate_properties(journal.gate),
            **_lineage_properties(spec, target, theirs, journal, moves),
            **_rewrites(spec, theirs, journal, moves),
        },
        brings_back=moves.brings_back,
    )


def _land(
    operation: Operation,
    target: FileStoreTable,
    journal: MergeJournal,
    publication: _Publication,
) -> Snapshot:
    """Fence, copy what may not be shared, publish the schemas, commit: a crash does no harm."""
    store, intent, ours = operation.warehouse.store, operation.intent, publication.ours
    carried = CarriedPlan(
        target,
        publication.plan,
        schema_id=journal.schema_id_after,
        is_judged=journal.gate is not None,
    )
    carried.check(target.head())
    put_fences(operation, journal.sharing)
    copy_data_files(store, publication.copies)
    publish_files(
        store,
        [(target.paths.schema(each.id), each.to_json().encode()) for each in publication.schemas],
    )
    committer = FileStoreCommit(
        target,
        store,
        new_uuid=uuids_of(intent.operation_id),
        without_callbacks=journal.without_callbacks is not None,
    )
    landed = committer.commit(
        publication.messages,
        user=intent.actor,
        identifier=operation.commit_identifier,
        properties=publication.properties,
        expected_head=ours.identity,
        # Nobody can have made it before where the operation has just begun.
        seen_id=ours.id if operation.is_resumed else None,
        since_id=ours.id,
        check_append=publication.brings_back,
        # Where the rules overruled all of it, the target notes that it has seen the source.
        may_be_empty=True,
        carry=carried.check,
    )
    if landed is None:
        raise CommitConflict(
            f"Nothing of this merge is left to be brought to {target.branch!r}. Nothing was "
            "changed; plan again.",
            kind=ErrorKind.HEAD_MOVED,
            branch=target.branch,
        )
    return landed


def _remove_lost_manifests(
    operation: Operation, target: FileStoreTable, landed: Snapshot | None
) -> None:
    # A merge of many tables may leave the history again, and then whoever sleeps in the middle of
    # another try can still publish it: until that cannot be any more, its manifests stay.
    if operation.intent.catalog_operation is None:
        remove_lost_tries(operation, target, landed)


def remove_lost_tries(
    operation: Operation, target: FileStoreTable, landed: Snapshot | None
) -> None:
    """Remove what tries wrote that were cut off, if none of them can publish it any more."""
    if operation.is_resumed:
        store = operation.warehouse.store
        remove_lost_manifests(target, store, operation.intent.operation_id, landed)


def _lineage_properties(
    spec: MergeSpec,
    target: FileStoreTable,
    theirs: Snapshot,
    journal: MergeJournal,
    moves: FileMoves,
) -> dict[str, str]:
    """Return the properties by which later merges know what the snapshot merged or reverted."""
    match spec.kind:
        case MergeKind.REVERT:
            undone = target.snapshots.find(theirs.id + 1)
            return {} if undone is None else {REVERTS: undone.delta_manifest_list}
        case MergeKind.CHERRY_PICK:
            reverted = theirs.properties.get(REVERTS)
            return {
                **({} if reverted is None else {REVERTS: reverted}),
                **({TAKES_BACK: "true"} if is_reverting(theirs) else {}),
            }
        case MergeKind.MERGE:
            return {
                **({MERGE_COMPLETE: "true"} if moves.is_complete else {}),
                MERGE_SOURCE: spec.source,
                MERGE_SOURCE_IDENTITY: json.dumps(identity_to(theirs.identity)),
                MERGE_BASE_IDENTITY: json.dumps(identity_to(journal.base)),
                MERGE_SCHEMA_ID: str(journal.source_schema_id),
                MERGE_FIELD_IDS: json.dumps(journal.field_ids),
            }


def _rewrites(
    spec: MergeSpec, theirs: Snapshot, journal: MergeJournal, moves: FileMoves
) -> dict[str, str]:
    """Return the property that lists the files the merge read and the files it wrote from them."""
    read = [original_names(each.ours["file_name"]).to_pylist() for each in moves.joins]
    written = (each.new_files["file_name"] for each in messages_of(journal.row_messages))
    found = Rewrites()
    if moves.joins:
        found = Rewrites(
            read=frozenset().union(*read),
            written=frozenset().union(*(each.to_pylist() for each in written)),
        )
    if spec.kind is MergeKind.CHERRY_PICK:
        picked = rewrites_from(theirs.properties)
        if picked is None:
            return {MERGE_REWRITES: REWRITES_ALL}
        found |= picked
    return {MERGE_REWRITES: found.text} if any(found) else {}


def stage_merge(operation: Operation, journal: MergeJournal) -> None:
    """Make the copies of files that may not be shared, ahead of all that can be seen.

    Raises:
        CommitConflict: The snapshots that the merge was decided on are gone.
    """
    if not journal.shares:
        target = operation.table.on(operation.intent.branch)
        publication = _decided(operation, target, journal)
        copy_data_files(operation.warehouse.store, publication.copies)


def withdraw_merge(operation: Operation, journal: MergeJournal) -> None:
    """Remove what was made for a merge that nothing publishes any more."""
    publication = None
    if not journal.shares:
        # Where it cannot be told any more what was to be copied, the copies are nobody's.
        with suppress(CommitConflict, NotFound):
            target = operation.table.on(operation.intent.branch)
            publication = _decided(operation, target, journal)
    _withdraw(operation, journal, publication)


def _withdraw(
    operation: Operation, journal: MergeJournal, publication: _Publication | None
) -> None:
    store, target = operation.warehouse.store, operation.table.on(operation.intent.branch)
    copies = () if publication is None else publication.copies
    written = written_paths(target, messages_of(journal.row_messages))
    remove_copies(store, [*(path for _, path in copies), *written])
    _remove_lost_manifests(operation, target, None)
    withdraw_schemas(target, store, [TableSchema.from_json(text) for text in journal.schemas])


def find_landed(operation: Operation, journal: MergeJournal) -> Snapshot | None:
    """The snapshot of an operation, after the planned head and the commits carried over.

    Raises:
        CommitConflict: The snapshot may have expired, so nobody can say whether it landed.
    """
    target = operation.table.on(operation.intent.branch)
    own = (operation.intent.actor, operation.commit_identifier)
    try:
        for each in snapshots_after(target, journal.ours_id):
            if (each.commit_user, each.commit_identifier) == own:
                return each
    except NotFound as error:
        raise CommitConflict(error.message, kind=ErrorKind.HEAD_MOVED) from error
    return None


def _snapshot(table: FileStoreTable, snapshot_id: int, wanted: SnapshotIdentity | None) -> Snapshot:
    """The snapshot that a side stood at when the merge was decided."""
    found = table.snapshots.find(snapshot_id)
    if found is None or wanted is None or not found.identity.same_as(wanted):
        raise CommitConflict(
            f"The snapshot at which {table.branch!r} was to be merged is gone. Nothing was "
            "changed; plan again.",
            kind=ErrorKind.HEAD_MOVED,
            branch=table.branch,
        )
    return found


def rules_of_journal(journal: MergeJournal) -> MergeRules:
    """Return the rules that a merge was decided by; raises FormatError if one is not known."""
    try:
        return MergeRules(
            strict=journal.strict,
            scope=InsertScope(journal.scope),
            isolation=Isolation(journal.isolation),
            policy=journal.policy,
            kinds=tuple((ConflictKind(kind), Take(take)) for kind, take in journal.kinds.items()),
        )
    except ValueError as error:
        raise FormatError(f"The journal of a merge names an unknown rule: {error}.") from error


def _digest(moves: FileMoves) -> str:
    """Tell the files of one decision from those of another."""
    return hashlib.sha256(json.dumps(moves.digest_parts).encode()).hexdigest()[:16]
