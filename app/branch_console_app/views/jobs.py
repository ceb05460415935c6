"""Jobs: what works in the background, and one job step by step."""

from collections.abc import Sequence
from contextlib import suppress

import streamlit as st

from branch_console.errors import NotFound, PaimonError
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.jobs.progress import JobState, JobView
from branch_console.operations.catalog_requests import MergeCatalogRequest
from branch_console.operations.undo_request import UndoRequest
from branch_console.procedures.call.permissions import Role
from branch_console_app import reads, state
from branch_console_app.models.jobs.activity import READING_JOBS
from branch_console_app.models.jobs.job_titles import (
    JobGroup,
    full_title,
    job_words,
    table_without_branch,
    title_with_table,
)
from branch_console_app.models.jobs.run_again import Again, is_done_merge, way_again
from branch_console_app.models.jobs.target_words import message_and_target
from branch_console_app.models.parts.command_line import PREVIEWED
from branch_console_app.models.parts.location import Location
from branch_console_app.models.parts.wording import (
    age,
    clock,
    code,
    cut_at_word,
    duration,
    plain,
    prose,
    short_id,
    shortened,
)
from branch_console_app.services import get_services
from branch_console_app.state import PageName
from branch_console_app.widgets.branches.undo_dialog import undo_dialogs
from branch_console_app.widgets.compare.job import link_to_comparison
from branch_console_app.widgets.jobs.merged_objects import show_merged_objects_of
from branch_console_app.widgets.jobs.run_again import (
    again_dialogs,
    link_to_merge,
    show_again,
    why_not_again,
)
from branch_console_app.widgets.parts import rows
from branch_console_app.widgets.parts.act_here import branch_after, offer_undo
from branch_console_app.widgets.parts.confirm import lacks_role
from branch_console_app.widgets.parts.dialogs import show_dialog
from branch_console_app.widgets.parts.gates import show_judgement
from branch_console_app.widgets.parts.job_log import show_log
from branch_console_app.widgets.parts.job_status import (
    show_progress,
    show_steps,
    show_worker,
    state_badge,
)
from branch_console_app.widgets.parts.location import show_location
from branch_console_app.widgets.parts.problem import guarded, show_problem
from branch_console_app.widgets.parts.reason import show_statement
from branch_console_app.widgets.parts.rows import Column
from branch_console_app.widgets.parts.same_as import RUN_BY_CONSOLE
from branch_console_app.widgets.parts.table_picker import here, is_open_warehouse

_PER_PAGE = 25
_READS = ("check_rules", "compare_quality", "compare_rows", "compare_states", "query")
_PARTS_OF_MERGES = ("dry_run_merge", "compare_rows")
_MOST_JOBS = 500
_WORKER_STARTS_MILLIS = 60_000
_STATE = Column(label="State", weight=1.3)
_WHAT = Column(label="Job", weight=3.4)
_TABLE = Column(label="Table", weight=1.6)
_STEP = Column(label="Last step", weight=1.7)
_BY = Column(label="By", weight=0.8)
_WHEN = Column(label="Started", weight=1.8)
_TOOK = Column(label="Took", weight=0.9, align="right")
_COLUMNS = (_STATE, _WHAT, _TABLE, _STEP, _BY, _WHEN, _TOOK)


def show() -> None:
    """Draw the list."""
    place = here()
    if not is_open_warehouse(place):
        return
    show_location(Location(warehouse=place.warehouse))
    st.subheader("Jobs", anchor=False)
    with guarded("The job store does not answer."):
        jobs = reads.jobs(limit=_MOST_JOBS)
        is_active = any(not job.state.is_over for job in jobs)
        st.fragment(_show_list, run_every=2.0 if is_active else None)(is_active)


def _show_list(was_active: bool) -> None:
    jobs = reads.jobs(limit=_MOST_JOBS)
    show_worker(reads.worker(), state.now_millis())
    if not jobs:
        st.info("No job yet. Whatever changes a table runs as a job and is kept here.")
        return
    visible = _chosen(jobs)
    if not visible:
        st.info("No job matches. Change the filters above.")
    else:
        listed = rows.row_list("jobs")
        page = rows.page_of_rows("jb_p", len(visible), _PER_PAGE)
        with listed:
            rows.head("jobs", _COLUMNS)
            for number, job in enumerate(visible[page]):
                _show_row(number, job)
    if was_active and all(job.state.is_over for job in jobs):
        st.rerun()


def _chosen(jobs: Sequence[JobView]) -> list[JobView]:
    """Draw the filters and return the jobs that pass them."""
    kinds = sorted({job_words(job.name) for job in jobs})
    actors = sorted({job.actor for job in jobs})
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="filters"):
        groups = st.pills(
            "State", list(JobGroup), selection_mode="multi", key="jb_state", bind="query-params",
            label_visibility="collapsed",
        )  # fmt: skip
        st.space("stretch")
        kind = st.selectbox(
            "Kind", kinds, index=None, key="jb_kind", bind="query-params", width=220,
            placeholder="Any kind", label_visibility="collapsed",
        )  # fmt: skip
        actor = st.selectbox(
            "By", actors, index=None, key="jb_by", bind="query-params", width=150,
            placeholder="By anyone", label_visibility="collapsed",
        )  # fmt: skip
    return [
        job
        for job in jobs
        if (not groups or JobGroup.of(job.state) in groups)
        and kind in (None, job_words(job.name))
        and actor in (None, job.actor)
    ]


def _show_row(number: int, job: JobView) -> None:
    cells = dict(zip(_COLUMNS, rows.row(f"job-{number}", _COLUMNS), strict=True))
    now = state.now_millis()
    rows.text(cells[_STATE], _STATE, state_badge(job.state))
    with cells[_WHAT]:
        state.link(
            PageName.JOB, full_title(job), place_of(job), view={"id": job.id},
            help=f"Job {code(short_id(job.id))}",
        )  # fmt: skip
    rows.text(cells[_TABLE], _TABLE, plain(table_without_branch(job)) or rows.NOTHING)
    rows.text(cells[_STEP], _STEP, plain(cut_at_word(job.step, 24)) if job.step else rows.NOTHING)
    rows.text(cells[_BY], _BY, plain(shortened(job.actor, 18)))
    rows.text(cells[_WHEN], _WHEN, age(job.created_millis, now))
    end = job.finished_millis if job.finished_millis is not None else now
    rows.text(cells[_TOOK], _TOOK, duration(end - job.created_millis))


def place_of(job: JobView) -> Location:
    """Return the location of the table that a job is about."""
    place = Location(warehouse=here().warehouse)
    if not job.table:
        return place
    try:
        table = Identifier.parse(job.table)
    except PaimonError:
        return place
    return place.at_table(table.database, table.table)


def show_job() -> None:
    """Draw one job."""
    place = here()
    if not is_open_warehouse(place):
        return
    job_id = state.parameter("id")
    show_location(place)
    home = Location(warehouse=place.warehouse)
    if job_id is None:
        st.info("This address names no job.")
        state.link(PageName.JOBS, "All jobs", home)
        return
    try:
        job = reads.job(job_id)
    except NotFound as error:
        show_problem(error, headline=f"Job {code(job_id)} was not found.")
        state.link(PageName.JOBS, "All jobs", home)
        return
    _show_title(job)
    run_every = None if job.state.is_over else 1.0
    st.fragment(_show_live, run_every=run_every)(job.id, _offers(job.state))
    if job.state.is_over:
        show_judgement(job)
    _show_commands(job, place)
    show_log()
    table = _table_of(job)
    show_dialog({**again_dialogs(job, place_of(job)), **undo_dialogs(table, place_of(job))})


def _show_title(job: JobView) -> None:
    st.subheader(title_with_table(job), anchor=False)


def _offers(state_of_job: JobState) -> tuple[bool, bool, bool]:
    """Return what the job's buttons depend on: is over, is interrupted, can be cancelled."""
    is_stuck = state_of_job is JobState.INTERRUPTED
    return state_of_job.is_over, is_stuck, state_of_job.can_cancel


def _show_live(job_id: str, offered: tuple[bool, bool, bool]) -> None:
    job = reads.job(job_id)
    if _offers(job.state) != offered:
        # The page around this part holds buttons of another state: draw it anew, once.
        reads.forget()
        st.rerun()
    _show_verdict(job)
    show_progress(job)
    left, right = st.columns([3, 2], gap="medium")
    with left, st.container(border=True, key="card-steps"):
        st.markdown("**Steps**")
        show_steps(job)
        if not job.state.is_over and job.step:
            st.markdown(f":blue[▸] {plain(job.step)} :gray[{prose(job.message)}]")
        elif not job.steps:
            st.caption("No step has finished.")
    with left, guarded("How far each database and table is cannot be told."):
        show_merged_objects_of(job)
    with right, st.container(border=True, key="card-job"):
        rows.facts("job", _facts(job))
        show_statement(job.statement)
        if job.name in PREVIEWED:
            st.caption(RUN_BY_CONSOLE)


def _facts(job: JobView) -> list[tuple[str, str]]:
    now = state.now_millis()
    end = job.finished_millis if job.finished_millis is not None else now
    return [
        ("State", state_badge(job.state)),
        ("By", plain(job.actor)),
        ("Asked", age(job.created_millis, now)),
        ("Took", duration(end - job.created_millis)),
    ]


def _show_verdict(job: JobView) -> None:
    """Say in a sentence how the job ended, or what it waits for."""
    name = code(short_id(job.id))
    message = prose(job.message)
    # What only reads has nothing that could have changed.
    said = message
    if job.name not in READING_JOBS:
        said = message_and_target(job, message, "the target")
    suffix = f" {code(job.error)}" if job.error else ""
    match job.state:
        case JobState.QUEUED | JobState.WAITING:
            _show_waiting(job)
        case JobState.RUNNING | JobState.PUBLISHING:
            st.info(f"**Job {name} runs.** {message}", icon=":material/play_arrow:")
        case JobState.DONE:
            if job.name == MergeCatalogRequest.procedure:
                # The tables are listed below, and the receipt has what was done to each.
                message = prose(f"{job.message.partition('. ')[0].rstrip('.')}.")
            st.success(f"**Job {name} is done.** {message}", icon=":material/check:")
        case JobState.REFUSED:
            st.warning(f"**Job {name} was refused.** {message}{suffix}", icon=":material/block:")
        case JobState.FAILED:
            st.error(f"**Job {name} failed.** {said}{suffix}", icon=":material/error:")
        case JobState.CANCELLED:
            st.info(f"**Job {name} was cancelled.** {said}", icon=":material/cancel:")
        case JobState.INTERRUPTED:
            st.warning(
                f"**Job {name} stopped in the middle.** {said} `INTERRUPTED`",
                icon=":material/pause:",
            )


def _show_waiting(job: JobView) -> None:
    worker = reads.worker()
    name = code(short_id(job.id))
    if worker is not None and worker.serves_other_store:
        st.warning(f"**Job {name} waits.** {prose(job.message)} `{job.error}`")
    elif worker is not None and worker.is_alive:
        st.info(f"**Job {name} is queued.** A worker takes it up next.")
    elif state.now_millis() - job.created_millis < _WORKER_STARTS_MILLIS:
        st.info(f"**Job {name} is queued.** A worker is being started; that takes some seconds.")
    else:
        since = f" since {clock(worker.heartbeat_millis, state.zone())}" if worker else ""
        st.warning(
            f"**Job {name} is queued; no worker has reported{since}.** Start one: "
            "`branch-console worker`. `NO_WORKER`"
        )


def _show_commands(job: JobView, place: Location) -> None:
    """Draw the buttons outside of the part that redraws itself."""
    is_own = job.actor == get_services().settings.actor
    may_not_cancel = None if is_own else lacks_role(Role.EDITOR)
    may_not_resume = lacks_role(Role(job.role))
    refused = None if job.name in _READS else lacks_role(Role.EDITOR)
    why_not = why_not_again(job) if job.state.is_over else None
    asks_again = job.state.is_over and not (job.name == UndoRequest.procedure or is_done_merge(job))
    can_run_again = asks_again and why_not is None
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        if job.receipt_id:
            state.link(
                PageName.RECEIPT, "Receipt", place_of(job), view={"id": job.receipt_id},
                icon=":material/receipt_long:",
            )  # fmt: skip
        if job.state is JobState.DONE:
            offer_undo(job, _table_of(job))
        if job.state.can_cancel and not job.state.is_over:
            st.button(
                "Cancel", icon=":material/cancel:", key="job-cancel", on_click=_cancel,
                args=(job.id,), help=may_not_cancel or "The target stays as it is",
                disabled=may_not_cancel is not None,
            )  # fmt: skip
        if job.state.can_resume or job.state is JobState.INTERRUPTED:
            st.button(
                "Resume", icon=":material/resume:", key="job-resume", on_click=_resume,
                args=(job.id,), help=may_not_resume or "Goes on from the last finished step",
                disabled=may_not_resume is not None,
            )  # fmt: skip
        if can_run_again:
            show_again(job, place_of(job), refused)
        _show_way_back(job, is_there=why_not is None)
        link_to_comparison(job, place_of(job))
        _link_to_branch(job)
        home = Location(warehouse=place.warehouse)
        state.link(PageName.JOBS, "All jobs", home, icon=":material/checklist:")
    offers = (
        (may_not_cancel, job.state.can_cancel and not job.state.is_over),
        (may_not_resume, job.state.can_resume or job.state is JobState.INTERRUPTED),
        (refused, can_run_again),
        (why_not, asks_again),
    )
    # Several buttons may ask for the same role, which is told once.
    for text in dict.fromkeys(reason for reason, is_shown in offers if reason and is_shown):
        st.caption(text)


def _table_of(job: JobView) -> Identifier | None:
    """Return the table that a job is about, on main; None if it is about none."""
    name = place_of(job).full_table
    return None if name is None else Identifier.parse(name)


def _link_to_branch(job: JobView) -> None:
    """Lead to the branch that the job leaves to look at, by its present name."""
    place, table = place_of(job), _table_of(job)
    if table is None:
        return
    branch = MAIN_BRANCH
    with suppress(PaimonError):
        branch = branch_after(job, table)
    label = "Branches" if branch == MAIN_BRANCH else f"Branch {code(shortened(branch, 30))}"
    state.link(PageName.BRANCHES, label, place.at_branch(branch), icon=":material/account_tree:")


def _show_way_back(job: JobView, *, is_there: bool) -> None:
    """Lead to the page of a merge: from the merge, from what was a part of it, and from its undo.

    Args:
        job: The job.
        is_there: Whether the branches that it names are there.
    """
    if job.name == UndoRequest.procedure and job.state.is_over:
        with suppress(PaimonError):
            undo = reads.call_of_job(job.id).request(UndoRequest)
            undone = reads.call_of_job(undo.operation)
            if way_again(undone.name) is Again.MERGE_PAGE:
                link_to_merge(undone, "Back to the merge", place_of(job), icon=":material/merge:")
        return
    is_part = job.name in _PARTS_OF_MERGES and job.state in (JobState.REFUSED, JobState.FAILED)
    # What a merge that is done would bring now, after its undo or new commits, is said there.
    if not is_part and not (is_done_merge(job) and is_there):
        return
    with suppress(PaimonError):
        call = reads.call_of_job(job.id)
        link_to_merge(call, "Look at the merge", place_of(job), icon=":material/merge:")


def _cancel(job_id: str) -> None:
    with guarded("The job was not cancelled."):
        get_services().cancel_job(job_id)


def _resume(job_id: str) -> None:
    with guarded("The job was not resumed."):
        get_services().resume_job(job_id)
