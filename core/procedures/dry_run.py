"""A dry run of a merge: all that is looked at before anything is published, and nothing more."""

from dataclasses import replace

from core.diff.history_move import count
from core.errors import ErrorKind, Refused
from core.format.receipt import Receipt
from core.merge.row_work import RowVerdict
from core.procedures.call import ProcedureCall
from core.procedures.merge_branch import files_to_merge, plan_merge_call
from core.procedures.merge_spec import MergeKind
from core.procedures.preview_merge import planned_merge
from core.procedures.quality_gate import MESSAGE, STAGE, judge_result, rules_digest
from core.procedures.records import number_of, receipt_without_change, texts_of
from core.procedures.row_engine import Progress, RowEngine
from core.procedures.settle_rows import reconcile_rows
from core.procedures.staged_result import sides_of_merge
from core.procedures.stages import Facts, Stages
from core.procedures.verify_files import verify
from core.procedures.warehouse import Warehouse


def dry_run_merge(
    warehouse: Warehouse, rows: RowEngine, call: ProcedureCall, stages: Stages
) -> Receipt:
    """Check the heads, the files that would come, and the rows with what settles their conflicts.

    Takes the arguments of `merge_branch`. No row is written, and no branch is changed: a merge
    compares the rows again, and finds the same while no head moves.

    Raises:
        Refused: What a merge would be refused for.
    """
    merge, started = replace(call, name=str(MergeKind.MERGE)), warehouse.clock()
    checked = stages.run(
        "check heads",
        lambda _: _check(warehouse, merge),
        message="Looking at what there is.",
    )
    verified = stages.run(
        "verify files",
        lambda progress: _verify(warehouse, rows, merge, progress),
        message="Checking that the data files which would arrive are there and whole.",
    )
    compared = stages.run(
        "compare rows",
        lambda progress: _compare(warehouse, rows, merge, progress),
        message="Comparing rows that both sides may have changed.",
    )
    judged: Facts = {}
    if "rules" in checked:
        judged = stages.run(
            STAGE,
            lambda progress: _judge(warehouse, rows, merge, str(checked["plan_id"]), progress),
            message=MESSAGE,
        )
    files = count(number_of(verified, "files"), "data file")
    return receipt_without_change(
        call,
        str(checked["plan_id"]),
        (
            *texts_of(checked, "notes"),
            f"{files} would come, and each is there and whole.",
            *texts_of(compared, "notes"),
            *texts_of(judged, "notes"),
            "Nothing was changed.",
        ),
        started_millis=started,
        finished_millis=warehouse.clock(),
    )


def _check(warehouse: Warehouse, call: ProcedureCall) -> Facts:
    planned = plan_merge_call(warehouse, call)
    if planned.already is None:
        planned.preview.raise_unless_runnable(call.find_text("plan_id"))
    head = planned.table.head()
    stands = "has no snapshot" if head is None else f"stays at snapshot {head.id}"
    digest = rules_digest(warehouse, call)
    return {
        "plan_id": planned.preview.plan_id,
        "notes": [f"Dry run: {planned.branch!r} {stands}."],
        **({} if digest is None else {"rules": digest}),
    }


def _verify(
    warehouse: Warehouse, rows: RowEngine, call: ProcedureCall, progress: Progress
) -> Facts:
    files = files_to_merge(warehouse, call)
    return {"files": verify(rows, files, call.text("table"), progress)}


def _compare(
    warehouse: Warehouse, rows: RowEngine, call: ProcedureCall, progress: Progress
) -> Facts:
    plan = planned_merge(warehouse, call)
    found = reconcile_rows(warehouse, rows, call, plan, progress, writes=False)
    if found is None:
        return {"notes": ["No row had to be compared."]}
    if found.open_count:
        raise Refused(
            f"{count(found.open_count, 'conflict')} of rows must be settled first. "
            f"{plan.target!r} is unchanged.",
            kind=ErrorKind.CONFLICTS_OPEN,
            plan_id=plan.id,
        )
    numbers = found.verdicts.group_by("verdict").aggregate([("rows", "sum")]).to_pylist()
    by_verdict = {each["verdict"]: each["rows_sum"] for each in numbers}
    told = ", ".join(f"{each} {by_verdict[each]:,}" for each in RowVerdict if each in by_verdict)
    settled = count(found.conflicts.num_rows, "conflict")
    return {"notes": [f"{settled} settled. Keys that were compared: {told or 'none'}."]}


def _judge(
    warehouse: Warehouse, rows: RowEngine, call: ProcedureCall, plan_id: str, progress: Progress
) -> Facts:
    moves = planned_merge(warehouse, call).moves
    if moves is not None and (moves.row_places or moves.masks):
        return {"notes": ["Rules are judged once the merge itself has written what it settled."]}
    sides = sides_of_merge(warehouse, call, plan_id, {})
    return {"notes": judge_result(warehouse, rows, call, sides, progress)["notes"]}
