"""The location line: where we are, when it was read, and how to come here again."""

import streamlit as st

from branch_console_app import reads, state
from branch_console_app.models.parts.location import Location, warehouse_name
from branch_console_app.models.parts.wording import clock, code, plain, shortened
from branch_console_app.services import get_services
from branch_console_app.state import PageName

# At 1024 px a longer name leaves the line no room for the age of what is shown.
_LONGEST = 40


def show_location(place: Location) -> None:
    """Draw the line: warehouse / database / table / branch @ snapshot, age of the values, link."""
    with st.container(
        horizontal=True, vertical_alignment="center", gap="xsmall", key="location-line"
    ):
        url = get_services().settings.warehouse or ""
        home = Location(warehouse=place.warehouse)
        state.link(
            PageName.OVERVIEW, plain(warehouse_name(url)), home, icon=":material/home_storage:",
            help=f"Warehouse {code(url)}",
        )  # fmt: skip
        if place.database:
            _slash()
            database = {"ov_db": place.database}
            state.link(PageName.OVERVIEW, plain(place.database), home, view=database)
        if place.database and place.table:
            _slash()
            table = home.at_table(place.database, place.table)
            state.link(PageName.TABLE, plain(place.table), table)
            _slash()
            name = place.branch_or_main
            state.link(
                PageName.BRANCHES, plain(shortened(name, _LONGEST)), table.at_branch(name),
                help=plain(name) if len(name) > _LONGEST else None,
            )  # fmt: skip
            if place.point:
                st.markdown("@", width="content")
                state.link(PageName.SNAPSHOTS, f"snapshot {place.point.id}", place)
        st.space("stretch")
        _freshness()
        with st.popover("", icon=":material/link:", type="tertiary", help="Copy a link to here"):
            st.caption("This address opens the same view.")
            st.code(state.address(), language=None, wrap_lines=True)


def _slash() -> None:
    st.markdown(":gray[/]", width="content", text_alignment="center")


def _freshness() -> None:
    read_at = state.oldest_reading()
    if read_at is not None:
        st.caption(f"read {clock(read_at, state.zone())}", width="content")
    # A click reruns the page anyway; what it has to do first is forget.
    st.button(
        "", icon=":material/refresh:", type="tertiary", help="Refresh", key="refresh",
        on_click=reads.forget,
    )  # fmt: skip
