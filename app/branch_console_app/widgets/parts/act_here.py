"""An act that is over in a second or two: the page where it was asked for follows it and tells it.

The address names its job, so that a reload finds it again. What takes long, or does not end well,
goes on to the page of the job.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Final

import streamlit as st

from branch_console.errors import PaimonError
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.jobs.progress import JobState, JobView
from branch_console.operations.branch_requests import CreateBranchRequest, ProtectBranchRequest
from branch_console.operations.undo_request import UndoRequest
from branch_console.procedures.call.call import Argument
from branch_console.sql.statement import Statement
from branch_console_app import reads, state
from branch_console_app.models.jobs.done_words import branch_left, done_words
from branch_console_app.models.jobs.job_titles import full_title
from branch_console_app.models.jobs.receipt_text import call_of_receipt
from branch_console_app.models.parts.actions import DO, WHAT, Action
from branch_console_app.models.parts.wording import prose
from branch_console_app.state import PageName
from branch_console_app.widgets.parts.dialogs import offer
from branch_console_app.widgets.parts.job_here import begin_job, find_job
from branch_console_app.widgets.parts.patience import forget_readings
from branch_console_app.widgets.parts.table_picker import here

_ACT: Final = "act"
"""The parameter of an address that names the job of an act."""

# A worker that has to be started, or that ends another job first, takes some of it.
_PATIENCE_MILLIS: Final = 30_000
_FOLLOW_SECONDS: Final = 0.5
# What has no undo is taken back by another act, whose dialog is about the branch that is shown.
_INSTEAD_OF_UNDO: Final = {
    CreateBranchRequest.procedure: (Action.DROP, "Drop…", ":material/delete:"),
    ProtectBranchRequest.procedure: (Action.PROTECT, "Protection…", ":material/lock:"),
}


def act_here(procedure: str, arguments: Mapping[str, Argument], plan_id: str) -> None:
    """Start what was confirmed, close its dialog, and stay on the page."""
    job_id = begin_job(procedure, arguments, plan_id)
    if job_id is None:
        return
    reads.forget()
    state.forget_preview()
    state.await_job(job_id)
    state.set_parameters({_ACT: job_id, DO: None, WHAT: None})
    st.rerun()


def follow_act() -> None:
    """Turn to what the act of the address leaves, once it has ended; before the page reads.

    Whoever goes back in the browser to an act of before stays there.
    """
    job = find_job(state.parameter(_ACT))
    if job is None or not _is_settled(job) or not state.was_awaited(job.id):
        return
    reads.forget()
    forget_readings()
    place = here()
    if job.state is not JobState.DONE:
        state.set_parameter(_ACT, None)
        state.go_to(PageName.JOB, place, id=job.id)
    if place.full_table is not None:
        table = Identifier.parse(place.full_table).on_branch(place.branch_or_main)
        branch = branch_after(job, table)
        if branch != place.branch_or_main:
            state.move_to(place.at_branch(branch))
    st.rerun()


def show_act(identifier: Identifier, *, has_branch_dialogs: bool = False) -> None:
    """Draw the act of the address: that it runs, or what it did, with the way back.

    Args:
        identifier: The table; the page has the dialog of an undo.
        has_branch_dialogs: Whether the page has the dialogs of branches, too.
    """
    # It may have ended since the page began to read.
    follow_act()
    job = find_job(state.parameter(_ACT))
    if job is None:
        return
    if job.state is JobState.DONE:
        _show_done(job, identifier, has_branch_dialogs=has_branch_dialogs)
    elif job.state.is_over:
        text = f"**{full_title(job)}** · {job.state}. {prose(job.message)}"
        st.warning(text, icon=":material/block:")
        _link_to_job(job)
    else:
        state.await_job(job.id)
        with st.container(
            horizontal=True, gap="small", vertical_alignment="center", key="line-following"
        ):
            with st.container():
                st.fragment(_follow, run_every=_FOLLOW_SECONDS)(job.id)
            _link_to_job(job)


def offer_undo(job: JobView, identifier: Identifier | None) -> None:
    """Draw the button that takes back what a job did, where that is possible now.

    Args:
        job: One that is done.
        identifier: The table that it changed; None for one of the catalog.
    """
    if job.receipt_id is None:
        return
    with suppress(PaimonError):
        if reads.undo_chance(identifier, job.receipt_id).obstacle is None:
            offer(Action.UNDO, "Undo", icon=":material/undo:", key="undo-act", what=job.receipt_id)


def branch_after(job: JobView, identifier: Identifier) -> str:
    """Return the branch that a job leaves to look at, by its present name.

    Args:
        job: The job.
        identifier: The table, and the branch to stay on where the job leaves none; main if that is
            gone too.
    """
    wanted = branch_left(job.name, job.arguments, _undone_by(job))
    if wanted is None:
        of_job = Identifier.parse(job.table).branch if job.table else MAIN_BRANCH
        wanted = identifier.branch if of_job == MAIN_BRANCH else of_job
    table = identifier.on_branch(MAIN_BRANCH)
    known = reads.table(table).branches_with_main
    if wanted in known:
        return wanted
    departed = reads.departed_branch(table, wanted)
    if departed is None or departed.dropped_by is not None or departed.name not in known:
        return MAIN_BRANCH
    return departed.name


def _is_settled(job: JobView) -> bool:
    """Whether the page has nothing more to wait for: it is over, or takes long."""
    return job.state.is_over or state.now_millis() - job.created_millis > _PATIENCE_MILLIS


def _follow(job_id: str) -> None:
    job = reads.job(job_id)
    if _is_settled(job):
        st.rerun()
    st.info(f"**{full_title(job)}** · {prose(job.message)}", icon=":material/play_arrow:")


def _link_to_job(job: JobView) -> None:
    state.link(PageName.JOB, "View job", here(), view={"id": job.id}, icon=":material/checklist:")


def _show_done(job: JobView, identifier: Identifier, *, has_branch_dialogs: bool) -> None:
    words = done_words(job.name, job.arguments, _undone_by(job))
    with st.container(
        horizontal=True, gap="small", vertical_alignment="center", key=f"line-act-{job.id}"
    ):
        st.success(words, icon=":material/check:", width="stretch")
        if has_branch_dialogs and job.name in _INSTEAD_OF_UNDO:
            action, label, icon = _INSTEAD_OF_UNDO[job.name]
            # The page may show another branch by now; of a pattern it shows none.
            if identifier.branch == branch_left(job.name, job.arguments):
                offer(action, label, icon=icon, key="instead-act")
        else:
            offer_undo(job, identifier)
        if job.receipt_id is not None:
            state.link(
                PageName.RECEIPT, "Receipt", here(), view={"id": job.receipt_id},
                icon=":material/receipt_long:",
            )  # fmt: skip


def _undone_by(job: JobView) -> Statement | None:
    """Return what an undo took back; None if the job is none, or that has no receipt."""
    if job.name != UndoRequest.procedure:
        return None
    try:
        undo = UndoRequest.decode(job.name, job.arguments)
        return call_of_receipt(reads.receipt(undo.operation))
    except PaimonError:
        return None
