"""The checks of a merge, a line each: what fails first, each with one button that clears it."""

from collections.abc import Mapping, Sequence

import streamlit as st

from branch_console_app.models.merge.eligibility import RULES, Check, CheckState
from branch_console_app.models.merge.remedies import CheckRemedy
from branch_console_app.models.parts.actions import Action
from branch_console_app.models.parts.wording import code
from branch_console_app.widgets.merge.bar import go_to_remedy
from branch_console_app.widgets.parts.dialogs import offer

_MARKS: Mapping[CheckState, str] = {
    CheckState.FAILS: ":red[✕]",
    CheckState.WARNS: ":orange[!]",
    CheckState.NOT_RUN: ":gray[◌]",
    CheckState.PASSES: ":green[✓]",
}


def show_checks(
    checks: Sequence[Check], source: str, target: str, job_id: str | None = None
) -> None:
    """Draw the list with what to do about each line.

    Args:
        checks: The checks.
        source: The source.
        target: The target.
        job_id: The job that the verdict is about.
    """
    with st.container(key="sentences-checks"):
        for number, check in enumerate(checks):
            with st.container(
                horizontal=True, gap="small", vertical_alignment="center",
                key=f"line-check-{number}",
            ):  # fmt: skip
                st.markdown(_words(check), width="stretch")
                for remedy in check.remedies[:1]:
                    if st.button(remedy, key=f"remedy-{number}"):
                        go_to_remedy(remedy, source, target, job_id)


def show_short_checks(checks: Sequence[Check]) -> None:
    """Draw the same as a summary, without what passes silently."""
    with st.container(key="sentences-checks-short", border=True):
        st.markdown("**Checks**")
        for check in checks:
            if check.standing is not CheckState.PASSES:
                st.markdown(f"{_MARKS[check.standing]} {_sentence(check)}")
        passing = sum(check.standing is CheckState.PASSES for check in checks)
        if passing:
            st.markdown(f"{_MARKS[CheckState.PASSES]} :gray[{passing} passed]")


def show_check_lines(checks: Sequence[Check], passed: int) -> None:
    """Draw checks as lines of a dialog, without buttons.

    Args:
        checks: The checks that have a line.
        passed: How many more have passed.
    """
    for check in checks:
        suffix = f" :small[:gray[{code(check.kind)}]]" if check.kind else ""
        st.markdown(f"{_MARKS[check.standing]} {_sentence(check)}{suffix}")
    if passed:
        more = "more " if checks else ""
        st.markdown(f"{_MARKS[CheckState.PASSES]} :gray[{passed} {more}passed]")


def offer_dry_run(checks: Sequence[Check]) -> None:
    """Draw the button that leads to a dry run where the rules have not been run on the result."""
    if any(each.name == RULES and CheckRemedy.DRY_RUN in each.remedies for each in checks):
        offer(
            Action.MERGE, "Check the rules in a dry run…", key="check-rules", is_link=True,
            icon=":material/rule:",
        )  # fmt: skip


def _words(check: Check) -> str:
    suffix = f" :small[:gray[{code(check.kind)}]]" if check.kind else ""
    advice = f" :gray[{check.advice}]" if check.advice else ""
    return f"{_MARKS[check.standing]} {_sentence(check)}{advice}{suffix}"


def _sentence(check: Check) -> str:
    return f"**{check.name}:** {check.text}" if check.name else check.text
