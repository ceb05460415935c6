"""Why there are no rows of a job, and a disk that is full while they are kept."""

import datetime as dt
import errno
import os
from pathlib import Path

import pyarrow as pa
import pytest

from branch_console.errors import ErrorKind, StorageError
from branch_console.jobs.kept_files import unfinished
from branch_console.jobs.progress import JobState, JobView
from branch_console.jobs.results import KeptAnswers, no_answer
from branch_console.sql.answer import Answer


def job(state: JobState, name: str = "query", message: str = "") -> JobView:
    return JobView(
        id="0f",
        name=name,
        statement="SELECT 1",
        actor="ann",
        table=None,
        step="",
        message=message,
        state=state,
        done=0,
        total=None,
        error=None,
        created_millis=0,
        started_millis=0,
        finished_millis=0,
        receipt_id=None,
    )


@pytest.mark.parametrize(
    ("seen", "told"),
    [
        (job(JobState.DONE), "The rows of this query are not kept any more. Run it again."),
        (job(JobState.RUNNING), "Job 0f has not ended: it is running. Ask again once it is done."),
        (
            job(JobState.FAILED, message="Line 1, column 8: no such column."),
            "Job 0f ended without rows (failed). Line 1, column 8: no such column.",
        ),
        (job(JobState.CANCELLED), "Job 0f ended without rows (cancelled)."),
        (
            job(JobState.DONE, name="drop_branch"),
            "Job 0f was no query, so that there are no rows of it: SELECT 1.",
        ),
    ],
)
def test_why_there_are_no_rows_is_told(seen: JobView, told: str) -> None:
    error = no_answer(seen)
    assert (error.message, error.kind) == (told, ErrorKind.FILE_NOT_FOUND)


def test_an_answer_is_read_with_the_types_that_it_was_kept_with(tmp_path: Path) -> None:
    entries = pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int32()))
    spans = pa.array([dt.timedelta(days=1), None], pa.duration("us"))
    rows = pa.table({"m": entries, "s": spans, "n": pa.nulls(2), "l": pa.array([[1], []])})
    kept = KeptAnswers(folder=tmp_path)
    kept.keep("op", Answer(rows=rows, has_more=False, plan=""))
    for most in (None, 1):
        found = kept.read("op", most=most).rows
        assert [str(field.type) for field in found.schema] == [str(t) for t in rows.schema.types]
        assert found.to_pylist() == rows.slice(0, most).to_pylist()


def test_a_full_disk_is_told_and_nothing_half_written_stays(tmp_path: Path) -> None:
    path = tmp_path / "answers" / "op.parquet"
    with pytest.raises(StorageError, match=r"the disk is full\. No table was changed"):
        fill_the_disk(path)
    assert list(path.parent.iterdir()) == []


def fill_the_disk(path: Path) -> None:
    with unfinished(path) as draft:
        draft.write_bytes(b"half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_the_heads_that_rules_were_judged_at_are_kept(tmp_path: Path) -> None:
    kept = KeptAnswers(folder=tmp_path)
    kept.keep("op", Answer(rows=pa.table({}), has_more=False, plan="", judged=("main", "dev")))
    assert kept.read("op").judged == ("main", "dev")
