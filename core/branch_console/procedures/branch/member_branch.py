"""The branch of a table that belongs to a catalog branch: made at its first write."""

import hashlib
from dataclasses import replace

from branch_console.catalog.catalog_branch import CatalogOnBranch, Member, MemberState
from branch_console.errors import AlreadyExists
from branch_console.format.catalog.catalog_version import TableChange
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.journals.branches import (
    CREATE_JOURNAL,
    BranchCreation,
    CreateBranchJournal,
)
from branch_console.procedures.branch.create_branch import finish_creation
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.permissions import Role, check_role
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.run.open_operation import Operation
from branch_console.storage.table_paths import BASE_TAG_PREFIX
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.pinned_table import PinnedTable


def creation_of(
    content: str, table: TableChange, main: FileStoreTable, from_tag: str | None = None
) -> BranchCreation:
    """Return what the branch of a table is made of, at once or at its first write.

    Args:
        content: The name of the branch.
        table: What the ledger has of the table.
        main: The table.
        from_tag: The tag at which the branch begins, if its snapshots may have expired.
    """
    source = main.on(table.source or MAIN_BRANCH)
    last, head = table.schema or 0, table.head
    return BranchCreation(
        branch=content,
        source=source.branch,
        schema_ids=tuple(each for each in source.schemas.ids() if each <= last),
        base_tag=None if head is None else table.base_tag or f"{BASE_TAG_PREFIX}{content}",
        snapshot_id=None if head is None else head.id,
        from_tag=None if head is None else from_tag,
        fork=None if head is None else head.identity,
        is_fenced=True,
    )


def open_to_write(
    warehouse: Warehouse, seen: CatalogOnBranch, member: Member, call: ProcedureCall
) -> FileStoreTable:
    """Open a table of a catalog branch for a write, which makes its branch if there is none yet.

    Raises:
        Refused: The branch of the table, or what it began at, is gone.
        NotAllowed: The role does not reach, or the store cannot be written to.
    """
    opened = seen.open_member(member)
    if not isinstance(opened, PinnedTable):
        return opened
    warehouse.check_writable()
    check_role(call.role, Role.EDITOR, "write rows")
    main = opened.on(MAIN_BRANCH)
    creation = creation_of(seen.content, member.table, main, seen.fork.from_tag)
    making = replace(
        call,
        name="create_branch",
        arguments={
            "table": main.identifier.table_name,
            "branch": creation.branch,
            **({} if creation.base_tag is None else {"tag": creation.base_tag}),
        },
        # Each write has an id of its own, and another table's branch is another operation; so is
        # another branch of this table, which a drop on main makes with it.
        operation_id=_operation_id(call.operation_id, creation.branch, member.id),
    )
    operation = Operation.find(warehouse, main, making.operation_id) or Operation.begin(
        warehouse,
        main,
        making,
        branch=creation.branch,
        codec=CREATE_JOURNAL,
        journal=CreateBranchJournal(creation=creation),
    )
    try:
        with operation.carried_out() as held:
            finish_creation(held)
    except AlreadyExists:
        # Another first write makes it at this moment, from the same base.
        if seen.member(member.id).state is not MemberState.MADE:
            raise
    return main.on(creation.branch)


def _operation_id(operation_id: str, branch: str, member: str) -> str:
    digest = hashlib.sha256(f"{operation_id}|{branch}|{member}".encode()).hexdigest()[:16]
    return f"made-{digest}"
