"""The conflicts of rows that a merge found, kept under the id of its plan until it is settled."""

import pyarrow as pa

from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.base.metadata_copy import publish_once
from branch_console.storage.file_io import FileReader
from branch_console.storage.table_paths import TablePaths


def publish_row_conflicts(
    store: CommitStore, paths: TablePaths, plan_id: str, conflicts: pa.Table
) -> None:
    """Keep conflicts; those of one plan are the same whenever they are looked for."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_file(sink, conflicts.schema, options=options) as writer:
        writer.write_table(conflicts)
    publish_once(store, paths.row_conflicts(plan_id), sink.getvalue().to_pybytes())


def find_row_conflicts(files: FileReader, paths: TablePaths, plan_id: str) -> pa.Table | None:
    """Return the conflicts kept for a plan; None if no run has compared its rows yet."""
    kept = files.find(paths.row_conflicts(plan_id))
    if kept is None:
        return None
    with pa.ipc.open_file(pa.py_buffer(kept)) as reader:
        found = reader.read_all()
    if "is_choice" not in found.column_names:
        # An earlier release did not say who settled a conflict, a person or a rule.
        found = found.append_column("is_choice", pa.nulls(found.num_rows, pa.bool_()))
    return found
