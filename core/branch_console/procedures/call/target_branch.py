"""The branch that a call changes, where it brings changes of another one."""

from typing import Final

from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.table.file_store_table import FileStoreTable

_REVERT: Final = "revert"
"""The procedure that changes the branch that it names."""


def target_of(table: str, call: ProcedureCall) -> Identifier:
    """The table on the branch that a call merges into."""
    identifier = Identifier.parse(table)
    named = call.find_text("target")
    if named is None and call.name == _REVERT:
        return identifier
    return identifier.on_branch(named or MAIN_BRANCH)


def target_table(warehouse: Warehouse, call: ProcedureCall) -> FileStoreTable:
    """Open the table on the branch that a call merges into."""
    return warehouse.table(target_of(call.text("table"), call))
