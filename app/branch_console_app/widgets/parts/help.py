"""Help: the tour, the words and the keys, from the foot of the sidebar."""

from typing import Final

import streamlit as st

from branch_console_app import theme
from branch_console_app.models.parts.glossary import Word, find_words, parse_words
from branch_console_app.models.parts.location import Location
from branch_console_app.models.parts.tour import STATIONS
from branch_console_app.widgets.parts.dialogs import leave_dialog
from branch_console_app.widgets.parts.tour import is_demo, link_to_tour

_KEYS: Final = (
    ("Ctrl+K", "search tables, branches, tags, snapshots, operations, queries and pages"),
    ("Ctrl+Enter", "run the statement in the SQL editor"),
    ("Esc", "close a dialog"),
    ("R", "draw the page again"),
)


def offer_help(place: Location) -> None:
    """Draw the button that opens the help."""
    if st.button(
        "Help", key="help", icon=":material/help:", type="tertiary", on_click=leave_dialog
    ):
        st.dialog("Help", width="medium")(_show_help)(place)


def _show_help(place: Location) -> None:
    tour, words, keys = st.tabs(["Tour", "Words", "Shortcuts"])
    with tour:
        _show_tour(place)
    with words:
        _show_words()
    with keys:
        st.markdown("\n".join(f"- `{key}`: {what}" for key, what in _KEYS))
        st.caption("On a Mac, Cmd stands for Ctrl.")


def _show_tour(place: Location) -> None:
    if is_demo():
        st.markdown(f"{len(STATIONS)} pages of the demo, each with something to try:")
        st.markdown("\n".join(f"1. {station.title}" for station in STATIONS))
        link_to_tour("Start the tour", place)
        return
    st.markdown("The tour leads through the demo. This command builds it and opens it:")
    st.code("branch-console demo", language="bash")


def _show_words() -> None:
    sought = st.text_input(
        "Find a word", key="help-words", type="search", live=True, placeholder="Find a word",
        label_visibility="collapsed",
    )  # fmt: skip
    found = find_words(sought or "", _words())
    if not found:
        st.info("No word or meaning has this in it.")
    st.markdown("\n\n".join(f"**{word.name}**: {word.meaning}" for word in found))


def _words() -> tuple[Word, ...]:
    return parse_words(theme.asset("docs/words.md").read_text(encoding="utf-8"))
