"""The tour through the demo: a card on top of the page, with the way to the next one."""

from pathlib import Path
from typing import Final

import streamlit as st

from branch_console.procedures.demo_marker import is_complete
from branch_console_app import state
from branch_console_app.models.parts.location import Location
from branch_console_app.models.parts.tour import STATIONS, TOUR, Station, station_at
from branch_console_app.services import get_services
from branch_console_app.state import PageName

_OFFERED: Final = "tour-offered"


def is_demo() -> bool:
    """Whether the warehouse is the demo, which the tour leads through."""
    url = get_services().settings.warehouse or ""
    return bool(url) and "://" not in url and is_complete(Path(url))


def show_tour(page: str, place: Location) -> None:
    """Draw the card of the station that the address names; on the first page the offer, once."""
    number = station_at(state.parameter(TOUR))
    if number is not None:
        _show_station(number, place)
    elif page == PageName.OVERVIEW and not state.value_of(_OFFERED) and is_demo():
        _offer(place)


def link_to_tour(label: str, place: Location) -> None:
    """Draw the link to the first station."""
    _link(label, 1, place)


def _offer(place: Location) -> None:
    with st.container(
        border=True, horizontal=True, vertical_alignment="center", gap="small", key="tour-offer"
    ):
        st.markdown(
            f"**New here?** A tour shows {len(STATIONS)} pages of the demo. It stays under *Help*.",
            width="content",
        )
        st.space("stretch")
        link_to_tour("Start the tour", place)
        st.button("No, thanks", key="tour-no", type="tertiary", on_click=_note_offer)


def _show_station(number: int, place: Location) -> None:
    _note_offer()
    station = STATIONS[number - 1]
    with st.container(border=True, key="tour-card"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(
                f":material/tour: **{number} of {len(STATIONS)}: {station.title}**",
                width="content",
            )
            st.space("stretch")
            if number < len(STATIONS):
                _link(f"Next: {STATIONS[number].title}", number + 1, place)
            st.button("End", key="tour-end", type="tertiary", on_click=_end)
        st.markdown(station.text)


def _link(label: str, number: int, place: Location) -> None:
    station = STATIONS[number - 1]
    view = {**station.view, TOUR: str(number)}
    state.link(
        PageName(station.page), label, _place_of(station, place), view=view,
        icon=":material/arrow_forward:",
    )  # fmt: skip


def _place_of(station: Station, place: Location) -> Location:
    home = Location(warehouse=place.warehouse)
    if station.table is None:
        return home
    table = home.at_table(*station.table)
    return table if station.branch is None else table.at_branch(station.branch)


def _note_offer() -> None:
    state.put(_OFFERED, True)


def _end() -> None:
    state.set_parameter(TOUR, None)
