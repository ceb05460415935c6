"""The feed: what happened, a sentence an operation, each with the way to its receipt."""

from collections.abc import Sequence

import streamlit as st

from branch_console_app import state
from branch_console_app.models.jobs.activity import Activity, place_of_entry
from branch_console_app.models.parts.location import Location
from branch_console_app.models.parts.wording import age, cut_at_word, plain
from branch_console_app.state import PageName
from branch_console_app.widgets.jobs.before_after import link_to_comparison

_LONGEST_REASON = 80


def show_feed(entries: Sequence[Activity], place: Location) -> None:
    """Draw entries, a line each."""
    now = state.now_millis()
    for number, entry in enumerate(entries):
        with st.container(
            horizontal=True, gap="small", vertical_alignment="center", key=f"line-feed-{number}"
        ):
            texts = [entry.sentence, f":gray[{age(entry.time_millis, now)}]"]
            if entry.undone is not None:
                texts.insert(1, f":orange-badge[:material/undo: {entry.undone}]")
            reason = entry.reason and plain(cut_at_word(entry.reason, _LONGEST_REASON))
            if reason:
                texts.insert(1, f":gray[“{reason}”]")
            if entry.overridden is not None:
                texts.insert(1, f":orange-badge[:material/gpp_maybe: {entry.overridden}]")
            st.markdown(" · ".join(texts), width="stretch")
            _show_links(entry, place_of_entry(entry, place))


def _show_links(entry: Activity, target: Location) -> None:
    if entry.sides is not None:
        link_to_comparison(target, entry.sides, is_short=True)
    if entry.has_receipt and entry.operation is not None:
        state.link(PageName.RECEIPT, "Receipt", target, view={"id": entry.operation})
    elif entry.job is not None:
        state.link(PageName.JOB, "Job", target, view={"id": entry.job})
    elif target.table:
        state.link(PageName.BRANCHES, "Branches", target)
