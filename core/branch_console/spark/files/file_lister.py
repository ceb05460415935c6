"""Lists the folders of a large table in Spark tasks: what is young or named never leaves them."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

import numpy as np
import pyarrow as pa

from branch_console.errors import StorageError
from branch_console.format.folder_kind import FolderKind
from branch_console.maintenance.file_lister import LISTED_FILES, LocalLister, Wanted
from branch_console.spark.session.arrow_frames import frame_of
from branch_console.spark.session.session import WarmSession
from branch_console.storage.file_io import FileIO, FileReader

# Spark knows no unsigned numbers, and an error is an answer: raised, it would end as text.
_ANSWER: Final = pa.schema(
    [
        ("path", pa.string()),
        ("file_size", pa.int64()),
        ("kind", pa.string()),
        ("name", pa.int64()),
        ("error", pa.string()),
    ]
)
_IN_SPARK: Final = "path string, file_size bigint, kind string, name bigint, error string"
_LEAST_FOLDERS: Final = 256
_FOLDERS_PER_TASK: Final = 16
_MOST_TASKS: Final = 512


class SparkFileLister:
    """Implements `FileLister`; a near store, or few folders, it lists in this process.

    Args:
        open_session: Gives the session where the tasks run.
        store: The store of the paths; tasks open it again.
        least_folders: The fewest folders that tasks list; where left out, of a near store none.
    """

    def __init__(
        self,
        open_session: Callable[[], WarmSession],
        store: FileIO,
        least_folders: int | None = None,
    ) -> None:
        self._open_session = open_session
        self._store = store
        default = sys.maxsize if store.is_local else _LEAST_FOLDERS
        self._least_folders = default if least_folders is None else least_folders

    def list(
        self, files: FileReader, folders: Mapping[str, FolderKind], wanted: Wanted
    ) -> pa.Table:
        """Return the wanted files of some folders; raises StorageError."""
        # A store in memory lives in this process: no task could see it.
        if self._store.scheme == "memory" or len(folders) < self._least_folders:
            return LocalLister().list(files, folders, wanted)
        session, store = self._open_session(), self._store
        tasks = min(_MOST_TASKS, max(session.parallelism, len(folders) // _FOLDERS_PER_TASK))
        asked = pa.table({"path": [*folders], "kind": [str(kind) for kind in folders.values()]})

        def list_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                yield from _answer(store, batch, wanted).to_batches()

        found = session.run(
            lambda spark: (
                frame_of(spark, asked)
                .repartition(tasks)
                .mapInArrow(list_batches, _IN_SPARK)
                .toArrow()
            ),
            description=f"list {len(folders)} folders",
            progress=lambda _done, _total: None,
        )
        for error in found["error"].drop_null().to_pylist():
            raise StorageError(f"{error} No file was removed; try again.")
        names = pa.array(found["name"].to_numpy().view(np.uint64))
        columns = [found["path"], found["file_size"], found["kind"], names]
        return pa.Table.from_arrays(columns, schema=LISTED_FILES)


def _answer(store: FileReader, folders: pa.RecordBatch, wanted: Wanted) -> pa.Table:
    named = {
        path: FolderKind(kind)
        for path, kind in zip(folders["path"].to_pylist(), folders["kind"].to_pylist(), strict=True)
    }
    try:
        found = LocalLister().list(store, named, wanted)
    except StorageError as failure:
        return pa.Table.from_pylist([{"error": failure.message}], schema=_ANSWER)
    names = pa.array(found["name"].to_numpy().view(np.int64))
    error = pa.nulls(found.num_rows, pa.string())
    columns = [found["path"], found["file_size"], found["kind"], names, error]
    return pa.Table.from_arrays(columns, schema=_ANSWER)
