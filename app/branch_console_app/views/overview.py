"""Overview: the tables of the warehouse, what needs attention, what happened last."""

from collections.abc import Sequence

import streamlit as st

from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.procedures.browse.page_values import Health, TableItem, TableKind
from branch_console_app import reads, state
from branch_console_app.models.branches.table_overview import (
    READ_AT_ONCE,
    Order,
    TableLine,
    WarehouseTotals,
    choose_tables,
)
from branch_console_app.models.parts.exactness import short_figure
from branch_console_app.models.parts.location import Location
from branch_console_app.models.parts.wording import (
    age,
    code,
    count,
    full_count,
    plain,
    plural,
    shortened,
)
from branch_console_app.services import get_services
from branch_console_app.state import PageName
from branch_console_app.widgets.branches.branch_card import health_badge
from branch_console_app.widgets.parts import rows
from branch_console_app.widgets.parts.location import show_location
from branch_console_app.widgets.parts.rows import Column
from branch_console_app.widgets.parts.same_as import show_same_as
from branch_console_app.widgets.parts.table_picker import here, is_open_warehouse

_PER_PAGE = 25
_READ_A_SECOND = 150
_TABLE = Column(label="Table", weight=3.2)
_KIND = Column(label="Kind", weight=1.5)
_BRANCHES = Column(label="Branches", weight=1.0, align="right")
_ROWS = Column(label="Rows", weight=1.8, align="right")
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
        names = reads.table_names()
        if len(names) <= READ_AT_ONCE:
            items = reads.tables()
            lines = [TableLine(identifier=item.identifier, item=item) for item in items]
        else:
            lines = _known_lines(names)
            items = tuple(line.item for line in lines if line.item is not None)
    show_location(Location(warehouse=place.warehouse))
    if not lines:
        _show_empty()
        return
    unread = len(lines) - len(items)
    st.fragment(_show_figures, run_every=1.0 if unread else None)(names, items, place, unread > 0)
    _show_tables(lines, place)
    _show_activity(items, place)
    show_same_as("tables")


def _known_lines(names: Sequence[Identifier]) -> list[TableLine]:
    known = reads.known_tables()
    return [TableLine(identifier=name, item=known.get(name)) for name in names]


def _show_figures(
    names: Sequence[Identifier], items: Sequence[TableItem], place: Location, is_reading: bool
) -> None:
    """Draw the sums; of a large warehouse they grow while the page is open."""
    unread: list[Identifier] = []
    if is_reading:
        known = reads.known_tables()
        unread = [name for name in names if name not in known]
        if unread:
            reads.table_items(*unread[:_READ_A_SECOND])
            unread = [name for name in unread if name not in known]
        items = list(known.values())
    attention = [item for item in items if item.health is not Health.HEALTHY]
    _show_totals(WarehouseTotals.of(items, len(attention), unread=len(unread)))
    if unread:
        st.caption(
            f"{count(len(names) - len(unread))} of {count(len(names))} tables read; the figures "
            "above are of these."
        )
    _show_attention(attention, place)
    if is_reading and not unread:
        # The list around this part can now be sorted by every column: draw it anew, once.
        st.rerun()


def _show_empty() -> None:
    st.subheader("No tables yet", anchor=False)
    st.info(f"No tables under {code(get_services().settings.get_warehouse())}.")
    st.caption("The console comes with a demo of real flight data, built by this command:")
    st.code("branch-console demo", language="bash")


def _show_totals(totals: WarehouseTotals) -> None:
    active = reads.active_jobs()
    bound = "≥ " if totals.unread else ""
    with st.container(horizontal=True, gap="small", key="totals"):
        st.metric("Tables", count(totals.tables), border=True)
        st.metric("Branches without main", bound + count(totals.branches), border=True)
        figure = totals.figure
        what = "Rows" if figure.is_of_rows else "Records in files"
        st.metric(
            f"{what} at the heads of main",
            bound + figure.number(count),
            border=True,
            help=figure.words(full_count),
        )
        st.metric("Jobs running", count(active), border=True)
        st.metric("Tables that need attention", bound + count(totals.broken), border=True)


def _show_attention(items: Sequence[TableItem], place: Location) -> None:
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


def _show_tables(lines: Sequence[TableLine], place: Location) -> None:
    databases = sorted({line.identifier.database for line in lines})
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
    read = [line for line in lines if line.item is not None]
    wanted = [
        line for line in lines if health is None or (line.item and line.item.health is health)
    ]
    chosen = choose_tables(wanted, words=words, database=database, order=order)
    if len(read) < len(lines) and (health is not None or order is not Order.NAME):
        st.caption(f"{count(len(read))} of {count(len(lines))} tables read: only these are sorted.")
    if not chosen:
        st.info(f"None of {plural(len(lines), 'table')} is like that. Change the filters above.")
        return
    listed = rows.row_list("tables")
    visible = rows.page_of_rows("ov_p", len(chosen), _PER_PAGE)
    with listed:
        rows.head("tables", _COLUMNS)
        is_large = len(lines) > READ_AT_ONCE
        shown = _read_page(chosen[visible]) if is_large else chosen[visible]
        for number, line in enumerate(shown):
            _show_row(number, line, place)


def _read_page(lines: Sequence[TableLine]) -> list[TableLine]:
    """Return the lines of the visible page as their tables are now."""
    found: dict[Identifier, list[TableItem]] = {}
    for item in reads.table_items(*(line.identifier for line in lines)):
        found.setdefault(item.identifier.on_branch(MAIN_BRANCH), []).append(item)
    return [
        full
        for line in lines
        for full in (
            [TableLine(identifier=item.identifier, item=item) for item in found[line.identifier]]
            if line.identifier in found
            else [line]
        )
    ]


def _show_row(number: int, line: TableLine, place: Location) -> None:
    cells = dict(zip(_COLUMNS, rows.row(f"table-{number}", _COLUMNS), strict=True))
    name, item, head = line.identifier, line.item, line.head
    target = place.at_table(name.database, name.table)
    with cells[_TABLE]:
        label = f":gray[{plain(name.database)}.]{plain(shortened(name.table, 36))}"
        comment = item.comment if item else None
        state.link(PageName.TABLE, label, target, help=plain(comment or "") or None)
    if item is None:
        return
    now = state.now_millis()
    rows.text(cells[_KIND], _KIND, kind_words(item))
    rows.text(cells[_BRANCHES], _BRANCHES, count(item.branch_count))
    rows.text(cells[_ROWS], _ROWS, short_figure(line.figure))
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


def _show_activity(items: Sequence[TableItem], place: Location) -> None:
    events = [(item.identifier, item.last_event) for item in items if item.last_event]
    if not events:
        return
    events.sort(key=lambda each: -each[1].time_millis)
    st.markdown("**Activity**")
    now = state.now_millis()
    # A table that was copied as files has the events of the one it was copied from.
    for number, (name, event) in enumerate(events[:6]):
        with st.container(
            horizontal=True, gap="small", vertical_alignment="center", key=f"line-e{number}"
        ):
            target = place.at_table(name.database, name.table).at_branch(event.branch)
            label = plain(f"{name.table_name} {event.branch}")
            state.link(PageName.BRANCHES, label, target)
            st.caption(f"{event.kind} by {plain(event.actor)}, {age(event.time_millis, now)}")
