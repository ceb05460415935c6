"""The branch that each partition is read from, if an option names a second branch to read.

A batch read of a branch with `scan.fallback-branch` takes its own partitions, and missing ones from
the fallback branch. With `scan.primary-branch` the named branch is read first. A partition is read
from one branch only; a table without partition keys is read from one branch as a whole. Streaming
reads only the branch itself.
"""

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.errors import ErrorKind, InvalidInput, NotFound
from branch_console.format.data_types import with_nullable
from branch_console.format.read_branches import FallbackOrder, FallbackRule
from branch_console.format.table_schema import BucketMode, TableSchema
from branch_console.format.values.arrow_types import no_rows
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.table_state import ReadState

FALLBACK_PARTITION: Final = pa.schema(
    [
        pa.field("partition", pa.binary(), nullable=False),
        pa.field("branch", pa.string(), nullable=False),
        pa.field("file_count", pa.int64(), nullable=False),
        pa.field("row_count", pa.int64(), nullable=False),
    ]
)
"""A partition, as an encoded BinaryRow, with the branch that all its files are read from."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FallbackRead:
    """The sources of a batch read of a branch.

    Attributes:
        partitions: Columns of FALLBACK_PARTITION, the first branch's before the second's.
        problem: Why the second branch cannot be read along; then `partitions` is empty.
    """

    rule: FallbackRule
    partitions: pa.Table
    problem: str | None = None

    def from_branch(self, branch: str) -> pa.Table:
        """The partitions that are read from a branch."""
        return self.partitions.filter(pc.equal(self.partitions["branch"], branch))


def plan_fallback(
    rule: FallbackRule, branch: str, own_files: pa.Table, other_files: pa.Table
) -> FallbackRead:
    """Decide which partitions are read from which branch.

    Args:
        rule: The option that names the other branch.
        branch: The branch that is read.
        own_files: Its live files as a batch read sees them, with the columns of MANIFEST_ENTRY.
        other_files: The files of the other branch.

    References:
        Paimon FallbackReadFileStoreTable.FallbackReadScan.plan.
    """
    sides = [(branch, own_files), (rule.branch, other_files)]
    if rule.order is FallbackOrder.OTHER_FIRST:
        sides.reverse()
    first, second = (_by_partition(files, name) for name, files in sides)
    is_known = pc.is_in(second["partition"], value_set=first["partition"].combine_chunks())
    partitions = pa.concat_tables([first, second.filter(pc.invert(is_known))])
    return FallbackRead(rule=rule, partitions=partitions)


def row_type_problem(
    branch: str, schema: TableSchema, rule: FallbackRule, other: TableSchema
) -> str | None:
    """Say why two branches cannot be read as one; None if they can.

    Only the types count, by position and whether or not a column may be null; names do not.

    References:
        Paimon FallbackReadFileStoreTable.validateSchema.
    """
    own, others = (
        [with_nullable(field.type, True) for field in each.fields] for each in (schema, other)
    )
    if own == others:
        return None
    return (
        f"Batch reads of {branch!r} fail: its columns and those of {rule.branch!r}, which "
        f"{rule.order} names, differ in type. Make both schemas alike, or unset the option."
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BranchPart:
    """The part of a batch read from one branch: these partitions of a state."""

    state: ReadState
    partitions: frozenset[bytes]


def read_fallback(table: FileStoreTable, *, without: Collection[bytes] = ()) -> FallbackRead | None:
    """Return what a batch read of a branch takes from where; None if no option says anything.

    Args:
        table: The table on the branch.
        without: Partitions that the branch itself is taken not to have.

    Raises:
        NotFound: The branch has no schema.
        FormatError: Metadata of one of both branches is missing or broken.
    """
    state = ReadState.as_it_is(table)
    rule = _rule_of(state)
    if rule is None:
        return None
    problem = _problem(rule, state)
    if problem is not None:
        return FallbackRead(rule=rule, partitions=FALLBACK_PARTITION.empty_table(), problem=problem)
    other, own_files = ReadState.as_it_is(table.on(rule.branch)), _batch_files(state)
    if without:
        gone = pa.array(sorted(without), pa.binary())
        own_files = own_files.filter(pc.invert(pc.is_in(own_files["partition"], value_set=gone)))
    return plan_fallback(rule, table.branch, own_files, _batch_files(other))


def branch_parts(state: ReadState) -> tuple[BranchPart, ...] | None:
    """Return what a batch read of a state takes from each branch; None if it reads one branch.

    The other branch is read as it is with a head, and as it was at the time of an earlier state.

    Raises:
        NotFound: The other branch does not exist, or had no snapshot at that time.
        InvalidInput: The columns of both branches differ.
        FormatError: Metadata of one of both branches is missing or broken.
    """
    rule = _rule_of(state)
    if rule is None:
        return None
    problem = _problem(rule, state)
    if problem is not None:
        raise InvalidInput(problem, kind=ErrorKind.UNSUPPORTED, branch=rule.branch)
    other = state.along or _other_state(rule, state)
    read = plan_fallback(rule, state.table.branch, _batch_files(state), _batch_files(other))
    return tuple(
        BranchPart(
            state=each,
            partitions=frozenset(read.from_branch(each.table.branch)["partition"].to_pylist()),
        )
        for each in (state, other)
    )


def with_other_branch(state: ReadState) -> ReadState:
    """Return a state with that of the other branch that a batch read of it takes rows from.

    Whoever holds both snapshots then reads just these. What cannot be read along is left to
    `branch_parts`, which says why.

    Raises:
        FormatError: Metadata of the other branch is missing or broken.
    """
    rule = _rule_of(state)
    if rule is None or _problem(rule, state) is not None:
        return state
    with suppress(NotFound):
        return replace(state, along=_other_state(rule, state))
    return state


def _other_state(rule: FallbackRule, state: ReadState) -> ReadState:
    table = state.table.on(rule.branch)
    if state.past_millis is None:
        return ReadState.as_it_is(table)
    found = table.snapshot_for(timestamp_millis=state.past_millis)
    return ReadState.as_it_was(table, found)


def _rule_of(state: ReadState) -> FallbackRule | None:
    """The rule that the read itself names, or else the newest schema of the branch."""
    if state.fallback is not None:
        return state.fallback
    return FallbackRule.of(state.table.schema(), state.table.branch)


def _problem(rule: FallbackRule, state: ReadState) -> str | None:
    """Why the other branch cannot be read along."""
    try:
        other = state.table.on(rule.branch).schema()
    except NotFound:
        return (
            f"{rule.order} names branch {rule.branch!r}, which does not exist: Paimon reads on "
            "without it and only logs an error. Make the branch again, or unset the option."
        )
    return row_type_problem(state.table.branch, state.table.schema(), rule, other)


def _batch_files(state: ReadState) -> pa.Table:
    """The live files that a batch read sees; level 0 is left out where it cannot be merged yet."""
    snapshot, schema = state.snapshot, state.schema
    if snapshot is None:
        return _NO_FILES
    files = state.table.live_files(snapshot).select(_NO_FILES.column_names)
    if schema.primary_keys and schema.skips_level_0:
        files = files.filter(pc.greater(files["level"], 0))
    if schema.bucket_mode is BucketMode.POSTPONE_MODE:
        # What has no bucket yet waits for a compaction; nobody reads it before.
        files = files.filter(pc.greater_equal(files["bucket"], 0))
    return files


def _by_partition(files: pa.Table, branch: str) -> pa.Table:
    sums = files.group_by("partition", use_threads=False).aggregate(
        [("row_count", "count"), ("row_count", "sum")]
    )
    names = pa.array([branch] * sums.num_rows, pa.string())
    columns = [sums["partition"], names, sums["row_count_count"], sums["row_count_sum"]]
    return pa.table(columns, schema=FALLBACK_PARTITION)


_NO_FILES: Final = no_rows(
    pa.schema(
        [
            pa.field("partition", pa.binary(), nullable=False),
            pa.field("bucket", pa.int32(), nullable=False),
            pa.field("level", pa.int32(), nullable=False),
            pa.field("row_count", pa.int64(), nullable=False),
        ]
    )
)
