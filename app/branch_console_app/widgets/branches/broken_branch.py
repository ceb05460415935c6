"""The card of a branch that cannot be read: why, and the ways out."""

import pandas as pd
import streamlit as st

from branch_console.errors import PaimonError
from branch_console.format.identifier import RESCUE_PREFIX, Identifier
from branch_console.procedures.browse.page_values import BranchItem
from branch_console_app import reads, state
from branch_console_app.models.branches.broken_branches import broken_sentence, effect_sentence
from branch_console_app.models.parts.actions import Action
from branch_console_app.models.parts.location import Location
from branch_console_app.models.parts.wording import age, code, count, plain, prose
from branch_console_app.widgets.parts import rows
from branch_console_app.widgets.parts.dialogs import offer
from branch_console_app.widgets.parts.problem import guarded

_FILES = "br_files"


def show_broken_branch(
    item: BranchItem, error: PaimonError, identifier: Identifier, place: Location
) -> None:
    """Draw what is inside the card, below the name of the branch."""
    is_rescue = item.name.startswith(RESCUE_PREFIX)
    affected = effect_sentence(error, is_rescue=is_rescue)
    st.error(f"{prose(broken_sentence(error))} {affected}", icon=":material/error:")
    with st.container(horizontal=True, gap="small", key="branch-commands"):
        if is_rescue:
            offer(
                Action.RELEASE, "Release…", icon=":material/delete_forever:", key="do-release",
                what=item.name,
            )  # fmt: skip
        else:
            offer(
                Action.DROP, "Drop branch…", icon=":material/delete:", key="do-drop-branch",
                is_primary=True,
            )  # fmt: skip
        st.button(
            "Try again", icon=":material/refresh:", key="read-again", on_click=reads.forget,
            help="Reads the branch again, for instance after a file was restored",
        )  # fmt: skip
    path = error.facts.get("path")
    file = f" File: {code(path)}" if isinstance(path, str) and path not in error.message else ""
    st.caption(f"{prose(error.message)}{file} {code(error.kind)}")
    _show_facts(item)
    with st.expander("Show files", key=_FILES, on_change="rerun") as files:
        if files.open:
            with guarded("The files of the branch cannot be listed."):
                _show_files(identifier.on_branch(item.name))


def _show_facts(item: BranchItem) -> None:
    now = state.now_millis()
    facts = [("Created", age(item.created_millis, now))] if item.created_millis else []
    if item.owner:
        facts.append(("Owner", plain(item.owner)))
    if item.reason:
        facts.append(("Reason", plain(item.reason)))
    rows.facts("branch", facts)


def _show_files(identifier: Identifier) -> None:
    folder = reads.branch_files(identifier)
    st.caption(f"Folder {code(folder.path)}")
    if not folder.files:
        st.info("The folder of the branch holds no file.")
        return
    frame = pd.DataFrame(
        {
            "File": [each.path for each in folder.files],
            "Size": [each.size for each in folder.files],
        }
    )
    st.dataframe(
        rows.in_units(frame, "Size"), hide_index=True, row_height=rows.TABLE_ROW,
        height=rows.table_height(len(frame), 8), alt="Files in the folder of the branch",
    )  # fmt: skip
    if folder.has_more:
        st.caption(f"The first {count(len(folder.files))} files.")
