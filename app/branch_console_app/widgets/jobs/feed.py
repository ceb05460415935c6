"""The feed: what happened, a sentence an operation, each with the way to its receipt."""

from collections.abc import Sequence
from contextlib import suppress

import streamlit as st

from branch_console.errors import PaimonError
from branch_console.format.catalog.catalog_version import CatalogVersion
from branch_console.format.identifier import Identifier
from branch_console.jobs.progress import JobView
from branch_console_app import reads, state
from branch_console_app.models.jobs.activity import Activity, activity_feed
from branch_console_app.models.parts.location import Location
from branch_console_app.models.parts.wording import age, plain, shortened
from branch_console_app.state import PageName

MOST_JOBS = 500
_LONGEST_REASON = 80


def read_feed(tables: Sequence[Identifier]) -> tuple[Activity, ...]:
    """Return the feed of some tables, of the catalog and of all jobs.

    The job store or the catalog may not answer: that spoils no ledger.
    """
    catalog: tuple[CatalogVersion, ...] = ()
    with suppress(PaimonError):
        catalog = reads.catalog_events()
    return activity_feed(reads.table_events(*tables), catalog, jobs_if_answered())


def jobs_if_answered() -> tuple[JobView, ...]:
    """Return the newest jobs; none if the job store does not answer."""
    try:
        return reads.jobs(limit=MOST_JOBS)
    except PaimonError:
        return ()


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
            reason = entry.reason and plain(shortened(entry.reason, _LONGEST_REASON))
            if reason:
                texts.insert(1, f":gray[“{reason}”]")
            st.markdown(" · ".join(texts), width="stretch")
            _show_links(entry, place_of_entry(entry, place))


def _show_links(entry: Activity, target: Location) -> None:
    if entry.has_receipt and entry.operation is not None:
        state.link(PageName.RECEIPT, "Receipt", target, view={"id": entry.operation})
    elif entry.job is not None:
        state.link(PageName.JOB, "Job", target, view={"id": entry.job})
    elif target.table:
        state.link(PageName.BRANCHES, "Branches", target)


def place_of_entry(entry: Activity, place: Location) -> Location:
    """Return where the table of an entry is looked at; the warehouse if it is about no table."""
    home = Location(warehouse=place.warehouse)
    if entry.table is None:
        return home
    with suppress(PaimonError):
        table = Identifier.parse(entry.table)
        return home.at_table(table.database, table.table)
    return home
