"""Files of branches that cannot be decoded, as the doctor names them."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from branch_console.diff.health.broken_rules import BrokenFile, BrokenKind
from branch_console.errors import ErrorKind, PaimonError
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.maintenance.references import branch_of_error
from branch_console.procedures.browse.health_facts import Unchecked
from branch_console.procedures.history.share_pins import SHARE_PIN_PREFIX
from branch_console.procedures.history.whole_copies import WholeCopies
from branch_console.storage.table_paths import (
    BASE_TAG_PREFIX,
    CHANGELOG_PREFIX,
    CONSUMER_PREFIX,
    EARLIEST,
    FENCE_ID,
    LATEST,
    SCHEMA_PREFIX,
    SNAPSHOT_PREFIX,
    TAG_PREFIX,
    TablePaths,
)
from branch_console.table.branch_manager import is_openable
from branch_console.table.file_store_table import FileStoreTable

_HINTS: Final = (LATEST, EARLIEST)
_NEEDED_TAGS: Final = (BASE_TAG_PREFIX, SHARE_PIN_PREFIX)


def read_broken_files(
    table: FileStoreTable, unchecked: Iterable[Unchecked]
) -> tuple[BrokenFile, ...]:
    """Return the files of branches among what could not be checked, main first, each once.

    What another release wrote is none of them, and what the store did not let be read is not known
    to be broken.

    Args:
        table: The table on any branch.
        unchecked: What could not be read.

    Raises:
        StorageError: The store did not answer.
    """
    copies = WholeCopies(table)
    found: dict[str, BrokenFile] = {}
    for each in unchecked:
        path = str(each.error.facts.get("path", ""))
        branch = branch_of_error(table, each.error) or MAIN_BRANCH
        if each.error.kind is ErrorKind.BROKEN_FILE and path not in found:
            paths = table.paths.on(branch)
            if (named := _kind_of(paths, path)) is not None:
                kind, name = named
                found[path] = BrokenFile(
                    branch=branch, kind=kind, name=name, path=path, message=each.error.message
                )
    branches = dict.fromkeys(each.branch for each in found.values())
    whole = {one.path for branch in branches for one in copies.of_branch(branch)}
    marked = [
        replace(each, has_copy=each.path in whole, id_before=_id_before(table, each))
        for each in found.values()
    ]
    return tuple(sorted(marked, key=lambda each: (each.branch != MAIN_BRANCH, each.branch)))


def _id_before(table: FileStoreTable, broken: BrokenFile) -> int | None:
    """Return the id before the newest snapshot of a branch, given that one; else None."""
    if broken.kind is not BrokenKind.SNAPSHOT:
        return None
    *older, newest = table.on_listed(broken.branch).snapshots.ids() or (0,)
    return older[-1] if older and broken.name == str(newest) else None


def find_folders(table: FileStoreTable) -> tuple[Unchecked, ...]:
    """Find folders that have the name of a file: listings leave them out, and engines fail there.

    Five folders of each branch are listed, in parallel where the store is far away.

    Args:
        table: The table on any branch.

    Returns:
        Each, as what could not be checked: who made it, and what belongs there, is not known.

    Raises:
        StorageError: The store did not answer.
    """
    places = [
        (branch, place)
        for branch in (MAIN_BRANCH, *filter(is_openable, table.branches.names()))
        for place in _folders_of(table.paths.on(branch))
    ]
    directories = [directory for _, (directory, _, _) in places]
    listed = table.reader.map_parallel(table.reader.files.folder_names, directories)
    return tuple(
        Unchecked(branch=branch, error=_in_the_place_of_a_file(f"{directory}/{name}"))
        for (branch, (directory, prefix, names)), found in zip(places, listed, strict=True)
        for name in sorted(found)
        if name.startswith(prefix) or name in names
    )


def _in_the_place_of_a_file(path: str) -> PaimonError:
    return PaimonError(
        f"{path} is a folder, where a file belongs. Move it away, or restore the file.",
        kind=ErrorKind.BROKEN_FILE,
        path=path,
    )


def _folders_of(paths: TablePaths) -> Sequence[tuple[str, str, tuple[str, ...]]]:
    return (
        (paths.schema_dir, SCHEMA_PREFIX, ()),
        (paths.snapshot_dir, SNAPSHOT_PREFIX, _HINTS),
        (paths.tag_dir, TAG_PREFIX, ()),
        (paths.changelog_dir, CHANGELOG_PREFIX, _HINTS),
        (paths.consumer_dir, CONSUMER_PREFIX, ()),
    )


def _kind_of(paths: TablePaths, path: str) -> tuple[BrokenKind, str] | None:
    """Return what kind of file of a branch a path names, and its number or name; else None."""
    for directory, prefix, kind in (
        (paths.schema_dir, SCHEMA_PREFIX, BrokenKind.SCHEMA),
        (paths.snapshot_dir, SNAPSHOT_PREFIX, BrokenKind.SNAPSHOT),
        (paths.changelog_dir, CHANGELOG_PREFIX, BrokenKind.CHANGELOG),
        (paths.tag_dir, TAG_PREFIX, BrokenKind.TAG),
        (paths.consumer_dir, CONSUMER_PREFIX, BrokenKind.CONSUMER),
    ):
        if path.startswith(f"{directory}/{prefix}"):
            name = path.removeprefix(f"{directory}/{prefix}")
            if kind is BrokenKind.TAG and name.startswith(_NEEDED_TAGS):
                return BrokenKind.BASE_TAG, name
            if kind is BrokenKind.CONSUMER and name == FENCE_ID:
                return None  # F23 tells of it
            return kind, name
    return None
