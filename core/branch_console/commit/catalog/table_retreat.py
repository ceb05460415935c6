"""Dropping a table where it lies: its main becomes a branch, and what others hold of it stays.

The folder of a table may also hold branches that other people work on. What belongs to main alone
are its schemas, snapshots, tags, changelogs and consumers: these move below a branch, the schemas
first, which is when no engine has the table on main any more. To come back they move the other way,
the schemas last, so that the table appears whole.
"""

from collections.abc import Sequence
from typing import Final

from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.base.metadata_copy import copy_files
from branch_console.commit.branch.branch_folder import (
    files_below,
    remove_folder,
    whole_files_below,
)
from branch_console.errors import CommitConflict, ErrorKind
from branch_console.storage.directory_mover import MoveOutcome
from branch_console.storage.table_paths import SCHEMA_PREFIX, TablePaths

_PARTS: Final = ("schema", "snapshot", "tag", "changelog", "consumer")
"""The folders of a branch, in the order in which they leave it."""


def retreat(store: CommitStore, main: TablePaths, branch: str) -> None:
    """Make main of a table a branch that nobody had, or finish what was cut off.

    Raises:
        CommitConflict: The branch holds something else.
    """
    kept = main.on(branch)
    for part in _PARTS:
        _move(store, main.root, kept.root, part, is_leaving=True)


def come_back(store: CommitStore, main: TablePaths, branch: str) -> None:
    """Make main again what `retreat` made a branch, or finish what was cut off.

    Raises:
        CommitConflict: Main holds something else by now.
    """
    kept = main.on(branch)
    for part in reversed(_PARTS):
        _move(store, kept.root, main.root, part, is_leaving=False)
    remove_folder(store, kept.root)


def discard_retreated(store: CommitStore, main: TablePaths, branch: str) -> None:
    """Remove the branch that `retreat` made of a main which nobody needs, or finish that."""
    kept = main.on(branch).root
    store.remover.remove([f"{kept}/{name}" for name in files_below(store.files, kept)])
    remove_folder(store, kept)


def _move(store: CommitStore, from_root: str, to_root: str, part: str, *, is_leaving: bool) -> None:
    source, target = f"{from_root}/{part}", f"{to_root}/{part}"
    if not store.files.exists(source):
        return  # it never was, or an earlier try moved it
    match store.mover.move(source, target):
        case MoveOutcome.DONE:
            return
        case MoveOutcome.TAKEN:
            raise CommitConflict(
                f"{target} is there already, and was made by somebody else. What was moved before "
                "it stays where it is; look at both, remove the one that is not wanted, then run: "
                "branch-console recover.",
                kind=ErrorKind.NAME_TAKEN,
                path=target,
            )
        case MoveOutcome.UNSUPPORTED:
            names = _in_order(whole_files_below(store.files, source))
            pairs = [(f"{source}/{name}", f"{target}/{name}") for name in names]
            # Whoever reads meanwhile finds a table, no table, or a schema that is missing; never
            # one that looks empty. So the newest schema comes first and goes last.
            copy_files(store, pairs[::-1])
            going = pairs if is_leaving else pairs[::-1]
            store.remover.remove([path for path, _ in going])
            store.remover.remove_empty_directories([source])


def _in_order(names: Sequence[str]) -> list[str]:
    """Return schemas as they rise, and other names by letter."""

    def rank(name: str) -> tuple[int, str]:
        number = name.removeprefix(SCHEMA_PREFIX)
        return (int(number) if number.isascii() and number.isdigit() else 0, name)

    return sorted(names, key=rank)
