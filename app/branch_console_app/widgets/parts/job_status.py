"""How a job stands: its badge, its progress, its steps."""

from enum import StrEnum
from typing import assert_never

import streamlit as st

from branch_console.jobs.progress import JobState, JobStep, JobView, WorkerView
from branch_console_app.models.jobs.step_words import step_words
from branch_console_app.models.parts.wording import clock, count, duration, plain, plural


class Tone(StrEnum):
    """The colour of a badge."""

    CALM = "blue"
    GOOD = "green"
    WARNING = "orange"
    BAD = "red"
    QUIET = "gray"


def tone(state: JobState) -> Tone:
    """Return the tone of a state."""
    match state:
        case JobState.QUEUED | JobState.WAITING:
            return Tone.QUIET
        case JobState.RUNNING | JobState.PUBLISHING:
            return Tone.CALM
        case JobState.DONE:
            return Tone.GOOD
        case JobState.REFUSED | JobState.INTERRUPTED:
            return Tone.WARNING
        case JobState.CANCELLED:
            return Tone.QUIET
        case JobState.FAILED:
            return Tone.BAD
        case _:
            assert_never(state)


_GLYPHS = {
    JobState.QUEUED: "…",
    JobState.RUNNING: "▸",
    JobState.WAITING: "…",
    JobState.PUBLISHING: "▸",
    JobState.DONE: "✓",
    JobState.REFUSED: "△",
    JobState.FAILED: "✕",
    JobState.CANCELLED: "○",
    JobState.INTERRUPTED: "△",
}


def state_badge(state: JobState) -> str:
    """Write a state as a badge with a glyph."""
    return f":{tone(state)}-badge[{_GLYPHS[state]} {state}]"


def show_progress(job: JobView) -> None:
    """Draw how far the running step is."""
    if job.state.is_over:
        return
    parts = f" of {plural(job.total, 'part')}" if job.total else ""
    step = step_words(job.step) if job.step else "waiting for a worker"
    text = f"{step}: {count(job.done)}{parts}" if job.done or job.total else step
    st.progress(min(1.0, job.done / job.total) if job.total else 0.0, text=text)


def show_steps(job: JobView) -> None:
    """Draw the finished steps in the order they ran."""
    for step in job.steps:
        glyph = ":red[✕]" if step.error else ":green[✓]"
        took = _took(step)
        st.markdown(f"{glyph} {plain(step.name)} :gray[{took}]")
        # What ended the job is said above, once.
        if step.error and step.error != job.message:
            st.caption(plain(step.error))


def _took(step: JobStep) -> str:
    if step.started_millis is None or step.finished_millis is None:
        return ""
    return duration(step.finished_millis - step.started_millis)


def show_worker(worker: WorkerView | None, now_millis: int) -> None:
    """Draw the strip that tells whether anybody works, and whether Spark is warm."""
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="worker"):
        if worker is None:
            st.markdown(":gray-badge[○ no worker yet]", width="content")
            st.caption("The first job starts one.", width="content")
            return
        silent = (now_millis - worker.heartbeat_millis) // 1000
        if not worker.is_alive:
            st.markdown(":orange-badge[△ worker silent]", width="content")
            st.caption(
                f"No worker has reported since {clock(worker.heartbeat_millis)}. The next job "
                "starts one, or `branch-console worker` does.",
                width="content",
            )
            return
        if worker.other_store:
            st.markdown(":orange-badge[△ worker of another job store]", width="content")
        else:
            st.markdown(":green-badge[✓ worker alive]", width="content")
        glyph = {
            "warm": ":green-badge[Spark warm]",
            "starting": ":blue-badge[Spark starting]",
            "ended": ":orange-badge[Spark ended; the next job starts it]",
        }
        st.markdown(glyph.get(worker.spark, ":gray-badge[Spark cold]"), width="content")
        st.caption(
            f"process {worker.process_id} on {plain(worker.host)}, heartbeat {silent} s ago",
            width="content",
        )
