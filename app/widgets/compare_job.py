"""A job that a comparison waits for: asked for by a button, followed, cancelled."""

from collections.abc import Mapping

import streamlit as st

from app import reads, state
from app.models.wording import code, plain
from app.services import get_services
from app.widgets.confirm import idempotency_key
from app.widgets.job_status import show_progress
from app.widgets.problem import guarded, show_problem
from core.diff.state_diff import StateDiff
from core.errors import NotFound, PaimonError
from core.format.identifier import Identifier
from core.jobs.progress import JobState, JobView
from core.procedures.call import Argument


def show_running_job(parameter: str, subject: str) -> bool:
    """Draw a job that has not ended well, and return whether one is still running.

    Args:
        parameter: Which parameter of the address names the job.
        subject: What is compared, such as `Rows`.
    """
    job = _job(state.parameter(parameter))
    if job is None:
        return False
    if not job.state.is_over:
        st.fragment(_follow, run_every=1.0)(job.id, subject)
        st.button(
            "Cancel", icon=":material/cancel:", key="cmp-cancel", on_click=_cancel, args=(job.id,)
        )
        return True
    if job.state is not JobState.DONE:
        st.warning(f"**{subject} were not compared.** {plain(job.message)} {code(job.error or '')}")
    return False


def start_job(
    parameter: str,
    procedure: str,
    identifier: Identifier,
    diff: StateDiff,
    more: Mapping[str, Argument] | None = None,
) -> None:
    """Start the job of two states, and name it in the address."""
    # Pinned: a branch that moves on while the job waits would answer for another state.
    sides = {"a": str(diff.before.pinned), "b": str(diff.after.pinned)}
    arguments: dict[str, Argument] = {"table": identifier.table_name, **sides, **(more or {})}
    try:
        key = idempotency_key(procedure, repr(sorted(arguments.items())))
        job_id = get_services().start(procedure, arguments, key)
    except PaimonError as error:
        show_problem(error, headline="The job was not started; nothing changed.")
        return
    state.set_parameter(parameter, job_id)


def _job(job_id: str | None) -> JobView | None:
    if job_id is None:
        return None
    try:
        return reads.job(job_id)
    except NotFound:
        return None


def _follow(job_id: str, subject: str) -> None:
    job = reads.job(job_id)
    if job.state.is_over:
        reads.forget()
        st.rerun()
    if job.state is JobState.QUEUED:
        st.info(
            f"**{subject} are to be compared.** A worker is being started, or has another job "
            "first."
        )
    else:
        st.info(f"**{subject} are compared.** {plain(job.message)}", icon=":material/play_arrow:")
    show_progress(job)


def _cancel(job_id: str) -> None:
    with guarded("The job was not cancelled."):
        get_services().cancel_job(job_id)
