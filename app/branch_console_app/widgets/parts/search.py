"""The search: a box for names of all kinds, from every page by Ctrl+K."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import streamlit as st

from branch_console.errors import PaimonError
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.jobs.progress import JobView
from branch_console.sql.statement import QUERY
from branch_console_app import reads, state
from branch_console_app.models.branches.table_overview import READ_AT_ONCE
from branch_console_app.models.jobs.activity import Activity, place_of_entry
from branch_console_app.models.jobs.job_titles import full_title
from branch_console_app.models.maintenance.tabs import MaintenanceTab
from branch_console_app.models.parts.location import Location, SnapshotPoint
from branch_console_app.models.parts.query_answer import Asked, text_for_address
from branch_console_app.models.parts.search import Hit, HitGroup, HitKind, find_hits
from branch_console_app.models.parts.wording import bare, code, count, plain, shortened
from branch_console_app.state import CATALOG_BRANCH, PageName
from branch_console_app.widgets.parts.dialogs import leave_dialog

_KEYS: Final = "Mod+K"
_FOCUS: Final = """<script>
(() => {
  // A dialog takes the focus once it is drawn, so the field asks for it until then; whoever
  // presses a key or clicks meanwhile has chosen where the focus is.
  const until = performance.now() + 500;
  let isOver = false;
  const end = () => {
    isOver = true;
    ["keydown", "pointerdown"].forEach((name) => removeEventListener(name, end, true));
  };
  ["keydown", "pointerdown"].forEach((name) => addEventListener(name, end, true));
  let wasTaken = false;
  const ask = () => {
    if (isOver) return;
    const field = document.querySelector(".st-key-search-words input");
    const dialog = field && field.closest("[role=dialog]");
    const active = document.activeElement;
    if (dialog && active !== field && dialog.contains(active)) wasTaken = true;
    if (field && active !== field) { field.focus(); field.select(); }
    if (performance.now() > until || (wasTaken && document.activeElement === field)) return end();
    requestAnimationFrame(ask);
  };
  ask();
})();
</script>"""
"""Puts the cursor into the field: who pressed Ctrl+K types at once, over the words of last time."""
_JOBS_LOOKED_AT: Final = 200
_LONGEST: Final = 70
_SETTINGS: Final = (
    (PageName.TABLE, "t_tab", "Options"),
    (PageName.MAINTENANCE, "mt_tab", str(MaintenanceTab.POLICY)),
)
"""The settings of a table: the page of each, the parameter of its tab, and the tab."""
_ICONS: Final[Mapping[HitKind, str]] = {
    HitKind.TABLE: ":material/table:",
    HitKind.BRANCH: ":material/account_tree:",
    HitKind.TAG: ":material/sell:",
    HitKind.SNAPSHOT: ":material/timeline:",
    HitKind.OPERATION: ":material/checklist:",
    HitKind.QUERY: ":material/database_search:",
    HitKind.PAGE: ":material/web_asset:",
}


def offer_search(place: Location, pages: Mapping[PageName, str]) -> None:
    """Draw the button that opens the search.

    Args:
        place: The location of the page: only snapshots of its table are found.
        pages: What the pages are called that the sidebar leads to.
    """
    if st.button(
        "Search", key="search", icon=":material/search:", shortcut=_KEYS, width="stretch",
        on_click=leave_dialog,
    ):  # fmt: skip
        st.dialog("Search", width="medium")(_show_search)(place, pages)


def show_branch_hits(words: str, place: Location) -> bool:
    """Draw the branches whose own names have some words, and say whether there are any."""
    if not words.strip():
        return False
    sought = words.casefold().split()
    named = [
        hit
        for hit in _names_within(place)
        if hit.kind is HitKind.BRANCH and any(word in hit.name.casefold() for word in sought)
    ]
    groups = find_hits(words, named)
    for group in groups:
        _show_group(group)
    return bool(groups)


def _show_search(place: Location, pages: Mapping[PageName, str]) -> None:
    words = st.text_input(
        "Find", key="search-words", type="search", live=True, label_visibility="collapsed",
        placeholder="A table, branch, tag, snapshot, operation, query or page",
    )  # fmt: skip
    st.html(_FOCUS, unsafe_allow_javascript=True)
    if not (words or "").strip():
        st.caption("Several words narrow it down: `flights fix` finds a branch of a table.")
        return
    groups = find_hits(words or "", _known(place, pages))
    if not groups:
        st.info(f"No name has {code(shortened(words or '', _LONGEST))} in it.")
    for group in groups:
        _show_group(group)
    unread = len(reads.table_names()) - READ_AT_ONCE
    if unread > 0:
        st.caption(
            f"Branches and tags of {count(READ_AT_ONCE)} tables are searched, those of "
            f"{count(unread)} others are not."
        )


def _show_group(group: HitGroup) -> None:
    with st.container(gap=None, key=f"hits-{group.kind.name.lower()}"):
        more = f": {count(len(group.hits))} of {count(group.total)}"
        st.caption(f"{group.kind}{more if group.total > len(group.hits) else ''}")
        for hit in group.hits:
            context = f" :gray[{plain(shortened(hit.context, _LONGEST))}]" if hit.context else ""
            label = f"{plain(shortened(hit.name, _LONGEST))}{context}"
            icon = _ICONS[hit.kind]
            with st.container(horizontal=True, gap="medium", vertical_alignment="center"):
                state.link(PageName(hit.page), label, hit.place, view=dict(hit.view), icon=icon)
                if _can_be_merged(hit):
                    sides = {"source": hit.name, "target": MAIN_BRANCH}
                    state.link(
                        PageName.MERGE, "Review merge", hit.place, view=sides,
                        icon=_ICONS[HitKind.BRANCH],
                    )  # fmt: skip


def _can_be_merged(hit: Hit) -> bool:
    """Whether a hit is a branch of a table besides main."""
    return hit.kind is HitKind.BRANCH and bool(hit.place.table) and hit.name != MAIN_BRANCH


def _known(place: Location, pages: Mapping[PageName, str]) -> Iterator[Hit]:
    home = Location(warehouse=place.warehouse)
    for name in reads.table_names():
        target = place.at_table(name.database, name.table)
        yield Hit(kind=HitKind.TABLE, name=name.table_name, page=PageName.TABLE, place=target)
    yield from _names_within(place)
    yield from _settings(place)
    if place.database and place.table:
        yield from _snapshots(place, Identifier(database=place.database, table=place.table))
    jobs = {job.id: job for job in _jobs()}
    for entry in reads.feed(reads.table_names()[:READ_AT_ONCE]):
        if entry.operation is not None:
            jobs.pop(entry.operation, None)
            yield _operation(entry, entry.operation, place)
    for job in jobs.values():
        yield _job(job, home)
    for page, title in pages.items():
        yield Hit(kind=HitKind.PAGE, name=title, page=page, place=place)
        if page is PageName.MAINTENANCE:
            for tab in MaintenanceTab:
                if tab is MaintenanceTab.POLICY:
                    continue  # a setting: found for every table
                yield Hit(
                    kind=HitKind.PAGE, name=str(tab), context=title, page=page, place=place,
                    view=(("mt_tab", str(tab)),),
                )  # fmt: skip


def _names_within(place: Location) -> Iterator[Hit]:
    home = Location(warehouse=place.warehouse)
    for name in reads.catalog_branch_names():
        yield Hit(
            kind=HitKind.BRANCH, name=name, context="of the catalog", page=PageName.CATALOG,
            place=home, view=((CATALOG_BRANCH, name),),
        )  # fmt: skip
    for found in reads.names_within(*reads.table_names()[:READ_AT_ONCE]):
        table = place.at_table(found.table.database, found.table.table)
        of = found.table.table_name
        for name in found.branches:
            yield Hit(
                kind=HitKind.BRANCH, name=name, context=of, page=PageName.BRANCHES,
                place=table.at_branch(name),
            )  # fmt: skip
        for name in found.tags:
            yield Hit(
                kind=HitKind.TAG, name=name, context=of, page=PageName.COMPARE, place=table,
                view=(("cmp_b", name),),
            )  # fmt: skip


def _settings(place: Location) -> Iterator[Hit]:
    """Find the settings of each table, those of the one in the address first."""
    names = reads.table_names()
    for name in sorted(names, key=lambda each: each.table_name != place.full_table):
        table = place.at_table(name.database, name.table)
        for page, parameter, tab in _SETTINGS:
            yield Hit(
                kind=HitKind.PAGE, name=tab, context=f"settings of {name.table_name}", page=page,
                place=table, view=((parameter, tab),),
            )  # fmt: skip


def _snapshots(place: Location, table: Identifier) -> Iterator[Hit]:
    branch = place.branch_or_main
    try:
        items = reads.snapshots(table.on_branch(branch))
    except PaimonError:
        return  # the page of the table says what is wrong with it
    for item in items:
        if item.snapshot is not None:
            point = SnapshotPoint.of(branch, item.snapshot)
            yield Hit(
                kind=HitKind.SNAPSHOT, name=f"snapshot {item.id}",
                context=f"{table.table_name} {branch} {item.snapshot.commit_user}",
                page=PageName.SNAPSHOTS, place=place.at_snapshot(point),
            )  # fmt: skip


def _jobs() -> Sequence[JobView]:
    try:
        return reads.jobs(limit=_JOBS_LOOKED_AT)
    except PaimonError:
        return ()  # the page of the jobs says why they cannot be listed


def _operation(entry: Activity, operation: str, place: Location) -> Hit:
    """Find an operation by what it did, its table, its people, its reason and its id."""
    words = (entry.undone, entry.reason, operation, entry.undo)
    target = place_of_entry(entry, place)
    view: tuple[tuple[str, str], ...] = ()
    if entry.has_receipt:
        page, view = PageName.RECEIPT, (("id", operation),)
    else:
        page = PageName.BRANCHES if target.table else PageName.ACTIVITY
    return Hit(
        kind=HitKind.OPERATION, name=bare(entry.sentence), page=page, place=target, view=view,
        context=bare(" · ".join(word for word in words if word)),
    )  # fmt: skip


def _job(job: JobView, home: Location) -> Hit:
    asked = Asked.of_statement(job.statement) if job.name == QUERY else None
    if asked is not None:
        return Hit(
            kind=HitKind.QUERY, name=asked.line, page=PageName.SQL,
            place=home.at_branch(asked.branch),
            view=(("q", text_for_address(asked.text) or ""), ("id", job.id)),
        )  # fmt: skip
    return Hit(
        kind=HitKind.OPERATION, name=full_title(job).replace("`", ""),
        context=f"{job.table or ''} {job.id} by {job.actor}", page=PageName.JOB, place=home,
        view=(("id", job.id),),
    )  # fmt: skip
