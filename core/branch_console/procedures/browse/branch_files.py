"""The files of a branch's own folder, for a person to see why it cannot be read."""

from dataclasses import dataclass
from itertools import islice

from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.procedures.call.warehouse import Warehouse


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchFile:
    """A file in the folder of a branch, by its path in there."""

    path: str
    size: int
    modified_millis: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchFolder:
    """The files in the folder of a branch.

    Attributes:
        path: The folder.
        files: The first of its files, by path.
        has_more: Whether there are more.
    """

    path: str
    files: tuple[BranchFile, ...]
    has_more: bool


def list_branch_files(warehouse: Warehouse, table: Identifier, *, most: int) -> BranchFolder:
    """Return the files of a branch besides its data, which lie with those of the table.

    Raises:
        NotFound: There is no such table.
    """
    found = warehouse.table(table.on_branch(MAIN_BRANCH))
    files, root = warehouse.file_io, found.paths.on(table.branch).root
    listed = list(files.list(root))
    inner = [each for one in listed if one.is_directory for each in files.list(one.path)]
    flat = sorted(
        (each for each in (*listed, *inner) if not each.is_directory), key=lambda each: each.path
    )
    return BranchFolder(
        path=root,
        files=tuple(
            BranchFile(
                path=each.path.removeprefix(f"{root}/"),
                size=each.size,
                modified_millis=each.modified_millis,
            )
            for each in islice(flat, most)
        ),
        has_more=len(flat) > most,
    )
