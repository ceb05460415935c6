"""Checks in Spark tasks that data files are what the manifests say of them.

Only listings and footers are read, never a row: a branch of a million files is checked in minutes,
and a fast-forward or merge can refuse before it makes a broken branch the main one.
"""

import io
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import orc

from branch_console.errors import NotFound, PaimonError
from branch_console.spark.session.arrow_frames import frame_of
from branch_console.spark.session.session import Progress, WarmSession
from branch_console.storage.file_io import FileContents, FileIO, FileReader
from branch_console.table.file_checks import FILE_PROBLEMS, FILES_TO_VERIFY

_FILES_PER_TASK: Final = 256
_MOST_TASKS: Final = 512
_READS_AT_ONCE: Final = 16


def verify_data_files(
    open_session: Callable[[], WarmSession],
    store: FileIO,
    files: pa.Table,
    progress: Progress = lambda done, total: None,
) -> pa.Table:
    """Compare data files with what the manifests say of them, in parallel.

    Args:
        open_session: Gives the session where the tasks run; few files need none.
        store: The store of the paths; tasks open it again.
        files: Columns of FILES_TO_VERIFY.
        progress: Called with files done and all files; what it raises stops the run.

    Returns:
        Columns of FILE_PROBLEMS by path; no row when all is well.
    """
    asked = files.select(FILES_TO_VERIFY.names).cast(FILES_TO_VERIFY)
    progress(0, asked.num_rows)
    if asked.num_rows == 0:
        return FILE_PROBLEMS.empty_table()
    # A store in memory lives in this process: no task could see it. And one task's share of files
    # is looked through here before Spark has planned a job.
    if store.scheme == "memory" or asked.num_rows <= _FILES_PER_TASK:
        found = _check_batch(store, asked)
    else:
        found = _check_in_tasks(open_session(), store, asked, progress)
    progress(asked.num_rows, asked.num_rows)
    return found.sort_by("path")


def _check_in_tasks(
    session: WarmSession, store: FileIO, files: pa.Table, progress: Progress
) -> pa.Table:
    tasks = min(_MOST_TASKS, max(session.parallelism, files.num_rows // _FILES_PER_TASK))

    def check(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from _check_batch(store, pa.Table.from_batches([batch])).to_batches()

    def tell(done: int, total: int | None) -> None:
        # The tasks that only spread the file names come first and are not counted.
        spreading = max(0, (total or 0) - tasks)
        checked = max(0, done - spreading) if (total or 0) >= tasks else 0
        progress(min(files.num_rows, files.num_rows * checked // tasks), files.num_rows)

    return session.run(
        lambda spark: (
            frame_of(spark, files)
            .repartition(tasks)
            .mapInArrow(check, "path string, problem string")
            .toArrow()
            .cast(FILE_PROBLEMS)
        ),
        description=f"verify {files.num_rows} data files",
        progress=tell,
    )


def _check_batch(store: FileReader, files: pa.Table) -> pa.Table:
    columns = (files[name].to_pylist() for name in FILES_TO_VERIFY.names)
    with ThreadPoolExecutor(_READS_AT_ONCE) as pool:
        found = pool.map(lambda file: _check(store, *file), zip(*columns, strict=True))
        problems = [row for row in found if row is not None]
    return pa.Table.from_pylist(problems, schema=FILE_PROBLEMS)


def _check(store: FileReader, path: str, size: int, row_count: int) -> dict[str, str] | None:
    try:
        status = store.status(path)
        if status is None or status.is_directory:
            return _problem(path, "The file is missing.")
        if status.size != size:
            text = f"It has {status.size} bytes, the manifest says {size}."
            return _problem(path, text)
        rows = _rows_in_footer(store, path, size)
    except NotFound:
        return _problem(path, "The file is missing.")
    except (PaimonError, pa.ArrowException, OSError) as error:
        return _problem(path, f"It cannot be read: {str(error).splitlines()[0].rstrip('.')}.")
    if rows is not None and rows != row_count:
        text = f"It has {rows} rows by its footer, the manifest says {row_count}."
        return _problem(path, text)
    return None


def _problem(path: str, problem: str) -> dict[str, str]:
    return {"path": path, "problem": problem}


def _rows_in_footer(store: FileReader, path: str, size: int) -> int | None:
    """Rows a columnar file says it has; None for a format that does not say."""
    if path.endswith(".parquet"):
        return int(pq.read_metadata(open_source(store, path, size)).num_rows)
    if path.endswith(".orc"):
        return int(orc.ORCFile(open_source(store, path, size)).nrows)
    return None


def open_source(store: FileContents, path: str, size: int) -> Any:
    """A data file as Arrow's readers take it; of remote ones only the asked ranges are fetched."""
    if store.is_local:
        return pa.OSFile(store.native_file(path))
    return pa.PythonFile(io.BufferedReader(_RangeFile(store, path, size)), mode="r")


class _RangeFile(io.RawIOBase):
    """A file of a store as Arrow reads it: only the ranges that are asked for are fetched."""

    def __init__(self, store: FileContents, path: str, size: int) -> None:
        self._store = store
        self._path = path
        self._size = size
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = start + offset
        return self._position

    def tell(self) -> int:
        return self._position

    def readinto(self, buffer: Any) -> int:
        length = min(len(buffer), self._size - self._position)
        data = self._store.read_range(self._path, self._position, length) if length > 0 else b""
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)
