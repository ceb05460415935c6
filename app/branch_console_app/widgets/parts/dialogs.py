"""Dialogs that an address opens: `do` names the action, `what` its subject."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

import streamlit as st

from branch_console_app import state
from branch_console_app.models.parts.actions import DO, WHAT, Action
from branch_console_app.models.parts.wording import code

Dialogs: TypeAlias = Mapping[Action, tuple[str, Callable[[str | None], None]]]
"""Title of each action's dialog, and what draws it from the address's `what`."""


def offer(
    action: Action,
    label: str,
    *,
    key: str,
    icon: str | None = None,
    what: str | None = None,
    is_primary: bool = False,
    is_link: bool = False,
    help: str | None = None,
) -> None:
    """Draw a button that opens the dialog of an action, about `what`."""
    st.button(
        label, icon=icon, key=key, help=help, on_click=open_dialog, args=(action, what),
        type="primary" if is_primary else "tertiary" if is_link else "secondary",
    )  # fmt: skip


def open_dialog(action: Action, what: str | None = None) -> None:
    """Have the page open the dialog of an action, about `what`."""
    state.forget_preview()
    state.set_parameters({DO: action, WHAT: what})


def show_dialog(dialogs: Dialogs) -> None:
    """Open the dialog that the address asks for, where the page has it.

    Args:
        dialogs: Those of the page.
    """
    wanted = state.parameter(DO)
    if wanted is None:
        return
    found = next((each for each in dialogs if each == wanted), None)
    if found is None:
        st.warning(f"The address asks for {code(wanted)}, which this page does not offer.")
        return
    title, draw = dialogs[found]
    st.dialog(title, width="medium", on_dismiss=close_dialog)(draw)(state.parameter(WHAT))


def leave_dialog() -> None:
    """Close the dialog of the address, before one that no address opens: a page shows one."""
    state.set_parameters({DO: None, WHAT: None})


def close_dialog() -> None:
    """Close the dialog of the address for good: it opens on what is there then."""
    state.forget_preview()
    leave_dialog()
