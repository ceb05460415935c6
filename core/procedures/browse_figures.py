"""Rows of heads and snapshots, as far as metadata tells them."""

from typing import TYPE_CHECKING

from core.diff.row_figure import RowFigure, snapshot_figure
from core.errors import PaimonError
from core.format.read_branches import rows_elsewhere
from core.format.snapshot import Snapshot
from core.format.table_schema import TableSchema
from core.table.file_store_table import FileStoreTable

if TYPE_CHECKING:
    import pyarrow as pa


def head_figure(table: FileStoreTable, head: Snapshot | None, schema: TableSchema) -> RowFigure:
    """Return the rows of the head of a branch; a broken index manifest leaves an upper bound."""
    told = snapshot_figure(head, schema, table.branch)
    if told.most_rows is None:
        return told
    # Most heads have no deletion vector, and wait for nothing that reads one.
    from core.diff.file_figures import state_figure  # noqa: PLC0415

    try:
        return state_figure(head, schema, table.branch, table.index_entries)
    except PaimonError:
        # A list shows what can be told; whoever reads the rows is told what is broken.
        return told


def figure_of_files(
    table: FileStoreTable, snapshot: Snapshot, files: "pa.Table", schema: TableSchema
) -> RowFigure:
    """Return the rows of a snapshot.

    Args:
        table: The table on the branch of the snapshot.
        snapshot: The snapshot.
        files: All its live files, with the columns of MANIFEST_ENTRY.
        schema: What it is read with.

    Raises:
        FormatError: The index manifest cannot be decoded.
    """
    from core.diff.file_figures import files_figure  # noqa: PLC0415 - as above

    # Which branches a read takes rows from, the newest schema says, also of an old snapshot.
    if rows_elsewhere(table.schema(), table.branch) is not None:
        return RowFigure(rows=None, records=snapshot.total_record_count)
    return files_figure(files, table.index_entries(snapshot), schema, table.branch)
