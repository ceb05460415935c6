"""Storage: what each branch needs alone and with others, and what can be freed."""

from collections.abc import Sequence

import streamlit as st

from branch_console.diff.expiry.storage_cost import Overlap, OwnerKind, StorageCost, TableStorage
from branch_console.format.identifier import Identifier
from branch_console_app import reads, state
from branch_console_app.charts.palette import CHART_CONFIG
from branch_console_app.charts.storage import storage_figure
from branch_console_app.models.maintenance.dry_runs import amount_help
from branch_console_app.models.maintenance.holds import hold_chips, hold_help
from branch_console_app.models.maintenance.storage import (
    StorageLine,
    orphan_words,
    overlaps_of,
    owner_words,
    storage_alt,
    storage_lines,
)
from branch_console_app.models.parts.location import Location
from branch_console_app.models.parts.wording import count, plain, plural, prose, shortened, size
from branch_console_app.state import PageName
from branch_console_app.widgets.parts import rows
from branch_console_app.widgets.parts.patience import read_patiently
from branch_console_app.widgets.parts.problem import guarded, show_problem
from branch_console_app.widgets.parts.rows import Column
from branch_console_app.widgets.parts.same_as import show_same_as

_PER_PAGE = 15
_NAME = Column(label="Needed by", weight=2.6)
_ALONE = Column(label="Alone", weight=1.0, align="right")
_SHARED = Column(label="With others", weight=1.1, align="right")
_HISTORY = Column(label="History", weight=1.0, align="right")
_FREE = Column(label="Can be freed", weight=1.0, align="right")
_HOLDS = Column(label="Held by", weight=3.0)
_COLUMNS = (_NAME, _ALONE, _SHARED, _HISTORY, _FREE, _HOLDS)
_LEFT = Column(label="Shared by", weight=2.0)
_RIGHT = Column(label="and", weight=2.0)
_FILES = Column(label="Files", weight=1.0, align="right")
_SIZE = Column(label="Size", weight=1.0, align="right")
_PAIR = (_LEFT, _RIGHT, _FILES, _SIZE)
_KINDS = {
    OwnerKind.BRANCH: "",
    OwnerKind.RESCUE: " :gray-badge[rescue]",
    OwnerKind.RETIRED: " :gray-badge[retired]",
}


def read_storage(identifier: Identifier) -> TableStorage | None:
    """Return what the files of a table cost, None while that is read for the first time."""
    return read_patiently(
        "storage",
        identifier.table_name,
        lambda: reads.begin_storage(identifier),
        "Storage is summed up from the manifests of all branches. A large table takes a moment.",
    )


def show_storage(identifier: Identifier, place: Location) -> None:
    """Draw the tab."""
    with guarded("What the files cost cannot be told."):
        found = read_storage(identifier)
        if found is None:
            return
        for each in found.unread:
            show_problem(each.error, headline=prose(each.sentence))
        lines = storage_lines(found)
        _show_totals(found.cost)
        st.caption(plain(orphan_words(found, state.now_millis())))
        st.plotly_chart(
            storage_figure(lines, uirevision=identifier.table_name), key="storage-bars",
            config=CHART_CONFIG, alt=storage_alt(lines),
        )  # fmt: skip
        _show_owners(lines, place)
        _show_overlaps(found.cost)
    show_same_as("storage", identifier.table_name, sql=_statement(identifier))


def _show_totals(cost: StorageCost) -> None:
    with st.container(horizontal=True, gap="small", key="figures"):
        st.metric(
            "All files", size(cost.total.byte_count), border=True, help=amount_help(cost.total)
        )
        st.metric("Files", count(cost.total.file_count), border=True)
        st.metric(
            "Can be freed now", size(cost.reclaimable.byte_count), border=True,
            help=f"{amount_help(cost.reclaimable)}: what expiries by the options of the branches, "
            "and of retired snapshots, would free.",
        )  # fmt: skip


def _show_owners(lines: Sequence[StorageLine], place: Location) -> None:
    st.markdown(
        f"**{plural(len(lines), 'owner')}** :gray[A file that two need is counted for both.]"
    )
    listed = rows.row_list("owners")
    visible = rows.page_of_rows("mt_sp", len(lines), _PER_PAGE)
    with listed:
        rows.head("owners", _COLUMNS)
        for number, line in enumerate(lines[visible]):
            _show_owner(number, line, place)


def _show_owner(number: int, line: StorageLine, place: Location) -> None:
    cells = dict(zip(_COLUMNS, rows.row(f"owner-{number}", _COLUMNS), strict=True))
    name = plain(shortened(owner_words(line.cost.owner), 26))
    with cells[_NAME].container(horizontal=True, gap="xsmall", vertical_alignment="center"):
        if line.kind is OwnerKind.RETIRED:
            state.link(PageName.RECEIPT, name, place, view={"id": line.name})
        else:
            state.link(PageName.BRANCHES, name, place.at_branch(line.name))
        if _KINDS[line.kind]:
            st.markdown(_KINDS[line.kind], width="content")
    amounts = (
        (_ALONE, line.cost.exclusive),
        (_SHARED, line.cost.shared),
        (_HISTORY, line.cost.history),
        (_FREE, line.cost.reclaimable),
    )
    for column, amount in amounts:
        rows.text(cells[column], column, size(amount.byte_count))
    help_text = hold_help(line.holds, state.zone()) or None
    rows.text(cells[_HOLDS], _HOLDS, hold_chips(line.holds) or rows.NOTHING, help=help_text)


def _show_overlaps(cost: StorageCost) -> None:
    if not cost.overlaps:
        st.caption("No two of them share a file.")
        return
    owners = [each.owner for each in cost.owners]
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="line-pairs"):
        verb = "shares" if len(cost.overlaps) == 1 else "share"
        pairs = plural(len(cost.overlaps), "pair")
        st.markdown(f"**{pairs} {verb} files**", width="content")
        st.space("stretch")
        chosen = st.selectbox(
            "Of", owners, index=None, key="mt_pair", width=240, placeholder="Of anyone",
            format_func=owner_words, label_visibility="collapsed", filter_mode="contains",
        )  # fmt: skip
    shown = overlaps_of(cost.overlaps, chosen)
    listed = rows.row_list("pairs")
    visible = rows.page_of_rows("mt_pp", len(shown), _PER_PAGE)
    with listed:
        rows.head("pairs", _PAIR)
        for number, pair in enumerate(shown[visible]):
            _show_pair(number, pair)


def _show_pair(number: int, pair: Overlap) -> None:
    cells = dict(zip(_PAIR, rows.row(f"pair-{number}", _PAIR), strict=True))
    for column, owner in zip((_LEFT, _RIGHT), pair.owners, strict=True):
        rows.text(cells[column], column, plain(shortened(owner_words(owner), 30)))
    rows.text(cells[_FILES], _FILES, count(pair.amount.file_count))
    rows.text(cells[_SIZE], _SIZE, size(pair.amount.byte_count))


def _statement(identifier: Identifier) -> str:
    return f"SHOW STORAGE ON TABLE {identifier.database}.`{identifier.table}`;"
