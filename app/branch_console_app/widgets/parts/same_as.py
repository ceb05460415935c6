"""The same for other surfaces: what a page shows, or is about to do, as command line and SQL."""

import shlex
from typing import Final

import streamlit as st

from branch_console_app.models.parts.command_line import POLICY_FILE
from branch_console_app.services import get_services

RUN_BY_CONSOLE: Final = (
    "`branch-console sql` runs this statement. Spark and Flink have procedures of their own: one "
    "of the same name does something else there, such as a drop that keeps nothing."
)
"""The caption of a statement that only this console runs as shown."""

_POLICY: Final = (
    f"`{POLICY_FILE}` is the policy file of these decisions: download it on the page where "
    "conflicts are settled, under *Policy file*."
)


@st.fragment
def show_same_as(*words: str, sql: str | None = None, page: str | None = None) -> None:
    """Draw a closed expander with the equal lines, which are sent when it is opened.

    Code brings a highlighter of 1.5 MB along, for which every page would wait.

    Args:
        words: The command with its arguments, without the program and the warehouse.
        sql: The statement that does the same, where there is one.
        page: The page, where a dialog of it shows commands that begin with the same word.
    """
    part = st.expander(
        "CLI and SQL",
        key=f"same_as_{page or words[0]}",
        icon=":material/terminal:",
        on_change="rerun",
    )
    if not part.open:
        return
    warehouse = get_services().settings.get_warehouse()
    with part:
        line = shlex.join(["branch-console", *words, "--warehouse", warehouse])
        st.code(line, language="bash", wrap_lines=True)
        if POLICY_FILE in words:
            st.caption(_POLICY)
        if sql:
            st.code(sql, language="sql", wrap_lines=True)
            st.caption(RUN_BY_CONSOLE)
