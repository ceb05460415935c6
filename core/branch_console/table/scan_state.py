"""The state of a table that dynamic options name."""

from dataclasses import replace

from branch_console.format.scan_options import (
    BETWEEN,
    ScanOptions,
    check_scan_mode,
    unfit_option,
    with_options_of_table,
)
from branch_console.table.changes_between import changes_between
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.table_state import ChangedState, ReadState


def state_asked(table: FileStoreTable, options: ScanOptions) -> ReadState | ChangedState:
    """Return the state that options of a read or of the table name, or else the head.

    A snapshot is read as it was, the head and changes under the newest schema.

    Args:
        table: The table on the branch that is read.
        options: The options; their branch has been opened.

    Returns:
        The state, with the other branch that the options read along; or the changes between two.

    Raises:
        NotFound: There is no such tag or snapshot, or all snapshots are later.
        FormatError: Metadata is missing or broken.
        InvalidInput: The options cannot be honoured.
    """
    schema = table.schema()
    own = with_options_of_table(options, schema.options, table.branch)
    if own.between is not None:
        if options.fallback is not None:
            raise unfit_option(
                f"The option {own.between.option!r} reads changes, which are read of one branch, "
                f"and {str(options.fallback.order)!r} names another one. Give one of them.",
                options.fallback.order,
            )
        check_scan_mode(schema.options, own.between)
        return changes_between(
            table,
            schema,
            own.between,
            own.change_mode,
            tags_are_snapshots=own.tags_are_snapshots or False,
        )
    if options.how is not None:
        raise unfit_option(
            f"The option {options.how!r} says how changes are read, and no option names any. Add "
            f"{BETWEEN!r}, or leave it out.",
            options.how,
        )
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
