"""The verdict of a merge, of one table or of the catalog: one sentence under its icon."""

import streamlit as st

from branch_console.errors import ErrorKind
from branch_console_app import state
from branch_console_app.models.merge.merge_state import MergeStanding, MergeState
from branch_console_app.models.parts.wording import code

_DRAW = {
    MergeStanding.STALE: (st.warning, ":material/update:"),
    MergeStanding.UP_TO_DATE: (st.success, ":material/check:"),
    MergeStanding.REFUSED: (st.error, ":material/block:"),
    MergeStanding.COMPARING: (st.info, ":material/play_arrow:"),
    MergeStanding.CONFLICTS: (st.warning, ":material/call_split:"),
    MergeStanding.NEEDS_ROWS: (st.info, ":material/compare:"),
    MergeStanding.SETTLED: (st.info, ":material/merge:"),
    MergeStanding.FAST_FORWARD: (st.info, ":material/fast_forward:"),
    MergeStanding.CLEAN: (st.info, ":material/merge:"),
}


def draw_verdict(verdict: MergeState, kind: ErrorKind | None = None) -> None:
    """Draw a verdict, with the code of what stops the merge."""
    draw, icon = _DRAW[verdict.standing]
    suffix = f" {code(kind)}" if kind else ""
    with st.container(width="stretch"):
        draw(f"**{verdict.sentence}** {verdict.detail}{suffix}".strip(), icon=icon)


def update_button() -> None:
    """Draw the button that shows the merge as it is by now."""
    st.button(
        "Update preview", type="primary", icon=":material/refresh:", key="merge-plan-again",
        on_click=state.forget_plan,
    )  # fmt: skip
