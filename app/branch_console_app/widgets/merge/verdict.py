"""The verdict of a merge, of one table or of the catalog: one sentence under its icon."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import streamlit as st

from branch_console_app import state
from branch_console_app.models.merge.merge_state import MergeStanding, MergeState, VerdictRole

_BOXES: Final[Mapping[VerdictRole, Callable[..., Any]]] = {
    VerdictRole.NEUTRAL: st.info,
    VerdictRole.WORK: st.info,
    VerdictRole.READY: st.info,
    VerdictRole.ACT: st.warning,
    VerdictRole.STOP: st.error,
    VerdictRole.DONE: st.success,
}
_ICONS: Final[Mapping[MergeStanding, str]] = {
    MergeStanding.CHOOSE: "radio_button_unchecked",
    MergeStanding.LOADING: "progress_activity",
    MergeStanding.UNCHECKED: "close",
    MergeStanding.RUNNING: "play_arrow",
    MergeStanding.COMPARING: "play_arrow",
    MergeStanding.DONE: "check",
    MergeStanding.UNDONE: "undo",
    MergeStanding.FAILED: "close",
    MergeStanding.STALE: "update",
    MergeStanding.UP_TO_DATE: "check",
    MergeStanding.REFUSED: "block",
    MergeStanding.CONFLICTS: "call_split",
    MergeStanding.NEEDS_ROWS: "compare",
    MergeStanding.RULES_UNCHECKED: "gpp_maybe",
    MergeStanding.GATE_RED: "gpp_bad",
    MergeStanding.NO_RIGHT: "lock",
    MergeStanding.STAGED: "publish",
    MergeStanding.SETTLED: "merge",
    MergeStanding.FAST_FORWARD: "fast_forward",
    MergeStanding.CLEAN: "merge",
}


def draw_verdict(verdict: MergeState) -> None:
    """Draw a verdict; the code of what stops a merge is among its details."""
    text = f"**{verdict.sentence}** {verdict.detail}".strip()
    with st.container(width="stretch"):
        _BOXES[verdict.role](text, icon=f":material/{_ICONS[verdict.standing]}:")


def update_button(key: str = "merge-plan-again") -> None:
    """Draw the button that shows the merge as it is by now."""
    st.button(
        "Update preview", type="primary", icon=":material/refresh:", key=key,
        on_click=state.forget_plan,
    )  # fmt: skip
