"""The end of the worker's log, looked at on demand."""

from typing import Final, Literal

import streamlit as st

from branch_console_app import reads
from branch_console_app.models.parts.log_text import MOST_LINES, tail_of
from branch_console_app.models.parts.wording import plural
from branch_console_app.widgets.parts.problem import guarded

_LINES_IN_SIGHT: Final = 14
_HEIGHT: Final = 320


def show_log() -> None:
    """Draw a closed part with the last lines; they are read when it is opened."""
    part = st.expander(
        "Log of the worker", key="jb_log", icon=":material/article:", on_change="rerun"
    )
    if not part.open:
        return
    with part, guarded("The log cannot be read."):
        text = reads.worker_log()
        if not text:
            st.caption("No worker has written a log on this machine.")
            return
        with st.container(horizontal=True, gap="small", vertical_alignment="center"):
            words = st.text_input(
                "Find in the log", key="jb_words", type="search", width=280, live=True,
                placeholder="Find in the log", label_visibility="collapsed",
            )  # fmt: skip
            lines = tail_of(text, words or "")
            found = "\n".join(lines)
            st.caption(f"The last {plural(len(lines), 'line')}, {MOST_LINES} at most.")
            st.space("stretch")
            st.download_button(
                "Download", found, "worker.log", "text/plain", icon=":material/download:",
                key="jb_download",
            )  # fmt: skip
        height: int | Literal["content"] = "content"
        if len(lines) > _LINES_IN_SIGHT:
            height = _HEIGHT
        st.code(found or "No line has these words.", language=None, height=height)
