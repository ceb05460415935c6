"""Answers of queries, kept as Parquet files beside the jobs: what a page shows of one later.

The rows are an ordinary file that any program reads; what else is known of the answer stands in its
metadata.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from branch_console.errors import ErrorKind, FormatError, NotFound
from branch_console.jobs.kept_files import forget_oldest, unfinished
from branch_console.jobs.progress import JobState, JobView
from branch_console.sql.answer import Answer, StateRead
from branch_console.sql.statement import QUERY

_ABOUT: Final = b"branch-console"
_KEPT: Final = 100
_ROWS_A_GROUP: Final = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptAnswers:
    """The answers in a folder; the newest are kept."""

    folder: Path

    def keep(self, operation_id: str, answer: Answer) -> None:
        """Keep an answer, whole or not at all, and forget the oldest ones."""
        layout = answer.rows.schema.remove_metadata()
        about = {
            "has_more": answer.has_more,
            "plan": answer.plan,
            "reads": [asdict(each) for each in answer.reads],
            "notes": list(answer.notes),
            "judged": list(answer.judged),
            "started_millis": answer.started_millis,
            "finished_millis": answer.finished_millis,
            # Parquet gives the parts of a map other names.
            "schema": b64encode(layout.serialize().to_pybytes()).decode(),
        }
        rows = answer.rows.replace_schema_metadata({_ABOUT: json.dumps(about).encode()})
        with unfinished(self.path(operation_id)) as draft:
            pq.write_table(rows, draft, row_group_size=_ROWS_A_GROUP)
        forget_oldest(self.folder, "*.parquet", _KEPT)

    def read(self, operation_id: str, *, most: int | None = None) -> Answer:
        """Return an answer.

        Args:
            operation_id: The query.
            most: How many rows are read; all if left out. `has_more` tells of what the query left
                out, not of this.

        Raises:
            NotFound: It was never kept, or is forgotten.
            FormatError: The file is no answer.
        """
        path = self.path(operation_id)
        try:
            with pq.ParquetFile(path) as file:
                about = json.loads((file.schema_arrow.metadata or {})[_ABOUT])
                rows = _first_rows(file, most).replace_schema_metadata(None)
            return _answer_of(rows, about)
        except FileNotFoundError as error:
            raise NotFound(
                "The rows of this query are not kept any more. Run it again.",
                kind=ErrorKind.FILE_NOT_FOUND,
                operation_id=operation_id,
            ) from error
        except (pa.ArrowException, OSError, ValueError, TypeError, KeyError) as error:
            raise FormatError(
                f"{path} holds no answer of a query: {error}. Run the query again.", path=str(path)
            ) from error

    def path(self, operation_id: str) -> Path:
        """The file of an answer."""
        name = "".join(each for each in operation_id if each.isalnum() or each in "-_")
        return self.folder / f"{name}.parquet"


def _answer_of(rows: pa.Table, about: Mapping[str, Any]) -> Answer:
    # An earlier release kept no schema.
    if "schema" in about:
        rows = rows.cast(pa.ipc.read_schema(pa.py_buffer(b64decode(about["schema"]))))
    return Answer(
        rows=rows,
        has_more=bool(about["has_more"]),
        plan=str(about["plan"]),
        reads=tuple(StateRead(**each) for each in about["reads"]),
        notes=tuple(about["notes"]),
        judged=tuple(about.get("judged", ())),  # an earlier release kept none
        started_millis=int(about["started_millis"]),
        finished_millis=int(about["finished_millis"]),
    )


def no_answer(job: JobView) -> NotFound:
    """Return the error for a job whose rows were asked for and are not kept."""
    if not job.state.is_over:
        why = f"Job {job.id} has not ended: it is {job.state}. Ask again once it is done."
    elif job.state is not JobState.DONE:
        why = f"Job {job.id} ended without rows ({job.state}). {job.message}".rstrip()
    elif job.name != QUERY:
        why = f"Job {job.id} was no query, so that there are no rows of it: {job.statement}."
    else:
        why = "The rows of this query are not kept any more. Run it again."
    return NotFound(why, kind=ErrorKind.FILE_NOT_FOUND, operation_id=job.id)


def _first_rows(file: pq.ParquetFile, most: int | None) -> pa.Table:
    if most is None:
        return file.read()
    batches, count = [], 0
    for batch in file.iter_batches(batch_size=max(1, most)):
        batches.append(batch)
        count += batch.num_rows
        if count >= most:
            break
    return pa.Table.from_batches(batches, file.schema_arrow).slice(0, most)
