"""Why there are no rows of a job, and a disk that is full while they are kept."""

import datetime as dt
import errno
import json
import os
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from branch_console.errors import ErrorKind, FormatError, StorageError
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


def kept_with(folder: Path, changed: Mapping[str, object], left_out: str = "") -> KeptAnswers:
    """Keep an answer, and change what stands beside its rows."""
    kept = KeptAnswers(folder=folder)
    kept.keep("op", Answer(rows=pa.table({"n": [1]}), has_more=False, plan="", judged=("a", "b")))
    rows = pq.read_table(kept.path("op"))
    about = {**json.loads(rows.schema.metadata[b"branch-console"]), **changed}
    about.pop(left_out, None)
    written = rows.replace_schema_metadata({b"branch-console": json.dumps(about).encode()})
    pq.write_table(written, kept.path("op"))
    return kept


def test_an_answer_of_an_earlier_release_is_read_without_the_heads_that_were_judged(
    tmp_path: Path,
) -> None:
    assert kept_with(tmp_path, {}).read("op").judged == ("a", "b")
    assert kept_with(tmp_path, {}, left_out="judged").read("op").judged == ()


@pytest.mark.parametrize(
    "changed",
    [
        {"judged": None},
        {"notes": None},
        {"reads": [{"no": "state"}]},
        {"reads": ["no state"]},
        {"started_millis": None},
        {"finished_millis": "soon"},
        {"schema": 1},
    ],
)
def test_an_answer_with_a_broken_value_is_told_with_its_file(
    tmp_path: Path, changed: Mapping[str, object]
) -> None:
    kept = kept_with(tmp_path, changed)
    with pytest.raises(FormatError, match=r"op\.parquet holds no answer of a query"):
        kept.read("op")


@pytest.mark.parametrize("name", ["has_more", "plan", "reads", "notes", "finished_millis"])
def test_an_answer_that_lacks_a_value_is_told_with_its_file(tmp_path: Path, name: str) -> None:
    kept = kept_with(tmp_path, {}, left_out=name)
    with pytest.raises(FormatError, match=r"op\.parquet holds no answer of a query"):
        kept.read("op")


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
