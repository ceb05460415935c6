"""Branches that were dropped and can be had again, as their rescue branches are still there."""

from collections.abc import Sequence

import streamlit as st

from branch_console.procedures.browse.page_values import DroppedBranch
from branch_console_app import state
from branch_console_app.models.parts.actions import Action
from branch_console_app.models.parts.wording import age, code, plain, plural, shortened
from branch_console_app.widgets.parts import rows
from branch_console_app.widgets.parts.dialogs import offer
from branch_console_app.widgets.parts.reason import show_reason_in
from branch_console_app.widgets.parts.rows import Column

_NAME = Column(label="Dropped", weight=2.2)
_KEPT = Column(label="Kept on", weight=2.6)
_WHEN = Column(label="When", weight=1.2)
_BY = Column(label="By", weight=1.0)
_REASON = Column(label="Reason", weight=2.2)
_RESTORE = Column(label="", weight=1.2)
_COLUMNS = (_NAME, _KEPT, _WHEN, _BY, _REASON, _RESTORE)
_MOST = 50


def show_dropped(dropped: Sequence[DroppedBranch]) -> None:
    """Draw the list, where there is anything on it."""
    if not dropped:
        return
    st.markdown(f"**{plural(len(dropped), 'dropped branch', 'dropped branches')}**")
    with rows.row_list("dropped"):
        rows.head("dropped", _COLUMNS)
        for number, branch in enumerate(dropped[:_MOST]):
            _show_row(number, branch)
    if len(dropped) > _MOST:
        st.caption(f"The last {_MOST} are shown; the history of the table has all.")


def _show_row(number: int, branch: DroppedBranch) -> None:
    cells = dict(zip(_COLUMNS, rows.row(f"dropped-{number}", _COLUMNS), strict=True))
    rows.text(cells[_NAME], _NAME, plain(shortened(branch.name, 30)))
    rows.text(cells[_KEPT], _KEPT, code(shortened(branch.rescue_branch, 26)))
    rows.text(cells[_WHEN], _WHEN, age(branch.time_millis, state.now_millis()))
    rows.text(cells[_BY], _BY, plain(shortened(branch.actor, 14)))
    show_reason_in(cells[_REASON], _REASON, branch.reason)
    with cells[_RESTORE]:
        offer(Action.UNDO, "Restore", key=f"restore-{number}", what=branch.operation_id)
