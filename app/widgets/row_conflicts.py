"""Rows and cells that both sides changed: how many, which, and what they are settled to."""

import pyarrow as pa
import streamlit as st

from app.models.row_conflicts import RowConflictLine, conflict_groups, conflict_lines
from app.models.wording import code, count, plain, plural
from app.widgets import rows
from app.widgets.rows import Column, block

_PER_PAGE = 25
_NULL = ":gray[NULL]"
_KEY = Column(label="Key", weight=1.8)
_COLUMN = Column(label="Column", weight=1.2)
_BASE = Column(label="Base", weight=1.4)
_OURS = Column(label="Target", weight=1.4)
_THEIRS = Column(label="Source", weight=1.4)
_RESULT = Column(label="Result", weight=1.6)
_COLUMNS = (_KEY, _COLUMN, _BASE, _OURS, _THEIRS, _RESULT)


def show_row_conflicts(conflicts: pa.Table) -> None:
    """Draw the conflicts that a run has found, with the columns of `row_conflict_schema`."""
    block(3, "Rows that both sides changed")
    open_number = conflicts["take"].null_count
    st.markdown(
        f"**{count(open_number)} of {plural(conflicts.num_rows, 'conflict')} unresolved.** "
        "Take a side in the options, or give a policy there; what is settled goes with the merge."
    )
    st.caption(
        " · ".join(
            f"{plain(each.column)}, {each.kind}: {count(each.open_number)} of {count(each.number)}"
            for each in conflict_groups(conflicts)
        )
    )
    listed = rows.row_list("row-conflicts")
    visible = rows.page_of_rows("rc_p", conflicts.num_rows, _PER_PAGE)
    with listed:
        rows.head("row-conflicts", _COLUMNS)
        for number, line in enumerate(conflict_lines(conflicts, visible)):
            _show_line(number, line)


def _show_line(number: int, line: RowConflictLine) -> None:
    cells = rows.row(f"row-conflict-{number}", _COLUMNS)
    open_words = "needs another look" if line.needs_another_look else "open"
    texts = (
        plain(line.key),
        f"{code(line.column)}  \n:small[:gray[{line.kind}]]",
        *(_NULL if side is None else plain(side) for side in (line.base, line.ours, line.theirs)),
        f":orange[{open_words}]" if line.is_open else plain(line.result),
    )
    for cell, column, text in zip(cells, _COLUMNS, texts, strict=True):
        rows.text(cell, column, text)
