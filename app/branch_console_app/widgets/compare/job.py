"""A job that a comparison waits for: asked for by a button, followed, cancelled."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Final

import streamlit as st

from branch_console.diff.state_diff import StateDiff
from branch_console.errors import PaimonError
from branch_console.format.identifier import Identifier
from branch_console.jobs.progress import JobState, JobView
from branch_console.procedures.call.call import Argument
from branch_console.procedures.compare.quality import COMPARE_QUALITY
from branch_console_app import reads, state
from branch_console_app.models.parts.location import Location
from branch_console_app.models.parts.wording import code, prose
from branch_console_app.state import PageName
from branch_console_app.widgets.parts.job_here import begin_job, find_job, follow_here

_TABS: Final = {"compare_states": "rows", COMPARE_QUALITY: "quality"}


def show_running_job(parameter: str, subject: str) -> bool:
    """Draw a job that has not ended well, and return whether one is still running.

    Args:
        parameter: The parameter of the address that names the job.
        subject: The compared objects, such as `Rows`.
    """
    job = find_job(state.parameter(parameter))
    if job is None:
        return False
    if not job.state.is_over:
        follow_here(
            job, f"Comparing {subject.lower()}.", f"{subject} are compared once a worker is free."
        )
        return True
    if job.state is not JobState.DONE:
        st.warning(f"**{subject} were not compared.** {prose(job.message)} {code(job.error or '')}")
    return False


def link_to_comparison(job: JobView, place: Location) -> None:
    """Lead from a job that compared two states to the page that shows what it found.

    Args:
        job: Any job.
        place: The place of its table.
    """
    tab = _TABS.get(job.name)
    if tab is None:
        return
    with suppress(PaimonError):
        given = reads.call_of_job(job.id).arguments
        view = {"cmp_a": str(given["a"]), "cmp_b": str(given["b"]), "cmp_tab": tab}
        state.link(
            PageName.COMPARE, "Look at the comparison", place, view=view, icon=":material/compare:"
        )


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
    job_id = begin_job(procedure, arguments, repr(sorted(arguments.items())))
    if job_id is not None:
        state.set_parameter(parameter, job_id)
