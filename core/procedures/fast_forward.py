"""Fast-forward, previewed and run: what the preview shows is what is published, or nothing is."""

import pyarrow as pa
import pyarrow.compute as pc

from core.commit.branch_commit import HistoryCopy, check_head, copy_history, remove_history
from core.commit.journal import Ending
from core.commit.rescue import keep_state, rescue_name
from core.diff.fast_forward import (
    BranchHistory,
    FastForwardPlan,
    Verdict,
    plan_fast_forward,
    plan_id,
)
from core.errors import CommitConflict, ErrorKind, InvalidInput, NotFound, Refused
from core.format.binary_row import decode_row
from core.format.identifier import MAIN_BRANCH, Identifier
from core.format.lineage_event import LineageEvent, LineageKind
from core.format.partition_path import partition_path
from core.format.receipt import Counts, HeadMove, Receipt
from core.procedures.call import ProcedureCall
from core.procedures.consequence import Preview
from core.procedures.forward_preview import preview_of_forward
from core.procedures.operation import Operation
from core.procedures.permissions import Role, check_role
from core.procedures.row_engine import FILES_TO_VERIFY, Progress, RowEngine
from core.procedures.stages import Facts, Stages
from core.procedures.warehouse import Warehouse
from core.table.file_store_table import FileStoreTable

PROCEDURE = "fast_forward"
_SHOWN_PROBLEMS = 3


def preview_fast_forward(
    warehouse: Warehouse, table: Identifier, source: str, target: str = MAIN_BRANCH
) -> FastForwardPlan:
    """Decide what a fast-forward would do, and change nothing.

    Raises:
        NotFound: There is no such table or branch.
        InvalidInput: Source and target are one branch.
        FormatError: A snapshot, schema or tag of either cannot be decoded.
    """
    return _plan(warehouse.table(table.on_branch(target)), source, target)


def preview_forward_call(warehouse: Warehouse, call: ProcedureCall) -> Preview:
    """Tell the consequences of a call of `fast_forward`; raises as `preview_fast_forward` does."""
    table = warehouse.table(_identifier(call).on_branch(_target(call)))
    plan = _plan(table, call.text("branch"), _target(call))
    return preview_of_forward(plan, table.ledger.events(), force=call.flag("force"))


def fast_forward(
    warehouse: Warehouse, rows: RowEngine, call: ProcedureCall, stages: Stages
) -> Receipt:
    """Move a branch to the head of another one that holds all of it.

    Arguments of the call: `table`, `branch` (the source), `target` (main), `plan_id` of the
    preview, `force` (replace a target that moved, which a rescue branch keeps).

    Raises:
        Refused: The target moved, or the heads are not those of the preview; nothing was changed.
        CommitConflict: Another writer came in between; the target is a shorter fast-forward.
    """
    facts = stages.run(
        "check heads",
        lambda _: _check(warehouse, call),
        message=f"Comparing {call.text('branch')!r} with {_target(call)!r}.",
    )
    if facts["verdict"] == Verdict.UP_TO_DATE:
        return _nothing_to_do(warehouse, call, str(facts["plan_id"]))
    verified = stages.run(
        "verify files",
        lambda progress: _verify(warehouse, rows, call, progress),
        message="Checking that the data files which arrive are there and whole.",
    )
    published = stages.run(
        "publish",
        lambda progress: _publish(warehouse, call, facts, verified, progress),
        message=f"Copying metadata to {_target(call)!r}.",
        publishes=True,
    )
    return Receipt.from_json(str(published["receipt"]))


def finish_fast_forward(
    operation: Operation, progress: Progress = lambda _done, _all: None
) -> Receipt:
    """Carry out the journalled plan of an operation, from wherever it was cut off.

    Raises:
        CommitConflict: Another writer came in between.
    """
    done = operation.receipt()
    if done is not None:
        operation.end(Ending.DONE)
        return done
    copy = HistoryCopy.from_object(operation.intent.plan)
    store, table = operation.warehouse.store, operation.table
    try:
        if copy.rescue_branch is not None:
            _replace(operation, copy, copy.rescue_branch)
        elif not set(copy.snapshot_ids) & set(table.on(copy.target).snapshots.ids()):
            check_head(table.on(copy.target), copy.expected_head)
        copy_history(table, store, copy, progress)
    except CommitConflict as error:
        operation.end(Ending.STOPPED, error.message)
        raise
    return operation.complete(*_events(operation, copy))


def _plan(table: FileStoreTable, source: str, target: str) -> FastForwardPlan:
    if source == target:
        raise InvalidInput(f"Branch {source!r} cannot be fast-forwarded to itself. Name two.")
    for branch in (source, target):
        if not table.branches.exists(branch):
            raise NotFound(
                f"Table {table.identifier.table_name} has no branch {branch!r}.",
                kind=ErrorKind.BRANCH_NOT_FOUND,
                branch=branch,
            )
    return plan_fast_forward(
        table.identifier.table_name, _history(table.on(source)), _history(table.on(target))
    )


def _history(table: FileStoreTable, *, head_only: bool = False) -> BranchHistory:
    head = table.head() if head_only else None
    return BranchHistory(
        branch=table.branch,
        snapshots=table.snapshots.all() if not head_only else () if head is None else (head,),
        schemas=table.schemas.all(),
        tags=table.tags.all(),
        consumers=tuple((each.id, each.next_snapshot_id) for each in table.consumers.all()),
    )


def _check(warehouse: Warehouse, call: ProcedureCall) -> Facts:
    """Plan again and compare with the preview; an operation that has begun keeps its plan."""
    warehouse.check_writable()
    source, target, force = call.text("branch"), _target(call), call.flag("force")
    check_role(call.role, Role.OPERATOR if force else Role.EDITOR, _what(target, force=force))
    table = warehouse.table(_identifier(call).on_branch(target))
    if Operation.find(warehouse, table, call.operation_id) is not None:
        return {"verdict": str(Verdict.FAST_FORWARD), "plan_id": call.find_text("plan_id") or ""}
    plan = _plan(table, source, target)
    wanted = call.find_text("plan_id")
    if wanted is not None and wanted != plan.id:
        raise Refused(
            f"This preview is out of date: {source!r} or {target!r} moved. Nothing was changed; "
            "look at the new preview.",
            kind=ErrorKind.HEAD_MOVED,
            plan_id=plan.id,
        )
    if plan.verdict is Verdict.REFUSED and not (force and plan.can_replace):
        raise _refusal(plan)
    if plan.verdict is Verdict.UP_TO_DATE:
        return {"verdict": str(plan.verdict), "plan_id": plan.id}
    return {
        "verdict": str(plan.verdict),
        "plan_id": plan.id,
        "journal": {
            **_copy_of(plan, call).to_object(),
            "planId": plan.id,
            "rows": plan.arrives.row_count,
            "notes": list(plan.notes),
        },
    }


def _refusal(plan: FastForwardPlan) -> Refused:
    reasons = " ".join(reason.text for reason in plan.reasons)
    ways = ", ".join(str(way) for way in plan.ways_out)
    return Refused(
        f"Fast-forward of {plan.target!r} to {plan.source!r} is refused. {reasons} Nothing was "
        f"changed. Ways out: {ways}.",
        kind=plan.reasons[0].kind,
        plan=plan.to_object(),
    )


def _verify(
    warehouse: Warehouse, rows: RowEngine, call: ProcedureCall, progress: Progress
) -> Facts:
    """Have the row engine look at the data files that the target does not hold yet."""
    table = warehouse.table(_identifier(call).on_branch(_target(call)))
    files = arriving_files(table, call.text("branch"), _target(call))
    if not files.num_rows:
        return {"files": 0}
    problems = rows.verify_files(files, progress)
    if problems.num_rows:
        shown = "; ".join(
            f"{each['path']}: {each['problem']}"
            for each in problems.slice(0, _SHOWN_PROBLEMS).to_pylist()
        )
        raise Refused(
            f"{problems.num_rows:,} of {files.num_rows:,} data files of {call.text('branch')!r} "
            f"are not what its manifests say: {shown} Nothing was changed. Restore the files, or "
            "drop the branch.",
            kind=ErrorKind.FILES_MISSING,
            files=problems["path"].to_pylist()[:100],
        )
    return {"files": files.num_rows}


def arriving_files(table: FileStoreTable, source: str, target: str) -> pa.Table:
    """Data files of the source's head that the target's head does not hold.

    Returns:
        Columns of FILES_TO_VERIFY.
    """
    incoming = table.on(source)
    head, held = incoming.head(), table.on(target).head()
    if head is None:
        return FILES_TO_VERIFY.empty_table()
    files = incoming.live_files(head)
    if held is not None:
        known = table.on(target).live_files(held)["identity"]
        files = files.filter(
            pc.invert(pc.is_in(files["identity"], value_set=known.combine_chunks()))
        )
    return pa.table(
        [
            data_file_paths(incoming, files),
            files["file_size"].cast(pa.int64()),
            files["row_count"].cast(pa.int64()),
        ],
        schema=FILES_TO_VERIFY,
    )


def data_file_paths(table: FileStoreTable, files: pa.Table) -> pa.Array:
    """The paths of data files, as text.

    Args:
        table: The table on the branch that refers to the files.
        files: Columns of MANIFEST_ENTRY.
    """
    if not files.num_rows:
        return pa.array([], pa.string())
    schema, paths = table.schema(), table.data_paths()
    types = schema.partition_type.types
    buckets = files.select(["partition", "bucket"]).group_by(["partition", "bucket"]).aggregate([])
    folders = {}
    for each in buckets.to_pylist():
        values = decode_row(each["partition"], types)
        folder = partition_path(values, schema)
        folders[(each["partition"], each["bucket"])] = paths.bucket(folder, each["bucket"])
    columns = (files[name].to_pylist() for name in ("partition", "bucket", "file_name"))
    external = files["external_path"].to_pylist()
    return pa.array(
        [
            outside or f"{folders[(partition, bucket)]}/{name}"
            for partition, bucket, name, outside in zip(*columns, external, strict=True)
        ],
        pa.string(),
    )


def _publish(
    warehouse: Warehouse, call: ProcedureCall, checked: Facts, verified: Facts, progress: Progress
) -> Facts:
    target = _target(call)
    table = warehouse.table(_identifier(call).on_branch(target))
    operation = Operation.find(warehouse, table, call.operation_id)
    if operation is None:
        source = call.text("branch")
        found = plan_id(
            table.identifier.table_name,
            _history(table.on(source), head_only=True),
            _history(table, head_only=True),
        )
        journal = checked.get("journal")
        if found != checked["plan_id"] or not isinstance(journal, dict):
            raise Refused(
                f"Branch {source!r} or {target!r} moved while the files were checked. "
                "Nothing was changed; look at the new preview.",
                kind=ErrorKind.HEAD_MOVED,
                plan_id=found,
            )
        journalled = {**journal, "filesVerified": verified.get("files", 0)}
        operation = Operation.begin(warehouse, table, call, branch=target, plan=journalled)
    return {"receipt": finish_fast_forward(operation, progress).to_json()}


def _copy_of(plan: FastForwardPlan, call: ProcedureCall) -> HistoryCopy:
    """Turn the decision into files to copy and, where it is forced, files to take away."""
    source, target = plan.source_head, plan.target_head
    assert source is not None
    removed = plan.would_remove
    return HistoryCopy(
        source=plan.source,
        target=plan.target,
        expected_head=None if target is None else target.identity,
        expected_head_id=None if target is None else target.id,
        new_head=source.identity,
        new_head_id=source.id,
        schema_ids=plan.arrives.schema_ids,
        tags=tuple(tag.name for tag in plan.arrives.tags),
        snapshot_ids=tuple(snapshot.id for snapshot in plan.arrives.snapshots),
        remove_snapshot_ids=tuple(snapshot.id for snapshot in removed.snapshots),
        remove_schema_ids=removed.schema_ids,
        remove_tags=tuple(tag.name for tag in removed.tags),
        rescue_branch=rescue_name(call.operation_id) if not removed.is_empty else None,
    )


def _replace(operation: Operation, copy: HistoryCopy, rescue_branch: str) -> None:
    """Keep the target's state on a rescue branch, then take away what stands in the way."""
    store, table, journal = operation.warehouse.store, operation.table, operation.journal
    operation_id = operation.intent.operation_id
    if journal.has_reached(operation_id, "removed"):
        return
    if not journal.has_reached(operation_id, "rescued"):
        check_head(table.on(copy.target), copy.expected_head)
        keep_state(table.on(copy.target), store, rescue_branch)
        journal.mark(operation_id, "rescued")
    remove_history(table, store, copy, table.on(rescue_branch))
    journal.mark(operation_id, "removed")


def _events(operation: Operation, copy: HistoryCopy) -> tuple[LineageEvent, ...]:
    intent = operation.intent
    kind = LineageKind.REPLACED if copy.rescue_branch else LineageKind.FAST_FORWARDED
    # What replaces a history does not build on it.
    builds_on = None if copy.rescue_branch else copy.expected_head
    main = LineageEvent(
        id=intent.operation_id,
        branch=copy.target,
        operation_id=intent.operation_id,
        actor=intent.actor,
        kind=kind,
        source_branch=copy.source,
        time_millis=intent.event_millis,
        before=copy.expected_head,
        after=copy.new_head,
        parents=() if builds_on is None else (builds_on,),
        receipt=_receipt(operation, copy),
    )
    if copy.rescue_branch is None:
        return (main,)
    rescue = LineageEvent(
        id=f"{intent.operation_id}-rescue",
        branch=copy.rescue_branch,
        operation_id=intent.operation_id,
        actor=intent.actor,
        kind=LineageKind.RESCUED,
        source_branch=copy.target,
        time_millis=intent.event_millis,
        after=copy.expected_head,
        parents=() if copy.expected_head is None else (copy.expected_head,),
    )
    return (rescue, main)


def _receipt(operation: Operation, copy: HistoryCopy) -> Receipt:
    intent, plan = operation.intent, operation.intent.plan
    notes = plan.get("notes")
    return Receipt(
        operation_id=intent.operation_id,
        statement=intent.statement,
        actor=intent.actor,
        plan_id=str(plan.get("planId", "")),
        rescue_branch=copy.rescue_branch,
        moves=(
            HeadMove(
                branch=copy.target,
                before=copy.expected_head,
                before_id=copy.expected_head_id,
                after=copy.new_head,
                after_id=copy.new_head_id,
            ),
        ),
        counts=Counts(
            snapshots_added=len(copy.snapshot_ids),
            snapshots_removed=len(copy.remove_snapshot_ids),
            schemas_added=len(copy.schema_ids),
            schemas_removed=len(copy.remove_schema_ids),
            tags_added=len(copy.tags),
            tags_removed=len(copy.remove_tags),
            files_verified=_number(plan.get("filesVerified")),
            rows_added=_number(plan.get("rows")),
        ),
        notes=tuple(str(note) for note in notes) if isinstance(notes, list) else (),
        started_millis=intent.time_millis,
        finished_millis=operation.warehouse.clock(),
    )


def _nothing_to_do(warehouse: Warehouse, call: ProcedureCall, plan_id: str) -> Receipt:
    now = warehouse.clock()
    return Receipt(
        operation_id=call.operation_id,
        statement=call.statement,
        actor=call.actor,
        plan_id=plan_id,
        notes=(
            f"Branch {_target(call)!r} already holds all of {call.text('branch')!r}; nothing was "
            "changed.",
        ),
        started_millis=now,
        finished_millis=now,
    )


def _identifier(call: ProcedureCall) -> Identifier:
    return Identifier.parse(call.text("table"))


def _target(call: ProcedureCall) -> str:
    return call.find_text("target") or MAIN_BRANCH


def _what(target: str, *, force: bool) -> str:
    return f"replace {target!r}" if force else f"fast-forward {target!r}"


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
