"""A branch of the address that the table does not have: its end, and where to go from here."""

from collections.abc import Callable, Mapping, Sequence

import streamlit as st

from branch_console.errors import ErrorKind, PaimonError
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console_app import reads, state
from branch_console_app.models.branches.lost_branches import LostBranch, tell_lost
from branch_console_app.models.parts.actions import DO, WHAT, Action
from branch_console_app.models.parts.location import Location
from branch_console_app.models.parts.wording import code
from branch_console_app.state import PageName
from branch_console_app.widgets.parts.problem import show_not_found


def show_no_branch(
    identifier: Identifier,
    name: str,
    known: Sequence[str],
    *,
    page: PageName,
    place_of: Callable[[str], Location],
    view_of: Callable[[str], Mapping[str, str | None]] | None = None,
) -> None:
    """Say that a table has no such branch: that it was dropped or renamed, or near names.

    Args:
        identifier: The table.
        name: The branch that the address names.
        known: The branches there are, rescue branches among them.
        page: The page of the links.
        place_of: The location of a known branch.
        view_of: The parameters of the view that stand for a known branch, where the location does
            not.
    """
    lost = _find_lost(identifier, name, known)
    if lost is None:
        show_not_found("Branch", name, known, page=page, place_of=place_of, view_of=view_of)
        return
    st.warning(f"{lost.said} {code(ErrorKind.BRANCH_NOT_FOUND)}", icon=":material/search_off:")
    main = place_of(MAIN_BRANCH).at_branch(MAIN_BRANCH)
    with st.container(horizontal=True, gap="small"):
        if lost.now is not None:
            view = None if view_of is None else view_of(lost.now)
            state.link(page, f"Go on with {code(lost.now)}", place_of(lost.now), view=view)
        if lost.restored_by is not None:
            view = {DO: str(Action.UNDO), WHAT: lost.restored_by}
            state.link(PageName.BRANCHES, "Restore it", main, view=view, icon=":material/undo:")
        state.link(PageName.BRANCHES, "See all branches", main, icon=":material/account_tree:")


def _find_lost(identifier: Identifier, name: str, known: Sequence[str]) -> LostBranch | None:
    table = identifier.on_branch(MAIN_BRANCH)
    try:
        departed = reads.departed_branch(table, name)
    except PaimonError:
        return None
    if departed is None:
        return None
    drop = departed.dropped_by
    can_undo = drop is not None and reads.undo_chance(table, drop.operation_id).obstacle is None
    return tell_lost(name, departed, known, state.now_millis(), can_undo_drop=can_undo)
