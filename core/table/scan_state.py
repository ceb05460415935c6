"""The state of a table that dynamic options name."""

from core.format.scan_options import ScanOptions
from core.table.file_store_table import FileStoreTable
from core.table.table_state import ReadState


def state_asked(table: FileStoreTable, options: ScanOptions) -> ReadState:
    """Return the state that options name: a snapshot as it was, or the head as it is.

    Args:
        table: The table on the branch that is read.
        options: The options; their branch has been opened.

    Raises:
        NotFound: There is no such tag or snapshot, or all snapshots are later.
        FormatError: Metadata is missing or broken.
    """
    if options.snapshot_id is not None:
        return ReadState.as_it_was(table, table.snapshots.get(options.snapshot_id))
    if options.tag is not None:
        return ReadState.as_it_was(table, table.tags.get(options.tag).snapshot)
    if options.travels:
        found = table.state_for(options.version, timestamp_millis=options.time_millis)
        return ReadState.as_it_was(*found)
    return ReadState.as_it_is(table)
