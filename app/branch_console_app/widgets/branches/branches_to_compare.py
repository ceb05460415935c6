"""The start of a comparison: branches by standing, and the last compared pairs."""

import streamlit as st

from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.procedures.browse.page_values import BranchItem
from branch_console_app import reads, state
from branch_console_app.models.branches.branch_tracks import Track, is_service_branch
from branch_console_app.models.parts.location import Location
from branch_console_app.models.parts.wording import age, code, plain, shortened
from branch_console_app.state import PageName
from branch_console_app.widgets.branches.branch_card import standing_badge
from branch_console_app.widgets.parts import rows
from branch_console_app.widgets.parts.rows import Column

_PER_PAGE = 24
_MOST_PAIRS = 5
# Beside it stands the mark of the tooltip that has the whole name, also at 1024 px.
_LONGEST_NAME = 24
_NAME = Column(label="Branch", weight=2.6)
_VERSUS = Column(label="Standing", weight=2.2)
_AGE = Column(label="Last commit", weight=1.5)
_LINK = Column(label="", weight=2.2)
_COLUMNS = (_NAME, _VERSUS, _AGE, _LINK)


def show_start(identifier: Identifier, place: Location) -> None:
    """Draw the branches, each with its comparison with main, and the pairs of this session."""
    _show_pairs(identifier, place)
    items = [
        item
        for item in reads.branches(identifier, MAIN_BRANCH)
        if item.name != MAIN_BRANCH and not is_service_branch(item.name)
    ]
    if not items:
        st.info(
            f"{code(identifier.table_name)} has no branch besides main. Choose two snapshots, tags "
            "or times above."
        )
        return
    st.markdown("**Which branch do you want to compare?**")
    listed = rows.row_list("compare-branches")
    visible = items[rows.page_of_rows("cmp_bp", len(items), _PER_PAGE)]
    with listed:
        rows.head("compare-branches", _COLUMNS)
        for number, item in enumerate(visible):
            _show_branch(number, item, place)


def _show_pairs(identifier: Identifier, place: Location) -> None:
    pairs = state.compared_pairs(identifier.table_name)[:_MOST_PAIRS]
    if not pairs:
        return
    st.markdown("**You looked at last**")
    with st.container(horizontal=True, gap="small", key="line-pairs"):
        for before, after in pairs:
            label = f"{plain(shortened(before, 28))} and {plain(shortened(after, 28))}"
            view = {"cmp_a": before, "cmp_b": after}
            state.link(PageName.COMPARE, label, place, view=view, icon=":material/history:")


def _show_branch(number: int, item: BranchItem, place: Location) -> None:
    cells = dict(zip(_COLUMNS, rows.row(f"compare-{number}", _COLUMNS), strict=True))
    short = shortened(item.name, _LONGEST_NAME)
    whole = None if short == item.name else code(item.name)
    rows.text(cells[_NAME], _NAME, f"**{plain(short)}**", help=whole)
    track = Track(
        branch=item.name,
        head=item.head,
        ahead=item.versus.ahead if item.versus else None,
        behind=item.versus.behind if item.versus else None,
        problem=item.error.message if item.error else None,
    )
    rows.text(cells[_VERSUS], _VERSUS, standing_badge(track))
    when = age(item.head.time_millis, state.now_millis()) if item.head else rows.NOTHING
    rows.text(cells[_AGE], _AGE, when)
    if item.error is not None or item.head is None:
        rows.text(cells[_LINK], _LINK, rows.NOTHING)
        return
    with cells[_LINK]:
        view = {"cmp_a": MAIN_BRANCH, "cmp_b": item.name}
        state.link(PageName.COMPARE, f"Compare with {code(MAIN_BRANCH)}", place, view=view)
