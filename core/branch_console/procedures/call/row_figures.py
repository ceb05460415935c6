"""Rows of heads and snapshots, as far as metadata tells them or a job has counted them."""

import hashlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from branch_console.diff.rows.row_figure import RowCounts, RowFigure, snapshot_figure
from branch_console.errors import PaimonError
from branch_console.format.identifier import Identifier
from branch_console.format.read_branches import rows_elsewhere
from branch_console.format.snapshot import Snapshot
from branch_console.format.table_schema import TableSchema
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.table.file_store_table import FileStoreTable

if TYPE_CHECKING:
    import pyarrow as pa


_VERSION = 1
"""The version of kept results of two states: under a new number, old results are not used."""

ReadHead: TypeAlias = tuple[TableSchema, Snapshot | None]
"""A snapshot, None before the first commit, and the schema to read it with."""


BranchHead: TypeAlias = tuple[str, Snapshot | None]
"""A branch and its head, None before the first commit."""


def state_name(table: Identifier, snapshot: Snapshot, schema: TableSchema) -> str:
    """Return what the rows of a state are kept under; the same for the same content."""
    lists = snapshot.identity.manifest_lists
    content = [table.table_name, schema.fingerprint, snapshot.identity.uuid, *lists]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:32]


def counted_figure(
    warehouse: Warehouse,
    table: FileStoreTable,
    snapshot: Snapshot | None,
    schema: TableSchema,
    figure: RowFigure,
) -> RowFigure:
    """Return a figure with the rows that a job has counted, if metadata does not tell them.

    Args:
        warehouse: Knows what was counted.
        table: The table on the branch of the snapshot.
        snapshot: The snapshot; None before the first commit.
        schema: The schema to read with.
        figure: The figure from metadata.
    """
    if snapshot is None or figure.rows is not None or warehouse.counted is None:
        return figure
    # Rows of another branch may change while this snapshot stays.
    if not schema.primary_keys or rows_elsewhere(schema, table.branch) is not None:
        return figure
    rows = warehouse.counted.find_state(state_name(table.identifier, snapshot, schema))
    return figure if rows is None else replace(figure, rows=rows, most_rows=None)


def states_name(table: Identifier, before: ReadHead, after: ReadHead) -> str:
    """Return what is kept of the rows of two states under; the same for the same two contents."""
    content = [_VERSION, table.table_name, _content(before), _content(after)]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:32]


def _content(state: ReadHead) -> list[object]:
    schema, snapshot = state
    identity = None if snapshot is None else snapshot.identity
    return [
        schema.fingerprint,
        None if identity is None else [identity.uuid, *identity.manifest_lists],
    ]


def counted_change(
    warehouse: Warehouse, table: FileStoreTable, before: BranchHead, after: BranchHead
) -> RowCounts | None:
    """Return the rows by which two heads differ, None if nobody has counted them."""
    if warehouse.counted is None:
        return None
    heads: list[ReadHead] = []
    for branch, head in (before, after):
        schema = table.on(branch).schema()
        # As in `counted_figure`: an old count may be of other rows.
        if not schema.primary_keys or rows_elsewhere(schema, branch) is not None:
            return None
        heads.append((schema, head))
    return warehouse.counted.find(states_name(table.identifier, heads[0], heads[1]))


def head_figure(table: FileStoreTable, head: Snapshot | None, schema: TableSchema) -> RowFigure:
    """Return the rows of the head of a branch; a broken index manifest leaves an upper bound."""
    figure = snapshot_figure(head, schema, table.branch)
    if figure.most_rows is None:
        return figure
    # Most heads have no deletion vector, and wait for nothing that reads one.
    from branch_console.diff.file_figures import state_figure  # noqa: PLC0415

    try:
        return state_figure(head, schema, table.branch, table.index_entries)
    except PaimonError:
        # A list shows what can be told; whoever reads the rows is told what is broken.
        return figure


def figure_of_files(
    table: FileStoreTable, snapshot: Snapshot, files: "pa.Table", schema: TableSchema
) -> RowFigure:
    """Return the rows of a snapshot.

    Args:
        table: The table on the branch of the snapshot.
        snapshot: The snapshot.
        files: All its live files, with the columns of MANIFEST_ENTRY.
        schema: The schema to read with.

    Raises:
        FormatError: The index manifest cannot be decoded.
    """
    from branch_console.diff.file_figures import files_figure  # noqa: PLC0415 - as above

    # Which branches a read takes rows from, the newest schema says, also of an old snapshot.
    if rows_elsewhere(table.schema(), table.branch) is not None:
        return RowFigure(rows=None, records=snapshot.total_record_count)
    return files_figure(files, table.index_entries(snapshot), schema, table.branch)
