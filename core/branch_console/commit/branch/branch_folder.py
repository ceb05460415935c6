"""The folder of a branch: its content, its owner, and its removal."""

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Final

from branch_console.commit.base.commit_store import CommitStore
from branch_console.storage.file_io import FileReader
from branch_console.storage.parallel_io import map_parallel
from branch_console.storage.table_paths import EARLIEST, LATEST

HINTS: Final = frozenset({f"snapshot/{LATEST}", f"snapshot/{EARLIEST}"})
"""Hint files, which depend only on the other files of the folder."""


class FolderOwner(StrEnum):
    """The owner of the folder at a new branch's path."""

    OURS = "ours"
    """It holds nothing but what the creation makes, or nothing at all."""
    OURS_IN_USE = "ours in use"
    """The creation made all of it, and others have gone on with it since."""
    THEIRS = "theirs"


def folder_owner(
    names: Collection[str], is_ours: Mapping[str, bool], proof: Collection[str]
) -> FolderOwner:
    """Decide whose the folder of a branch is.

    Args:
        names: All files in it.
        is_ours: Of those that have a name that the creation gives, whether they are what it makes.
        proof: The names that stand there together only if the creation had come to its end;
            empty if nothing proves that.
    """
    if not all(is_ours.values()):
        return FolderOwner.THEIRS
    if set(names) - is_ours.keys() <= HINTS:
        return FolderOwner.OURS
    return FolderOwner.OURS_IN_USE if proof and is_ours.keys() >= set(proof) else FolderOwner.THEIRS


def files_below(files: FileReader, root: str) -> list[str]:
    """Return all files below the folder of a branch, by their path in it."""
    found, folders = [], [""]
    while folders:
        listed = map_parallel(
            files, lambda folder: files.list(f"{root}/{folder}".rstrip("/")), folders
        )
        inside = [
            (f"{folder}{status.name}", status.is_directory)
            for folder, statuses in zip(folders, listed, strict=True)
            for status in statuses
        ]
        found += [name for name, is_directory in inside if not is_directory]
        folders = [f"{name}/" for name, is_directory in inside if is_directory]
    return found


def whole_files_below(files: FileReader, root: str) -> list[str]:
    """Return what `files_below` does, without what is still being written."""
    return [name for name in files_below(files, root) if not is_temporary(name)]


def is_temporary(name: str) -> bool:
    """Whether a file is one that somebody is writing, or was when he died."""
    file_name = name.rpartition("/")[2]
    return file_name.startswith(".") and file_name.endswith(".tmp")


def remove_folder(store: CommitStore, root: str) -> None:
    """Remove the folder that a branch leaves, with what a writer that died left half-written in it.

    A folder that stays is a branch to everybody who lists them; one that holds a whole file does.
    """
    left = [name for name in files_below(store.files, root) if is_temporary(name)]
    store.remover.remove([f"{root}/{name}" for name in left])
    folders = [status.path for status in store.files.list(root) if status.is_directory]
    store.remover.remove_empty_directories([*folders, root])
