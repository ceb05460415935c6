"""The state of a table that dynamic options name."""

from dataclasses import replace

from core.format.scan_options import ScanOptions, options_of_table
from core.table.file_store_table import FileStoreTable
from core.table.table_state import ReadState


def state_asked(table: FileStoreTable, options: ScanOptions) -> ReadState:
    """Return the state that options of a read or of the table name, or else the head.

    A snapshot is read as it was, the head as it is.

    Args:
        table: The table on the branch that is read.
        options: The options; their branch has been opened.

    Returns:
        The state, with the other branch that the options read along.

    Raises:
        NotFound: There is no such tag or snapshot, or all snapshots are later.
        FormatError: Metadata is missing or broken.
    """
    own = options
    if not options.travels:
        # What the table's options name holds for reads that name no state themselves.
        own = options_of_table(table.schema().options, table.branch)
    state = _own_state(table, own)
    if options.fallback is None or options.fallback.branch == state.table.branch:
        return state
    return replace(state, fallback=options.fallback)


def _own_state(table: FileStoreTable, options: ScanOptions) -> ReadState:
    if options.snapshot_id is not None:
        return ReadState.as_it_was(table, table.snapshots.get(options.snapshot_id))
    if options.tag is not None:
        return ReadState.as_it_was(table, table.tags.get(options.tag).snapshot)
    if options.travels:
        found = table.state_for(options.version, timestamp_millis=options.time_millis)
        state = ReadState.as_it_was(*found)
        asked = options.time_millis
        return state if asked is None else replace(state, past_millis=asked)
    return ReadState.as_it_is(table)
