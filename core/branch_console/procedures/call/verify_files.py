"""Looking at the data files that a procedure makes readable, before it does."""

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.diff.changes.file_history import entry_difference
from branch_console.diff.history_move import count
from branch_console.errors import ErrorKind, FormatError, Refused
from branch_console.format.manifest_entry import FileKind
from branch_console.format.snapshot import Snapshot
from branch_console.procedures.call.row_engine import Progress, RowEngine
from branch_console.table.data_file_paths import data_file_paths
from branch_console.table.file_checks import FILES_TO_VERIFY
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.unshared_manifests import unshared_entries

_SHOWN_PROBLEMS = 3


def verify(rows: RowEngine, files: pa.Table, whose: str, progress: Progress) -> int:
    """Have the row engine look at data files.

    Args:
        rows: The engine.
        files: Columns of FILES_TO_VERIFY.
        whose: The owner of the files, as the end of "data files of …".
        progress: Told files done and all files.

    Returns:
        How many there are.

    Raises:
        Refused: A file is missing or not what the manifests say; nothing was changed.
    """
    if not files.num_rows:
        return 0
    problems = rows.verify_files(files, progress)
    if problems.num_rows:
        shown = "; ".join(
            f"{each['path']}: {each['problem']}"
            for each in problems.slice(0, _SHOWN_PROBLEMS).to_pylist()
        )
        are = "is" if problems.num_rows == 1 else "are"
        raise Refused(
            f"{problems.num_rows:,} of {count(files.num_rows, 'data file')} of {whose} {are} not "
            f"what its manifests say: {shown} Nothing was changed. Restore the files first.",
            kind=ErrorKind.FILES_MISSING,
            files=problems["path"].to_pylist()[:100],
        )
    return int(files.num_rows)


def arriving_files(
    incoming: FileStoreTable, wanted: Snapshot | None, head: Snapshot | None
) -> pa.Table:
    """Data files of a snapshot that the head of its target does not hold.

    Args:
        incoming: The table on the branch of the snapshot.
        wanted: The snapshot.
        head: The head of the branch that gets it; None if that has none.

    Returns:
        Columns of FILES_TO_VERIFY.
    """
    if wanted is None:
        return FILES_TO_VERIFY.empty_table()
    try:
        entries = unshared_entries(incoming.scan, incoming.paths, (head, wanted))
    except FormatError:
        # A head of which manifests are gone is what people go back from: all files are looked at.
        entries = unshared_entries(incoming.scan, incoming.paths, (None, wanted))
    if not entries.manifests_read:
        return FILES_TO_VERIFY.empty_table()
    changes = entry_difference(*entries.sides)
    files = changes.filter(pc.equal(changes["kind"], int(FileKind.ADD)))
    return pa.table(
        [
            data_file_paths(incoming, files),
            files["file_size"].cast(pa.int64()),
            files["row_count"].cast(pa.int64()),
        ],
        schema=FILES_TO_VERIFY,
    )
