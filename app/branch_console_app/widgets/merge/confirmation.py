"""The parts that all dialogs of a merge have, in one order: the sentences first, the button last.

Between these two a dialog asks for what its merge takes, its reason as the last.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from branch_console.procedures.call.consequence import Preview
from branch_console_app.models.merge.confirmation import Confirmation
from branch_console_app.models.merge.merge_state import MergeStanding, MergeState
from branch_console_app.widgets.merge.eligibility import show_check_lines
from branch_console_app.widgets.parts.confirm import (
    IN_THE_WAY,
    lacks_role,
    reason_field,
    typed_name,
)
from branch_console_app.widgets.parts.dialogs import close_dialog
from branch_console_app.widgets.parts.gates import (
    NO_REASON,
    OVERRIDE,
    UNCHECKED,
    ask_for_override,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """The last fields of a dialog: why somebody merges, and whether they may.

    Attributes:
        reason: Why; for a merge that its rules stop, also why it goes on despite them.
        override: That reason if the rules stop the merge; None if they do not, or if none is given.
        refused: Why the button cannot be pressed; None if it can.
    """

    reason: str | None
    override: str | None
    refused: str | None


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


def ask_for_approval(verdict: MergeState, answer: Preview, protected: str | None) -> Approval:
    """Ask for the reason of a merge, and for the name of a protected target.

    Args:
        verdict: The verdict of the page.
        answer: The preview of the command.
        protected: The target if its name has to be typed, else None.
    """
    override = ask_for_override() if verdict.takes_override else None
    reason = override if verdict.takes_override else reason_field()
    refused = lacks_role(answer.role) or (None if answer.can_run else IN_THE_WAY)
    if protected is not None and not typed_name("merge", protected):
        refused = refused or f"Type {protected} first."
    if verdict.takes_override:
        refused = refused or (None if override else NO_REASON)
    return Approval(reason=reason, override=override, refused=refused)


def label_of_merge(verdict: MergeState, usual: str) -> str:
    """Return the label of the button: the usual one, unless the rules stop the merge."""
    if not verdict.takes_override:
        return usual
    return OVERRIDE if verdict.standing is MergeStanding.GATE_RED else UNCHECKED


def confirmed(label: str, *, icon: str, key: str, refused: str | None) -> bool:
    """Draw the button that confirms and the one that closes the dialog; return whether to go on.

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
