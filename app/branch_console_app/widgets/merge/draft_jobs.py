"""The jobs of a draft: the address names them, so that a reload and a link find them again."""

from collections.abc import Mapping
from dataclasses import replace

import streamlit as st

from branch_console.errors import ErrorKind, PaimonError
from branch_console.format.identifier import Identifier
from branch_console.format.lineage_event import under_present_names
from branch_console.format.snapshot import Snapshot
from branch_console.jobs.progress import JobView
from branch_console.merge.plan import Plan
from branch_console.operations.merge_requests import MergeRequest
from branch_console.procedures.browse.page_values import BranchItem
from branch_console.procedures.call.call import Argument
from branch_console.quality.findings import GATE_ERRORS, RuleFinding
from branch_console_app import reads, state
from branch_console_app.models.merge.gate_run import GateRun, SoughtMerge, latest_creation
from branch_console_app.models.merge.merge_facts import (
    MergeAttempt,
    MergeFacts,
    UndoneMerge,
    merged_since,
)
from branch_console_app.models.parts.actions import DO, WHAT
from branch_console_app.widgets.parts.gates import find_judgement
from branch_console_app.widgets.parts.job_here import begin_job, job_here
from branch_console_app.widgets.parts.patience import read_patiently

MERGED = "merged"
UNDO = "undo"
DRY = "dry"
COMPARED = "compared"


def merge_of_draft(identifier: Identifier, source: str, target: str) -> MergeAttempt | None:
    """Return the job that merges a source into a target, or merged it; None if there is none.

    A merge that somebody else has started, or another tab, is this merge: there is none beside it.
    """
    job = job_here(MERGED, _draft(source, target))
    if job is None or job.state.is_over:
        at_work = reads.merge_at_work(identifier, source, target)
        if at_work is not None:
            # The page goes on to follow it after it has ended.
            state.set_parameters({MERGED: f"{_draft(source, target)}:{at_work.id}", UNDO: None})
            job = reads.job(at_work.id)
    if job is None:
        return None
    plan_id = reads.call_of_job(job.id).agreement.plan_id or ""
    if job.receipt_id is None:
        return MergeAttempt(job=job, plan_id=plan_id, findings=_findings(job))
    table = identifier.on_branch("main")
    try:
        receipt = reads.receipt(job.receipt_id)
        chance = reads.undo_chance(table, job.receipt_id)
        undone = (
            None if chance.undone_by is None else _undone(table, chance.undone_by, source, target)
        )
    except PaimonError:
        # A receipt that cannot be read is told by its own page; that the job is done stays true.
        return MergeAttempt(job=job, plan_id=plan_id)
    return MergeAttempt(
        job=job,
        plan_id=plan_id,
        snapshot_id=next((each.after_id for each in receipt.moves if each.branch == target), None),
        can_undo=chance.obstacle is None,
        undone=undone,
        receipt=receipt,
    )


def with_merged_plan(
    facts: MergeFacts, identifier: Identifier, source: str, target: str
) -> MergeFacts:
    """Return the facts with the plan of their merge that is done, and what is known of its rows.

    It reads the manifests of the merge: while that takes long the page shows a sentence, and the
    facts are returned as they were.
    """
    merge, table = facts.merge, identifier.on_branch("main")
    if merge is None or merge.receipt is None:
        return facts
    operation_id, plan_id = merge.receipt.operation_id, merge.receipt.plan_id
    merged = read_patiently(
        "merged-plan",
        (table.full_name, operation_id),
        lambda: reads.begin_merged_plan(table, operation_id),
        "The manifests of the merge are read for its checks. Many files take a moment.",
    )
    if merged is None:
        return facts
    known = replace(
        merge,
        merged=merged,
        # A run that planned again keeps what it found under the plan that it carried out.
        conflicts=_settled_rows(table, plan_id),
        tried_millis=_tried(identifier, source, target, plan_id),
    )
    return replace(facts, merge=known)


def _settled_rows(table: Identifier, plan_id: str) -> int | None:
    """Return how many conflicts of rows a merge that is done had; None if none are on record."""
    try:
        found = reads.row_conflicts(table, plan_id)
    except PaimonError:
        return None
    return None if found is None else found.num_rows


def _tried(identifier: Identifier, source: str, target: str, plan_id: str) -> int | None:
    """Return when the dry run of a plan that is merged by now had passed; None without one."""
    last = reads.last_dry_run(identifier, source, target)
    if last is None or reads.call_of_job(last.id).agreement.plan_id != plan_id:
        return None
    return last.finished_millis


def gate_run_of_draft(
    identifier: Identifier,
    arguments: Mapping[str, Argument],
    sides: tuple[BranchItem, BranchItem],
    heads: tuple[Snapshot | None, Snapshot | None],
    plan_ids: tuple[str, ...],
    *,
    is_forward: bool,
) -> GateRun | None:
    """Return the last run of the rules for a draft, whoever started it; None without one.

    Args:
        identifier: The table.
        arguments: The arguments of the merge, with the policy that settles conflicts.
        sides: Target and source.
        heads: Their heads that the draft was planned at.
        plan_ids: The ids of its plan.
        is_forward: Whether its result is the head of the source.
    """
    rules = reads.rules(identifier)
    if rules is None:
        return None
    sought = SoughtMerge(
        request=MergeRequest.decode(MergeRequest.procedure, arguments),
        ours=heads[0],
        theirs=heads[1],
        plan_ids=plan_ids,
        is_forward=is_forward,
        digest=rules.digest,
        depends_on_time=rules.depends_on_time,
        since_millis=latest_creation(*sides),
    )
    return reads.gate_run(identifier, sought)


def unless_outdated(attempt: MergeAttempt | None, gate: GateRun | None) -> MergeAttempt | None:
    """Return a job of the draft; None if rules stopped it in another state of the merge.

    Time alone drops no job: a merge that was stopped is overridden from what stopped it.
    """
    if attempt is None or gate is None or attempt.job.error is not ErrorKind.GATE_FAILED:
        return attempt
    return None if gate.job.id == attempt.job.id and gate.is_of_another_merge else attempt


def undo_of_draft(source: str, target: str) -> JobView | None:
    """Return the job that takes the merge of a draft back, or has; None if there is none."""
    return job_here(UNDO, _draft(source, target))


def dry_run_of_draft(
    identifier: Identifier, plan: Plan, *, has_result: bool
) -> MergeAttempt | None:
    """Return the job that tries a plan, or tried it; None if there is none.

    Args:
        identifier: The table.
        plan: The plan.
        has_result: Whether the result of a dry run of this plan is kept, whoever started it.
    """
    job = job_here(DRY, plan.id)
    if job is None and has_result:
        # Of both branches one result is kept, that of the newest dry run.
        job = reads.last_dry_run(identifier, plan.source, plan.target)
    return None if job is None else MergeAttempt(job=job, plan_id=plan.id, findings=_findings(job))


def comparison_of_draft(compared_plan_id: str, plan_id: str) -> MergeAttempt | None:
    """Return the job that compares the rows of a draft; None if there is none.

    Args:
        compared_plan_id: The id of the plan whose rows are compared, without decisions.
        plan_id: The id of the same plan with the decisions of the draft.
    """
    job = job_here(COMPARED, compared_plan_id)
    return None if job is None else MergeAttempt(job=job, plan_id=plan_id)


def begin_merge(
    procedure: str, arguments: Mapping[str, Argument], plan_id: str, source: str, target: str
) -> bool:
    """Start the merge of a draft and close its dialog; return whether it runs."""
    job_id = begin_job(procedure, arguments, plan_id)
    if job_id is None:
        return False
    reads.forget()
    state.set_parameters(
        {
            MERGED: f"{_draft(source, target)}:{job_id}",
            UNDO: None,
            DO: None,
            WHAT: None,
        }
    )
    return True


def begin_undo(
    procedure: str, arguments: Mapping[str, Argument], plan_id: str, source: str, target: str
) -> None:
    """Start the undo of a merge and close its dialog: the page of the draft follows it."""
    job_id = begin_job(procedure, arguments, plan_id)
    if job_id is None:
        return
    reads.forget()
    state.set_parameters({UNDO: f"{_draft(source, target)}:{job_id}", DO: None, WHAT: None})
    st.rerun()


def begin_dry_run(procedure: str, arguments: Mapping[str, Argument], plan_id: str) -> bool:
    """Start the dry run of a plan and close its dialog; return whether it runs."""
    job_id = begin_job(procedure, arguments, plan_id)
    if job_id is None:
        return False
    state.set_parameters({DRY: f"{plan_id}:{job_id}", DO: None, WHAT: None})
    return True


def forget_jobs() -> None:
    """Take the jobs out of the address, so that the draft is judged anew."""
    state.set_parameters({MERGED: None, UNDO: None, DRY: None, COMPARED: None})
    state.forget_plan()
    reads.forget()


def forget_dry_run() -> None:
    """Take a dry run out of the address, whose result is discarded."""
    state.set_parameter(DRY, None)
    reads.forget()


def _draft(source: str, target: str) -> str:
    return f"{source}-{target}"


def _findings(job: JobView) -> tuple[RuleFinding, ...]:
    if job.error is not None and job.error not in GATE_ERRORS:
        return ()
    return tuple(find_judgement(job) or ())


def _undone(table: Identifier, operation_id: str, source: str, target: str) -> UndoneMerge:
    receipt = reads.receipt(operation_id)
    written = tuple(each for found in reads.table_events(table) for each in found.events)
    return UndoneMerge(
        actor=receipt.actor,
        millis=receipt.finished_millis,
        snapshot_id=next((each.after_id for each in receipt.moves if each.branch == target), None),
        rescue_branch=receipt.rescue_branch,
        again_millis=merged_since(
            under_present_names(written), source, target, receipt.finished_millis
        ),
    )
