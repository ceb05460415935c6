"""Messages about a branch that a table does not have."""

from branch_console.errors import ErrorKind, NotFound, PaimonError
from branch_console.format.followed_branch import renamed_since
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.near_names import did_you_mean, nearest_names
from branch_console.storage.parallel_io import aside
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.lineage_ledger import in_order


def no_branch(table: FileStoreTable, branch: str) -> NotFound:
    """Return the error for a branch that is not there, with the name that is perhaps meant."""
    return NotFound(
        f"Table {table.identifier.table_name} has no branch {branch!r}."
        f"{perhaps_meant(table, branch)}",
        kind=ErrorKind.BRANCH_NOT_FOUND,
        branch=branch,
        path=table.paths.on(branch).root,
    )


def perhaps_meant(table: FileStoreTable, branch: str) -> str:
    """Return, after a space, the present name of a renamed branch, else a question on near ones."""
    listed = aside(lambda: _names(table))
    try:
        renamed = _renamed_sentence(table, branch)
    except PaimonError:
        renamed = ""  # a ledger that cannot be read does not hide what is wrong
    return renamed or did_you_mean(nearest_names(branch, listed() or ()))


def _renamed_sentence(table: FileStoreTable, branch: str) -> str:
    renamed = renamed_since(in_order(table.ledger.states()), branch)
    if renamed is None:
        return ""
    return f" Operation {renamed.operation_id} renamed it; it is {renamed.name!r} now. Say that."


def _names(table: FileStoreTable) -> tuple[str, ...]:
    main = (MAIN_BRANCH,) if table.branches.exists(MAIN_BRANCH) else ()
    return (*main, *table.branches.names())
