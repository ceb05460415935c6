"""The branch of a table that belongs to a catalog branch: made at its first write."""

import hashlib
from collections.abc import Collection
from dataclasses import replace

from branch_console.catalog.catalog_branch import CatalogOnBranch, Member, MemberState
from branch_console.errors import AlreadyExists, ErrorKind, Refused
from branch_console.format.catalog.catalog_version import TableChange
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.journals.branches import (
    CREATE_JOURNAL,
    DROP_JOURNAL,
    BranchCreation,
    CreateBranchJournal,
    DropBranchJournal,
)
from branch_console.procedures.branch.create_branch import finish_creation
from branch_console.procedures.branch.drop_branch import DROP_BRANCH, plan_drop_of
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.permissions import Role, check_role
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.run.open_operation import Operation
from branch_console.procedures.run.procedure import finish_procedure
from branch_console.storage.table_paths import BASE_TAG_PREFIX, TablePaths
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.pinned_table import PinnedTable


def creation_of(
    content: str, table: TableChange, main: FileStoreTable, from_tag: str | None = None
) -> BranchCreation:
    """Return what the branch of a table is made of, at once or at its first write.

    Args:
        content: The name of the branch.
        table: The table's entry in the ledger.
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
        Refused: The branch of the table, or what it began at, is gone; or another table of the
            catalog branch has the branch of that name in the folder.
        NotAllowed: The role does not reach, or the store cannot be written to.
    """
    opened = seen.open_member(member)
    if not isinstance(opened, PinnedTable):
        return opened
    warehouse.check_writable()
    check_role(call.role, Role.EDITOR, "write rows")
    main = opened.on(MAIN_BRANCH)
    if member.is_taken:
        _put_away_another(warehouse, seen, member, call)
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
        with operation.held() as held:
            finish_creation(held)
    except AlreadyExists:
        # Another first write makes it at this moment, from the same base.
        if seen.member(member.id).state is not MemberState.MADE:
            raise
    return main.on(creation.branch)


def check_folder_is_free(
    warehouse: Warehouse, seen: CatalogOnBranch, folder: str, dropped: Collection[str]
) -> None:
    """See that no other table of a catalog branch lies in the folder of one that comes to it.

    In a folder there is one branch of a name.

    Args:
        warehouse: The warehouse.
        seen: The catalog on the branch.
        folder: Below the warehouse.
        dropped: The ids of tables that do not count: they are dropped, or are the one that comes.

    Raises:
        Refused: Another one lies there.
    """
    branch = TablePaths(table=warehouse.ledger.paths.folder(folder), branch=seen.content)
    others = (each for key, each in seen.recorded.tables.items() if key not in dropped)
    is_noted = any(each.folder == folder for each in others)
    if not is_noted and not warehouse.file_io.exists(branch.root):
        return
    held = (each for each in seen.members() if each.folder == folder and each.id not in dropped)
    other = next(held, None)
    if other is not None:
        raise Refused(
            f"The folder {folder} is taken: it holds {other.name} of catalog branch "
            f"{seen.branch!r} too, and a folder has one branch {seen.content!r}. Nothing was "
            f"changed. Drop {other.name} there, or make the new table under another name.",
            kind=ErrorKind.NAME_TAKEN,
            path=folder,
        )


def _put_away_another(
    warehouse: Warehouse, seen: CatalogOnBranch, member: Member, call: ProcedureCall
) -> None:
    """Make the branch of a table that had the folder before, and was dropped, a rescue branch.

    Raises:
        Refused: That table is not dropped on the catalog branch, or its branch is at work.
    """
    now = seen.member(member.id)
    if now.folder is None or not now.is_taken:
        return  # another first write did it at this moment
    check_folder_is_free(warehouse, seen, now.folder, [now.id])
    paths = warehouse.ledger.paths
    branch = FileStoreTable(warehouse.catalog.reader, paths.folder(now.folder), now.identifier)
    going = replace(
        call,
        name=DROP_BRANCH.name,
        arguments={"table": now.name, "branch": seen.content},
        operation_id=_operation_id(call.operation_id, seen.content, f"{member.id}|away"),
    )
    planned = plan_drop_of(warehouse, going, branch)
    planned.preview.raise_unless_runnable(None)
    assert isinstance(planned.journal, DropBranchJournal)
    operation = Operation.begin(
        warehouse,
        planned.table,
        going,
        branch=planned.branch,
        codec=DROP_JOURNAL,
        journal=planned.journal,
    )
    finish_procedure(DROP_BRANCH, operation)


def _operation_id(operation_id: str, branch: str, member: str) -> str:
    digest = hashlib.sha256(f"{operation_id}|{branch}|{member}".encode()).hexdigest()[:16]
    return f"made-{digest}"
