"""Expire: which snapshots of which branches are due, what holds some, and what it frees."""

from collections.abc import Sequence

import streamlit as st

from branch_console.diff.expiry.dry_run import BLOCKED_UNTIL, DueSnapshot, ExpiryDryRun
from branch_console.errors import FormatError, NotFound, PaimonError
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.operations.maintenance_requests import (
    FEWEST_KEPT,
    MOST_KEPT,
    OLDER_THAN,
    ExpireSnapshotsRequest,
)
from branch_console.procedures.browse.page_values import TableSummary
from branch_console_app import reads, state
from branch_console_app.models.maintenance.expiry_limits import limits_sentence, typing_problem
from branch_console_app.models.maintenance.holds import hold_chips, hold_help
from branch_console_app.models.parts.location import Location, SnapshotPoint
from branch_console_app.models.parts.wording import age, count, moment, plain, plural, shortened
from branch_console_app.state import PageName
from branch_console_app.widgets.maintenance.dry_run import (
    FAILED,
    ask_for_dry_run,
    show_barred_dry_run,
    show_headline,
    show_run,
)
from branch_console_app.widgets.parts import rows
from branch_console_app.widgets.parts.problem import guarded, show_problem
from branch_console_app.widgets.parts.rows import Column

_PER_PAGE = 15
_ALL = "all"
_OPTION = "option of the table"
_BRANCH = Column(label="Branch", weight=2.2)
_SNAPSHOT = Column(label="Snapshot", weight=1.0)
_KIND = Column(label="Kind", weight=1.1)
_WHEN = Column(label="Committed", weight=1.4)
_FATE = Column(label="Would", weight=1.0)
_HOLDS = Column(label="Held by", weight=3.6)
_COLUMNS = (_BRANCH, _SNAPSHOT, _KIND, _WHEN, _FATE, _HOLDS)
_GOES = ":red-badge[\N{MINUS SIGN} expire]"
_STAYS = ":green-badge[✓ stay]"
_BLOCKED = ":orange-badge[△ blocked]"


def show_expire(identifier: Identifier, summary: TableSummary, place: Location) -> None:
    """Draw the tab."""
    request, branch = _ask_for_limits(identifier, summary)
    _show_own_limits(identifier, summary, branch)
    problem = typing_problem(request)
    if problem is not None:
        st.markdown(f":red[✕ {problem}]")
        show_barred_dry_run(request, "Correct the limits first.")
        return
    with guarded(FAILED):
        try:
            dry_run = ask_for_dry_run(request)
        except (FormatError, NotFound) as error:
            # What cannot be read may need any file; what is due elsewhere is known all the same.
            until = error.facts.get(BLOCKED_UNTIL)
            ends = moment(until, state.zone()) if isinstance(until, int) else None
            headline = FAILED if ends is None else f"Expiry is blocked until {ends}."
            show_problem(error, headline=headline)
            due = reads.due_snapshots(request.encode())
            _show_due(due, place, blocked_by="a branch that cannot be read")
            if not due:
                st.caption("No snapshot is due on the branches that can be read.")
            return
        if dry_run is None:
            return
        assert isinstance(dry_run.lines, ExpiryDryRun)
        show_headline(dry_run)
        _show_due(dry_run.lines.due, place)
        show_run(dry_run, request, ":material/auto_delete:", place)


def _show_own_limits(identifier: Identifier, summary: TableSummary, branch: str | None) -> None:
    """Draw the limits that apply where a field is empty."""
    name = branch or MAIN_BRANCH
    try:
        is_read = summary.identifier.branch == name
        found = summary if is_read else reads.table(identifier.on_branch(name))
        sentence = limits_sentence(found.schema.options, name)
    except PaimonError:
        return  # the dry run says what is wrong
    others = " Other branches may have other options." if branch is None else ""
    st.caption(f"{sentence}{others} *Limits* changes that for one run.")


def _ask_for_limits(
    identifier: Identifier, summary: TableSummary
) -> tuple[ExpireSnapshotsRequest, str | None]:
    """Draw the form, and return what it asks for, and the branch; None is all branches."""
    help_of = ExpireSnapshotsRequest.help_of
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom", key="filters"):
        branch = st.selectbox(
            "Branches", summary.branches_with_main, index=None, key="mt_of", bind="query-params",
            placeholder="All branches", width=260, filter_mode="contains",
        )  # fmt: skip
        with st.popover(
            "Limits", icon=":material/tune:", help="An empty field takes the option of the table"
        ):
            most = st.number_input(
                "Keep at most (retainMax)", min_value=1, value=None, step=1, key="mt_max",
                bind="query-params", help=help_of(MOST_KEPT), placeholder=_OPTION,
            )  # fmt: skip
            least = st.number_input(
                "Keep at least (retainMin)", min_value=1, value=None, step=1, key="mt_min",
                bind="query-params", help=help_of(FEWEST_KEPT), placeholder=_OPTION,
            )  # fmt: skip
            older = st.text_input(
                "Expire only older than", key="mt_older", bind="query-params",
                help=help_of(OLDER_THAN),
                placeholder="2026-01-31 12:00:00",
            )  # fmt: skip
            grace = st.text_input(
                "Remove files after", key="mt_grace", bind="query-params", help=help_of("grace"),
                placeholder="10 min",
            )  # fmt: skip
    named = identifier if branch is None else identifier.on_branch(branch)
    request = ExpireSnapshotsRequest(
        table=named.full_name if branch else identifier.table_name,
        retain_max=most,
        retain_min=least,
        older_than=older or None,
        grace=grace or None,
        branches=_ALL if branch is None else None,
    )
    return request, branch


def _show_due(
    due: Sequence[DueSnapshot], place: Location, *, blocked_by: str | None = None
) -> None:
    if not due:
        return
    words = f"{plural(len(due), 'snapshot')} due"
    st.markdown(f"**{words}**" if blocked_by is None else f"**{words}, blocked by {blocked_by}**")
    listed = rows.row_list("due")
    visible = rows.page_of_rows("mt_p", len(due), _PER_PAGE)
    with listed:
        rows.head("due", _COLUMNS)
        for number, each in enumerate(due[visible]):
            _show_snapshot(number, each, place, blocked_by)


def _show_snapshot(number: int, due: DueSnapshot, place: Location, blocked_by: str | None) -> None:
    cells = dict(zip(_COLUMNS, rows.row(f"due-{number}", _COLUMNS), strict=True))
    snapshot = due.snapshot
    rows.text(cells[_BRANCH], _BRANCH, plain(shortened(due.branch, 28)))
    with cells[_SNAPSHOT]:
        point = SnapshotPoint.of(due.branch, snapshot)
        state.link(PageName.SNAPSHOTS, count(snapshot.id), place.at_snapshot(point))
    rows.text(cells[_KIND], _KIND, snapshot.commit_kind.lower())
    rows.text(cells[_WHEN], _WHEN, age(snapshot.time_millis, state.now_millis()))
    if blocked_by is not None:
        rows.text(cells[_FATE], _FATE, _BLOCKED)
        rows.text(cells[_HOLDS], _HOLDS, blocked_by)
        return
    rows.text(cells[_FATE], _FATE, _GOES if due.goes else _STAYS)
    help_text = hold_help(due.holds, state.zone()) or None
    rows.text(cells[_HOLDS], _HOLDS, hold_chips(due.holds) or rows.NOTHING, help=help_text)
