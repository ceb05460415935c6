"""The same command for other surfaces: what a page is about to do, as CLI and SQL."""

import streamlit as st


def show_same_as(cli: str, sql: str | None = None) -> None:
    """Draw a closed expander with the equal lines."""
    with st.expander("Same as", icon=":material/terminal:"):
        st.code(cli, language="bash", wrap_lines=True)
        if sql:
            st.code(sql, language="sql", wrap_lines=True)
