"""The way back from what moved the head of a branch: a merge, a rollback, a history taken over."""

from typing import TypeAlias

from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.journals.history import HistoryCopy, HistoryJournal, RollbackJournal
from branch_console.format.journals.merge import MergeJournal
from branch_console.format.journals.missing_files import MissingFilesJournal
from branch_console.format.journals.partitions import DropPartitionsJournal
from branch_console.format.receipt import HeadMove
from branch_console.format.table_schema import TableSchema

Dropping: TypeAlias = DropPartitionsJournal | MissingFilesJournal
"""The journal of an operation that removed rows from its own branch and added nothing."""

Moving: TypeAlias = MergeJournal | HistoryJournal | RollbackJournal | Dropping
"""The journal of an operation that moved the head of a branch."""


def inverse_of(done: Moving, move: HeadMove, rescue_branch: str) -> HistoryCopy:
    """Turn what an operation did around."""
    if not isinstance(done, HistoryJournal):
        return HistoryCopy(
            source=move.branch,
            target=move.branch,
            expected_head=move.after,
            expected_head_id=move.after_id,
            new_head=move.before,
            new_head_id=move.before_id,
            schema_ids=(),
            tags=(),
            snapshot_ids=(),
            # It added one snapshot, whose number only its end knows.
            remove_snapshot_ids=() if move.after_id is None else (move.after_id,),
            remove_schema_ids=_added_schemas(done),
            remove_tags=(*_rollback_pins(done), *_pins(done, move)),
            rescue_branch=rescue_branch,
        )
    copy = done.copy
    removed = copy.snapshot_ids
    if done.expired_tag is not None and copy.new_head_id is not None:
        removed = (copy.new_head_id, *removed)
    return HistoryCopy(
        source=copy.rescue_branch or copy.target,
        target=copy.target,
        expected_head=copy.new_head,
        expected_head_id=copy.new_head_id,
        new_head=copy.expected_head,
        new_head_id=copy.expected_head_id,
        schema_ids=copy.remove_schema_ids,
        tags=copy.remove_tags,
        snapshot_ids=tuple(sorted(copy.remove_snapshot_ids)),
        remove_snapshot_ids=removed,
        remove_schema_ids=copy.schema_ids,
        remove_tags=(*copy.tags, *_pins(done, move)),
        rescue_branch=rescue_branch,
    )


def _added_schemas(
    done: MergeJournal | RollbackJournal | Dropping,
) -> tuple[int, ...]:
    if not isinstance(done, MergeJournal):
        return ()
    return tuple(TableSchema.from_json(text).id for text in done.schemas)


def _rollback_pins(
    done: MergeJournal | RollbackJournal | Dropping,
) -> tuple[str, ...]:
    """The tags that keep the snapshot a rollback went back to, and the one it made."""
    if not isinstance(done, RollbackJournal):
        return ()
    return (done.pin,) if done.pin_made is None else (done.pin, done.pin_made)


def _pins(done: Moving, move: HeadMove) -> tuple[str, ...]:
    """The pins that leave with what an operation brought to main.

    Those of a merge that took files of main to another branch stay: its rescue branch has them.
    """
    if isinstance(done, Dropping) or move.branch != MAIN_BRANCH:
        return ()
    return done.sharing.tags
