"""The branch that a call changes, where it brings changes of another one."""

from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.operations.merge_requests import MergingRequest
from branch_console.operations.request import Request
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.table.file_store_table import FileStoreTable


def target_of(call: ProcedureCall) -> Identifier:
    """The table on the branch that a call merges into; a revert changes the branch it names."""
    asked = call.request(Request)
    target = asked.target if isinstance(asked, MergingRequest) else MAIN_BRANCH
    identifier = Identifier.parse(call.table)
    return identifier if target is None else identifier.on_branch(target)


def target_table(warehouse: Warehouse, call: ProcedureCall) -> FileStoreTable:
    """Open the table on the branch that a call merges into."""
    return warehouse.table(target_of(call))
