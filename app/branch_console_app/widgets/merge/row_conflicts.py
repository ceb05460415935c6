"""Rows that both sides of a merge changed: compared by a job, counted, and where to settle them."""

from collections.abc import Mapping

import pandas as pd
import pyarrow as pa
import streamlit as st

from branch_console.jobs.progress import JobState
from branch_console.merge.known_rows import StagedFigures
from branch_console.merge.resolution import settlement_words
from branch_console.operations.merge_requests import CompareRowsRequest
from branch_console.procedures.call.call import Argument
from branch_console.procedures.merge.conflicts import Resolution
from branch_console_app import state
from branch_console_app.models.merge.merge_facts import RowsOfMerge
from branch_console_app.models.merge.resolver import Group, groups_of
from branch_console_app.models.merge.row_conflicts import RowConflictLine, conflict_lines
from branch_console_app.models.parts.wording import NULL, code, count, plain, plural, prose
from branch_console_app.state import PageName
from branch_console_app.widgets.parts import rows
from branch_console_app.widgets.parts.job_here import follow_here, job_here, start_here
from branch_console_app.widgets.parts.rows import Column
from branch_console_app.widgets.parts.table_picker import here

MERGE_VIEW = ("source", "target", "how", "strict", "scope", "isolation")
"""The parameters of an address that say which merge is meant."""

_JOB = "compared"
_PER_PAGE = 25
_KEY = Column(label="Key", weight=1.8)
_COLUMN = Column(label="Column", weight=1.2)
_BASE = Column(label="Base", weight=1.4)
_OURS = Column(label="Target", weight=1.4)
_THEIRS = Column(label="Source", weight=1.4)
_COLUMNS = (_KEY, _COLUMN, _BASE, _OURS, _THEIRS)


def rows_of_merge(
    resolution: Resolution, settled: pa.Table | None, staged: StagedFigures | None
) -> RowsOfMerge:
    """Return what is known of the rows that both sides of a merge changed.

    Args:
        resolution: The conflicts to decide on.
        settled: The conflicts that were found, as its draft settles them; None before that.
        staged: The counts of the result that a dry run with these decisions left.
    """
    if settled is not None:
        return RowsOfMerge.of_conflicts(settled, staged)
    return RowsOfMerge.of_plan(resolution.plan, staged)


def show_comparison(resolution: Resolution) -> None:
    """Draw how rows are compared that only a job can compare, while nobody has.

    Args:
        resolution: A resolution whose conflicts are not known yet.
    """
    plan = resolution.plan
    job = job_here(_JOB, plan.id)
    if job is not None and not job.state.is_over:
        follow_here(job, "Comparing rows.")
        return
    if job is not None and job.state is not JobState.DONE:
        st.warning(f"**Rows were not compared.** {prose(job.message)} {code(job.error or '')}")
    st.markdown(
        "**Rows were not compared yet.** Both sides changed the same part of the table. A job "
        "reads the changed keys and lists those that collide. Nothing is changed."
    )


def is_comparing(resolution: Resolution) -> bool:
    """Whether a job compares rows for this page now."""
    job = job_here(_JOB, resolution.plan.id)
    return job is not None and not job.state.is_over


def compare_button(resolution: Resolution, arguments: Mapping[str, Argument]) -> None:
    """Draw the button that has a job compare rows.

    Args:
        resolution: A resolution whose conflicts are not known yet.
        arguments: The arguments of the merge, without a policy.
    """
    asked = {**arguments, "policy": resolution.policy}
    st.button(
        "Compare rows", icon=":material/table_rows:", type="primary", key="merge-compare",
        on_click=start_here,
        args=(_JOB, resolution.plan.id, CompareRowsRequest.procedure, asked),
    )  # fmt: skip


def show_row_conflicts(resolution: Resolution, settled: pa.Table) -> None:
    """Draw how many conflicts were found and what the draft leaves open, with the way to settle.

    Args:
        resolution: The conflicts to decide on.
        settled: Conflicts as its draft settles them.
    """
    if not settled.num_rows:
        st.markdown("**No row was changed on both sides to different values.**")
        return
    open_number, number = settled["take"].null_count, settled.num_rows
    groups = groups_of(settled)
    with st.container(
        horizontal=True, gap="medium", vertical_alignment="center", key="line-unresolved"
    ):
        st.markdown(unresolved_words(settled), width="content")
        state.link(
            PageName.CONFLICTS, "Settle conflicts" if open_number else "Change decisions", here(),
            view=resolver_view(resolution), icon=":material/call_split:",
        )  # fmt: skip
    frame = pd.DataFrame(
        {
            "Kind": [each.kind for each in groups],
            "Column": [each.column for each in groups],
            "Open": [each.open_number for each in groups],
            "Conflicts": [each.number for each in groups],
        }
    )
    st.dataframe(
        frame, hide_index=True, row_height=rows.TABLE_ROW, key="merge-conflict-groups",
        height=rows.table_height(len(groups), 8), width=620,
        column_config=rows.in_thousands(frame),
        alt=f"{count(open_number)} of {count(number)} conflicts open, by kind and column",
    )  # fmt: skip


def resolver_view(resolution: Resolution, group: Group | None = None) -> dict[str, str | None]:
    """Return the parameters that open the resolver of a merge, at a group of its conflicts."""
    view = {**state.view_of(*MERGE_VIEW), "plan": resolution.plan.id}
    return view if group is None else {**view, **group.view}


def unresolved_words(settled: pa.Table) -> str:
    """Tell how many conflicts nothing settles, and how the others are settled; Markdown.

    Args:
        settled: Conflicts as a draft settles them.
    """
    open_number, number = settled["take"].null_count, settled.num_rows
    how = settlement_words(settled)
    said = f" {plain(how[0].upper() + how[1:])}." if how else ""
    if not open_number:
        return f"**All {plural(number, 'conflict')} settled.**{said}"
    return f"**{count(open_number)} of {plural(number, 'conflict')} open.**{said}"


def show_left_over(found: pa.Table) -> None:
    """Draw the conflicts that a run left open although the draft settles what was compared.

    Args:
        found: Open ones, with the columns of `row_conflict_schema`.
    """
    st.warning(
        f"**The last run stopped at {plural(found.num_rows, 'conflict')} that no decision "
        "settles.** The sequence field of the table ranks another row higher, so a decision would "
        "have no effect. Change these rows on a branch. `CONFLICTS_OPEN`"
    )
    listed = rows.row_list("row-conflicts")
    visible = rows.page_of_rows("rc_p", found.num_rows, _PER_PAGE)
    with listed:
        rows.head("row-conflicts", _COLUMNS)
        for number, line in enumerate(conflict_lines(found, visible)):
            _show_line(number, line)


def _show_line(number: int, line: RowConflictLine) -> None:
    cells = rows.row(f"row-conflict-{number}", _COLUMNS)
    texts = (
        plain(line.key),
        f"{code(line.column)}  \n:small[:gray[{line.kind}]]",
        *(
            f":gray[{side}]" if side == NULL else plain(side)
            for side in (line.base, line.ours, line.theirs)
        ),
    )
    for cell, column, text in zip(cells, _COLUMNS, texts, strict=True):
        rows.text(cell, column, text)
