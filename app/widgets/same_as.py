"""The same for other surfaces: what a page shows, or is about to do, as command line and SQL."""

import shlex

import streamlit as st

from app.services import get_services


def show_same_as(*words: str, sql: str | None = None) -> None:
    """Draw a closed expander with the equal lines.

    Args:
        words: The command with its arguments, without the program and the warehouse.
        sql: The statement that does the same, where there is one.
    """
    warehouse = get_services().settings.get_warehouse()
    with st.expander("Same as", icon=":material/terminal:"):
        line = shlex.join(["branch-console", *words, "--warehouse", warehouse])
        st.code(line, language="bash", wrap_lines=True)
        if sql:
            st.code(sql, language="sql", wrap_lines=True)
