"""Overview: the tables of the warehouse, what needs attention, what happened last."""

import streamlit as st

from app import reads, state
from app.models.location import Location
from app.models.overview import Order, Totals, choose_tables
from app.models.wording import age, code, count, full_count, plain, plural, shortened
from app.services import get_services
from app.state import PageName
from app.widgets import rows
from app.widgets.location import show_location
from app.widgets.rows import Column
from app.widgets.same_as import show_same_as
from app.widgets.table_picker import here, is_open_warehouse
from core.procedures.browse_values import Health, TableItem, TableKind

_PER_PAGE = 25
_TABLE = Column(label="Table", weight=3.2)
_KIND = Column(label="Kind", weight=1.5)
_BRANCHES = Column(label="Branches", weight=1.0, align="right")
_ROWS = Column(label="Rows", weight=1.2, align="right")
_HEAD = Column(label="Last commit", weight=1.5)
_LAST = Column(label="Last operation", weight=2.0)
_HEALTH = Column(label="Health", weight=1.2)
_COLUMNS = (_TABLE, _KIND, _BRANCHES, _ROWS, _HEAD, _LAST, _HEALTH)


def show() -> None:
    """Draw the page."""
    place = here()
    if not is_open_warehouse(place):
        return
    with st.skeleton(height=320):
        items = reads.tables()
    show_location(Location(warehouse=place.warehouse))
    if not items:
        _show_empty()
        return
    attention = [item for item in items if item.health is not Health.HEALTHY]
    _show_totals(Totals.of(items, len(attention)))
    _show_attention(attention, place)
    _show_tables(items, place)
    _show_activity(items, place)
    show_same_as("tables")


def _show_empty() -> None:
    st.subheader("No tables yet", anchor=False)
    st.info(f"No tables under {code(get_services().settings.get_warehouse())}.")
    st.caption("The console comes with a demo of real flight data, built by this command:")
    st.code("branch-console demo", language="bash")


def _show_totals(totals: Totals) -> None:
    active = reads.active_jobs()
    with st.container(horizontal=True, gap="small", key="totals"):
        st.metric("Tables", count(totals.tables), border=True)
        st.metric("Branches besides main", count(totals.branches), border=True)
        st.metric(
            "Rows at the heads of main",
            count(totals.rows),
            border=True,
            help=f"{full_count(totals.rows)}, before merging on read",
        )
        st.metric("Jobs running", count(active), border=True)
        st.metric("Tables that need attention", count(totals.broken), border=True)


def _show_attention(items: list[TableItem], place: Location) -> None:
    if not items:
        return
    with st.container(border=True, key="card-attention"):
        st.markdown(f"**Needs attention** :orange-badge[{len(items)}]")
        for number, item in enumerate(items[:5]):
            with st.container(
                horizontal=True, gap="small", vertical_alignment="center", key=f"line-a{number}"
            ):
                _show_finding(item, place)
        if len(items) > 5:
            st.caption(f"and {plural(len(items) - 5, 'other table')}")


def _show_finding(item: TableItem, place: Location) -> None:
    """Draw in one line what is wrong with a table, and the file it is about."""
    name = item.identifier
    target = place.at_table(name.database, name.table)
    st.markdown(":red[✕]" if item.error else ":orange[△]", width="content")
    state.link(PageName.BRANCHES, f"**{plain(name.table_name)}**", target)
    if item.error is not None:
        path = item.error.facts.get("path")
        file = f" {code(path)}" if isinstance(path, str) and path not in item.error.message else ""
        st.markdown(f"{plain(item.error.message)}{file} {code(item.error.kind)}", width="content")
        return
    broken = ", ".join(code(each) for each in item.broken_branches)
    words = plural(len(item.broken_branches), "branch", "branches")
    st.markdown(f"{words} cannot be read: {broken}" if broken else "is at risk", width="content")


def _show_tables(items: tuple[TableItem, ...], place: Location) -> None:
    databases = sorted({item.identifier.database for item in items})
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom", key="filters"):
        words = st.text_input(
            "Find a table", key="ov_q", bind="query-params", type="search", width=280,
            placeholder="Find a table", label_visibility="collapsed", live=True,
        )  # fmt: skip
        database = st.selectbox(
            "Database", databases, index=None, key="ov_db", bind="query-params", width=200,
            placeholder="All databases", label_visibility="collapsed",
        )  # fmt: skip
        states: list[Health] = list(Health)
        health = st.selectbox(
            "Health", states, index=None, key="ov_state", bind="query-params", width=150,
            placeholder="Any health", label_visibility="collapsed",
        )  # fmt: skip
        st.space("stretch")
        orders: list[Order] = list(Order)
        order = st.selectbox(
            "Sort by", orders, key="ov_sort", bind="query-params", width=180,
            label_visibility="collapsed", icon=":material/sort:",
        )  # fmt: skip
    wanted = [item for item in items if health is None or item.health is health]
    chosen = choose_tables(wanted, words=words, database=database, order=order)
    if not chosen:
        st.info(f"None of {plural(len(items), 'table')} is like that. Change the filters above.")
        return
    listed = rows.row_list("tables")
    visible = rows.page_of_rows("ov_p", len(chosen), _PER_PAGE)
    with listed:
        rows.head("tables", _COLUMNS)
        for number, item in enumerate(chosen[visible]):
            _show_row(number, item, place)


def _show_row(number: int, item: TableItem, place: Location) -> None:
    cells = dict(zip(_COLUMNS, rows.row(f"table-{number}", _COLUMNS), strict=True))
    name, head = item.identifier, item.head
    target = place.at_table(name.database, name.table)
    with cells[_TABLE]:
        label = f":gray[{plain(name.database)}.]{plain(shortened(name.table, 36))}"
        state.link(PageName.TABLE, label, target, help=plain(item.comment or "") or None)
    now = state.now_millis()
    rows.text(cells[_KIND], _KIND, kind_words(item))
    rows.text(cells[_BRANCHES], _BRANCHES, count(item.branch_count))
    total = head.total_record_count if head else None
    rows.text(cells[_ROWS], _ROWS, count(total))
    rows.text(cells[_HEAD], _HEAD, age(head.time_millis, now) if head else ":gray[no commit yet]")
    event = item.last_event
    last = f"{event.kind} {code(shortened(event.branch, 18))}" if event else rows.NOTHING
    rows.text(cells[_LAST], _LAST, last)
    rows.text(cells[_HEALTH], _HEALTH, health_badge(item.health))


def kind_words(item: TableItem) -> str:
    """Say what a table is by its keys."""
    match item.kind:
        case TableKind.PRIMARY_KEY:
            return "primary key"
        case TableKind.APPEND:
            return "append"
        case None:
            return rows.NOTHING


def health_badge(health: Health) -> str:
    """Write a health as a badge with a glyph, so that it reads without colour."""
    match health:
        case Health.HEALTHY:
            return ":green-badge[✓ healthy]"
        case Health.AT_RISK:
            return ":orange-badge[△ at risk]"
        case Health.BROKEN:
            return ":red-badge[✕ broken]"


def _show_activity(items: tuple[TableItem, ...], place: Location) -> None:
    events = [(item.identifier, item.last_event) for item in items if item.last_event]
    if not events:
        return
    events.sort(key=lambda each: -each[1].time_millis)
    st.markdown("**Activity**")
    now = state.now_millis()
    for name, event in events[:6]:
        with st.container(
            horizontal=True, gap="small", vertical_alignment="center", key=f"line-e{event.id}"
        ):
            target = place.at_table(name.database, name.table).at_branch(event.branch)
            label = plain(f"{name.table_name} {event.branch}")
            state.link(PageName.BRANCHES, label, target)
            st.caption(f"{event.kind} by {plain(event.actor)}, {age(event.time_millis, now)}")
