"""The parts that all dialogs of a merge have, in one order: the sentences first, the button last.

Between these two a dialog asks for what its merge takes, its reason as the last.
"""

from collections.abc import Sequence

import streamlit as st

from branch_console_app.models.merge.confirmation import Confirmation
from branch_console_app.widgets.merge.eligibility import show_check_lines
from branch_console_app.widgets.parts.dialogs import close_dialog


def show_confirmation(found: Confirmation) -> None:
    """Draw what happens, the checks, what stays and how far it can be undone."""
    with st.container(border=True, key="card-confirmation"):
        _show_sentences("effects", ":blue[→] **What happens**", found.effects)
        _show_sentences("losses", ":orange[\N{MINUS SIGN}] **Removed**", found.losses)
        shown = found.shown_checks
        with st.container(key="sentences-confirm-checks"):
            st.markdown("**Checks**")
            show_check_lines(shown, len(found.checks) - len(shown))
        _show_sentences("kept", ":green[✓] **What stays**", found.kept)
        st.caption(found.undo)


def confirmed(label: str, *, icon: str, key: str, refused: str | None) -> bool:
    """Draw the button that confirms, beside the one that closes the dialog; tell whether it was.

    Args:
        label: The label of the button.
        icon: Its icon.
        key: Its key.
        refused: Why it cannot be pressed; None if it can.
    """
    with st.container(horizontal=True, gap="small", key="confirm-buttons"):
        is_confirmed = st.button(
            label, type="primary", icon=icon, disabled=refused is not None, help=refused, key=key
        )
        if st.button("Cancel", key="confirm-cancel"):
            close_dialog()
            st.rerun()
    return is_confirmed


def _show_sentences(key: str, title: str, sentences: Sequence[str]) -> None:
    if not sentences:
        return
    with st.container(key=f"sentences-confirm-{key}"):
        st.markdown(title)
        for sentence in sentences:
            st.markdown(sentence)
