"""The quality of two states, compared by the row engine as a job and kept where pages find it."""

import hashlib
import json
from dataclasses import replace

from branch_console.diff.state_diff import ComparedState, StateDiff
from branch_console.diff.state_name import StateName
from branch_console.errors import NotFound
from branch_console.format.identifier import Identifier
from branch_console.format.receipt import Receipt
from branch_console.operations.compare_requests import CompareQualityRequest
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.row_engine import Progress, RowEngine
from branch_console.procedures.call.stages import Facts, Stages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.compare.rows import row_diff_name
from branch_console.procedures.compare.states import compare_states
from branch_console.procedures.history.merge_heads import find_merge_heads
from branch_console.procedures.merge.trial_merge import TrialMerge, trial_merge
from branch_console.procedures.run.receipts import receipt_of_stage
from branch_console.procedures.run.running_reads import holding, states_read
from branch_console.quality.comparison import VERSION, QualityComparison
from branch_console.quality.drift import Rating
from branch_console.quality.work import QualityWork, base_columns, merged_columns, plan_quality
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.table_state import ReadState

COMPARE_QUALITY = CompareQualityRequest.procedure


def quality_name(
    table: Identifier, diff: StateDiff, *, reads_all: bool, merges: bool = False
) -> str:
    """Return what a comparison is kept under; the same for the same two contents.

    Args:
        table: The table.
        diff: Its two states.
        reads_all: Whether files that both sides have are read however large they are.
        merges: Whether what merging the second into the first would leave is looked at, too.
    """
    # Which branches they are the heads of decides what a merge would leave.
    heads = [diff.before.branch, diff.after.branch] if merges else None
    content = json.dumps([VERSION, row_diff_name(table, diff), reads_all, heads])
    return hashlib.sha256(content.encode()).hexdigest()[:32]


def compare_quality(
    warehouse: Warehouse, rows: RowEngine, call: ProcedureCall, stages: Stages
) -> Receipt:
    """Profile the columns of two states of a table and compare them; the table is left as it is.

    Arguments of the call: `table`; `a` and `b`, states as `parse_state_name` reads them; `whole`,
    whether files that both sides have are read however large they are; `merged`, whether what
    merging B into A would leave is profiled, too.

    Raises:
        InvalidInput: A text names no state, or the rows cannot be read.
        Refused: B cannot be merged into A.
        NotFound: There is no such branch, snapshot or tag.
    """
    return receipt_of_stage(
        warehouse,
        call,
        stages,
        "compare quality",
        lambda progress: _compared(warehouse, rows, call, progress),
        message="Profiling the columns of both sides.",
    )


def _compared(
    warehouse: Warehouse, rows: RowEngine, call: ProcedureCall, progress: Progress
) -> Facts:
    asked = call.request(CompareQualityRequest)
    identifier = Identifier.parse(asked.table)
    diff = compare_states(warehouse, identifier, asked.before, asked.after)
    reads_all, merges = asked.whole, asked.merged
    table, now = warehouse.table(identifier), warehouse.clock()
    work = with_base(plan_quality(diff, reads_all=reads_all), table)
    name = quality_name(identifier, diff, reads_all=reads_all, merges=merges)
    with holding(warehouse, call, states_read(table, diff)):
        if not merges:
            found = rows.compare_quality(table, work, name, now, progress)
        else:
            with trial_merge(warehouse, rows, call, diff, progress) as result:
                found = rows.compare_quality(
                    table, with_result(work, result), name, now, progress, merged=result.state
                )
    return {"plan_id": name, "notes": [_summary(found), *found.notes, "Nothing was changed."]}


def with_base(work: QualityWork, table: FileStoreTable) -> QualityWork:
    """Return what is profiled, and with it what both states come from, where that is neither."""
    try:
        base = _find_base(table, work.diff.before, work.diff.after)
    except NotFound:
        return work
    return work if base is None else replace(work, base=base_columns(work, base))


def _find_base(
    table: FileStoreTable, before: ComparedState, after: ComparedState
) -> ComparedState | None:
    ours, theirs = before.snapshot, after.snapshot
    if ours is None or theirs is None:
        return None
    sides = (table.on(before.branch), table.on(after.branch))
    heads = find_merge_heads(*sides, ours, theirs)
    if len(heads.bases) > 1:
        return None  # each side took in the other one: neither is what both come from
    ((base, branch),) = ((each.snapshot, each.listed_on) for each in heads.bases)
    if any(base.identity.same_as(each.identity) for each in (ours, theirs)):
        return None
    return ComparedState(
        name=StateName(branch=branch, snapshot_id=base.id),
        branch=branch,
        snapshot=base,
        schema=ReadState.as_it_was(table.on(branch), base).schema,
    )


def with_result(work: QualityWork, result: TrialMerge) -> QualityWork:
    """Return what is profiled, and what a merge would leave with it."""
    columns = merged_columns(
        work,
        result.state.schema,
        result.field_ids,
        of_target=result.of_target,
        open_conflicts=result.open_conflicts,
    )
    return replace(work, merged=columns)


def _summary(found: QualityComparison) -> str:
    alarms, watched, small = (
        {
            column.name
            for scope in found.scopes
            for column in scope.columns
            if column.rating is rating
        }
        for rating in (Rating.ALARM, Rating.WATCH, Rating.SMALL)
    )
    little = len(small - alarms - watched)
    return (
        f"Columns that drifted: {len(alarms)} beyond the alarm threshold, "
        f"{len(watched - alarms)} to watch, {little} little but for certain."
    )
