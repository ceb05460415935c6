"""Releasing a branch: its names are retired, and after a grace the files go that it alone needs.

A drop with reclaim does so with any branch, a release with what earlier operations kept. Until the
files go, undo moves the names back. A branch that cannot be read can leave, too; see decision 0062.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from branch_console.commit.base.read_holds import read_holds
from branch_console.commit.branch.branch_move import move_branch
from branch_console.diff.expiry.retention import HoldKind, TableHold
from branch_console.diff.history_move import count
from branch_console.errors import CommitConflict, ErrorKind, FormatError, InvalidInput, NotFound
from branch_console.format.identifier import MAIN_BRANCH, RESERVED_PREFIXES
from branch_console.format.journals.branches import (
    RELEASE_JOURNAL,
    BranchRelease,
    BranchTag,
    DropBranchJournal,
)
from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console.format.receipt import Counts, Receipt
from branch_console.format.scan_options import moment_text
from branch_console.maintenance.references import Reference, ReferenceKind, references_without
from branch_console.operations.branch_requests import DropBranchRequest, ReleaseBranchRequest
from branch_console.procedures.branch.drop_branch import (
    DROP_BRANCH,
    LeavingBranch,
    existing_branch,
    find_leaving,
    finish_drop,
    head_gone,
    plan_drop,
    rescued_for,
    undo_lost,
)
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import (
    Consequence,
    Preview,
    Weight,
    blocks,
    changes,
    keeps,
    loses,
    plan_digest,
)
from branch_console.procedures.call.permissions import Role
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.history.catalog_membership import membership_blocks
from branch_console.procedures.maintenance.branch_tags import standing_blocks, tags_made_for
from branch_console.procedures.maintenance.grace_words import (
    NO_UNDO_OF_FILES,
    amount_words,
    minutes,
    removed_words,
)
from branch_console.procedures.maintenance.holds import UNDO_WINDOW_MILLIS
from branch_console.procedures.maintenance.maintenance_turn import (
    claim_maintenance,
    give_up_turn,
    obstacles,
)
from branch_console.procedures.maintenance.release_files import (
    REMOVED,
    FilesToRelease,
    Released,
    find_files_of_broken,
    release_unless_blocked,
    size_of,
)
from branch_console.procedures.run.open_operation import Operation
from branch_console.procedures.run.procedure import PlannedOperation, Procedure, table_of
from branch_console.procedures.run.receipts import event_of, receipt_of
from branch_console.table.file_store_table import FileStoreTable

_RETIRED: Final = "retired"
"""The step at which the names of a branch have left it."""


def plan_drop_or_reclaim(warehouse: Warehouse, call: ProcedureCall) -> PlannedOperation:
    """Decide whether a branch may go, and whether its files go with it.

    Raises:
        InvalidInput: It is main, or a grace is given to a drop that keeps all files.
        NotFound: There is no such table or branch.
        FormatError: A reference of the table cannot be read, so no file may go.
    """
    asked = call.request(DropBranchRequest)
    if asked.reclaim:
        table = table_of(warehouse, call)
        branch = existing_branch(table, asked.branch, "dropped")
        return _plan(warehouse, call, branch, "Drop", asked.grace_millis(), asked.reason)
    if asked.grace is not None:
        raise InvalidInput(
            "The argument 'grace' of drop_branch is for a drop with reclaim: without it no file is "
            "removed. No branch was dropped.",
            kind=ErrorKind.INVALID_ARGUMENT,
            argument="grace",
        )
    return plan_drop(warehouse, call)


def plan_release(warehouse: Warehouse, call: ProcedureCall) -> PlannedOperation:
    """Decide whether a branch that an operation kept may go, with its files.

    Raises:
        InvalidInput: It is no such branch.
        NotFound: There is no such table or branch.
        FormatError: A reference of the table cannot be read, so no file may go.
    """
    asked, table = call.request(ReleaseBranchRequest), table_of(warehouse, call)
    branch = existing_branch(table, asked.branch, "released")
    if not branch.branch.startswith(RESERVED_PREFIXES):
        raise InvalidInput(
            f"Branch {branch.branch!r} cannot be released: only branches whose names begin with "
            f"{' or '.join(RESERVED_PREFIXES)} can. Nothing was changed. To remove this one with "
            "its files, drop it with reclaim.",
            kind=ErrorKind.INVALID_NAME,
            branch=branch.branch,
        )
    return _plan(warehouse, call, branch, "Release", asked.grace_millis(), asked.reason)


def _plan(
    warehouse: Warehouse,
    call: ProcedureCall,
    branch: FileStoreTable,
    verb: str,
    grace_millis: int,
    reason: str | None,
) -> PlannedOperation:
    table, leaving = branch.on(MAIN_BRANCH), find_leaving(branch)
    tags = tags_made_for(branch, leaving.events)
    found = _files_of(warehouse, branch, tags)
    files, readers = found.files, _readers(warehouse, branch)
    promise = tuple(_promise(warehouse, branch, leaving))
    consequences = (
        *_consequences(leaving, tags, found, grace_millis),
        *found.left_as_orphans,
    )
    preview = Preview(
        procedure=call.name,
        title=f"{verb} branch {branch.branch!r} of {table.identifier.table_name}",
        plan_id=plan_digest(
            call,
            *leaving.facts,
            [each.text for each in consequences],
            files.num_rows,
            size_of(files),
        ),
        consequences=(
            *membership_blocks(warehouse, branch, is_drop=True),
            *leaving.obstacles,
            *standing_blocks(branch, leaving.events, tags, warehouse.catalog_references),
            *promise,
            *obstacles(warehouse, table, call),
            *_without_repeats(consequences, leaving, promise),
            *map(_reader_text, readers),
        ),
        typed_name=branch.branch,
        role=Role.OPERATOR,
        undo=_undo_text(grace_millis, found),
        holds=readers,
    )
    return PlannedOperation(
        preview=preview,
        table=table,
        branch=branch.branch,
        journal=replace(
            leaving.journal(branch.branch),
            plan_id=preview.plan_id,
            reason=reason,
            release=BranchRelease(tags=tags, grace_millis=grace_millis),
        ),
    )


def finish_drop_or_reclaim(operation: Operation, journal: DropBranchJournal) -> Receipt:
    """Move a branch out of the way: to a rescue branch, or for its files to go.

    Raises:
        CommitConflict: It got a commit in the meantime, or another operation is at work on files
            of the table; the branch is where it was.
        FormatError: The files that the table needs are not known any more; no file was removed.
    """
    if journal.release is None:
        return finish_drop(operation, journal)
    return _finish_release(operation, journal, journal.release)


def _finish_release(
    operation: Operation, journal: DropBranchJournal, planned: BranchRelease
) -> Receipt:
    """Retire the names of a branch, and remove its files if there is no grace."""
    move, grace = journal.move, planned.grace_millis
    claim_maintenance(operation)
    _retire(operation, journal)
    # From here on the claim is kept until recovery if anything fails: files may be gone by then.
    released = Released() if grace else release_unless_blocked(operation, planned.tags)
    receipt = receipt_of(
        operation,
        moves=(head_gone(move),),
        counts=Counts(
            tags_removed=released.tags,
            files_removed=released.files,
            bytes_removed=released.size,
        ),
        notes=(*_notes(move.source, grace, released), *journal.lost),
    )
    done = operation.complete(
        event_of(
            operation,
            LineageKind.DROPPED,
            receipt,
            branch=move.source,
            source_branch=journal.parent,
            before=move.head,
            base_tag=journal.base_tag,
        )
    )
    give_up_turn(operation)
    return done


DROP_OR_RECLAIM = replace(DROP_BRANCH, plan=plan_drop_or_reclaim, finish=finish_drop_or_reclaim)
RELEASE_BRANCH = Procedure(
    name="release_branch",
    what="release a branch",
    doing="Moving the branch out of the way.",
    plan=plan_release,
    codec=RELEASE_JOURNAL,
    finish=finish_drop_or_reclaim,
)


def _retire(operation: Operation, journal: DropBranchJournal) -> None:
    operation_id, move, steps = operation.intent.operation_id, journal.move, operation.journal
    # Somebody may have made another branch under the name since.
    if steps.has_reached(operation_id, _RETIRED) or steps.has_reached(operation_id, REMOVED):
        return
    source = operation.table.on(move.source)
    try:
        move_branch(
            source,
            source.retired(operation_id, move.source),
            operation.warehouse.store,
            steps,
            operation_id,
            move,
        )
    except CommitConflict:
        give_up_turn(operation)
        raise
    steps.mark(operation_id, _RETIRED)


def _files_of(
    warehouse: Warehouse, branch: FileStoreTable, tags: Collection[BranchTag]
) -> FilesToRelease:
    """Return the files that nothing needs once the branch and its tags are gone."""
    going: list[Reference] = []
    kept: list[Reference] = []
    references = references_without(branch)
    for reference in references.found:
        is_own = reference.branch == branch.branch and reference.expiry is None
        is_tag = reference.kind is ReferenceKind.TAG and (
            BranchTag(branch=reference.branch, name=reference.name) in tags
        )
        (going if is_own or is_tag else kept).append(reference)
    return find_files_of_broken(
        warehouse,
        branch,
        going,
        kept,
        own_error=references.own_error,
        unread=references.others,
    )


def _readers(warehouse: Warehouse, branch: FileStoreTable) -> tuple[TableHold, ...]:
    """Return the running reads of the branch; its files stay until they end.

    The plan stays the same meanwhile.
    """
    return tuple(
        TableHold(
            branch=branch.branch,
            kind=HoldKind.READ,
            owner=hold.operation_id,
            since_snapshot=held.id,
            since_millis=hold.since_millis,
            until_millis=hold.until_millis,
        )
        for hold in read_holds(branch, warehouse.clock())
        for held in hold.snapshots
        if held.branch == branch.branch
    )


def _reader_text(hold: TableHold) -> Consequence:
    return keeps(
        f"Operation {hold.owner} reads snapshot {hold.since_snapshot} of {hold.branch!r} now: no "
        "file goes before it ends."
    )


def _consequences(
    leaving: LeavingBranch, tags: Sequence[BranchTag], found: FilesToRelease, grace_millis: int
) -> Iterator[Consequence]:
    yield from leaving.lost
    yield changes("The branch leaves the table, with its snapshots and schemas.")
    files = found.files
    exclusive = amount_words(files)
    if found.blocked_by is not None:
        yield keeps(
            "No file is removed: another branch cannot be read either, and may need any. The first "
            "expiry of the table once all can be read removes those that only this branch names.",
            (found.blocked_by,),
        )
    elif not files.num_rows:
        yield keeps("No data file is removed: none is known that only this branch needs.")
    elif grace_millis:
        yield loses(
            f"{exclusive} are needed by nothing else. The first expiry of the table after "
            f"{minutes(grace_millis)} removes them."
        )
    else:
        yield loses(f"{exclusive} are needed by nothing else, and are removed.")
    if found.unread and found.blocked_by is None:
        yield changes(_expiry_again(grace_millis))
    if tags:
        yield loses(
            "The tags that keep files for it are removed too.",
            tuple(f"tag {each.name} of {each.branch}" for each in tags),
        )
    yield keeps("Files that another branch, a tag, a changelog or an undo needs stay.")


def _expiry_again(grace_millis: int) -> str:
    """Say when files may leave the table again, once a branch that cannot be read is gone."""
    if not grace_millis:
        return "Expiry of the table works again at once."
    return (
        f"Expiry of the table stays blocked for {minutes(grace_millis)}, as long as undo can bring "
        "the branch back: it cannot be read. With the grace '0 s' it works again at once, and "
        "there is no undo."
    )


def promised_undo(
    branch: str, events: tuple[LineageEvent, ...], now_millis: int
) -> LineageEvent | None:
    """Return the operation whose undo needs a rescue branch and is promised for now, or None."""
    kept = rescued_for(branch, events)
    if kept is None or now_millis >= kept.time_millis + UNDO_WINDOW_MILLIS:
        return None
    return kept


def _promise(
    warehouse: Warehouse, branch: FileStoreTable, leaving: LeavingBranch
) -> Iterator[Consequence]:
    """The undo that needs this branch. One whose head is broken may go before; decision 0069."""
    promised = promised_undo(leaving.move.source, leaving.events, warehouse.clock())
    if promised is None:
        return
    until = promised.time_millis + UNDO_WINDOW_MILLIS
    named = f"{promised.operation_id} ({promised.kind})"
    # An older snapshot or a tag that is broken stops the cleaning too, but undo brings the rows
    # back all the same.
    if not _is_head_readable(branch):
        yield loses(
            f"Operation {named} can then no longer be undone, though that is promised until "
            f"{moment_text(until)}: the head of the branch cannot be read, and expiry is blocked "
            "while the branch is there."
        )
    else:
        yield blocks(
            f"Undo of operation {named} is promised until {moment_text(until)}, and brings back "
            "what this branch keeps. Release it after that, or undo that operation first.",
            ErrorKind.FILES_IN_USE,
        )


def _without_repeats(
    consequences: Iterable[Consequence], leaving: LeavingBranch, promise: Sequence[Consequence]
) -> Iterator[Consequence]:
    """Leave out that the undo is lost where the promise says already that it ends."""
    kept = rescued_for(leaving.move.source, leaving.events)
    is_said = any(each.weight is Weight.LOSES for each in promise)
    repeated = None if kept is None or not is_said else undo_lost(kept)
    return (each for each in consequences if each != repeated)


def _is_head_readable(branch: FileStoreTable) -> bool:
    """Whether the newest snapshot, its manifests and the schema can be read.

    Raises:
        StorageError: The store did not answer.
    """
    try:
        head, _ = branch.head_and_schema()
        if head is not None:
            branch.live_files(head)
            branch.index_entries(head)
    except (FormatError, NotFound):
        return False
    return True


def _undo_text(grace_millis: int, found: FilesToRelease) -> str:
    if grace_millis:
        return (
            f"Undo brings the branch back for {minutes(grace_millis)} at least; after that, the "
            "next expiry of the table removes its files."
        )
    if found.blocked_by is not None:
        return "Undo brings the branch back until an expiry of the table can remove its files."
    if not found.files.num_rows:
        return "There is no undo: the branch is removed at once."
    return NO_UNDO_OF_FILES


def _notes(branch: str, grace_millis: int, released: Released) -> Iterator[str]:
    if grace_millis:
        yield (
            f"Branch {branch!r} is gone. Its files go with the first expiry of the table after "
            f"{minutes(grace_millis)}; undo brings it back until then, unless orphan cleaning by "
            "another engine comes before."
        )
    elif released.waits_for is not None:
        yield (
            f"Branch {branch!r} is gone. No file was removed: operation {released.waits_for} is "
            "open and may need some. They go with the next expiry."
        )
    elif released.blocked_by is not None:
        yield (
            f"Branch {branch!r} is gone. No file was removed, as another branch cannot be read: "
            "they go with the first expiry of the table once all can be read. "
            f"{released.blocked_by}"
        )
    else:
        yield f"Branch {branch!r} is gone; {removed_words(released)}."
        if released.gone:
            yield f"{count(released.gone, 'file')} had gone already, or are needed by now."
