"""The names beside the lanes of a graph: what a keyboard can reach, a mouse can too."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st

from branch_console_app.models.parts.wording import count


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneName:
    """The name of a lane.

    Attributes:
        words: How the branch stands, in Markdown.
        show: Draws its name, as a link.
    """

    words: str
    is_selected: bool
    show: Callable[[], None]


def show_lane_names(names: Sequence[LaneName], *, hidden: int) -> None:
    """Draw the names in a column, each as high as its lane.

    Args:
        names: From the top.
        hidden: How many branches have no lane.
    """
    with st.container(key="lane-names", width=206, gap=None):
        for row, name in enumerate(names):
            key = f"lane-{'selected' if name.is_selected else 'row'}-{row}"
            with st.container(key=key, gap=None):
                name.show()
                st.markdown(name.words)
        if hidden:
            st.caption(f"+{count(hidden)} branches")
