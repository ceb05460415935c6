"""Merging a branch into another one, as one snapshot on the target: files move, rows do not."""

import hashlib
import json
from collections.abc import Sequence

import pyarrow as pa

from core.commit.branch_commit import check_head
from core.commit.data_copy import copy_data_files, remove_copies
from core.commit.file_store_commit import FileStoreCommit
from core.commit.metadata_copy import publish_files
from core.commit.own_commit import snapshots_since
from core.commit.row_conflicts import publish_row_conflicts
from core.commit.schema_commit import withdraw_schemas
from core.diff.fast_forward import plan_fast_forward
from core.diff.history_move import count
from core.diff.lineage import (
    MERGE_BASE_IDENTITY,
    MERGE_FIELD_IDS,
    MERGE_SCHEMA_ID,
    MERGE_SOURCE,
    MERGE_SOURCE_IDENTITY,
)
from core.errors import CommitConflict, ErrorKind, Refused
from core.format.json_text import JsonObject, without_nulls
from core.format.receipt import Counts, Receipt, identity_from, identity_to
from core.format.snapshot import Snapshot
from core.format.table_schema import TableSchema
from core.merge.conflict import ConflictKind, Take
from core.merge.file_moves import FileMoves, InsertScope, Isolation, MergeRules
from core.merge.merge_plan import MergePlan, MergeVerdict, plan_merge
from core.procedures.call import ProcedureCall
from core.procedures.consequence import Consequence, Preview, blocks, changes, keeps
from core.procedures.drop_branch import open_operations
from core.procedures.fast_forward import journal_of_forward
from core.procedures.histories import history_of
from core.procedures.merge_messages import as_target_files, copies_of, messages_of
from core.procedures.merge_rows import (
    joined_messages,
    messages_from,
    messages_to_json,
    row_scope,
    row_work,
    written_paths,
)
from core.procedures.merge_spec import MergeKind, MergeSpec, sides_of, target_of
from core.procedures.operation import Operation
from core.procedures.permissions import Role
from core.procedures.preview_merge import plan_of, policy_of, rules_of
from core.procedures.protection import protection_of, rule_text
from core.procedures.records import event_of, move_of, number_of, receipt_of, text_of, texts_of
from core.procedures.row_engine import FILES_TO_VERIFY, Progress, RowEngine
from core.procedures.stages import Facts
from core.procedures.take_over import finish_take_over
from core.procedures.verb import Planned, Verb
from core.procedures.warehouse import Warehouse
from core.table.data_file_paths import data_file_paths
from core.table.file_store_table import FileStoreTable

_FORWARD = "fast-forward"


def plan_merge_call(warehouse: Warehouse, call: ProcedureCall) -> Planned:
    """Decide on a merge, and note what its run needs.

    Arguments of the call: `table`, `branch` (the source), `target` (main), `strict`, `scope`
    (table, partition), `isolation` (serializable, snapshot), `policy` (YAML that settles conflicts
    of rows), `reason`, `plan_id`.

    Raises:
        NotFound: There is no such table or branch.
        InvalidInput: A rule is not known, or both branches are one.
    """
    target = _target(warehouse, call)
    spec = MergeSpec.from_call(target, call)
    plan = _plan(warehouse, target, spec, call)
    preview = preview_of_merge(warehouse, target, spec, plan)
    journal: dict[str, object] = {"planId": plan.id, **spec.to_object()}
    if plan.verdict is MergeVerdict.FAST_FORWARD:
        forward = plan_fast_forward(
            plan.table, history_of(target.on(plan.source)), history_of(target)
        )
        journal |= {**journal_of_forward(target, forward, call.operation_id), "way": _FORWARD}
        journal["planId"] = plan.id
    elif plan.can_run:
        journal |= _journal(plan)
    already = None
    if plan.verdict is MergeVerdict.UP_TO_DATE:
        already = _nothing_to_do(warehouse, call, plan)
    return Planned(
        preview=preview,
        table=target,
        branch=target.branch,
        journal=without_nulls({**journal, "reason": call.find_text("reason")}),
        already=already,
    )


def planned_merge(warehouse: Warehouse, call: ProcedureCall) -> MergePlan:
    """Decide on the merge that a call asks for; raises as `plan_merge_call` does."""
    target = _target(warehouse, call)
    return _plan(warehouse, target, MergeSpec.from_call(target, call), call)


def preview_of_merge(
    warehouse: Warehouse, target: FileStoreTable, spec: MergeSpec, plan: MergePlan
) -> Preview:
    """Tell the consequences of a merge, a pick or a revert."""
    rule = protection_of(target.ledger.events(), plan.target)
    told: list[Consequence] = [blocks(each.text, each.kind) for each in plan.blocks]
    if plan.verdict is MergeVerdict.CONFLICTS:
        told.append(
            blocks(
                f"{count(len(plan.conflicts), 'conflict')} must be settled first.",
                ErrorKind.CONFLICTS_OPEN,
                tuple(
                    f"{each.kind}: {each.subject} ({each.rule}): {each.sides.theirs} on the "
                    f"source, {each.sides.ours} on the target"
                    for each in plan.conflicts
                ),
            )
        )
    if plan.verdict is MergeVerdict.UNDECIDED:
        told.append(
            changes(
                f"{count(plan.cost.buckets_to_compare, 'bucket')} hold keys that both sides may "
                "have changed: their rows are compared first, and a conflict stops the merge.",
            )
        )
    told += open_operations(warehouse, target)
    if plan.verdict in (MergeVerdict.CLEAN, MergeVerdict.UNDECIDED):
        told += _gains(plan)
    told += [changes(note) for note in plan.notes]
    if rule is not None:
        told.append(changes(f"Branch {plan.target!r} is protected by {rule_text(rule)}."))
    told += [keeps(text) for text in _kept(spec)]
    return Preview(
        procedure=str(spec.kind),
        title=f"{spec.title} of {plan.table}",
        plan_id=plan.id,
        consequences=tuple(told),
        typed_name=None,
        role=Role.EDITOR if rule is None else Role.APPROVER,
        undo=f"Undo works until {plan.target!r} moves; it brings back every byte.",
    )


def finish_merge(operation: Operation) -> Receipt:
    """Merge as the journal says, from wherever it was cut off.

    Raises:
        CommitConflict: The target moved; it is as it was, and what was made for it is removed.
    """
    if text_of(operation.intent.plan, "way") == _FORWARD:
        return finish_take_over(operation)
    target = operation.table.on(operation.intent.branch)
    raw = JsonObject(operation.intent.plan, "journal of a merge")
    spec = MergeSpec.from_journal(operation.intent.procedure, raw)
    source = target.on(spec.source)
    ours = _snapshot(target, raw, "ours")
    theirs = _snapshot(source, raw, "theirs")
    schemas = [TableSchema.from_json(text) for text in raw.texts("schemas")]
    plan = plan_merge(sides_of(target, spec, ours, theirs), _rules(raw))
    moves = plan.moves
    if moves is None or _digest(moves) != raw.get("moves", str):
        raise CommitConflict(
            "The files of this merge are no longer what was decided on. Nothing was changed; plan "
            "again.",
            kind=ErrorKind.HEAD_MOVED,
        )
    shares = raw.get("shares", bool)
    operation_id = operation.intent.operation_id
    coming = pa.concat_tables([moves.add, moves.replays])
    copies = () if shares else copies_of(source, target, coming, operation_id)
    try:
        landed = _land(operation, spec, (ours, theirs), moves, copies, schemas)
    except CommitConflict:
        written = written_paths(target, messages_from(raw, "rowMessages"))
        made = [*(path for _, path in copies), *written]
        remove_copies(operation.warehouse.store, made)
        withdraw_schemas(target, operation.warehouse.store, schemas)
        raise
    before = target.snapshots.find(landed.id - 1)
    receipt = receipt_of(
        operation,
        moves=(move_of(target.branch, before, landed),),
        counts=Counts(
            snapshots_added=1,
            schemas_added=len(schemas),
            files_verified=number_of(operation.intent.plan, "filesVerified"),
            rows_added=landed.delta_record_count or 0,
            bytes_written=0 if not copies else number_of(operation.intent.plan, "bytesToCopy"),
        ),
        notes=(
            f"{spec.title}: done as snapshot {landed.id}.",
            *texts_of(operation.intent.plan, "notes"),
            *texts_of(operation.intent.plan, "rowNotes"),
        ),
    )
    return operation.complete(
        event_of(
            operation,
            spec.kind.event,
            receipt,
            branch=target.branch,
            source_branch=None if spec.source == spec.target else spec.source,
            before=ours.identity,
            after=landed.identity,
            parents=(
                (ours.identity, theirs.identity)
                if spec.kind is MergeKind.MERGE
                else (ours.identity,)
            ),
            undoes=spec.reverts,
        )
    )


def files_to_merge(warehouse: Warehouse, call: ProcedureCall) -> pa.Table:
    """Data files that come to the target, with the columns of FILES_TO_VERIFY."""
    target, plan = _target(warehouse, call), planned_merge(warehouse, call)
    if plan.moves is None:
        return FILES_TO_VERIFY.empty_table()
    parts = []
    source = target.on(plan.source)
    for holder, files in (
        (source, plan.moves.add),
        (source, plan.moves.replays),
        (target, plan.moves.restore),
    ):
        columns = [files["file_size"], files["row_count"]]
        parts.append(pa.table([data_file_paths(holder, files), *columns], schema=FILES_TO_VERIFY))
    return pa.concat_tables(parts)


def settle_rows(
    warehouse: Warehouse, rows: RowEngine, call: ProcedureCall, progress: Progress
) -> Facts:
    """Compare the rows that both sides may have changed, and write what replaying cannot give.

    Raises:
        Refused: Conflicts are open; they are kept under the plan's id, and nothing else is.
    """
    plan = planned_merge(warehouse, call)
    if plan.moves is None or not plan.moves.row_places or plan.ours is None or plan.theirs is None:
        return {}
    target = _target(warehouse, call)
    source = target.on(plan.source)
    sides = sides_of(target, MergeSpec.from_call(target, call), plan.ours, plan.theirs)
    work = row_work(target, source, sides, plan.moves.row_places)
    found = rows.reconcile(target, row_scope(plan, sides), work, policy_of(call), progress)
    if found.conflicts.num_rows:
        publish_row_conflicts(warehouse.store, target.paths, plan.id, found.conflicts)
    messages = messages_to_json(found.messages)
    if found.open_count:
        remove_copies(warehouse.store, written_paths(target, found.messages))
        raise Refused(
            f"Merge {plan.source!r} into {plan.target!r} of {plan.table} is refused: "
            f"{count(found.open_count, 'cell or row')} changed on both sides. Nothing was changed; "
            "settle them by a policy.",
            kind=ErrorKind.CONFLICTS_OPEN,
            plan_id=plan.id,
            conflicts=found.open_count,
        )
    settled = found.conflicts.num_rows
    notes = [f"{count(settled, 'conflict')} settled by policy {plan.rules.policy}."]
    return {
        "plan_id": plan.id,
        "rowMessages": messages,
        "rowNotes": notes if settled else [],
    }


def withdraw_rows(warehouse: Warehouse, call: ProcedureCall, written: Facts) -> None:
    """Remove the files of settled rows of a merge that does not come to be."""
    messages = messages_from(JsonObject(dict(written), "rows of a merge"), "rowMessages")
    remove_copies(warehouse.store, written_paths(_target(warehouse, call), messages))


def _verb(kind: MergeKind, what: str, doing: str) -> Verb:
    return Verb(
        name=str(kind),
        what=what,
        doing=doing,
        plan=plan_merge_call,
        finish=finish_merge,
        arriving=files_to_merge,
        rows=settle_rows,
        withdraw=withdraw_rows,
    )


MERGE_BRANCH = _verb(MergeKind.MERGE, "merge a branch", "Merging.")
CHERRY_PICK = _verb(MergeKind.CHERRY_PICK, "pick a snapshot", "Picking the snapshot.")
REVERT = _verb(MergeKind.REVERT, "revert a snapshot", "Reverting.")


def _target(warehouse: Warehouse, call: ProcedureCall) -> FileStoreTable:
    return warehouse.table(target_of(call.text("table"), call))


def _plan(
    warehouse: Warehouse, target: FileStoreTable, spec: MergeSpec, call: ProcedureCall
) -> MergePlan:
    return plan_of(target, spec, rules_of(call), warehouse.clock())


def _kept(spec: MergeSpec) -> tuple[str, ...]:
    match spec.kind:
        case MergeKind.MERGE:
            return (f"{spec.source!r} and every snapshot of {spec.target!r} stay as they are.",)
        case MergeKind.CHERRY_PICK:
            return (
                f"{spec.source!r} and every snapshot of {spec.target!r} stay as they are.",
                f"A later merge of {spec.source!r} meets the same change again, and takes it once.",
            )
        case MergeKind.REVERT:
            return (
                f"Every snapshot of {spec.target!r} stays, and so does its schema.",
                "What a reverted merge brought does not come with the next merge of that branch: "
                "revert the revert first.",
            )


def _journal(plan: MergePlan) -> dict[str, object]:
    assert plan.moves is not None
    assert plan.schema is not None
    assert plan.ours is not None
    assert plan.theirs is not None
    return {
        "way": "three-way",
        "ours": identity_to(plan.ours.identity),
        "oursId": plan.ours.id,
        "theirs": identity_to(plan.theirs.identity),
        "theirsId": plan.theirs.id,
        "base": None if plan.base is None else identity_to(plan.base.identity),
        "strict": plan.rules.strict,
        "scope": str(plan.rules.scope),
        "isolation": str(plan.rules.isolation),
        "policy": plan.rules.policy,
        "kinds": {str(kind): str(take) for kind, take in plan.rules.kinds},
        "moves": _digest(plan.moves),
        "shares": plan.shares_files,
        "bytesToCopy": plan.cost.bytes_to_copy,
        "schemas": [schema.to_json() for schema in plan.schema.schemas],
        "schemaIdAfter": plan.schema.final_id,
        "sourceSchemaId": plan.source_schema_id,
        "idMap": {str(theirs): ours for theirs, ours in plan.schema.id_map.items()},
        "fieldIds": {str(theirs): ours for theirs, ours in plan.schema.field_ids.items()},
        "notes": list(plan.notes),
    }


def _land(
    operation: Operation,
    spec: MergeSpec,
    heads: tuple[Snapshot, Snapshot],
    moves: FileMoves,
    copies: Sequence[tuple[str, str]],
    schemas: Sequence[TableSchema],
) -> Snapshot:
    """Copy what may not be shared, publish the schemas, commit; the order of a harmless crash."""
    ours, theirs = heads
    store, intent = operation.warehouse.store, operation.intent
    target = operation.table.on(spec.target)
    source = target.on(spec.source)
    raw = JsonObject(intent.plan, "journal of a merge")
    commit_id = _identifier(intent.operation_id)
    if not _has_landed(target, ours.id, intent.actor, commit_id):
        check_head(target, ours.identity)
        copy_data_files(store, copies)
        publish_files(
            store, [(target.paths.schema(each.id), each.to_json().encode()) for each in schemas]
        )
    id_map = {int(theirs): ours for theirs, ours in raw.get("idMap", dict).items()}
    incoming = as_target_files(
        pa.concat_tables([moves.add, moves.replays]),
        id_map,
        intent.operation_id if copies else None,
    )
    moved = messages_of(moves, incoming, source.index_entries(theirs), target.index_entries(ours))
    landed = FileStoreCommit(target, store).commit(
        joined_messages(moved, messages_from(raw, "rowMessages")),
        user=intent.actor,
        identifier=commit_id,
        properties=_properties(spec, intent.operation_id, theirs, raw),
        expected_head=ours.identity,
        seen_id=ours.id,
        check_append=moves.brings_back,
        # Where the rules overruled all of it, the target notes that it has seen the source.
        may_be_empty=True,
    )
    assert landed is not None
    return landed


def _properties(
    spec: MergeSpec, operation_id: str, theirs: Snapshot, raw: JsonObject
) -> dict[str, str]:
    """What the snapshot tells: of a merge, all that the next one builds on."""
    name = str(spec.kind).removesuffix("_branch")
    told = {"branch.operation": name, "branch.operation-id": operation_id}
    if spec.kind is not MergeKind.MERGE:
        return told
    return told | {
        MERGE_SOURCE: spec.source,
        MERGE_SOURCE_IDENTITY: json.dumps(identity_to(theirs.identity)),
        MERGE_BASE_IDENTITY: json.dumps(raw.find("base", dict)),
        MERGE_SCHEMA_ID: str(raw.get("sourceSchemaId", int)),
        MERGE_FIELD_IDS: json.dumps(raw.get("fieldIds", dict)),
    }


def _has_landed(target: FileStoreTable, seen_id: int, user: str, identifier: int) -> bool:
    return any(
        each.commit_user == user and each.commit_identifier == identifier
        for each in snapshots_since(target, seen_id, target.head())
    )


def _snapshot(table: FileStoreTable, raw: JsonObject, side: str) -> Snapshot:
    """The snapshot that a side stood at when the merge was decided."""
    wanted = identity_from(raw.get(side, dict), raw.what)
    found = table.snapshots.find(raw.get(f"{side}Id", int))
    if found is None or wanted is None or not found.identity.same_as(wanted):
        raise CommitConflict(
            f"The snapshot at which {table.branch!r} was to be merged is gone. Nothing was "
            "changed; plan again.",
            kind=ErrorKind.HEAD_MOVED,
            branch=table.branch,
        )
    return found


def _rules(raw: JsonObject) -> MergeRules:
    return MergeRules(
        strict=raw.get("strict", bool),
        scope=raw.choice("scope", InsertScope),
        isolation=raw.choice("isolation", Isolation),
        policy=raw.get("policy", str),
        kinds=tuple(
            (ConflictKind(kind), Take(take)) for kind, take in raw.text_map("kinds").items()
        ),
    )


def _digest(moves: FileMoves) -> str:
    """Tell the files of one decision from those of another."""
    tables = (moves.add, moves.replays, moves.restore, moves.remove)
    told = [sorted(table["identity"].to_pylist()) for table in tables]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:16]


def _gains(plan: MergePlan) -> list[Consequence]:
    cost = plan.cost
    how = ", ".join(f"{number} {name}" for name, number in plan.strategies.items())
    told = [
        changes(
            f"{plan.target!r} gets 1 snapshot: {count(cost.files_added, 'file')} of "
            f"{plan.source!r} come, {count(cost.files_removed, 'file')} go: "
            f"{cost.rows_added:+,} rows. No row is read or written.",
            (f"buckets: {how}",) if how else (),
        )
    ]
    if cost.files_restored:
        told.append(
            changes(
                f"{count(cost.files_restored, 'file')} come back from before a compaction of "
                f"{plan.target!r}, because the source changed rows in them."
            )
        )
    if cost.bytes_to_copy:
        told.append(changes(f"{cost.bytes_to_copy:,} bytes are copied."))
    schemas = () if plan.schema is None else plan.schema.schemas
    if schemas:
        told.append(changes(f"The schema of {plan.target!r} becomes {schemas[-1].id}."))
    return told


def _nothing_to_do(warehouse: Warehouse, call: ProcedureCall, plan: MergePlan) -> Receipt:
    now = warehouse.clock()
    return Receipt(
        operation_id=call.operation_id,
        statement=call.statement,
        actor=call.actor,
        plan_id=plan.id,
        notes=(*plan.notes, "Nothing was changed."),
        started_millis=now,
        finished_millis=now,
    )


def _identifier(operation_id: str) -> int:
    """A number that no other commit of the actor has, the same one for a repeated try."""
    return int.from_bytes(hashlib.sha256(operation_id.encode()).digest()[:7])
