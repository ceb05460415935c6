"""Rows that files do not tell: counted by a job, unasked if a worker runs and little is read."""

from collections.abc import Callable

import streamlit as st

from branch_console.diff.rows.row_figure import RowCounts
from branch_console.diff.state_diff import StateDiff
from branch_console.format.identifier import Identifier
from branch_console.jobs.progress import JobState
from branch_console.procedures.call.call import Argument
from branch_console.procedures.compare.count_rows import COUNT_ROWS, count_name
from branch_console_app import reads
from branch_console_app.models.parts.wording import code, full_count, prose, size
from branch_console_app.widgets.parts.confirm import last_attempt
from branch_console_app.widgets.parts.job_here import begin_job, follow_here
from branch_console_app.widgets.parts.patience import read_states
from branch_console_app.widgets.parts.problem import guarded

_FAILED = "The rows cannot be counted."


def show_row_counts(
    identifier: Identifier,
    before: str,
    after: str,
    words: Callable[[RowCounts], str],
    *,
    by_itself: bool = True,
) -> RowCounts | None:
    """Draw what rows of two states come to, or the job that counts them.

    Args:
        identifier: The table.
        before: A state.
        after: The other one.
        words: Says of the counts what the page asks, as Markdown.
        by_itself: Whether a running worker is asked without a click if there is little to read.

    Returns:
        The counts; None until somebody has counted.
    """
    with guarded(_FAILED):
        diff = read_states("counted", identifier, before, after)
        if diff is not None:
            why = "These are records in files; one key can have several."
            return _show_counts(identifier, diff, words, why, by_itself=by_itself)
    return None


def show_compared_counts(
    identifier: Identifier, diff: StateDiff, words: Callable[[RowCounts], str], why: str
) -> None:
    """Draw the same of two states that are compared already.

    Args:
        identifier: The table.
        diff: The comparison of the states.
        words: Says of the counts what the page asks, as Markdown.
        why: Why rows have to be counted, as a sentence.
    """
    with guarded(_FAILED):
        _show_counts(identifier, diff, words, why, by_itself=True)


def _show_counts(
    identifier: Identifier,
    diff: StateDiff,
    words: Callable[[RowCounts], str],
    why: str,
    *,
    by_itself: bool,
) -> RowCounts | None:
    found = reads.row_counts(identifier, diff)
    if found is not None:
        st.markdown(words(found))
    else:
        _show_job(identifier, diff, why, by_itself=by_itself)
    return found


def _show_job(identifier: Identifier, diff: StateDiff, why: str, *, by_itself: bool) -> None:
    # Whoever looks at these two states follows one job, whose id follows from their contents.
    name = count_name(identifier, diff)
    job, work = last_attempt(COUNT_ROWS, name), reads.count_work(identifier, diff)
    # A look at a page starts no process: a worker and its Spark take a gigabyte.
    if job is None and by_itself and work.is_small and _runs_worker():
        _start(identifier, diff)
        job = last_attempt(COUNT_ROWS, name)
    if job is not None and not job.state.is_over:
        follow_here(job, "Counting rows.", "Rows are to be counted.")
        return
    if job is not None and job.state is not JobState.DONE:
        st.warning(f"**The rows were not counted.** {prose(job.message)} {code(job.error or '')}")
    st.caption(
        f"{why} Counting the rows reads at most {full_count(work.records)} records "
        f"({size(work.size)})."
    )
    st.button(
        "Count rows", icon=":material/tag:", key=f"count-rows-{name[:8]}",
        on_click=_start, args=(identifier, diff),
    )  # fmt: skip


def _runs_worker() -> bool:
    worker = reads.worker()
    return worker is not None and worker.is_alive and not worker.serves_other_store


def _start(identifier: Identifier, diff: StateDiff) -> None:
    arguments: dict[str, Argument] = {
        "table": identifier.table_name,
        "a": str(diff.before.pinned),
        "b": str(diff.after.pinned),
    }
    begin_job(COUNT_ROWS, arguments, count_name(identifier, diff))
