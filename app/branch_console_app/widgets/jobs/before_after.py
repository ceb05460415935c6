"""The change of an operation on its branch: a comparison of before and after, and counted rows."""

import streamlit as st

from branch_console.errors import PaimonError
from branch_console.format.identifier import Identifier
from branch_console_app import reads, state
from branch_console_app.models.compare.states import row_words
from branch_console_app.models.jobs.before_after import BeforeAfter
from branch_console_app.models.parts.location import Location
from branch_console_app.models.parts.wording import code, plain
from branch_console_app.state import PageName
from branch_console_app.widgets.parts.patience import read_states
from branch_console_app.widgets.parts.row_counts import show_compared_counts

_WHY = "This receipt does not tell how many rows were added, removed and changed."


def link_to_comparison(place: Location, sides: BeforeAfter, *, is_short: bool = False) -> None:
    """Draw the link to the comparison of a branch before and after an operation.

    Nothing is drawn where a branch has another name by now, or is gone.

    Args:
        place: The table.
        sides: The branch before and after.
        is_short: Whether it is one of many in a list, which knows of such branches.
    """
    if not is_short and not _are_there(place, sides):
        return
    label = "Compare" if is_short else "Compare before and after"
    state.link(
        PageName.COMPARE, label, place, view=sides.view,
        icon=None if is_short else ":material/compare_arrows:",
        help=f"{code(str(sides.before))} and {code(str(sides.after))}",
    )  # fmt: skip


def _are_there(place: Location, sides: BeforeAfter) -> bool:
    """Whether the branches of both states are there; so it is taken where that cannot be read."""
    if place.full_table is None:
        return True
    try:
        known = reads.table(Identifier.parse(place.full_table)).branches_with_main
    except PaimonError:
        return True
    return sides.branches <= {*known}


def show_changed_rows_of(identifier: Identifier, sides: BeforeAfter) -> None:
    """Say how many rows an operation changed, as far as that is known now, or how to count them."""
    try:
        diff = read_states("before-after", identifier, str(sides.before), str(sides.after))
        if diff is None:
            return
        kept = reads.row_diff(identifier, diff)
    except PaimonError as error:
        st.caption(f"The rows that changed cannot be counted any more: {plain(error.message)}")
        return
    rows = diff.rows if kept is None else kept.index.difference
    if rows.is_exact:
        st.markdown(_changed(sides, row_words(rows) or "no row differs"))
    elif diff.after.schema.primary_keys:
        show_compared_counts(identifier, diff, lambda found: _changed(sides, found.words), _WHY)


def _changed(sides: BeforeAfter, words: str) -> str:
    return f"On {code(sides.branch)}: **{words}**."
