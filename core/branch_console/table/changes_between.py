"""The snapshots whose changes lie between two states of a branch, as Paimon finds them.

Source: Paimon AbstractDataTableScan.createIncrementalStartingScanner, TimeTravelUtil,
IncrementalDeltaStartingScanner, IncrementalDiffStartingScanner.
"""

from dataclasses import replace
from typing import Final

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format import options as table_options
from branch_console.format.scan_options import (
    BETWEEN,
    BETWEEN_MODE,
    BETWEEN_TAGS,
    Between,
    ChangeMode,
    unfit_option,
)
from branch_console.format.snapshot import CommitKind, Snapshot
from branch_console.format.table_schema import TableSchema
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.table_state import ChangedState, ReadState

_LEFT_OUT: Final = {
    ChangeMode.DELTA: frozenset(CommitKind) - {CommitKind.APPEND},
    ChangeMode.CHANGELOG: frozenset({CommitKind.OVERWRITE}),
}


def changes_between(
    table: FileStoreTable,
    schema: TableSchema,
    between: Between,
    mode: ChangeMode | None,
    *,
    tags_are_snapshots: bool,
) -> ChangedState:
    """Find what is read of the changes between two states.

    Args:
        table: The table on the branch to which both belong.
        schema: The newest schema of the branch.
        between: Both states.
        mode: The source of changes; None if the options do not say.
        tags_are_snapshots: Whether tags name what was committed between their snapshots.

    Raises:
        NotFound: A snapshot has expired, or never was.
        InvalidInput: These are no two states of the branch, they stand in the wrong order, or the
            mode does not go with them.
        FormatError: Metadata is broken.
    """
    asked = mode or ChangeMode.AUTO
    if asked is ChangeMode.AUTO:
        # As in Paimon, AUTO reads changelog files if the table writes any, and else delta files.
        produces = schema.options.read(table_options.CHANGELOG_PRODUCER) != "none"
        asked = ChangeMode.CHANGELOG if produces else ChangeMode.DELTA
    own = ChangedState(table=table, schema=schema, mode=asked, asked=between.asked)
    if between.millis is not None:
        return _between_times(own, between, between.millis)
    # Tags are looked up before ids, as in Paimon (TimeTravelUtil).
    first, last = _tagged(table, between.start), _tagged(table, between.end)
    if first is None or last is None:
        return _between_ids(own, between)
    if tags_are_snapshots:
        if asked is ChangeMode.DIFF:
            raise unfit_option(
                f"The options {BETWEEN_TAGS!r} and {BETWEEN_MODE!r} = 'diff' contradict each "
                "other. Give one of them.",
                BETWEEN_TAGS,
            )
        _check_order(between, first.id, last.id)
        return _commits(own, first.id, last.id)
    if mode in (ChangeMode.DELTA, ChangeMode.CHANGELOG):
        raise unfit_option(
            f"Between tags Paimon compares both states, whatever {BETWEEN_MODE!r} says. For what "
            f"was committed between their snapshots add {BETWEEN_TAGS!r} = 'true'; else leave "
            f"{BETWEEN_MODE!r} out.",
            BETWEEN_MODE,
        )
    _check_order(between, first.id, last.id)
    return _diff(own, first, last)


def _between_ids(own: ChangedState, between: Between) -> ChangedState:
    ids = [_id(text) for text in (between.start, between.end)]
    first, last = ids
    if first is None or last is None:
        raise unfit_option(
            f"The option {BETWEEN!r} is '{between}', and these are neither two tags nor two "
            f"snapshot ids of branch {own.table.branch!r}. Name two of one kind.",
            BETWEEN,
        )
    _check_order(between, first, last)
    if first == last or own.table.snapshots.earliest_id() is None:
        return own
    if own.mode is ChangeMode.DIFF:
        snapshots = own.table.snapshots
        return _diff(own, snapshots.get(first), snapshots.get(last))
    return _commits(own, first, last)


def _between_times(own: ChangedState, between: Between, millis: tuple[int, int]) -> ChangedState:
    start, end = millis
    _check_order(between, start, end)
    snapshots = own.table.snapshots
    earliest_id, latest = snapshots.earliest_id(), snapshots.latest()
    if earliest_id is None or latest is None:
        return own
    earliest = snapshots.get(earliest_id)
    if start == end or start > latest.time_millis or end < earliest.time_millis:
        return own
    before, after = snapshots.at_time(start), snapshots.at_time(end) or latest
    if own.mode is ChangeMode.DIFF:
        return _diff(own, before or earliest, after)
    # A range excludes its start, so one that begins before the first commit begins at the id below.
    return _commits(own, earliest.id - 1 if before is None else before.id, after.id)


def _commits(own: ChangedState, start: int, end: int) -> ChangedState:
    """The commits after one snapshot, up to another one."""
    snapshots = own.table.snapshots
    earliest, latest = snapshots.earliest_id(), snapshots.latest_id()
    if earliest is None or latest is None or start < earliest - 1 or end > latest:
        there = "none" if earliest is None else f"those from {earliest} to {latest}"
        raise unfit_option(
            f"The changes from snapshot {start} to {end} cannot be told any more, or not yet: of "
            f"branch {own.table.branch!r} there are {there}. Choose a range within.",
            BETWEEN,
        )
    found = own.table.reader.map_parallel(snapshots.get, range(start + 1, end + 1))
    left_out = _LEFT_OUT[own.mode]
    return replace(
        own,
        snapshot=found[-1] if found else None,
        commits=tuple(each for each in found if each.commit_kind not in left_out),
    )


def _diff(own: ChangedState, before: Snapshot, after: Snapshot) -> ChangedState:
    """How one state differs from an earlier one."""
    if before.id == after.id:
        return own
    buckets = [
        ReadState.as_it_was(own.table, each).schema.options.read(table_options.BUCKET)
        for each in (before, after)
    ]
    if buckets[0] != buckets[1]:
        raise InvalidInput(
            f"Snapshot {before.id} has 'bucket' {buckets[0]} and snapshot {after.id} has "
            f"{buckets[1]}; Paimon compares no states with different numbers of buckets. Read the "
            f"changes of each commit instead: {BETWEEN_MODE!r} = 'delta' between snapshot ids.",
            kind=ErrorKind.UNSUPPORTED,
            option=BETWEEN,
        )
    return replace(own, mode=ChangeMode.DIFF, snapshot=after, before=before)


def _tagged(table: FileStoreTable, name: str) -> Snapshot | None:
    # A slash would make the name a path to another folder.
    tag = None if "/" in name else table.tags.find(name)
    return None if tag is None else tag.snapshot


def _check_order(between: Between, start: int, end: int) -> None:
    if start > end:
        first, last = between.names
        raise unfit_option(
            f"The option {between.option!r} is '{between}': {first} comes after {last}. Name the "
            "earlier one first.",
            between.option,
        )


def _id(text: str) -> int | None:
    # Nineteen digits may exceed Java's long.
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
