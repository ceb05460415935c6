"""The jobs of a draft: the address names them, so that a reload and a link find them again."""

from collections.abc import Mapping

import streamlit as st

from branch_console.errors import ErrorKind, NotFound, PaimonError
from branch_console.format.identifier import Identifier
from branch_console.jobs.progress import JobView
from branch_console.procedures.call.call import Argument
from branch_console.quality.findings import RuleFinding
from branch_console_app import reads, state
from branch_console_app.models.merge.merge_facts import MergeAttempt, UndoneMerge
from branch_console_app.models.parts.actions import DO, WHAT
from branch_console_app.widgets.parts.confirm import last_attempt
from branch_console_app.widgets.parts.gates import find_judgement
from branch_console_app.widgets.parts.job_here import begin_job, job_here

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
        undone = None if chance.undone_by is None else _undone(chance.undone_by, target)
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


def stopped_by_rules(identifier: Identifier, procedure: str, plan_id: str) -> MergeAttempt | None:
    """Return the last merge of these heads if the rules that the table has now have stopped it.

    Args:
        identifier: The table.
        procedure: The procedure that merges.
        plan_id: The plan, which is of one head of each branch.
    """
    rules = reads.rules(identifier)
    if rules is None or rules.depends_on_time:
        return None
    job = last_attempt(procedure, plan_id)
    if job is None or job.error is not ErrorKind.GATE_FAILED:
        return None
    try:
        notes = reads.answer(job.id).notes
    except NotFound:
        return None
    if not any(rules.digest in note for note in notes):
        return None
    return MergeAttempt(job=job, plan_id=plan_id, findings=_findings(job))


def undo_of_draft(source: str, target: str) -> JobView | None:
    """Return the job that takes the merge of a draft back, or has; None if there is none."""
    return job_here(UNDO, _draft(source, target))


def dry_run_of_draft(plan_id: str) -> MergeAttempt | None:
    """Return the job that tries a plan, or tried it; None if there is none."""
    job = job_here(DRY, plan_id)
    return None if job is None else MergeAttempt(job=job, plan_id=plan_id, findings=_findings(job))


def comparison_of_draft(compared_plan_id: str, plan_id: str) -> MergeAttempt | None:
    """Return the job that compares the rows of a draft; None if there is none.

    Args:
        compared_plan_id: The compared_plan of the plan that rows are compared for.
        plan_id: The id of the plan with the decisions on what is found.
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
    if job.error not in (None, ErrorKind.GATE_FAILED):
        return ()
    return tuple(find_judgement(job) or ())


def _undone(operation_id: str, target: str) -> UndoneMerge:
    receipt = reads.receipt(operation_id)
    return UndoneMerge(
        actor=receipt.actor,
        millis=receipt.finished_millis,
        snapshot_id=next((each.after_id for each in receipt.moves if each.branch == target), None),
        rescue_branch=receipt.rescue_branch,
    )
