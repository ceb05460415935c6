"""Whether the branch of a table is part of a branch of the catalog, which goes as a whole."""

from branch_console.errors import ErrorKind
from branch_console.procedures.call.consequence import Consequence, blocks
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.table.file_store_table import FileStoreTable


def membership_blocks(
    warehouse: Warehouse, branch: FileStoreTable, *, is_drop: bool
) -> tuple[Consequence, ...]:
    """Return what stands in the way of dropping or renaming the branch of a table by itself.

    Args:
        warehouse: The warehouse.
        branch: The table on the branch.
        is_drop: Whether it would be dropped, not renamed.
    """
    if not warehouse.has_catalog_branch(branch.branch):
        return ()
    folder = warehouse.ledger.paths.relative(branch.paths.table)
    seen = warehouse.on(branch.branch)
    if not any(member.folder == folder and member.is_made for member in seen.members()):
        return ()
    way = (
        f"is dropped with it only. Drop that one: branch-console catalog drop {branch.branch}."
        if is_drop
        else "keeps its name with it. Make another branch of the table under the new name."
    )
    return (
        blocks(
            f"Branch {branch.branch!r} of {branch.identifier.table_name} is part of catalog branch "
            f"{branch.branch!r}, and {way}",
            ErrorKind.BRANCH_IN_USE,
        ),
    )
