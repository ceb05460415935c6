"""What stands in the way, a line each: what fails first, and where it is cleared."""

from collections.abc import Mapping, Sequence

import streamlit as st

from app import state
from app.models.actions import DO, WHAT, Action
from app.models.eligibility import Check, Remedy, Standing
from app.models.wording import code
from app.state import PageName
from app.widgets.row_conflicts import MERGE_VIEW
from app.widgets.rows import block
from app.widgets.table_picker import here

_MARKS: Mapping[Standing, str] = {
    Standing.FAILS: ":red[✕]",
    Standing.WARNS: ":orange[△]",
    Standing.PASSES: ":green[✓]",
}


def show_eligibility(checks: Sequence[Check], source: str, target: str) -> None:
    """Draw the conditions; those that fail or warn with what to do about them."""
    block(3, "Eligibility")
    with st.container(key="sentences-checks"):
        for number, check in enumerate(checks):
            suffix = f" {code(check.kind)}" if check.kind else ""
            advice = f" :gray[{check.advice}]" if check.advice else ""
            st.markdown(f"{_MARKS[check.standing]} \u2002 {check.text}{suffix}{advice}")
            if check.remedies:
                with st.container(horizontal=True, gap="medium", key=f"line-remedy-{number}"):
                    for remedy in check.remedies:
                        _show_remedy(remedy, source, target)


def _show_remedy(remedy: Remedy, source: str, target: str) -> None:
    match remedy:
        case Remedy.JOBS:
            state.link(PageName.JOBS, remedy, here(), icon=":material/checklist:")
        case Remedy.PIN:
            view = {DO: str(Action.PIN), WHAT: source}
            place = here().at_branch(source)
            state.link(PageName.BRANCHES, remedy, place, view=view, icon=":material/keep:")
        case Remedy.BRANCH:
            place = here().at_branch(source)
            state.link(PageName.BRANCHES, remedy, place, icon=":material/account_tree:")
        case Remedy.BOTH_SIDES:
            view = {"cmp_a": target, "cmp_b": source}
            place = here().at_branch(target)
            state.link(PageName.COMPARE, remedy, place, view=view, icon=":material/compare_arrows:")
        case Remedy.FAST_FORWARD:
            changed = {**state.view_of(*MERGE_VIEW), "how": "ff"}
            state.link(PageName.MERGE, remedy, here(), view=changed, icon=":material/fast_forward:")
