"""The links from a merge that cannot run: the pages that show both sides."""

import streamlit as st

from branch_console_app import state
from branch_console_app.state import PageName
from branch_console_app.widgets.parts.table_picker import here


def show_both_sides(source: str, target: str) -> None:
    """Draw the links to the histories and the schemas of two branches, side by side."""
    place = here().at_branch(target)
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.markdown("**Compare both branches.**", width="content")
        state.link(
            PageName.COMPARE, "Rows and files", place,
            view={"cmp_a": target, "cmp_b": source}, icon=":material/compare_arrows:",
        )  # fmt: skip
        state.link(
            PageName.SNAPSHOTS, "Snapshots side by side", place,
            view={"sn_b2": source}, icon=":material/timeline:",
        )  # fmt: skip
        state.link(
            PageName.SCHEMAS, "Schemas side by side", place,
            view={"sc_l": _latest(target), "sc_r": _latest(source)}, icon=":material/schema:",
        )  # fmt: skip


def _latest(branch: str) -> str:
    return f"{branch}:latest"
