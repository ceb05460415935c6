"""Finding the data files that a state names and that its store lacks."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.diff.health.damage_rules import TrashPlace
from branch_console.errors import FormatError, PaimonError
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.manifest_entry import NO_FILES
from branch_console.format.snapshot import Snapshot
from branch_console.maintenance.trash import Trash, trash_operations
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.table.branch_manager import is_openable
from branch_console.table.data_file_paths import data_file_paths, index_file_paths
from branch_console.table.file_store_table import FileStoreTable


def find_missing_files(table: FileStoreTable, head: Snapshot) -> pa.Table:
    """Return the live files of a snapshot that are not there.

    Args:
        table: The table on the branch of the snapshot.
        head: The snapshot.

    Returns:
        Columns of MANIFEST_ENTRY, and `path`, where each should lie.

    Raises:
        FormatError: A manifest is missing or broken.
        StorageError: The store did not answer, so nothing is known.
    """
    live = table.live_files(head)
    paths = data_file_paths(table, live)
    files = table.reader.files
    folders = sorted({path.rpartition("/")[0] for path in paths.to_pylist()})
    listed = {
        f"{folder}/{name}"
        for folder, names in zip(
            folders, table.reader.map_parallel(files.names, folders), strict=True
        )
        for name in names
    }
    unlisted = [path for path in paths.to_pylist() if path not in listed]
    # A listing may leave a file out; rows go only if the file itself is not there.
    there = table.reader.map_parallel(files.exists, unlisted)
    missing = [path for path, exists in zip(unlisted, there, strict=True) if not exists]
    is_missing = pc.is_in(paths, value_set=pa.array(missing, pa.string()))
    return live.append_column("path", paths).filter(is_missing)


def find_missing_index_files(table: FileStoreTable, head: Snapshot) -> tuple[str, ...]:
    """Return the paths of the index files of a snapshot that are not there.

    Args:
        table: The table on the branch of the snapshot.
        head: The snapshot.

    Raises:
        FormatError: The index manifest is missing or broken.
        StorageError: The store did not answer, so nothing is known.
    """
    paths = sorted(index_file_paths(table, table.index_entries(head)))
    there = table.reader.map_parallel(table.reader.files.exists, paths)
    return tuple(path for path, exists in zip(paths, there, strict=True) if not exists)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrashedFiles:
    """Missing files that wait in the trash, from where undo brings them back.

    Attributes:
        paths: Their paths by the id of the cleaning that put them there, without cleanings that
            put none.
        unlisted: Where others lie in the trash of a cleaning whose list cannot be read, by their
            paths. No undo brings them back.
        errors: Why those lists cannot be read.
    """

    paths: Mapping[str, tuple[str, ...]]
    unlisted: Mapping[str, TrashPlace]
    errors: tuple[FormatError, ...]


def find_trashed(
    warehouse: Warehouse, table: FileStoreTable, missing: Iterable[str]
) -> TrashedFiles:
    """Return which missing files wait in the trash.

    Args:
        warehouse: The warehouse of the table.
        table: The table on any branch.
        missing: The paths of the files.

    Raises:
        StorageError: The store did not answer.
    """
    paths = sorted(missing)
    wanted = pa.array(paths, pa.string())
    found: dict[str, tuple[str, ...]] = {}
    unlisted: dict[str, TrashPlace] = {}
    errors: list[FormatError] = []
    for operation_id in trash_operations(table):
        trash = Trash(table=table, store=warehouse.store, operation_id=operation_id)
        try:
            held = trash.find()
        except FormatError as error:
            errors.append(error)
            places = table.reader.map_parallel(trash.holds, paths)
            unlisted |= {
                path: TrashPlace(folder=trash.folder, path=place)
                for path, place in zip(paths, places, strict=True)
                if place is not None
            }
            continue
        if held is None:
            continue
        listed = held["path"].filter(pc.is_in(held["path"], value_set=wanted))
        if len(listed):
            found[operation_id] = tuple(listed.to_pylist())
    return TrashedFiles(paths=found, unlisted=unlisted, errors=tuple(errors))


def branches_naming(table: FileStoreTable, missing: pa.Table) -> dict[str, int]:
    """Return how many of the files the head of each other branch names, without those of none.

    A branch that cannot be read is left out: it changes nothing, and the doctor tells of it.
    """
    names = missing["file_name"].combine_chunks()
    found = {}
    for branch in (MAIN_BRANCH, *table.branches.names()):
        if branch == table.branch or not is_openable(branch):
            continue
        try:
            other = table.on_listed(branch)
            head = other.head()
            live = NO_FILES if head is None else other.live_files(head)
        except PaimonError:
            continue
        found[branch] = int(pc.sum(pc.is_in(live["file_name"], value_set=names)).as_py() or 0)
    return {branch: number for branch, number in found.items() if number}
