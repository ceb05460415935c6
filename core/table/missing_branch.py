"""What is said of a branch that a table does not have."""

from core.errors import ErrorKind, NotFound
from core.format.branch_trail import renamed_since
from core.table.file_store_table import FileStoreTable
from core.table.lineage_ledger import in_order


def no_branch(table: FileStoreTable, branch: str) -> NotFound:
    """Return the error for a branch that is not there, with the name that it has by now."""
    name, renamed = table.identifier.table_name, told_renamed(table, branch)
    return NotFound(
        f"Table {name} has no branch {branch!r}.{renamed}",
        kind=ErrorKind.BRANCH_NOT_FOUND,
        branch=branch,
        path=table.paths.on(branch).root,
    )


def told_renamed(table: FileStoreTable, branch: str) -> str:
    """Say, after a space, which name a branch was given; nothing where the ledger knows of none."""
    renamed = renamed_since(in_order(table.ledger.states()), branch)
    if renamed is None:
        return ""
    return f" Operation {renamed.operation_id} renamed it; it is {renamed.name!r} now. Say that."
