"""The tags of a branch: what each names, how long it lasts, what stands on it."""

import streamlit as st

from branch_console.format.identifier import Identifier
from branch_console.procedures.browse.page_values import TagItem
from branch_console_app import reads, state
from branch_console_app.models.parts.actions import TAG_PREFIX, Action
from branch_console_app.models.parts.location import Location, SnapshotPoint
from branch_console_app.models.parts.wording import (
    age,
    code,
    count,
    duration,
    plain,
    plural,
    shortened,
)
from branch_console_app.state import PageName
from branch_console_app.widgets.parts import rows
from branch_console_app.widgets.parts.dialogs import offer
from branch_console_app.widgets.parts.rows import Column

_PER_PAGE = 12
_NAME = Column(label="Tag", weight=2.4)
_SNAPSHOT = Column(label="Snapshot", weight=1.0)
_WHEN = Column(label="Committed", weight=1.4)
_KEPT = Column(label="Kept", weight=1.2)
_BASE = Column(label="Base of", weight=1.4)
_ACTIONS = Column(label="", weight=2.6)
_COLUMNS = (_NAME, _SNAPSHOT, _WHEN, _KEPT, _BASE, _ACTIONS)


def show_tags(identifier: Identifier, place: Location) -> None:
    """Draw the tags of the branch, each with what it keeps."""
    items = reads.tags(identifier)
    st.markdown(f"**{plural(len(items), 'tag')}**")
    if not items:
        st.caption(f"{code(identifier.branch)} has no tag: its snapshots are kept by age only.")
        return
    listed = rows.row_list("tags")
    visible = rows.page_of_rows("sn_tp", len(items), _PER_PAGE)
    with listed:
        rows.head("tags", _COLUMNS)
        for number, item in enumerate(items[visible]):
            _show_row(number, item, identifier, place)


def kept_words(item: TagItem) -> str:
    """Say how long a tag lasts."""
    if item.tag is None:
        return rows.NOTHING
    seconds = item.tag.time_retained_seconds
    if seconds is None:
        return "for good"
    days, rest = divmod(int(seconds), 86_400)
    if days and not rest:
        return plural(days, "day")
    return duration(int(seconds * 1000))


def _show_row(number: int, item: TagItem, identifier: Identifier, place: Location) -> None:
    cells = dict(zip(_COLUMNS, rows.row(f"tag-{number}", _COLUMNS), strict=True))
    rows.text(cells[_NAME], _NAME, f":violet[⚑] {plain(shortened(item.name, 34))}")
    if item.tag is None:
        problem = item.error.message if item.error else ""
        rows.text(cells[_KEPT], _KEPT, ":red-badge[✕ broken]", help=plain(problem))
        return
    snapshot = item.tag.snapshot
    with cells[_SNAPSHOT]:
        point = SnapshotPoint.of(identifier.branch, snapshot)
        state.link(PageName.SNAPSHOTS, count(snapshot.id), place.at_snapshot(point))
    rows.text(cells[_WHEN], _WHEN, age(snapshot.time_millis, state.now_millis()))
    rows.text(cells[_KEPT], _KEPT, kept_words(item))
    base = ", ".join(plain(shortened(name, 20)) for name in item.is_base_of)
    rows.text(cells[_BASE], _BASE, base or rows.NOTHING)
    with cells[_ACTIONS].container(horizontal=True, gap="small"):
        # A tag may hold a snapshot that stands in no timeline any more.
        offer(
            Action.ROLLBACK, "Roll back", key=f"rollback-tag-{number}",
            what=f"{TAG_PREFIX}{item.name}",
        )  # fmt: skip
        offer(Action.DELETE_TAG, "Delete", key=f"delete-tag-{number}", what=item.name)
