"""Activity: who did what, everywhere, chosen by table, person, kind and time."""

import streamlit as st

from branch_console_app import reads, state
from branch_console_app.models.branches.table_overview import READ_AT_ONCE, newest_tables
from branch_console_app.models.jobs.activity import (
    Activity,
    ActivityKind,
    ActivityTime,
    chosen_activity,
)
from branch_console_app.models.parts.location import Location
from branch_console_app.models.parts.wording import count, plural
from branch_console_app.widgets.jobs.feed import show_feed
from branch_console_app.widgets.parts import rows
from branch_console_app.widgets.parts.location import show_location
from branch_console_app.widgets.parts.table_picker import here, is_open_warehouse

_PER_PAGE = 50


def show() -> None:
    """Draw the page."""
    place = here()
    if not is_open_warehouse(place):
        return
    with st.skeleton(height=320):
        names = reads.table_names()
        is_large = len(names) > READ_AT_ONCE
        items = tuple(reads.known_tables().values()) if is_large else reads.tables()
        entries = reads.feed(newest_tables(items, most=READ_AT_ONCE))
    show_location(Location(warehouse=place.warehouse))
    st.subheader("Activity", anchor=False)
    chosen = _chosen(entries)
    if len(items) < len(names):
        st.caption(
            f"{count(len(items))} of {plural(len(names), 'table')} were read so far: the Overview "
            "reads the others."
        )
    if not entries:
        st.info("Nothing has happened yet: no ledger has an entry, and no job ran.")
        return
    if not chosen:
        st.info("Nothing of this table, person, kind and time. Change the filters above.")
        return
    st.markdown(f"**{plural(len(chosen), 'operation')}**")
    holder = st.container(gap="xxsmall")
    visible = chosen[rows.page_of_rows("ac_p", len(chosen), _PER_PAGE)]
    with holder:
        show_feed(visible, place)


def _chosen(entries: tuple[Activity, ...]) -> list[Activity]:
    """Draw the filters and return the entries that pass them."""
    tables = sorted({entry.table for entry in entries if entry.table is not None})
    people = sorted({person for entry in entries for person in entry.people})
    kinds = [kind for kind in ActivityKind if any(entry.kind is kind for entry in entries)]
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="filters"):
        table = st.selectbox(
            "Table", tables, index=None, key="ac_table", bind="query-params", width=210,
            placeholder="All tables", label_visibility="collapsed", filter_mode="contains",
        )  # fmt: skip
        person = st.selectbox(
            "Person", people, index=None, key="ac_by", bind="query-params", width=160,
            placeholder="By anyone", label_visibility="collapsed", filter_mode="contains",
        )  # fmt: skip
        kind = st.selectbox(
            "Kind", kinds, index=None, key="ac_kind", bind="query-params", width=150,
            placeholder="Any kind", label_visibility="collapsed",
        )  # fmt: skip
        time = st.selectbox(
            "Time", list(ActivityTime), index=None, key="ac_when", bind="query-params", width=140,
            placeholder="Any time", label_visibility="collapsed",
        )  # fmt: skip
    since = (
        None if time is None else ActivityTime(time).since_millis(state.now_millis(), state.zone())
    )
    return chosen_activity(entries, table=table, person=person, kind=kind, since_millis=since)
