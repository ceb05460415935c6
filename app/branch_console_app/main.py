"""The console's entry: pages, navigation, and the last net under every page."""

import streamlit as st

from branch_console.errors import NotFound, PaimonError
from branch_console_app import reads, state, theme
from branch_console_app.models.parts.location import Location
from branch_console_app.models.parts.page_titles import TITLE_VIEW, page_title
from branch_console_app.models.parts.wording import code, plain
from branch_console_app.services import get_services
from branch_console_app.state import PageName
from branch_console_app.views import (
    activity,
    branches,
    catalog,
    compare,
    conflicts,
    jobs,
    maintenance,
    merge,
    overview,
    receipts,
    schemas,
    snapshots,
    sql,
    table,
)
from branch_console_app.widgets.merge.checking import forget_check
from branch_console_app.widgets.parts.help import offer_help
from branch_console_app.widgets.parts.problem import show_problem
from branch_console_app.widgets.parts.publishing import show_publishing
from branch_console_app.widgets.parts.search import offer_search
from branch_console_app.widgets.parts.table_picker import here
from branch_console_app.widgets.parts.tour import show_tour

_TITLES = {
    PageName.OVERVIEW: ("Overview", ":material/dashboard:"),
    PageName.CATALOG: ("Catalog", ":material/graph_2:"),
    PageName.ACTIVITY: ("Activity", ":material/history:"),
    PageName.TABLE: ("Table", ":material/table:"),
    PageName.BRANCHES: ("Branches", ":material/account_tree:"),
    PageName.SNAPSHOTS: ("Snapshots", ":material/timeline:"),
    PageName.SCHEMAS: ("Schemas", ":material/schema:"),
    PageName.MAINTENANCE: ("Maintenance", ":material/cleaning_services:"),
    PageName.COMPARE: ("Compare", ":material/compare_arrows:"),
    PageName.MERGE: ("Merge", ":material/merge:"),
    PageName.SQL: ("SQL", ":material/database_search:"),
    PageName.JOBS: ("Jobs", ":material/checklist:"),
}
# Of pages that no link of the sidebar leads to.
_OTHER_TITLES = {
    PageName.CONFLICTS: "Settle conflicts",
    PageName.JOB: "Job",
    PageName.RECEIPT: "Receipt",
}


def main() -> None:
    """Draw the page of the address."""
    theme.dress_page()
    pages = _pages()
    # The page of the bare address. Streamlit writes links to it without a path, so that in a new
    # tab they would open the page that they are on: elsewhere the Overview has a path of its own.
    home = st.Page(overview.show, title=_title(PageName.OVERVIEW), url_path="home", default=True)
    page = st.navigation([home, *pages.values()], position="hidden")
    state.register_pages({**pages, PageName.OVERVIEW: home} if page is home else pages)
    state.begin_reading()
    state.go_back_to_left(page.url_path)
    state.announce(page.url_path)
    if _name_of(page) is not PageName.MERGE:
        # On other pages people settle conflicts: a check from before that is out of date.
        forget_check()
    # After the navigation, which names the tab by the page alone.
    st.set_page_config(page_title=_tab_title(page))
    try:
        _show_sidebar()
        with st.container(key="page"):
            show_publishing()
            show_tour(_name_of(page), here())
            page.run()
    except PaimonError as error:
        if isinstance(error, NotFound) and state.shows_earlier_reading():
            # What the page went by is gone since it was read: read again, and say it there.
            reads.forget()
            st.rerun()
        show_problem(error, headline="This page cannot be shown.")


def _pages() -> dict[PageName, st.Page]:
    views = {
        PageName.OVERVIEW: overview.show,
        PageName.CATALOG: catalog.show,
        PageName.ACTIVITY: activity.show,
        PageName.TABLE: table.show,
        PageName.BRANCHES: branches.show,
        PageName.SNAPSHOTS: snapshots.show,
        PageName.SCHEMAS: schemas.show,
        PageName.MAINTENANCE: maintenance.show,
        PageName.COMPARE: compare.show,
        PageName.MERGE: merge.show,
        PageName.CONFLICTS: conflicts.show,
        PageName.SQL: sql.show,
        PageName.JOBS: jobs.show,
        PageName.JOB: jobs.show_job,
        PageName.RECEIPT: receipts.show,
    }
    return {name: st.Page(view, title=_title(name), url_path=name) for name, view in views.items()}


def _title(name: PageName) -> str:
    return _OTHER_TITLES[name] if name in _OTHER_TITLES else _TITLES[name][0]


def _name_of(page: st.Page) -> PageName:
    return PageName(page.url_path or PageName.OVERVIEW)


def _tab_title(page: st.Page) -> str:
    name = _name_of(page)
    url = get_services().settings.warehouse or ""
    view = state.view_of(*TITLE_VIEW)
    return page_title(name, _title(name), state.location(), view, warehouse=url)


def _show_sidebar() -> None:
    """Draw the links; those about a table appear once one is chosen."""
    place = here()
    home = Location(warehouse=place.warehouse)
    with st.sidebar:
        offer_search(place, _linked_pages(place))
        _entry(PageName.OVERVIEW, home)
        _entry(PageName.CATALOG, home)
        _entry(PageName.ACTIVITY, home)
        if full_name := place.full_table:
            st.caption(code(full_name))
            for name in (PageName.TABLE, PageName.BRANCHES, PageName.SNAPSHOTS, PageName.SCHEMAS):
                _entry(name, place)
            _entry(PageName.COMPARE, place)
            source = None if place.branch_or_main == "main" else place.branch
            _entry(PageName.MERGE, place, view={"source": source})
            _entry(PageName.MAINTENANCE, place)
        active = reads.active_jobs()
        st.caption("Work")
        _entry(PageName.SQL, place)
        _entry(PageName.JOBS, home, suffix=f" :blue-badge[{active}]" if active else "")
        st.space("medium")
        st.caption(_who())
        offer_help(place)


def _who() -> str:
    settings = get_services().settings
    actor = plain(settings.actor)
    # Streamlit names no address where browser and console are on one machine.
    if st.context.ip_address is None:
        return f"Signed in as {actor} (this computer) · {settings.role}"
    return f"Everyone who opens this console acts as {actor} · {settings.role}"


def _linked_pages(place: Location) -> dict[PageName, str]:
    """The pages that the sidebar leads to; those about a table once one is chosen."""
    about_none = (PageName.OVERVIEW, PageName.CATALOG, PageName.ACTIVITY, PageName.SQL)
    names = list(_TITLES) if place.full_table else [*about_none, PageName.JOBS]
    return {name: _TITLES[name][0] for name in names}


def _entry(
    name: PageName,
    place: Location,
    *,
    view: dict[str, str | None] | None = None,
    suffix: str = "",
) -> None:
    title, icon = _TITLES[name]
    state.link(name, f"{title}{suffix}", place, view=view, icon=icon, width="stretch")


if __name__ == "__main__":
    main()
