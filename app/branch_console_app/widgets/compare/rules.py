"""The rules of a table on two of its states: what fails on B, and what failed on A already."""

import hashlib

import streamlit as st

from branch_console.diff.state_diff import StateDiff
from branch_console.format.identifier import Identifier
from branch_console.jobs.progress import JobState
from branch_console.procedures.call.call import Argument
from branch_console_app import reads
from branch_console_app.models.parts.wording import code, plain
from branch_console_app.widgets.parts.gates import CHECK_RULES, show_judgement, show_rules
from branch_console_app.widgets.parts.job_here import follow_here, job_here, start_here

_JOB = "cmp_rules"


def show_rules_of_sides(identifier: Identifier, diff: StateDiff) -> None:
    """Draw what the rules find where they were judged, else the rules; nothing without any."""
    rules = reads.rules(identifier)
    if rules is None:
        return
    # Pinned: a branch that moves on while the job waits would answer for another state.
    sides = {"a": str(diff.before.pinned), "b": str(diff.after.pinned)}
    arguments: dict[str, Argument] = {"table": identifier.table_name, **sides}
    asked = repr([sorted(arguments.items()), rules.digest])
    subject = hashlib.sha256(asked.encode()).hexdigest()[:16]
    job = job_here(_JOB, subject)
    if job is not None and not job.state.is_over:
        follow_here(job, "The rules are judged.", "The rules are to be judged.")
        return
    if job is not None and job.state is JobState.DONE:
        show_judgement(job, f"Rules on B, {plain(str(diff.after.name))}")
        return
    if job is not None:
        st.warning(f"**The rules were not judged.** {plain(job.message)} {code(job.error or '')}")
    show_rules(rules, "Rules", "They are judged on B; one that fails on A too only warns.")
    st.button(
        "Judge both sides", icon=":material/rule:", key="cmp-judge", on_click=start_here,
        args=(_JOB, subject, CHECK_RULES, arguments),
    )  # fmt: skip
