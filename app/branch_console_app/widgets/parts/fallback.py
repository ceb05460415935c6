"""The branches from which batch reads take their partitions, in a sentence."""

import streamlit as st

from branch_console.format.identifier import Identifier
from branch_console_app import reads
from branch_console_app.models.parts.wording import listed, plain, prose
from branch_console_app.widgets.parts.problem import guarded


def show_fallback(identifier: Identifier) -> None:
    """Draw what is read from which branch, where an option names a second one."""
    with guarded("What batch reads take from where cannot be told."):
        found = reads.fallback(identifier)
        if found is None:
            return
        if found.problem is not None:
            st.warning(prose(found.sentence), icon=":material/call_split:")
            return
        names = [plain(name) for name in found.other_partitions if name]
        st.markdown(
            f":material/call_split: {prose(found.sentence)}",
            help=listed(names, most=20) or None,
        )
        st.caption("Streaming reads take this branch alone.")
