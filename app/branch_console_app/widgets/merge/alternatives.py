"""The links from a merge to the pages that show its rows and both sides."""

import streamlit as st

from branch_console.diff.state_diff import pinned_name
from branch_console.format.snapshot import Snapshot
from branch_console_app import state
from branch_console_app.models.parts.location import Location
from branch_console_app.models.parts.wording import code
from branch_console_app.state import PageName
from branch_console_app.widgets.parts.table_picker import here


def show_changed_rows(
    source: str, head: Snapshot, branch: str, base: Snapshot, place: Location | None = None
) -> None:
    """Draw the link to the rows that a source changed, between exactly two snapshots.

    Args:
        source: The source.
        head: Its newest snapshot.
        branch: A branch that lists the snapshot before the changes.
        base: That snapshot.
        place: The table; None for the one of the address.
    """
    states = {"cmp_a": str(pinned_name(branch, base)), "cmp_b": str(pinned_name(source, head))}
    state.link(
        PageName.COMPARE, f"Rows that {code(source)} changed", place or here(),
        view={**states, "cmp_tab": "rows"}, icon=":material/table_rows:",
    )  # fmt: skip


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
