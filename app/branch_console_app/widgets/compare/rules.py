"""The rules of a table on two of its states: what fails on B, and what failed on A already."""

import hashlib
from collections.abc import Sequence

import streamlit as st

from branch_console.diff.state_diff import StateDiff
from branch_console.format.identifier import Identifier
from branch_console.jobs.progress import JobState
from branch_console.procedures.call.call import Argument
from branch_console.quality.findings import RuleFinding
from branch_console.quality.rules import RuleSet
from branch_console_app import reads
from branch_console_app.models.parts.wording import code, plain, prose
from branch_console_app.widgets.parts.gates import (
    CHECK_RULES,
    find_judgement,
    show_judgement,
    show_rules,
)
from branch_console_app.widgets.parts.job_here import follow_here, job_here, start_here

_JOB = "cmp_rules"


def findings_on_sides(identifier: Identifier, diff: StateDiff) -> Sequence[RuleFinding]:
    """Return what the rules found on the second side; none while they are not judged."""
    rules = reads.rules(identifier)
    if rules is None:
        return ()
    subject, _ = _asked(identifier, diff, rules)
    job = job_here(_JOB, subject)
    if job is None or job.state is not JobState.DONE:
        return ()
    return find_judgement(job) or ()


def _asked(
    identifier: Identifier, diff: StateDiff, rules: RuleSet
) -> tuple[str, dict[str, Argument]]:
    """Return what the job of two sides is for, and its arguments."""
    # Pinned: a branch that moves on while the job waits would answer for another state.
    sides = {"a": str(diff.before.pinned), "b": str(diff.after.pinned)}
    arguments: dict[str, Argument] = {"table": identifier.table_name, **sides}
    asked = repr([sorted(arguments.items()), rules.digest])
    return hashlib.sha256(asked.encode()).hexdigest()[:16], arguments


def show_rules_of_sides(identifier: Identifier, diff: StateDiff) -> None:
    """Draw what the rules find where they were judged, else the rules; nothing without any."""
    rules = reads.rules(identifier)
    if rules is None:
        return
    subject, arguments = _asked(identifier, diff, rules)
    job = job_here(_JOB, subject)
    if job is not None and not job.state.is_over:
        follow_here(job, "The rules are being checked.", "The check of the rules waits.")
        return
    if job is not None and job.state is JobState.DONE:
        show_judgement(job, f"Rules on B, {plain(str(diff.after.name))}")
        return
    if job is not None:
        st.warning(f"**The rules were not checked.** {prose(job.message)} {code(job.error or '')}")
    show_rules(
        rules,
        "Rules",
        "The rules are checked on B. A rule that fails on A too gives only a warning.",
    )
    st.button(
        "Check rules on both sides", icon=":material/rule:", key="cmp-judge", on_click=start_here,
        args=(_JOB, subject, CHECK_RULES, arguments),
    )  # fmt: skip
