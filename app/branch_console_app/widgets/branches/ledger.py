"""The ledger of a table, filtered, each line with its receipt."""

from collections.abc import Sequence

import streamlit as st

from branch_console.format.lineage_event import LineageEvent
from branch_console_app import state
from branch_console_app.models.jobs.ledger_list import HistoryLine, history_lines
from branch_console_app.models.parts.location import Location
from branch_console_app.models.parts.wording import age, code, plain, plural, shortened
from branch_console_app.state import PageName
from branch_console_app.widgets.parts import rows
from branch_console_app.widgets.parts.reason import show_reason_in
from branch_console_app.widgets.parts.rows import Column

_PER_PAGE = 20
_WHEN = Column(label="When", weight=1.7)
_WHAT = Column(label="What", weight=1.6)
_BRANCH = Column(label="Branch", weight=1.9)
_FROM = Column(label="From", weight=1.5)
_BY = Column(label="By", weight=0.8)
_REASON = Column(label="Reason", weight=2.1)
_RECEIPT = Column(label="", weight=0.9)
_COLUMNS = (_WHEN, _WHAT, _BRANCH, _FROM, _BY, _REASON, _RECEIPT)


def show_history(events: Sequence[LineageEvent], place: Location) -> None:
    """Draw the operations of a table, newest first."""
    if not events:
        st.info(
            "The ledger is empty: no operation of this console has touched the table. Branches "
            "that other software made are shown, their forks are inferred."
        )
        return
    kinds = sorted({str(event.kind) for event in events})
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="filters"):
        words = st.text_input(
            "Find an operation", key="hi_q", bind="query-params", type="search", width=240,
            placeholder="Branch, person, reason", label_visibility="collapsed", live=True,
        )  # fmt: skip
        chosen = st.pills(
            "Kinds", kinds, selection_mode="multi", key="hi_kind", bind="query-params",
            label_visibility="collapsed",
        )  # fmt: skip
    lines = history_lines(events, words=words or "", kinds=chosen or ())
    st.markdown(f"**{plural(len(lines), 'operation')}**")
    if not lines:
        st.info("No operation has these words and kinds. Change the filters above.")
        return
    listed = rows.row_list("history")
    visible = rows.page_of_rows("hi_p", len(lines), _PER_PAGE)
    with listed:
        rows.head("history", _COLUMNS)
        for number, line in enumerate(lines[visible]):
            _show_line(number, line, place)


def _show_line(number: int, line: HistoryLine, place: Location) -> None:
    event = line.event
    cells = dict(zip(_COLUMNS, rows.row(f"history-{number}", _COLUMNS), strict=True))
    rows.text(cells[_WHEN], _WHEN, age(event.time_millis, state.now_millis()))
    undone = " :gray-badge[undone]" if line.undone_by else ""
    rows.text(cells[_WHAT], _WHAT, f"{event.kind}{undone}")
    tag = f" :violet[⚑ {plain(shortened(event.tag, 18))}]" if event.tag else ""
    rows.text(cells[_BRANCH], _BRANCH, f"{plain(shortened(event.branch, 26))}{tag}")
    source = plain(shortened(event.source_branch, 22)) if event.source_branch else rows.NOTHING
    rows.text(cells[_FROM], _FROM, source)
    rows.text(cells[_BY], _BY, plain(shortened(event.actor, 14)))
    show_reason_in(cells[_REASON], _REASON, event.reason)
    if event.receipt is None:
        rows.text(cells[_RECEIPT], _RECEIPT, rows.NOTHING, help=code(event.operation_id))
        return
    with cells[_RECEIPT]:
        state.link(PageName.RECEIPT, "Receipt", place, view={"id": event.operation_id})
