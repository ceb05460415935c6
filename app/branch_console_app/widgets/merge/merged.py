"""A merge that is done, on its own page: what it moved, from its receipt."""

import streamlit as st

from branch_console_app.models.jobs.overridden_rules import OverriddenRules
from branch_console_app.models.jobs.receipt_text import count_pairs, move_words
from branch_console_app.models.merge.merge_facts import MergeAttempt
from branch_console_app.models.merge.merge_state import MergeStanding, MergeState
from branch_console_app.models.parts.wording import plain, prose
from branch_console_app.widgets.parts import rows


def show_merged(verdict: MergeState, merge: MergeAttempt | None) -> None:
    """Draw what a merge has changed; nothing before it is done, or after it was taken back.

    Args:
        verdict: The verdict of the page.
        merge: The job that merged; None if there is none.
    """
    if merge is None or merge.receipt is None or verdict.standing is not MergeStanding.DONE:
        return
    receipt = merge.receipt
    with st.container(border=True, key="card-merged"):
        st.markdown("**What was merged**")
        overridden = OverriddenRules.of_gate(receipt.gate)
        if overridden is not None:
            badge = f":orange-badge[:material/gpp_maybe: {overridden.mark}]"
            st.markdown(f"{badge} {plain(overridden.actor)}: {plain(overridden.reason)}")
        pairs = count_pairs(receipt.counts)
        if pairs:
            rows.facts("merged", pairs, columns=3)
        for move in receipt.moves:
            st.markdown(move_words(move))
        for note in receipt.notes:
            st.caption(prose(note))
