"""Catalog: branches over many tables as lanes, the card of one, and objects by branch."""

from collections.abc import Mapping
from functools import partial

import streamlit as st

from branch_console.format.identifier import MAIN_BRANCH
from branch_console.procedures.browse.catalog_values import CatalogBranchStanding, CatalogOverview
from branch_console_app import reads, state
from branch_console_app.charts.catalog_lanes import (
    catalog_lanes_figure,
    is_wider_than_shown,
    legend_words,
)
from branch_console_app.charts.palette import CHART_CONFIG
from branch_console_app.models.branches.head_checks import HeadCheck
from branch_console_app.models.branches.table_overview import READ_AT_ONCE, totals_words
from branch_console_app.models.catalog.lanes import CatalogLane, CatalogLanes, draw_catalog
from branch_console_app.models.catalog.objects import shown_branches
from branch_console_app.models.parts.actions import Action
from branch_console_app.models.parts.location import Location
from branch_console_app.models.parts.wording import plain, shortened
from branch_console_app.state import CATALOG_BRANCH, PageName
from branch_console_app.widgets.branches.branch_card import standing_text
from branch_console_app.widgets.branches.lane_names import LaneName, show_lane_names
from branch_console_app.widgets.catalog.branch_card import show_catalog_card
from branch_console_app.widgets.catalog.dialogs import CatalogDialogs
from branch_console_app.widgets.catalog.object_matrix import show_objects
from branch_console_app.widgets.parts.dialogs import offer, show_dialog
from branch_console_app.widgets.parts.location import show_location
from branch_console_app.widgets.parts.problem import guarded, show_not_found
from branch_console_app.widgets.parts.rows import two_panes
from branch_console_app.widgets.parts.same_as import show_same_as
from branch_console_app.widgets.parts.table_picker import here, is_open_warehouse

_CHART = "catalog-lanes"
_VIEW = ("ca_q", "ca_kind", "ca_state", "ca_show")


def show() -> None:
    """Draw the page."""
    place = here()
    if not is_open_warehouse(place):
        return
    home = Location(warehouse=place.warehouse)
    # The line tells when the page was read, and all of main is looked at for that.
    line = st.container(key="catalog-line")
    names = reads.catalog_branch_names()
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.subheader("Catalog", anchor=False, width="content")
        st.space("stretch")
        if names:
            offer(
                Action.CREATE_CATALOG, "Create branch", icon=":material/add:",
                key="create-catalog",
            )  # fmt: skip
    if reads.publishing() is not None:
        # No look at main holds a half of a merge: this one would wait for it, and then give up.
        with line:
            show_location(home)
        st.caption("The branches are shown when all of it is there.")
        return
    with st.skeleton(height=420):
        overview = reads.catalog_overview()
    with line:
        show_location(home)
    _show_counts()
    if names:
        _show_branches(overview, home)
    else:
        _show_empty()
    show_dialog(CatalogDialogs(names, reads.databases(), home).all())
    show_same_as("catalog", "list", page="catalog-page")


def _show_counts() -> None:
    """Say how many table branches there are, as the Overview and the command line count them."""
    names = reads.table_names()
    if len(names) <= READ_AT_ONCE:
        st.caption(totals_words(reads.tables(), tables=len(names)))


def _show_empty() -> None:
    st.info(
        "**No branch of the catalog yet.** A branch of the catalog is one name over many tables: "
        "change rows, columns, names and properties on it, look at all of it at once, and bring "
        "it into main as one change that arrives whole or not at all."
    )
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        offer(
            Action.CREATE_CATALOG, "Create the first branch", icon=":material/add:",
            key="create-first-catalog", is_primary=True,
        )  # fmt: skip
    st.caption("Or by command line:")
    st.code("branch-console catalog create spring-cleaning --lazy", language="bash")


def _show_branches(overview: CatalogOverview, home: Location) -> None:
    by_name = {each.item.name: each for each in overview.branches}
    asked = state.parameter(CATALOG_BRANCH)
    if asked is not None and asked not in by_name:
        show_not_found(
            "Branch", asked, list(by_name), page=PageName.CATALOG, place_of=lambda _: home,
            view_of=lambda name: {CATALOG_BRANCH: name},
        )  # fmt: skip
        return
    selected = by_name[asked] if asked else _first(overview)
    checks = reads.catalog_checks(overview)
    left, right = two_panes()
    with left, guarded("The lanes cannot be drawn."):
        _show_lanes(draw_catalog(overview, selected=selected.item.name), selected, checks, home)
    with right:
        show_catalog_card(selected, home, checks.get(selected.item.name))
    # A filter changes the list only: the lanes are not drawn again.
    st.fragment(show_objects)(overview, shown_branches(overview, selected.item.name), home)


def _first(overview: CatalogOverview) -> CatalogBranchStanding:
    """Return the branch that is looked at where the address names none: the newest of work."""

    def rank(branch: CatalogBranchStanding) -> tuple[bool, int]:
        newest = branch.versions[0].time_millis if branch.versions else 0
        return (not branch.ahead, -newest)

    return min(overview.branches, key=rank)


def _show_lanes(
    lanes: CatalogLanes,
    selected: CatalogBranchStanding,
    checks: Mapping[str, HeadCheck],
    home: Location,
) -> None:
    chosen = selected.item.name
    names = [
        LaneName(
            words=_lane_words(lane, checks.get(lane.branch)),
            is_selected=lane.branch == chosen,
            show=partial(_show_lane_link, lane.branch, home),
        )
        for lane in lanes.lanes
    ]
    with st.container(horizontal=True, gap=None, key="graph"):
        show_lane_names(names, hidden=lanes.hidden)
        with st.container(key="lane-chart"):
            st.plotly_chart(
                catalog_lanes_figure(lanes, uirevision="catalog"),
                key=_CHART,
                on_select=_on_click,
                selection_mode="points",
                config=CHART_CONFIG,
                alt=lanes.alt,
            )
    parts = [f"{glyph} {meaning}" for glyph, meaning in legend_words(lanes)]
    if is_wider_than_shown(lanes):
        parts.append("drag the lanes sideways for older versions")
    st.caption(" \u2003 ".join(parts))


def _lane_words(lane: CatalogLane, check: HeadCheck | None) -> str:
    # A lane is narrow: the card names the rule.
    blocked = " :small[:red[✕ blocked]]" if check is not None and check.blocks else ""
    return f"{standing_text(lane)}{blocked}"


def _show_lane_link(branch: str, home: Location) -> None:
    label = plain(shortened(branch, 26))
    if branch == MAIN_BRANCH:
        state.link(PageName.OVERVIEW, label, home)
        return
    view = {**state.view_of(*_VIEW), CATALOG_BRANCH: branch}
    help = plain(branch) if len(branch) > 26 else None
    state.link(PageName.CATALOG, label, home, view=view, help=help)


def _on_click() -> None:
    for branch, *_ in state.clicked_points(_CHART):
        if branch != MAIN_BRANCH:
            state.set_parameter(CATALOG_BRANCH, str(branch))
            return
