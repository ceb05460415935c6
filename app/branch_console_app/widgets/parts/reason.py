"""The reason of an operation, as somebody wrote it: a long one is cut, and can be opened."""

from typing import Final

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from branch_console_app.models.parts.wording import cut_at_word, plain
from branch_console_app.widgets.parts import rows
from branch_console_app.widgets.parts.rows import Column

_LONGEST: Final = 200
_LONGEST_IN_LIST: Final = 100
_TALL: Final = 140
_LONG_STATEMENT: Final = 600


def show_reason(reason: str) -> None:
    """Draw a reason under its label; of a long one the beginning, with a button for the whole."""
    whole = reason.strip()
    shown = cut_at_word(whole, _LONGEST)
    st.markdown(f":small[:gray[Reason]]  \n{plain(shown)}")
    if shown != whole:
        with st.popover("Whole reason", type="tertiary"):
            st.markdown(plain(whole))


def show_reason_in(cell: DeltaGenerator, column: Column, reason: str | None) -> None:
    """Draw a reason in the row of a list; the whole of a long one when pointed at."""
    if not reason:
        rows.text(cell, column, rows.NOTHING)
        return
    shown = cut_at_word(reason, _LONGEST_IN_LIST)
    rows.text(cell, column, plain(shown), help=None if shown == reason else plain(reason))


def show_statement(statement: str) -> None:
    """Draw the statement of an operation, in a window if its reason makes it long."""
    is_long = len(statement) > _LONG_STATEMENT
    st.code(statement, language="sql", wrap_lines=True, height=_TALL if is_long else "content")
