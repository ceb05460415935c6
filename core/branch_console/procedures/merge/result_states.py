"""The states that a merge would leave on its target, as files, before it is published."""

import pyarrow as pa

from branch_console.commit.snapshot.commit_changes import append_part, combined_index
from branch_console.errors import ErrorKind
from branch_console.format.journals.written import WrittenRows
from branch_console.format.snapshot import NO_SNAPSHOT
from branch_console.format.table_schema import BucketMode
from branch_console.merge.plan import ThreeWayPlan, merging
from branch_console.procedures.merge.file_messages import moved_messages
from branch_console.procedures.merge.inputs import DecidedMerge
from branch_console.procedures.merge.row_messages import joined_messages
from branch_console.procedures.run.quality_gate import (
    StatesToJudge,
    name_of,
    sides_of_forward,
    stale,
)
from branch_console.procedures.run.rule_evaluation import JudgedState
from branch_console.procedures.run.written_messages import messages_of
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.manifest_scan import live_files
from branch_console.table.table_state import ReadState, StagedState


def states_to_judge(merge: DecidedMerge, written: WrittenRows) -> StatesToJudge:
    """Return the target as it is, and as a merge, a pick or a revert would leave it.

    Args:
        merge: The decided merge.
        written: The files of settled rows; empty if no row had to be settled.

    Raises:
        Refused: A head moved whose history would be taken over as it is.
    """
    target, source, plan = merge.target, merge.source, merging(merge.plan)
    if plan is None:
        _check_heads(merge)
        return sides_of_forward(target, source, merge.plan.id)
    return StatesToJudge(
        table=name_of(target),
        plan_id=plan.id,
        # The target may have gone on since it was planned.
        before=JudgedState.of(
            ReadState(table=target, snapshot=plan.heads.ours, schema=target.schema())
        ),
        after=_merged(target, source, plan, written),
    )


def _check_heads(merge: DecidedMerge) -> None:
    """Raise Refused if a head is another one than the plan was made at."""
    plan = merge.plan
    for table, planned in ((merge.target, plan.heads.ours), (merge.source, plan.heads.theirs)):
        head = table.head()
        identities = [NO_SNAPSHOT if each is None else each.identity for each in (head, planned)]
        if not identities[0].same_as(identities[1]):
            raise stale(f"{plan.source!r} or {plan.target!r} moved.", ErrorKind.HEAD_MOVED)


def _merged(
    target: FileStoreTable, source: FileStoreTable, plan: ThreeWayPlan, written: WrittenRows
) -> JudgedState:
    ours, theirs = plan.heads.ours, plan.heads.theirs
    # Copies are made when the merge is published: until then the files have the names they have.
    moved, _ = moved_messages(
        plan.moves, (target, source), (ours, theirs), plan.schema.id_map, mark=None
    )
    settled = messages_of(written.row_messages)
    changes = append_part(joined_messages(moved, settled, target, ours))
    schemas = {each.id: each for each in (*target.schemas.all(), *plan.schema.schemas)}
    schema = schemas[plan.schema.final_id]
    return JudgedState(
        content=StagedState(
            table=target,
            files=live_files(pa.concat_tables([target.live_files(ours), changes.delta])),
            index_files=combined_index(
                target.index_entries(ours),
                changes,
                is_bucketed=schema.bucket_mode is not BucketMode.BUCKET_UNAWARE,
            ),
            schema=schema,
            schemas=schemas,
            columns=(),
        ),
        schema=schema,
        commit_millis=max(ours.time_millis, theirs.time_millis),
        head=theirs.identity,
    )
