"""Rescue: the branches that operations kept, what they keep, and what a release would free."""

import streamlit as st

from branch_console.errors import PaimonError
from branch_console.format.identifier import Identifier
from branch_console.operations.branch_requests import ReleaseBranchRequest
from branch_console.procedures.browse.page_values import TableSummary
from branch_console_app import state
from branch_console_app.models.maintenance.dry_runs import amount_help
from branch_console_app.models.maintenance.rescues import RescueLine, rescue_lines
from branch_console_app.models.parts.actions import Action, Form
from branch_console_app.models.parts.location import Location
from branch_console_app.models.parts.wording import age, plain, plural, shortened, size
from branch_console_app.state import PageName
from branch_console_app.widgets.maintenance.storage import read_storage
from branch_console_app.widgets.parts import rows
from branch_console_app.widgets.parts.confirm import reason_field
from branch_console_app.widgets.parts.dialogs import Dialogs, offer
from branch_console_app.widgets.parts.preview import Start, show_command
from branch_console_app.widgets.parts.rows import Column

_PER_PAGE = 15
_NAME = Column(label="Kept on", weight=2.4)
_WHAT = Column(label="What it keeps", weight=2.4)
_WHEN = Column(label="Since", weight=1.2)
_BY = Column(label="By", weight=1.0)
_ALONE = Column(label="Alone", weight=1.4, align="right")
_ACTIONS = Column(label="", weight=2.4)
_COLUMNS = (_NAME, _WHAT, _WHEN, _BY, _ALONE, _ACTIONS)


def show_rescue(identifier: Identifier, summary: TableSummary, place: Location) -> None:
    """Draw the tab."""
    lines = rescue_lines(summary.branches, summary.events, None)
    if not lines:
        st.info(
            "No operation keeps anything. A dropped branch, or what a forced change replaced, "
            "is listed here until it is released."
        )
        return
    try:
        storage = read_storage(identifier)
    except PaimonError:
        storage = None  # the tab Storage tells why; here the branches count
    lines = rescue_lines(summary.branches, summary.events, storage)
    st.markdown(f"**{plural(len(lines), 'branch', 'branches')} kept by operations**")
    listed = rows.row_list("rescues")
    visible = rows.page_of_rows("mt_rp", len(lines), _PER_PAGE)
    with listed:
        rows.head("rescues", _COLUMNS)
        for number, line in enumerate(lines[visible]):
            _show_line(number, line, place)


def release_dialogs(identifier: Identifier, place: Location, start: Start | None = None) -> Dialogs:
    """Title and drawing of the dialog of a release; the branch comes with the address.

    Args:
        identifier: The table.
        place: The location that the job page keeps.
        start: Starts the release; None starts it and moves on to its job.
    """

    def draw(branch: str | None) -> None:
        if branch is None:
            st.info("This address names no branch. Choose one in the list, and Release.")
            return
        grace = st.text_input(
            "Remove files after", key="do-grace", placeholder="10 min",
            help=ReleaseBranchRequest.help_of("grace"),
        )  # fmt: skip
        request = ReleaseBranchRequest(
            table=identifier.table_name, branch=branch, reason=reason_field(), grace=grace or None
        )
        label = f"Release {plain(shortened(branch, 30))}"
        show_command(Form.of(request, label, ":material/delete_forever:"), place, start)

    return {Action.RELEASE: ("Release a rescue branch", draw)}


def _show_line(number: int, line: RescueLine, place: Location) -> None:
    cells = dict(zip(_COLUMNS, rows.row(f"rescue-{number}", _COLUMNS), strict=True))
    with cells[_NAME]:
        name = plain(shortened(line.name, 20))
        state.link(PageName.BRANCHES, name, place.at_branch(line.name), help=plain(line.name))
    event = line.event
    if event is None:
        for column in (_WHAT, _WHEN, _BY):
            rows.text(cells[column], column, rows.NOTHING)
    else:
        undone = " :gray-badge[undone]" if line.is_undone else ""
        what = f"{plain(shortened(event.branch, 24))}, {event.kind}{undone}"
        rows.text(cells[_WHAT], _WHAT, what, help=plain(event.reason) if event.reason else None)
        rows.text(cells[_WHEN], _WHEN, age(event.time_millis, state.now_millis()))
        rows.text(cells[_BY], _BY, plain(shortened(event.actor, 14)))
    if line.alone is None:
        rows.text(cells[_ALONE], _ALONE, rows.NOTHING)
    else:
        text = size(line.alone.byte_count)
        rows.text(cells[_ALONE], _ALONE, text, help=amount_help(line.alone))
    with cells[_ACTIONS].container(horizontal=True, gap="small"):
        if event is not None and not line.is_undone:
            offer(Action.UNDO, "Restore", key=f"restore-{number}", what=event.operation_id)
        offer(Action.RELEASE, "Release", key=f"release-{number}", what=line.name)
