"""Naming snapshots for good."""

from core.commit.tag_commit import create_tag as commit_tag
from core.errors import ErrorKind, NotFound
from core.format.identifier import Identifier
from core.format.receipt import Counts, Receipt
from core.format.snapshot import Snapshot
from core.procedures.call import ProcedureCall
from core.procedures.permissions import Role, check_role
from core.procedures.row_engine import RowEngine
from core.procedures.stages import Facts, Stages
from core.procedures.warehouse import Warehouse
from core.table.file_store_table import FileStoreTable


def create_tag(
    warehouse: Warehouse, rows: RowEngine, call: ProcedureCall, stages: Stages
) -> Receipt:
    """Create a tag that does not expire.

    Arguments of the call: `table` (with its branch), `tag`, `snapshot` (the head if left out).

    Raises:
        AlreadyExists: The name stands for another snapshot.
        NotFound: There is no such table, branch or snapshot.
    """
    facts = stages.run(
        "create tag",
        lambda _: _create(warehouse, call),
        message=f"Making tag {call.text('tag')!r}.",
        publishes=True,
    )
    return Receipt.from_json(str(facts["receipt"]))


def _create(warehouse: Warehouse, call: ProcedureCall) -> Facts:
    warehouse.check_writable()
    check_role(call.role, Role.EDITOR, "make a tag")
    started = warehouse.clock()
    table = warehouse.table(Identifier.parse(call.text("table")))
    tag = commit_tag(table, warehouse.store, call.text("tag"), _snapshot(table, call))
    receipt = Receipt(
        operation_id=call.operation_id,
        statement=call.statement,
        actor=call.actor,
        plan_id=call.operation_id,
        counts=Counts(tags_added=1),
        notes=(f"Tag {tag.name!r} names snapshot {tag.snapshot.id} of {table.branch!r}.",),
        started_millis=started,
        finished_millis=warehouse.clock(),
    )
    return {"receipt": receipt.to_json()}


def _snapshot(table: FileStoreTable, call: ProcedureCall) -> Snapshot:
    snapshot_id = call.find_number("snapshot")
    if snapshot_id is not None:
        return table.snapshots.get(snapshot_id)
    head = table.head()
    if head is None:
        raise NotFound(
            f"{table.identifier} has no snapshot to name. Commit to it first.",
            kind=ErrorKind.BRANCH_EMPTY,
        )
    return head
