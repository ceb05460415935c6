"""The files of a table that no branch, tag or changelog refers to, and their removal."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from branch_console.commit.base.read_holds import read_holds
from branch_console.commit.journal import Journal
from branch_console.commit.rows.staged_results import staged_results
from branch_console.diff.expiry.orphans import is_paimons_file, written_before
from branch_console.errors import ErrorKind, FormatError
from branch_console.format.folder_kind import FolderKind
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.journals.expiry import CLEANING, CLEANING_JOURNAL
from branch_console.format.options import CHANGELOG_FILE_PREFIX, DATA_FILE_PREFIX
from branch_console.format.table_schema import TableSchema
from branch_console.maintenance.file_lister import Prints, Wanted, folders_of
from branch_console.maintenance.named_files import (
    DATA_RANK,
    INDEX_RANK,
    MANIFEST_RANK,
    RELEASED_FILES,
    STATISTICS_RANK,
    lists_of,
    read_named_files,
)
from branch_console.maintenance.references import Reference, broken_branch, list_references
from branch_console.maintenance.release import (
    find_release_list,
    forget_release_list,
    listed_releases,
)
from branch_console.maintenance.trash import Trash, trash_operations
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.maintenance.release_files import (
    ReferenceKey,
    Released,
    check_readable,
    find_other_operation,
    find_released,
    named_paths,
    reference_key,
    remove_released,
)
from branch_console.procedures.run.open_operation import Operation
from branch_console.table.file_columns import name_prints
from branch_console.table.file_store_table import FileStoreTable

_RANKS: Final = {
    FolderKind.BUCKET: DATA_RANK,
    FolderKind.INDEX: INDEX_RANK,
    FolderKind.STATISTICS: STATISTICS_RANK,
    FolderKind.MANIFEST: MANIFEST_RANK,
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Orphans:
    """The orphan files found in the folders of a table.

    Attributes:
        files: The files, with the columns of RELEASED_FILES, by path.
        unknown: Old files with names that Paimon never gives; they stay.
    """

    files: pa.Table
    unknown: tuple[str, ...] = ()


def find_orphans(
    warehouse: Warehouse, table: FileStoreTable, older_than_millis: int, own: str
) -> Orphans:
    """Find the files that nothing names.

    Args:
        warehouse: The warehouse of the table.
        table: The table on any branch.
        older_than_millis: Only files that were written before this time are looked at.
        own: The operation that asks.

    Raises:
        FormatError: A branch has no schema, or a reference cannot be read: what the table needs is
            not known.
    """
    before = written_before(older_than_millis, _open_since(warehouse, table, own))
    schemas = _schemas(table)
    references = list_references(table)
    wanted = Wanted(before_millis=before, named=_named_prints(table, references))
    files = warehouse.lister.list(warehouse.store.files, folders_of(table, schemas), wanted)
    # What commits named while the folders were listed is seen now.
    known = set(map(reference_key, references))
    fresh = [each for each in list_references(table) if reference_key(each) not in known]
    kinds = dict(zip(files["path"].to_pylist(), files["kind"].to_pylist(), strict=True))
    left = without_named(table, _released(files).sort_by("path"), fresh)
    prefixes = tuple(
        {
            each.options.read(option)
            for each in schemas
            for option in (DATA_FILE_PREFIX, CHANGELOG_FILE_PREFIX)
        }
    )
    is_ours = [
        is_paimons_file(FolderKind(kinds[path]), path.rpartition("/")[2], prefixes)
        for path in left["path"].to_pylist()
    ]
    ours = pa.array(is_ours, pa.bool_())
    return Orphans(
        files=left.filter(ours), unknown=tuple(left["path"].filter(pc.invert(ours)).to_pylist())
    )


def without_named(
    table: FileStoreTable, files: pa.Table, references: Sequence[Reference]
) -> pa.Table:
    """Leave out of files those that some references name at all, be it as deleted.

    Raises:
        FormatError: A reference leads to a file that is missing or broken.
    """
    if not references or not files.num_rows:
        return files
    named = pa.array(_named_prints(table, references))
    return files.filter(pc.invert(pc.is_in(files["name"], value_set=named)))


def _named_prints(table: FileStoreTable, references: Sequence[Reference]) -> Prints:
    """The numbers of all names that references name, rising; of data files and of metadata.

    By name, wherever a file lies: an option puts index files beside data files.
    """
    named = [lists_of(each) for each in references]
    try:
        read = read_named_files(table, named)
    except FormatError:
        check_readable(table, references)
        raise
    metadata = [path.rpartition("/")[2] for path in named_paths(table, read, named)]
    prints = name_prints(pa.chunked_array([pa.array(metadata, pa.string())]))
    return np.unique(np.concatenate([read.columns["name"].to_numpy(), prints]))


def waiting_cleanings(
    warehouse: Warehouse, table: FileStoreTable
) -> Mapping[str, tuple[int, pa.Table]]:
    """Return the files of earlier cleanings that wait, and from when on they may go.

    Undo lets go of them until then.
    """
    journal = Journal(warehouse.store, table.paths)
    found = {}
    for operation_id in listed_releases(table):
        end, intent = journal.end_of(operation_id), journal.find(operation_id)
        if end is None or intent is None or intent.procedure != CLEANING:
            continue
        files = find_release_list(table, warehouse.store, operation_id)
        if files is not None:
            grace = journal.decode(intent, CLEANING_JOURNAL).grace_millis
            found[operation_id] = (end.time_millis + grace, files)
    return found


def without_waiting(files: pa.Table, waiting: Sequence[pa.Table]) -> pa.Table:
    """Leave out of orphans those that earlier cleanings noted."""
    noted = pa.array([path for each in waiting for path in each["path"].to_pylist()], pa.string())
    return files.filter(pc.invert(pc.is_in(files["path"], value_set=noted)))


def full_trash(warehouse: Warehouse, table: FileStoreTable, now_millis: int) -> tuple[str, ...]:
    """Return the cleanings whose files have waited in the trash for as long as they were to."""
    journal = Journal(warehouse.store, table.paths)
    due = []
    for operation_id in trash_operations(table):
        end, intent = journal.end_of(operation_id), journal.find(operation_id)
        if end is not None and intent is not None and intent.procedure == CLEANING:
            keep = journal.decode(intent, CLEANING_JOURNAL).trash_keep_millis
            if now_millis >= end.time_millis + keep:
                due.append(operation_id)
    return tuple(due)


def release_orphans(
    operation: Operation, cleanings: Collection[str], trash: Trash | None
) -> Released:
    """Let the files go that cleanings noted, as far as nothing names them.

    Going on after a crash is no different.

    Args:
        operation: The operation that releases them.
        cleanings: Cleanings whose grace is over.
        trash: The trash in which the files wait; None removes them.

    Raises:
        FormatError: The files that the table needs are not known, so nothing is removed.
    """
    table, store = operation.table, operation.warehouse.store
    if not cleanings:
        return Released()
    done = find_released(operation)
    if done is None:
        own = operation.intent.operation_id
        other = find_other_operation(operation.warehouse, table, own)
        if other is not None:
            return Released(waits_for=other)
        done = _remove_noted(operation, cleanings, trash)
    for each in cleanings:
        forget_release_list(table, store, each)
    return done


def _remove_noted(
    operation: Operation, cleanings: Collection[str], trash: Trash | None
) -> Released:
    table, store = operation.table, operation.warehouse.store
    noted = [
        files for each in cleanings if (files := find_release_list(table, store, each)) is not None
    ]
    known: set[ReferenceKey] = set()

    def look_again(left: pa.Table) -> pa.Table:
        fresh = [each for each in list_references(table) if reference_key(each) not in known]
        known.update(map(reference_key, fresh))
        return without_named(table, left, fresh)

    listed = pa.concat_tables([RELEASED_FILES.empty_table(), *noted]).combine_chunks()
    return remove_released(operation, listed, look_again, trash=trash)


def _open_since(warehouse: Warehouse, table: FileStoreTable, own: str) -> Iterator[int]:
    journal = Journal(warehouse.store, table.paths)
    for intent in journal.open_intents().readable:
        if intent.operation_id != own:
            yield intent.time_millis
    for hold in read_holds(table, warehouse.clock()):
        yield hold.since_millis
    for staged in staged_results(warehouse.store.files, table.paths):
        yield staged.time_millis


def _schemas(table: FileStoreTable) -> tuple[TableSchema, ...]:
    found: list[TableSchema] = []
    for name in (MAIN_BRANCH, *table.branches.names()):
        try:
            schemas = table.on_listed(name).schemas.all()
        except FormatError as error:
            raise broken_branch(table, name, error) from error
        if not schemas:
            half_made = FormatError(
                "It has no schema: it is half made or half dropped. Where it came from main, run "
                "branch-console repair-branch.",
                kind=ErrorKind.SCHEMA_NOT_FOUND,
                branch=name,
            )
            raise broken_branch(table, name, half_made)
        found += schemas
    return tuple(found)


def _released(listed: pa.Table) -> pa.Table:
    ranks = [_RANKS[FolderKind(kind)] for kind in listed["kind"].to_pylist()]
    columns = [listed["path"], listed["file_size"], pa.array(ranks, pa.int8()), listed["name"]]
    return pa.Table.from_arrays(columns, schema=RELEASED_FILES)
