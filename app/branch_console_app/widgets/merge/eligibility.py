"""What stands in the way, a line each: what fails first, and where it is cleared."""

from collections.abc import Mapping, Sequence
from typing import assert_never

import streamlit as st

from branch_console_app import state
from branch_console_app.models.merge.eligibility import Check, CheckState
from branch_console_app.models.merge.remedies import CheckRemedy
from branch_console_app.models.parts.actions import DO, WHAT, Action
from branch_console_app.models.parts.wording import code, plural
from branch_console_app.state import PageName
from branch_console_app.widgets.merge.row_conflicts import MERGE_VIEW
from branch_console_app.widgets.parts.rows import block
from branch_console_app.widgets.parts.table_picker import here

_MARKS: Mapping[CheckState, str] = {
    CheckState.FAILS: ":red[✕]",
    CheckState.WARNS: ":orange[△]",
    CheckState.PASSES: ":green[✓]",
}


def show_eligibility(checks: Sequence[Check], source: str, target: str) -> None:
    """Draw the conditions; what fails or warns with what to do about it, the rest folded."""
    block(3, "Checks")
    held = [check for check in checks if check.standing is CheckState.PASSES]
    with st.container(key="sentences-checks"):
        for number, check in enumerate(checks):
            if check.standing is not CheckState.PASSES:
                _show_check(check)
                with st.container(horizontal=True, gap="medium", key=f"line-remedy-{number}"):
                    for remedy in check.remedies:
                        _show_remedy(remedy, source, target)
    if not held:
        return
    all_of_them = "Nothing stands in the way: " if len(held) == len(checks) else ""
    told = f"{all_of_them}{plural(len(held), 'condition holds', 'conditions hold')}"
    with st.expander(told, icon=":material/check:", key="conditions"):
        for check in held:
            _show_check(check)


def _show_check(check: Check) -> None:
    suffix = f" {code(check.kind)}" if check.kind else ""
    advice = f" :gray[{check.advice}]" if check.advice else ""
    st.markdown(f"{_MARKS[check.standing]} \u2002 {check.text}{suffix}{advice}")


def _show_remedy(remedy: CheckRemedy, source: str, target: str) -> None:
    match remedy:
        case CheckRemedy.JOBS:
            state.link(PageName.JOBS, remedy, here(), icon=":material/checklist:")
        case CheckRemedy.PIN:
            view = {DO: str(Action.PIN), WHAT: source}
            place = here().at_branch(source)
            state.link(PageName.BRANCHES, remedy, place, view=view, icon=":material/keep:")
        case CheckRemedy.BRANCH:
            place = here().at_branch(source)
            state.link(PageName.BRANCHES, remedy, place, icon=":material/account_tree:")
        case CheckRemedy.BOTH_SIDES:
            view = {"cmp_a": target, "cmp_b": source}
            place = here().at_branch(target)
            state.link(PageName.COMPARE, remedy, place, view=view, icon=":material/compare_arrows:")
        case CheckRemedy.FAST_FORWARD:
            changed = {**state.view_of(*MERGE_VIEW), "how": "ff"}
            state.link(PageName.MERGE, remedy, here(), view=changed, icon=":material/fast_forward:")
        case CheckRemedy.MERGE:
            changed = {**state.view_of(*MERGE_VIEW), "how": None}
            state.link(PageName.MERGE, remedy, here(), view=changed, icon=":material/merge:")
        case _:
            assert_never(remedy)
