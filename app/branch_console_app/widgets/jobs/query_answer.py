"""The answer of a query: its rows, its plan, what it read, and its files to take away."""

import streamlit as st

from branch_console.sql.answer import Answer
from branch_console_app import reads
from branch_console_app.models.parts.query_answer import (
    SHOWN_ROWS,
    for_screen,
    read_words,
    summary,
    to_csv,
    to_parquet,
)
from branch_console_app.models.parts.wording import count, plain, plural, prose, short_id
from branch_console_app.services import get_services
from branch_console_app.widgets.parts import rows
from branch_console_app.widgets.parts.problem import guarded


def show_answer(job_id: str) -> None:
    """Draw the answer of a query that is done."""
    with guarded("The rows cannot be shown."):
        with st.skeleton(height=240):
            answer = reads.answer(job_id)
        with st.container(
            horizontal=True, gap="small", vertical_alignment="center", key="line-answer"
        ):
            st.markdown(summary(answer), width="content")
            for read in answer.reads:
                st.caption(read_words(read), width="content")
            st.space("stretch")
            _show_downloads(job_id)
        for note in answer.notes:
            st.info(prose(note), icon=":material/info:")
        shown, plan = st.tabs(["Rows", "Plan"])
        with shown:
            _show_rows(answer)
        with plan:
            st.code(answer.plan, language=None)


def _show_rows(answer: Answer) -> None:
    first = answer.rows.slice(0, SHOWN_ROWS)
    if not first.num_columns or not first.num_rows:
        st.info(f"No row. The columns are {plain(', '.join(answer.rows.column_names))}.")
        return
    st.dataframe(
        for_screen(first),
        hide_index=True,
        row_height=rows.TABLE_ROW,
        height=rows.table_height(first.num_rows, 14),
        alt=f"Answer of the query, {plural(answer.rows.num_rows, 'row')}",
    )
    if answer.rows.num_rows > SHOWN_ROWS:
        all_rows = f"the files hold {count(answer.rows.num_rows)}"
        st.caption(f"The first {count(SHOWN_ROWS)} rows; {all_rows}.")
    if answer.has_more:
        st.caption("The query has more rows, which are not kept. Narrow it down, or count them.")


def _show_downloads(job_id: str) -> None:
    # Files are made when somebody asks for them, not whenever the page is drawn.
    for name, mime, encode in (
        ("CSV", "text/csv", to_csv),
        ("Parquet", "application/vnd.apache.parquet", to_parquet),
    ):
        st.download_button(
            name,
            lambda encode=encode: encode(get_services().answer(job_id).rows),  # type: ignore[misc]
            file_name=f"query-{short_id(job_id)}.{name.lower()}",
            mime=mime,
            key=f"sql-{name.lower()}",
            icon=":material/download:",
            on_click="ignore",
        )
