"""Databases and tables by branch, as rows: what each branch did to each."""

from collections.abc import Sequence

import streamlit as st

from branch_console.diff.catalog_standing import ObjectOnBranch, ObjectStanding
from branch_console.merge.catalog.object_merge import ObjectKind
from branch_console.procedures.browse.catalog_values import CatalogOverview
from branch_console_app import state
from branch_console_app.models.catalog.objects import (
    ListedObjects,
    ObjectLine,
    choose_objects,
    object_lines,
)
from branch_console_app.models.parts.location import Location
from branch_console_app.models.parts.wording import code, count, plain, plural, shortened
from branch_console_app.state import PageName
from branch_console_app.widgets.parts import rows
from branch_console_app.widgets.parts.rows import Column
from branch_console_app.widgets.parts.search import show_branch_hits

_PER_PAGE = 25
_OBJECT = Column(label="Database or table", weight=2.6)
_KIND = Column(label="Kind", weight=0.9)
_COLOURS = {
    ObjectStanding.LOST: "red",
    ObjectStanding.NEW: "green",
    ObjectStanding.DROPPED: "red",
    ObjectStanding.RENAMED: "violet",
    ObjectStanding.CHANGED: "blue",
}
_GLYPHS = {
    ObjectStanding.LOST: "✕",
    ObjectStanding.NEW: "+",
    ObjectStanding.DROPPED: "\N{MINUS SIGN}",
    ObjectStanding.RENAMED: "→",
    ObjectStanding.CHANGED: "~",
}
_QUIET = {
    ObjectStanding.SAME: ":gray[same]",
    ObjectStanding.OUTSIDE: ":gray[outside]",
    ObjectStanding.ABSENT: rows.NOTHING,
}
_LEGEND = (
    "outside: not on the branch, read from main",
    "\N{EN DASH}: the branch does not know it",
    "↓: main changed it since",
)


def show_objects(overview: CatalogOverview, branches: Sequence[str], place: Location) -> None:
    """Draw the filters and the list, changed ones first.

    Args:
        overview: The overview that was read.
        branches: The branches that have a column, in their order.
        place: The location of the page.
    """
    lines = object_lines(overview, branches)
    changed = sum(line.is_changed for line in lines)
    st.markdown(f"**{plural(changed, 'object')} changed** :gray[of {count(len(lines))}]")
    words, chosen = _filtered(lines)
    has_branches = show_branch_hits(words, place)
    if not chosen:
        if not has_branches:
            st.info(_nothing(changed))
        return
    hidden = sum(each.item.error is None for each in overview.branches) - len(branches)
    if hidden:
        more = plural(hidden, "more branch", "more branches")
        st.caption(f"{more}: choose one above, and it gets a column.")
    columns = [
        _OBJECT,
        _KIND,
        *(Column(label=code(shortened(b, 24)), weight=1.6) for b in branches),
    ]
    listed = rows.row_list("objects")
    visible = rows.page_of_rows("ca_p", len(chosen), _PER_PAGE)
    with listed:
        rows.head("objects", columns)
        for number, line in enumerate(chosen[visible]):
            _show_line(number, line, branches, columns, place)
    st.caption(" \u2003 ".join(_LEGEND))


def _filtered(lines: Sequence[ObjectLine]) -> tuple[str, list[ObjectLine]]:
    """Draw the filters; return the words sought, and the lines that pass."""
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom", key="filters"):
        words = st.text_input(
            "Find a database, table or branch", key="ca_q", bind="query-params", type="search",
            placeholder="Find a database, table or branch", label_visibility="collapsed", live=True,
            width=280,
        )  # fmt: skip
        kinds: list[ObjectKind] = list(ObjectKind)
        kind = st.selectbox(
            "Kind", kinds, index=None, key="ca_kind", bind="query-params", width=190,
            placeholder="Databases and tables", label_visibility="collapsed",
        )  # fmt: skip
        standings: list[ObjectStanding] = list(ObjectStanding)
        standing = st.selectbox(
            "On any branch", standings, index=None, key="ca_state", bind="query-params",
            width=180, placeholder="Any state", label_visibility="collapsed",
        )  # fmt: skip
        shown: list[ListedObjects] = list(ListedObjects)
        which = st.segmented_control(
            "Which", shown, default=ListedObjects.EVERY, key="ca_show", bind="query-params",
            required=True, label_visibility="collapsed",
        )  # fmt: skip
    chosen = choose_objects(
        lines, words=words or "", kind=kind, standing=standing, shown=which or ListedObjects.EVERY
    )
    return words or "", chosen


def _nothing(changed: int) -> str:
    if not changed and state.value_of("ca_show") == ListedObjects.CHANGED:
        return "No branch changed anything that main does not have."
    return "No database, table or branch matches these filters."


def _show_line(
    number: int,
    line: ObjectLine,
    branches: Sequence[str],
    columns: Sequence[Column],
    place: Location,
) -> None:
    cells = rows.row(f"object-{number}", columns)
    found = line.object
    with cells[0]:
        _show_name(line, place)
    rows.text(cells[1], _KIND, str(found.kind))
    for cell, column, branch in zip(cells[2:], columns[2:], branches, strict=True):
        rows.text(cell, column, _standing(line.on[branch], found.name))


def _show_name(line: ObjectLine, place: Location) -> None:
    found = line.object
    label = plain(shortened(found.name, 40))
    home = Location(warehouse=place.warehouse)
    if found.main_name is None:
        st.markdown(f"{label} :gray[· not on main]")
    elif found.kind is ObjectKind.DATABASE:
        state.link(PageName.OVERVIEW, label, home, view={"ov_db": found.main_name})
    else:
        database, _, table = found.main_name.partition(".")
        state.link(PageName.TABLE, label, home.at_table(database, table))


def _standing(on: ObjectOnBranch, main_name: str) -> str:
    """Write how a branch has an object: a glyph and a word each, and its name where it is other."""
    parts = [
        f":{_COLOURS[each]}[{_GLYPHS[each]} {each}]" if each in _COLOURS else _QUIET[each]
        for each in on.standings
    ]
    words = " ".join(parts)
    if ObjectStanding.RENAMED in on.standings and on.name not in (None, main_name):
        words += f" {code(shortened(on.name or '', 26))}"
    if on.is_behind:
        words += " :gray[↓]"
    return words
