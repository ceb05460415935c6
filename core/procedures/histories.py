"""Reading what a decision on two histories rests on."""

from core.commit.branch_commit import HistoryCopy
from core.diff.history_move import BranchHistory
from core.procedures.dependents import standing_on
from core.table.file_store_table import FileStoreTable


def history_of(table: FileStoreTable, *, head_only: bool = False) -> BranchHistory:
    """Read the history of the table's branch.

    Args:
        table: The table on the branch.
        head_only: Read no snapshot but the head, and not who stands on the tags.

    Raises:
        FormatError: A snapshot, schema or tag cannot be decoded.
    """
    head = table.head() if head_only else None
    tags = table.tags.all()
    standing = {} if head_only else standing_on(table, table.ledger.events(), tags)
    return BranchHistory(
        branch=table.branch,
        snapshots=table.snapshots.all() if not head_only else () if head is None else (head,),
        schemas=table.schemas.all(),
        tags=tags,
        consumers=tuple((each.id, each.next_snapshot_id) for each in table.consumers.all()),
        vital_tags=frozenset(
            name for name, branches in standing.items() if any(each.is_vital for each in branches)
        ),
    )


def schema_id_after(target: FileStoreTable, copy: HistoryCopy) -> int | None:
    """Return the newest schema that a branch has once history was moved to it."""
    kept = set(target.schemas.ids()) - set(copy.remove_schema_ids)
    return max(kept | set(copy.schema_ids), default=None)
