"""Reading what a decision on two histories rests on."""

from collections.abc import Mapping

from core.commit.branch_commit import HistoryCopy
from core.diff.history_move import BranchHistory
from core.format.snapshot import Snapshot
from core.format.tag import Tag
from core.procedures.dependents import Standing, standing_on
from core.table.file_store_table import FileStoreTable


def histories_of(
    source: FileStoreTable, target: FileStoreTable, *, head_only: bool = False
) -> tuple[BranchHistory, BranchHistory]:
    """Read the histories of two branches.

    Args:
        source: The table on one branch.
        target: The table on the other one.
        head_only: Read no snapshot but the head, and not who stands on the tags.

    Raises:
        FormatError: A snapshot, schema or tag cannot be decoded.
    """
    return target.reader.both(
        lambda: _history_of(source, head_only=head_only),
        lambda: _history_of(target, head_only=head_only),
    )


def _history_of(table: FileStoreTable, *, head_only: bool) -> BranchHistory:
    with table.reader.asking() as ask:
        marks = ask(lambda: _tags(table, head_only=head_only))
        snapshots = ask(lambda: _snapshots(table, head_only=head_only))
        schemas, consumers = ask(table.schemas.all), ask(table.consumers.all)
    tags, standing = marks.result()
    return BranchHistory(
        branch=table.branch,
        snapshots=snapshots.result(),
        schemas=schemas.result(),
        tags=tags,
        consumers=tuple((each.id, each.next_snapshot_id) for each in consumers.result()),
        vital_tags=frozenset(
            name for name, branches in standing.items() if any(each.is_vital for each in branches)
        ),
    )


def _tags(
    table: FileStoreTable, *, head_only: bool
) -> tuple[tuple[Tag, ...], Mapping[str, tuple[Standing, ...]]]:
    if head_only:
        return table.tags.all(), {}
    tags, events = table.reader.both(table.tags.all, table.ledger.events)
    return tags, standing_on(table, events, tags)


def _snapshots(table: FileStoreTable, *, head_only: bool) -> tuple[Snapshot, ...]:
    if not head_only:
        return table.snapshots.all()
    head = table.head()
    return () if head is None else (head,)


def schema_id_after(target: FileStoreTable, copy: HistoryCopy) -> int | None:
    """Return the newest schema that a branch has once history was moved to it."""
    kept = set(target.schemas.ids()) - set(copy.remove_schema_ids)
    return max(kept | set(copy.schema_ids), default=None)
