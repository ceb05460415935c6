"""The net effect of one side's commits on rows.

Rows that a side added and deleted again were never there for the other side. And what a delete or
a compaction writes again holds rows that were there before: it brings none.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from typing import Final

import pyarrow as pa

from branch_console.diff.changes.file_history import FileHistory, Step, keys_of
from branch_console.diff.file_masks import MaskKey, Masks
from branch_console.diff.table_operation import TableOperation

# Commits that changed none but rows of their own side have only added rows.
_OF_OWN_ROWS: Final = frozenset({TableOperation.DELETE, TableOperation.UPDATE})


def net_steps(steps: Sequence[Step], log: FileHistory, base_log: FileHistory) -> tuple[Step, ...]:
    """Return the commits of a side with what they came to: one that changed own rows inserts.

    A commit that may have replaced a partition stays what it is, as a guess must drop no change.

    Args:
        steps: The commits of the side since the base, oldest first.
        log: The side since the root.
        base_log: The base since the root.
    """
    if all(step.operation not in _OF_OWN_ROWS for step in steps):
        return tuple(steps)
    keys = {**dict(keys_of(base_log.entries)), **dict(keys_of(log.entries))}
    came = frozenset[str]().union(*(step.added for step in steps))
    # A file of the base that is brought back holds rows of the base.
    new = log.new_files(came) - base_log.added - base_log.came - base_log.received
    own: set[str] = set()
    own_keys: set[MaskKey] = set()
    found = []
    for step in steps:
        added_keys = {keys[each] for each in step.added}
        if step.removed <= own and step.masked <= own_keys | added_keys:
            fresh = step.added & new
            own |= fresh
            own_keys |= {keys[each] for each in fresh}
            if step.operation in _OF_OWN_ROWS and not step.may_be_overwrite:
                found.append(replace(step, operation=TableOperation.INSERT))
                continue
        found.append(step)
    return tuple(found)


def fully_hidden(files: pa.Table, masks: Masks) -> frozenset[str]:
    """Return the files of which all rows are hidden, by identity.

    Args:
        files: Columns of MANIFEST_ENTRY.
        masks: The hidden rows of files.
    """
    if not masks:
        return frozenset()
    counts = files["row_count"].to_pylist()
    return frozenset(
        identity
        for (identity, key), rows in zip(keys_of(files), counts, strict=True)
        if key in masks and len(masks[key].after) >= rows
    )


def files_with_new_rows(
    added: Set[str],
    steps: Iterable[Step],
    files_of: Callable[[Iterable[str]], pa.Table],
    masks: Masks,
) -> frozenset[str]:
    """Return the files of a side that may hold rows which the base lacks, by identity.

    A file that a delete left holds rows of the files that it was made of. If a delete is only
    guessed from the files, their numbers of nulls must agree: it may have updated rows besides.

    Args:
        added: Files that hold what the side wrote since the base, as it was written.
        steps: The commits of the side since the base, oldest first.
        files_of: Looks up the entries of files, with the columns of MANIFEST_ENTRY.
        masks: The rows of files that the side hides.
    """
    wrote = set(added)
    for step in steps:
        is_left = step.operation is TableOperation.DELETE and step.merges is None
        if not is_left or not wrote.isdisjoint(step.removed):
            wrote |= step.added
        elif not step.is_inferred or _adds_no_null(step, files_of):
            wrote -= step.added
    files = files_of(wrote & added)
    counts = (files[name].to_pylist() for name in ("identity", "row_count", "delete_row_count"))
    have_rows = {each for each, rows, gone in zip(*counts, strict=True) if rows > (gone or 0)}
    return frozenset(have_rows) - fully_hidden(files, masks)


def _adds_no_null(step: Step, files_of: Callable[[Iterable[str]], pa.Table]) -> bool:
    """Whether what a commit wrote has no more nulls in any column than what it removed."""
    came, went = (_null_counts(files_of(files)) for files in (step.added, step.removed))
    if came is None or went is None or came.keys() != went.keys():
        return False
    return all(number <= went[column] for column, number in came.items())


def _null_counts(files: pa.Table) -> Mapping[object, int] | None:
    """How many nulls files have, by what tells a column from others; None if not all know."""
    found: dict[object, int] = {}
    names = ("schema_id", "value_stats_cols", "value_stats")
    for schema_id, columns, stats in zip(*(files[name].to_pylist() for name in names), strict=True):
        counts = stats["null_counts"]
        if not counts or None in counts:
            return None
        for at, number in enumerate(counts):
            column = (schema_id, tuple(columns or ()), at)
            found[column] = found.get(column, 0) + number
    return found
