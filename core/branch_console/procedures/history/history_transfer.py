"""Carrying out a journalled move of history: what is copied to a branch, and what leaves it.

Fast-forward, replacing, cutting back and the undo of all of them end here.
"""

from branch_console.commit.base.head_check import check_head, is_at, moved_text
from branch_console.commit.base.metadata_copy import publish_files
from branch_console.commit.branch.history_copy import (
    check_inherited,
    copy_history,
    put_back,
    remove_history,
)
from branch_console.commit.branch.interrupted_copy import (
    has_begun,
    is_complete,
    is_partial,
    take_back_ahead,
)
from branch_console.commit.branch.rescue import forget_state, keep_state
from branch_console.commit.schema.tag_commit import without_retention
from branch_console.errors import CommitConflict, ErrorKind, NotFound
from branch_console.format.journals.history import HistoryCopy, HistoryJournal
from branch_console.format.journals.intent import End, Ending
from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console.format.receipt import Counts, HeadMove, Receipt
from branch_console.procedures.history.file_sharing import (
    notes_of_sharing,
    put_fences,
    put_pins,
)
from branch_console.procedures.run.open_operation import Operation
from branch_console.procedures.run.receipts import event_of, receipt_of


def finish_history_transfer(operation: Operation, journal: HistoryJournal) -> Receipt:
    """Carry out the journalled plan of an operation, from wherever it was cut off.

    Raises:
        CommitConflict: Another writer came in between, or what was to come is gone. The operation
            is over, and the message says where everything is.
    """
    done = operation.receipt()
    if done is not None:
        operation.end(Ending.DONE)
        return done
    if operation.is_resumed:
        operation.end_unless_stopped()
    return take_over(operation, journal) or complete_take_over(operation, journal)


def complete_take_over(operation: Operation, journal: HistoryJournal) -> Receipt:
    """Record a move of history that was carried out, and write its end."""
    return operation.complete(*_events(operation, journal))


def take_over(operation: Operation, journal: HistoryJournal) -> Receipt | None:
    """Do as `finish_history_transfer` does, and leave the end open.

    Returns:
        The receipt of a try on another machine that was faster; None else.

    Raises:
        CommitConflict: As `finish_history_transfer`; the operation is over.
    """
    copy, store, table = journal.copy, operation.warehouse.store, operation.table
    try:
        _carry_out(operation, journal)
    except CommitConflict as error:
        # A try on another machine, which no lock holds off, may have been faster.
        done = operation.receipt()
        if done is not None:
            return done
        if not isinstance(error, _Gone):
            raise _stopped(operation, copy, _overtaken(operation, copy, error)) from error
        if not is_complete(table, store, copy):
            raise _stopped(operation, copy, _way_out(operation, copy, error.message)) from error
    put_pins(operation, journal.sharing)
    return None


class _Gone(CommitConflict):
    """The snapshots that the target was to get are gone."""


def _carry_out(operation: Operation, journal: HistoryJournal) -> None:
    copy = journal.copy
    put_fences(operation, journal.sharing)
    if copy.rescue_branch is not None:
        _replace(operation, journal, copy.rescue_branch)
    elif operation.is_resumed and copy.new_head_id in copy.snapshot_ids:
        _check_new_head(operation, journal)
    store = operation.warehouse.store
    # One look at the target's snapshots tells whether the copy has begun, and where it goes on.
    with operation.table.listing_once() as table:
        if copy.rescue_branch is None and not has_begun(table, store, copy):
            check_head(table.on(copy.target), copy.expected_head)
        try:
            copy_history(table, store, copy, operation.progress)
        except NotFound as error:
            raise _Gone(_lost(copy, error)) from error


def _lost(copy: HistoryCopy, error: NotFound) -> str:
    return f"Branch {copy.source!r} lost some of what {copy.target!r} was to get. {error.message}"


def _check_new_head(operation: Operation, journal: HistoryJournal) -> None:
    """Raise _Gone where what the target is to become is not there as planned."""
    copy, name = journal.copy, journal.expired_tag
    try:
        check_inherited(operation.table, operation.warehouse.store, copy)
    except NotFound as error:
        raise _Gone(_lost(copy, error)) from error
    if copy.new_head is None or copy.new_head_id is None:
        return
    arrives = copy.new_head_id in copy.snapshot_ids
    holder = operation.table.on(copy.source if arrives else copy.target)
    found = holder.snapshots.find(copy.new_head_id)
    if found is not None and found.identity.same_as(copy.new_head):
        return
    tag = None if name is None else holder.tags.find(name)
    if tag is not None and tag.snapshot.identity.same_as(copy.new_head):
        return
    wish = f"{copy.target!r} was to become" if arrives else "it was to be cut back to"
    raise _Gone(
        f"Snapshot {copy.new_head_id} of branch {holder.branch!r}, which {wish}, is gone: it has "
        "expired, or somebody dropped, renamed or changed the branch."
    )


def _way_out(operation: Operation, copy: HistoryCopy, gone: str) -> str:
    """Put back what had left the target, if nothing came yet, and say where everything is."""
    store, table = operation.warehouse.store, operation.table
    target, rescue = table.on(copy.target), copy.rescue_branch
    came = is_partial(table, store, copy)
    if rescue is None and came:
        return (
            f"{gone} Branch {copy.target!r} is at snapshot {target.snapshots.latest_id()}: what "
            "was copied to it before stays and is valid. Look at it, then plan again."
        )
    if rescue is None or not _is_rescued(operation):
        return f"{gone} Nothing was changed; plan again."
    if not came and put_back(target, store, copy, table.on(rescue)):
        return (
            f"{gone} What had left {copy.target!r} is back, and branch {rescue!r}, which keeps "
            "the same, can be dropped. Plan again."
        )
    return _with_rescue(operation, copy, gone)


def _overtaken(operation: Operation, copy: HistoryCopy, error: CommitConflict) -> str:
    """Take back what a fast-forward copied ahead of its snapshots, and say where everything is."""
    store, table = operation.warehouse.store, operation.table
    if copy.rescue_branch is not None:
        return _with_rescue(operation, copy, error.message)
    if has_begun(table, store, copy):
        return error.message
    stay = take_back_ahead(table, store, copy)
    head, path = table.on(copy.target).head(), error.facts.get("path")
    what = moved_text(copy.target, head)
    if path is not None and is_at(head, copy.expected_head):
        what = f"{path} was written by somebody else in the meantime."
    if not stay:
        return f"{what} Nothing was changed; plan again."
    stays = "Schema {} of branch {!r} stays" if len(stay) == 1 else "Schemas {} of branch {!r} stay"
    named = stays.format(", ".join(map(str, stay)), copy.source)
    return (
        f"{what} {named} on it, as what was written to it meanwhile may need that. Nothing else "
        "was changed; plan again."
    )


def _with_rescue(operation: Operation, copy: HistoryCopy, message: str) -> str:
    rescue = copy.rescue_branch
    if rescue is None or not _is_kept(operation, rescue):
        return message
    return f"{message} What {copy.target!r} was is on branch {rescue!r}; look at both."


def _is_kept(operation: Operation, rescue_branch: str) -> bool:
    """Whether the rescue branch is there and whole."""
    return operation.table.branches.exists(rescue_branch) and _is_rescued(operation)


def _is_rescued(operation: Operation) -> bool:
    return operation.journal.has_reached(operation.intent.operation_id, "rescued")


def _stopped(operation: Operation, copy: HistoryCopy, message: str) -> CommitConflict:
    """End an operation that somebody came in between of."""
    rescue, events = copy.rescue_branch, []
    if rescue is not None and _is_kept(operation, rescue):
        events.append(_rescued(operation, copy, rescue))
    end = End(ending=Ending.STOPPED, time_millis=operation.warehouse.clock(), message=message)
    operation.journal.conclude(operation.intent.operation_id, events, end)
    return CommitConflict(message, kind=ErrorKind.HEAD_MOVED, branch=copy.target)


def _replace(operation: Operation, journal: HistoryJournal, rescue_branch: str) -> None:
    """Keep the target's state on a rescue branch, then take away what stands in the way."""
    copy, store, table = journal.copy, operation.warehouse.store, operation.table
    steps, operation_id = operation.journal, operation.intent.operation_id
    if steps.has_reached(operation_id, "removed"):
        if copy.new_head_id in copy.snapshot_ids:
            _check_new_head(operation, journal)
        return
    if _is_rescued(operation):
        _check_new_head(operation, journal)
    else:
        _check_both_heads(operation, journal, rescue_branch)
        keep_state(table.on(copy.target), store, copy)
        steps.mark(operation_id, "rescued")
    _put_expired(operation, journal)
    remove_history(table, store, copy, table.on(rescue_branch))
    steps.mark(operation_id, "removed")


def _check_both_heads(operation: Operation, journal: HistoryJournal, rescue_branch: str) -> None:
    """Check what the target is and what it is to become, before anything of it is kept."""
    target = operation.table.on(journal.copy.target)
    try:
        _check_new_head(operation, journal)
        check_head(target, journal.copy.expected_head)
    except CommitConflict:
        if operation.is_resumed:
            forget_state(target, operation.warehouse.store, rescue_branch)
        raise


def _put_expired(operation: Operation, journal: HistoryJournal) -> None:
    """Make the file of a snapshot that only a tag keeps, before what is newer leaves."""
    copy, tag = journal.copy, journal.expired_tag
    if tag is None or copy.new_head_id is None:
        return
    target, files = operation.table.on(copy.target), operation.warehouse.store.files
    if target.snapshots.find(copy.new_head_id) is not None:
        return  # made before it was cut off; the tag may be gone by now
    paths = target.paths
    data = without_retention(files.read(paths.tag(tag)))
    publish_files(operation.warehouse.store, [(paths.snapshot(copy.new_head_id), data)])


def _events(operation: Operation, journal: HistoryJournal) -> tuple[LineageEvent, ...]:
    copy = journal.copy
    kind = LineageKind.REPLACED if copy.rescue_branch else LineageKind.FAST_FORWARDED
    # What replaces a history does not build on it.
    builds_on = None if copy.rescue_branch else copy.expected_head
    main = event_of(
        operation,
        journal.event or kind,
        _receipt(operation, journal),
        branch=copy.target,
        source_branch=None if copy.source == copy.target else copy.source,
        before=copy.expected_head,
        after=copy.new_head,
        parents=() if builds_on is None else (builds_on,),
        undoes=journal.undoes,
    )
    if copy.rescue_branch is None:
        return (main,)
    return (_rescued(operation, copy, copy.rescue_branch), main)


def _rescued(operation: Operation, copy: HistoryCopy, rescue_branch: str) -> LineageEvent:
    intent = operation.intent
    return LineageEvent(
        id=f"{intent.operation_id}-rescue",
        branch=rescue_branch,
        operation_id=intent.operation_id,
        actor=intent.actor,
        kind=LineageKind.RESCUED,
        source_branch=copy.target,
        time_millis=intent.event_millis,
        after=copy.expected_head,
        parents=() if copy.expected_head is None else (copy.expected_head,),
    )


def _receipt(operation: Operation, journal: HistoryJournal) -> Receipt:
    copy, sharing = journal.copy, journal.sharing
    return receipt_of(
        operation,
        rescue_branch=copy.rescue_branch,
        moves=(
            HeadMove(
                branch=copy.target,
                before=copy.expected_head,
                before_id=copy.expected_head_id,
                after=copy.new_head,
                after_id=copy.new_head_id,
            ),
        ),
        counts=Counts(
            snapshots_added=len(copy.snapshot_ids),
            snapshots_removed=len(copy.remove_snapshot_ids),
            schemas_added=len(copy.schema_ids),
            schemas_removed=len(copy.remove_schema_ids),
            tags_added=len(copy.tags) + len(sharing.tags),
            tags_removed=len(copy.remove_tags),
            files_verified=journal.files_verified,
            records_added=journal.records or 0,
        ),
        notes=(*journal.notes, *notes_of_sharing(sharing)),
    )
