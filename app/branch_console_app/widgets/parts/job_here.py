"""A job that a page starts and follows in its own place; its id stands in the address.

The address names what the job was for as well: an answer to another question is not shown.
"""

from collections.abc import Mapping

import streamlit as st

from branch_console.errors import NotFound, PaimonError
from branch_console.jobs.progress import JobState, JobView
from branch_console.procedures.call.call import Argument
from branch_console.procedures.call.permissions import Role
from branch_console_app import reads, state
from branch_console_app.models.jobs.cut_off import cut_off_words
from branch_console_app.models.parts.wording import prose
from branch_console_app.services import get_services
from branch_console_app.widgets.parts.confirm import idempotency_key, lacks_role
from branch_console_app.widgets.parts.job_status import show_progress
from branch_console_app.widgets.parts.problem import guarded, show_problem


def job_here(parameter: str, subject: str) -> JobView | None:
    """Return the job of the address, None if there is none or it was for something else.

    Args:
        parameter: The parameter of the address.
        subject: The subject of the job, such as a plan's id.
    """
    was_for, _, job_id = (state.parameter(parameter) or "").partition(":")
    return find_job(job_id) if was_for == subject else None


def find_job(job_id: str | None) -> JobView | None:
    """Return a job that an address names, None if it names none that is known."""
    if not job_id:
        return None
    try:
        return reads.job(job_id)
    except NotFound:
        return None


def start_here(
    parameter: str, subject: str, procedure: str, arguments: Mapping[str, Argument]
) -> None:
    """Start a job, or find the one that runs for the same already: the callback of a button."""
    job_id = begin_job(procedure, arguments, subject)
    if job_id is not None:
        state.set_parameter(parameter, f"{subject}:{job_id}")


def begin_job(procedure: str, arguments: Mapping[str, Argument], subject: str) -> str | None:
    """Start a job, or find the one for the same subject; None if it was not, which is told."""
    try:
        key = idempotency_key(procedure, subject)
        return get_services().start(procedure, arguments, key)
    except PaimonError as error:
        show_problem(error, headline="The job was not started; nothing changed.")
        return None


def follow_here(job: JobView, doing: str, waiting: str | None = None) -> None:
    """Draw a job that has not ended, with its buttons, and draw the page again when it has.

    Args:
        job: The job.
        doing: A sentence of Markdown for the time in which it runs.
        waiting: The sentence while it waits for a worker; `doing` if left out.
    """
    is_cut_off = job.state is JobState.INTERRUPTED
    st.fragment(_follow, run_every=1.0)(job.id, doing, waiting or doing, is_cut_off=is_cut_off)
    with st.container(horizontal=True, gap="small"):
        if is_cut_off:
            refused = lacks_role(Role(job.role))
            st.button(
                "Resume", icon=":material/resume:", key=f"resume-{job.id}", on_click=_resume,
                args=(job.id,), help=refused or "Goes on from the last finished step",
                disabled=refused is not None,
            )  # fmt: skip
        st.button(
            "Cancel", icon=":material/cancel:", key=f"cancel-{job.id}", on_click=_cancel,
            args=(job.id,),
        )  # fmt: skip


def _follow(job_id: str, doing: str, waiting: str, *, is_cut_off: bool) -> None:
    job = reads.job(job_id)
    if job.state.is_over:
        reads.forget()
        st.rerun()
    if (job.state is JobState.INTERRUPTED) != is_cut_off:
        # The buttons are beside this fragment: the page draws them again with the sentence.
        st.rerun()
    if is_cut_off:
        said = cut_off_words(job, "job", state.now_millis())
        st.warning(f"**{said}** It has changed nothing.", icon=":material/pause:")
        return
    worker = reads.worker()
    if job.state is JobState.QUEUED and worker is not None and worker.other_store:
        text = f"**{waiting}** {prose(job.message)}"
    elif job.state is JobState.QUEUED:
        text = f"**{waiting}** A worker is starting, or finishes another job first."
    else:
        text = f"**{doing}** {prose(job.message)}"
    st.info(text, icon=":material/play_arrow:")
    show_progress(job)


def _cancel(job_id: str) -> None:
    with guarded("The job was not cancelled."):
        get_services().cancel_job(job_id)


def _resume(job_id: str) -> None:
    with guarded("The job was not resumed."):
        get_services().resume_job(job_id)
