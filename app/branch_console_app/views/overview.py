"""Overview: what waits for you, what is at risk, the tables, and what happened last."""

from collections.abc import Sequence
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.jobs.progress import JobView
from branch_console.procedures.browse.page_values import Health, TableItem, TableKind
from branch_console_app import reads, state
from branch_console_app.models.branches.file_health import files_word, health_of_address
from branch_console_app.models.branches.table_overview import (
    READ_AT_ONCE,
    Order,
    TableLine,
    choose_tables,
    newest_tables,
    totals_words,
)
from branch_console_app.models.jobs.job_titles import full_title, table_without_branch
from branch_console_app.models.jobs.waiting import waiting_jobs
from branch_console_app.models.parts.exactness import short_figure
from branch_console_app.models.parts.location import Location
from branch_console_app.models.parts.wording import (
    age,
    code,
    count,
    cut_at_word,
    moment,
    one_line,
    plain,
    plural,
    prose,
    shortened,
)
from branch_console_app.services import get_services
from branch_console_app.state import PageName
from branch_console_app.widgets.branches.branch_card import files_badge
from branch_console_app.widgets.jobs.feed import show_feed
from branch_console_app.widgets.parts import rows
from branch_console_app.widgets.parts.job_status import state_badge
from branch_console_app.widgets.parts.location import show_location
from branch_console_app.widgets.parts.rows import Column
from branch_console_app.widgets.parts.same_as import show_same_as
from branch_console_app.widgets.parts.search import show_branch_hits
from branch_console_app.widgets.parts.table_picker import here, is_open_warehouse

_PER_PAGE = 25
_MOST_ENTRIES = 20
_MOST_LINES = 5
_LONGEST_MESSAGE = 160
_READ_A_SECOND = 150
_TABLE = Column(label="Table", weight=2.8)
_KIND = Column(label="Kind", weight=1.5)
_BRANCHES = Column(label="Branches", weight=1.4, align="right")
_ROWS = Column(label="Rows or records", weight=1.8, align="right")
_HEAD = Column(label="Last commit", weight=1.5)
_FILES = Column(label="Files", weight=1.2)
_COLUMNS = (_TABLE, _KIND, _BRANCHES, _ROWS, _HEAD, _FILES)


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
    _show_waiting(place)
    is_reading = len(items) < len(lines)
    st.fragment(_show_state, run_every=1.0 if is_reading else None)(
        names, items, place, is_reading=is_reading
    )
    _show_tables(lines, place)
    _show_feed(items, place)
    show_same_as("tables")


def _known_lines(names: Sequence[Identifier]) -> list[TableLine]:
    known = reads.known_tables()
    return [TableLine(identifier=name, item=known.get(name)) for name in names]


def _show_waiting(place: Location) -> None:
    """Draw the jobs that only this person will look after; nothing if there are none."""
    jobs = waiting_jobs(reads.jobs_if_answered(), get_services().settings.actor, state.now_millis())
    if not jobs:
        return
    with st.container(border=True, key="card-waiting"):
        st.markdown(f"**Waiting for you** :orange-badge[{len(jobs)}]")
        for number, job in enumerate(jobs[:_MOST_LINES]):
            with _line(f"w{number}"):
                _show_job(job, place)
        if len(jobs) > _MOST_LINES:
            home = Location(warehouse=place.warehouse)
            state.link(PageName.JOBS, f"and {plural(len(jobs) - _MOST_LINES, 'other job')}", home)


def _show_job(job: JobView, place: Location) -> None:
    table = table_without_branch(job)
    of = f" of {plain(table)}" if table else ""
    message = prose(cut_at_word(job.message, _LONGEST_MESSAGE))
    st.markdown(state_badge(job.state), width="content")
    st.markdown(
        f"**{full_title(job)}**{of} :gray[· {age(job.created_millis, state.now_millis())}]  \n"
        f":small[{message}]",
        width="stretch",
    )
    home = Location(warehouse=place.warehouse)
    state.link(PageName.JOB, "Open job", home, view={"id": job.id}, icon=":material/checklist:")


def _show_state(
    names: Sequence[Identifier], items: Sequence[TableItem], place: Location, *, is_reading: bool
) -> None:
    """Draw how much there is and what needs attention; of a large warehouse both grow."""
    if is_reading:
        known = reads.known_tables()
        unread = [name for name in names if name not in known]
        if unread:
            reads.table_items(*unread[:_READ_A_SECOND])
        items = list(known.values())
        is_reading = len(items) < len(names)
        if not is_reading:
            # The lists around this part can now be sorted and filled: draw them anew, once.
            st.rerun()
    _show_attention(items, place)
    words = totals_words(items, tables=len(names))
    if is_reading:
        words += f" :gray[{count(len(items))} of {count(len(names))} tables read]"
    st.markdown(f"**{words}**" if not is_reading else words)


def _show_empty() -> None:
    st.subheader("No tables yet", anchor=False)
    st.info(f"No tables under {code(get_services().settings.get_warehouse())}.")
    st.caption("The console comes with a demo of real flight data, built by this command:")
    st.code("branch-console demo", language="bash")


def _show_attention(items: Sequence[TableItem], place: Location) -> None:
    """Draw what cannot be read, a line each, which opens it with its way out."""
    at_risk = [item for item in items if item.health is not Health.HEALTHY]
    broken = [
        *((item, branch) for item in at_risk for branch in item.broken_branches or (None,)),
        *((item, branch) for item in items for branch in item.broken_rescues),
    ]
    now = state.now_millis()
    lines = [
        *(partial(_show_finding, item, branch, place) for item, branch in broken),
        *(
            partial(_show_blocked, item, item.blocked_until, place)
            for item in items
            if item.blocked_until is not None and now < item.blocked_until
        ),
    ]
    if not lines:
        return
    with st.container(border=True, key="card-attention"):
        st.markdown(f"**Needs attention** :orange-badge[{len(lines)}]")
        for number, show_line in enumerate(lines[:_MOST_LINES]):
            with _line(f"a{number}"):
                show_line()
        if len(lines) > _MOST_LINES:
            st.caption(f"and {plural(len(lines) - _MOST_LINES, 'other')}")


def _show_blocked(item: TableItem, until: int, place: Location) -> None:
    """Draw that the expiry of a table waits for the undo of a release to end."""
    name = item.identifier
    st.markdown(":orange[△]", width="content")
    st.markdown(
        f"Expiry of **{plain(name.table_name)}** is blocked until {moment(until, state.zone())}: a "
        "dropped or released branch cannot be read.",
        width="stretch",
    )
    state.link(
        PageName.MAINTENANCE, "See cause and fix", place.at_table(name.database, name.table),
        icon=":material/healing:",
    )  # fmt: skip


def _show_finding(item: TableItem, branch: str | None, place: Location) -> None:
    name = item.identifier
    target = place.at_table(name.database, name.table)
    table = plain(name.table_name)
    if branch is not None:
        st.markdown(":orange[△]", width="content")
        words = f"Branch {code(branch)} of **{table}** cannot be read. The other branches are fine."
        if branch in item.broken_rescues:
            words = (
                f"Expiry of **{table}** is blocked: rescue branch {code(branch)} cannot be read. "
                "Release it."
            )
        st.markdown(words, width="stretch")
        state.link(
            PageName.BRANCHES, "See cause and fix", target.at_branch(branch),
            icon=":material/healing:",
        )  # fmt: skip
        return
    st.markdown(":red[✕]" if item.error else ":orange[△]", width="content")
    words = "is at risk."
    if item.error is not None:
        path = item.error.facts.get("path")
        file = f" {code(path)}" if isinstance(path, str) and path not in item.error.message else ""
        words = f"cannot be read. {prose(item.error.message)}{file} {code(item.error.kind)}"
    st.markdown(f"**{table}** {words}", width="stretch")
    page = PageName.TABLE if item.error is not None else PageName.MAINTENANCE
    state.link(page, "See cause and fix", target, icon=":material/healing:")


def _line(key: str) -> DeltaGenerator:
    return st.container(
        horizontal=True, gap="small", vertical_alignment="center", key=f"line-{key}"
    )


def _show_tables(lines: Sequence[TableLine], place: Location) -> None:
    databases = sorted({line.identifier.database for line in lines})
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom", key="filters"):
        words = st.text_input(
            "Find a table or branch", key="ov_q", bind="query-params", type="search", width=210,
            placeholder="Find a table or branch", label_visibility="collapsed", live=True,
        )  # fmt: skip
        database = st.selectbox(
            "Database", databases, index=None, key="ov_db", bind="query-params", width=160,
            placeholder="All databases", label_visibility="collapsed",
        )  # fmt: skip
        states: list[Health] = list(Health)
        by_old_word = health_of_address(state.parameter("ov_state"))
        if by_old_word is not None:
            state.correct_address(state.PageName.OVERVIEW, ov_state=files_word(by_old_word))
        health = st.selectbox(
            "Files", states, index=None, key="ov_state", bind="query-params", width=150,
            placeholder="Files: any state", label_visibility="collapsed", format_func=files_word,
        )  # fmt: skip
        st.space("stretch")
        orders: list[Order] = list(Order)
        order = st.selectbox(
            "Sort by", orders, key="ov_sort", bind="query-params", width=140,
            label_visibility="collapsed", icon=":material/sort:",
        )  # fmt: skip
    read = [line for line in lines if line.item is not None]
    wanted = [
        line for line in lines if health is None or (line.item and line.item.health is health)
    ]
    chosen = choose_tables(wanted, words=words, database=database, order=order)
    if len(read) < len(lines) and (health is not None or order is not Order.NAME):
        st.caption(f"{count(len(read))} of {count(len(lines))} tables read: only these are sorted.")
    has_branches = show_branch_hits(words or "", place)
    if not chosen:
        if not has_branches:
            _show_nothing_found(words or "")
        return
    listed = rows.row_list("tables")
    visible = rows.page_of_rows("ov_p", len(chosen), _PER_PAGE)
    with listed:
        rows.head("tables", _COLUMNS)
        is_large = len(lines) > READ_AT_ONCE
        shown = _read_page(chosen[visible]) if is_large else chosen[visible]
        for number, line in enumerate(shown):
            _show_row(number, line, place)


def _show_nothing_found(words: str) -> None:
    with _line("nothing-found"):
        named = f"matches {code(words)}" if words else "matches this filter"
        st.markdown(f"No table or branch {named}.", width="content")
        st.button("Clear", key="ov-clear", type="tertiary", on_click=_clear_filters)


def _clear_filters() -> None:
    for key, nothing in (("ov_q", ""), ("ov_db", None), ("ov_state", None)):
        state.put(key, nothing)


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
        state.link(PageName.TABLE, label, target, help=plain(one_line(comment or "")) or None)
    if item is None:
        return
    now = state.now_millis()
    rows.text(cells[_KIND], _KIND, kind_words(item))
    rows.text(cells[_BRANCHES], _BRANCHES, item.branches.cell if item.branches else rows.NOTHING)
    rows.text(cells[_ROWS], _ROWS, short_figure(line.figure))
    rows.text(cells[_HEAD], _HEAD, age(head.time_millis, now) if head else ":gray[no commit yet]")
    rows.text(cells[_FILES], _FILES, files_badge(item.health))


def kind_words(item: TableItem) -> str:
    """Say what a table is by its keys."""
    match item.kind:
        case TableKind.PRIMARY_KEY:
            return "primary key"
        case TableKind.APPEND:
            return "append"
        case None:
            return rows.NOTHING


def _show_feed(items: Sequence[TableItem], place: Location) -> None:
    """Draw the last operations of all ledgers and jobs."""
    entries = reads.feed(newest_tables(items, most=_MOST_ENTRIES))[:_MOST_ENTRIES]
    if not entries:
        return
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="feed-head"):
        st.markdown("**What happened last**", width="content")
        st.space("stretch")
        home = Location(warehouse=place.warehouse)
        state.link(PageName.ACTIVITY, "All activity", home, icon=":material/history:")
    with st.container(gap="xxsmall", key="feed"):
        show_feed(entries, place)
