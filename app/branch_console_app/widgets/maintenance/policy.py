"""Policy: what becomes of branches that nobody uses, and what runs by itself."""

from collections.abc import Sequence

import streamlit as st

from branch_console.diff.lifecycle.report import LifecycleRow, PolicyReport, ScheduleRow
from branch_console.errors import NotFound
from branch_console.format.identifier import Identifier
from branch_console.operations.policy_requests import ApplyPolicyRequest
from branch_console_app import reads, state
from branch_console_app.models.maintenance.policy import (
    age_words,
    ahead_words,
    policy_preview,
    policy_words,
    step_badge,
)
from branch_console_app.models.parts.actions import Form
from branch_console_app.models.parts.location import Location
from branch_console_app.models.parts.wording import code, moment, plain, plural, shortened, size
from branch_console_app.state import PageName
from branch_console_app.widgets.parts import rows
from branch_console_app.widgets.parts.preview import show_button, show_preview
from branch_console_app.widgets.parts.problem import guarded
from branch_console_app.widgets.parts.rows import Column
from branch_console_app.widgets.parts.same_as import show_same_as

_PER_PAGE = 15
_BRANCH = Column(label="Branch", weight=2.0)
_RULE = Column(label="Rule", weight=1.5)
_AGE = Column(label="Unused for", weight=1.1, align="right")
_AHEAD = Column(label="Merged nowhere", weight=1.2, align="right")
_STEP = Column(label="Next", weight=1.2)
_ALONE = Column(label="Needs alone", weight=1.1, align="right")
_WHY = Column(label="Why", weight=3.0)
_COLUMNS = (_BRANCH, _RULE, _AGE, _AHEAD, _STEP, _ALONE, _WHY)
_TASK = Column(label="Runs by itself", weight=1.4)
_CRON = Column(label="When", weight=1.6)
_NEXT = Column(label="Next", weight=2.0)
_HOW = Column(label="", weight=3.0)
_TASKS = (_TASK, _CRON, _NEXT, _HOW)


def show_policy(identifier: Identifier, place: Location) -> None:
    """Draw the tab."""
    with guarded("The maintenance policy cannot be shown."):
        try:
            with st.skeleton(height=200):
                report = reads.policy_report(identifier)
        except NotFound:
            st.info(
                "No maintenance policy holds for this table: no branch is called stale, and "
                "nothing runs by itself. Set one with `branch-console policy set FILE`."
            )
            return
        st.markdown(plain(policy_words(report)))
        _show_branches(report.branches, place)
        _show_apply(report, place)
        _show_schedules(report.schedules)
    show_same_as("policy", "report", identifier.table_name)


def _show_apply(report: PolicyReport, place: Location) -> None:
    """Draw what is due now, the field for the count, and the button that does it."""
    preview = policy_preview(report)
    if preview is None:
        st.caption("No branch is due for a step.")
        return
    show_preview(preview)
    request = ApplyPolicyRequest(table=report.table)
    label = f"Apply to {plural(len(preview.consequences), 'branch', 'branches')}"
    show_button(preview, Form.of(request, label, ":material/rule:"), place)


def _show_branches(branches: Sequence[LifecycleRow], place: Location) -> None:
    if not branches:
        st.caption("No branch besides main.")
        return
    st.markdown(f"**{plural(len(branches), 'branch', 'branches')}**")
    listed = rows.row_list("lifecycle")
    visible = rows.page_of_rows("mt_lp", len(branches), _PER_PAGE)
    with listed:
        rows.head("lifecycle", _COLUMNS)
        for number, row in enumerate(branches[visible]):
            cells = dict(zip(_COLUMNS, rows.row(f"lifecycle-{number}", _COLUMNS), strict=True))
            with cells[_BRANCH]:
                name = plain(shortened(row.branch, 24))
                state.link(PageName.BRANCHES, name, place.at_branch(row.branch))
            rows.text(cells[_RULE], _RULE, code(shortened(row.rule, 18)))
            rows.text(cells[_AGE], _AGE, age_words(row))
            rows.text(cells[_AHEAD], _AHEAD, ahead_words(row))
            when = None if row.due_millis is None else moment(row.due_millis, state.zone())
            rows.text(cells[_STEP], _STEP, step_badge(row), help=when)
            rows.text(cells[_ALONE], _ALONE, size(row.exclusive_bytes))
            rows.text(cells[_WHY], _WHY, plain(row.reason))


def _show_schedules(schedules: Sequence[ScheduleRow]) -> None:
    if not schedules:
        st.caption("Nothing runs by itself.")
        return
    with rows.row_list("schedules"):
        rows.head("schedules", _TASKS)
        for number, row in enumerate(schedules):
            cells = dict(zip(_TASKS, rows.row(f"schedule-{number}", _TASKS), strict=True))
            rows.text(cells[_TASK], _TASK, str(row.task))
            rows.text(cells[_CRON], _CRON, f"{code(row.cron)} {plain(row.zone)}")
            rows.text(cells[_NEXT], _NEXT, moment(row.next_millis, state.zone()))
            rows.text(cells[_HOW], _HOW, plain(row.how) if row.how else rows.NOTHING)
