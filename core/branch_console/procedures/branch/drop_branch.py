"""Dropping a branch: nothing is deleted, all of it moves to a rescue branch."""

from dataclasses import dataclass, replace

from branch_console.commit.base.fences import put_fence
from branch_console.commit.branch.branch_move import move_branch
from branch_console.commit.journal import Journal
from branch_console.commit.rows import staged_rows
from branch_console.diff.rows.row_figure import commit_figures, with_sign
from branch_console.errors import ErrorKind, FormatError, InvalidInput, PaimonError
from branch_console.format.identifier import MAIN_BRANCH, RESCUE_PREFIX, rescue_name
from branch_console.format.journals.branches import DROP_JOURNAL, BranchMove, DropBranchJournal
from branch_console.format.lineage_event import (
    LineageEvent,
    LineageKind,
    base_tag_of,
    born,
    undone_by,
)
from branch_console.format.receipt import Counts, HeadMove, Receipt
from branch_console.format.table_schema import TableSchema
from branch_console.operations.branch_requests import DropBranchRequest
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import (
    Consequence,
    Preview,
    blocks,
    changes,
    keeps,
    loses,
    plan_digest,
)
from branch_console.procedures.call.permissions import Role
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.history.catalog_membership import membership_blocks
from branch_console.procedures.history.dependents import (
    children_of,
    commits_only_on,
    options_naming,
)
from branch_console.procedures.history.protection import protection_blocks
from branch_console.procedures.history.releases import is_head_found
from branch_console.procedures.run.open_operation import Operation
from branch_console.procedures.run.procedure import PlannedOperation, Procedure, table_of
from branch_console.procedures.run.receipts import event_of, receipt_of
from branch_console.table.consumer_manager import Consumer
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.missing_branch import no_branch

_SHOWN = 100


def plan_drop(warehouse: Warehouse, call: ProcedureCall) -> PlannedOperation:
    """Decide whether a branch may go, and say what goes with it.

    Arguments of the call: `table`, `branch`, `reason`, `plan_id`.

    Raises:
        InvalidInput: It is main.
        NotFound: There is no such table or branch.
    """
    table, asked = table_of(warehouse, call), call.request(DropBranchRequest)
    branch = existing_branch(table, asked.branch, "dropped")
    return plan_drop_of(warehouse, call, branch, membership_blocks(warehouse, branch, is_drop=True))


def plan_drop_of(
    warehouse: Warehouse,
    call: ProcedureCall,
    branch: FileStoreTable,
    obstacles: tuple[Consequence, ...] = (),
) -> PlannedOperation:
    """Decide whether a branch may go that is no more than one of a table's.

    Args:
        warehouse: The warehouse.
        call: The call, with its actor and reason.
        branch: The table on the branch.
        obstacles: The other obstacles.
    """
    table, asked = branch.on(MAIN_BRANCH), call.request(DropBranchRequest)
    found = find_leaving(branch, is_kept=True)
    base_tag = found.base_tag
    preview = Preview(
        procedure=call.name,
        title=f"Drop branch {branch.branch!r} of {table.identifier.table_name}",
        plan_id=plan_digest(call, *found.facts),
        consequences=(
            *obstacles,
            *found.obstacles,
            *open_operations(warehouse, branch),
            *found.lost,
            changes(
                f"A rescue branch is made: the branch is renamed to {RESCUE_PREFIX}… with the id "
                "of this operation."
            ),
            # What stops this drop, such as a branch of the catalog, stops one with reclaim too.
            *blocked_expiry(branch, can_reclaim=not obstacles),
            keeps(
                "No data file is deleted. The rescue branch keeps the commits and the files; to "
                "release it later removes the files that no other branch needs."
            ),
            *(
                (keeps(f"Its base tag {base_tag!r} stays, so that undo works."),)
                if base_tag
                else ()
            ),
        ),
        typed_name=branch.branch,
        role=Role.EDITOR,
        undo="Undo brings the branch back as it was, unless its name has been taken since.",
    )
    return PlannedOperation(
        preview=preview,
        table=table,
        branch=branch.branch,
        journal=replace(
            found.journal(rescue_name(call.operation_id)),
            plan_id=preview.plan_id,
            reason=asked.reason,
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LeavingBranch:
    """A branch that is about to go.

    Attributes:
        events: The ledger under the names of today.
        move: Its head; it goes nowhere yet.
        base_tag: The tag that keeps its fork.
        tags: Its other tags.
        lost: Objects that only the branch has, with what becomes of them, and its readers.
        obstacles: Why it must stay.
    """

    events: tuple[LineageEvent, ...]
    move: BranchMove
    base_tag: str | None
    tags: tuple[str, ...]
    consumers: tuple[Consumer, ...]
    lost: tuple[Consequence, ...]
    obstacles: tuple[Consequence, ...]

    @property
    def facts(self) -> tuple[object, ...]:
        """The facts that a plan depends on, as JSON values."""
        return (
            str(self.move.head),
            self.move.head_id,
            [each.text for each in self.lost],
            self.tags,
            # Not where they stand: they go on while somebody looks.
            [each.id for each in self.consumers],
        )

    def journal(self, target: str) -> DropBranchJournal:
        """Return the journal of an operation that moves it to a name."""
        return DropBranchJournal(
            move=replace(self.move, target=target),
            base_tag=self.base_tag,
            parent=_parent(self.events, self.move.source),
            lost=tuple(line for each in self.lost for line in (each.text, *each.details[:_SHOWN])),
        )


def find_leaving(branch: FileStoreTable, *, is_kept: bool = False) -> LeavingBranch:
    """Look at a branch that is about to go.

    Args:
        branch: The table on the branch.
        is_kept: Whether a rescue branch keeps its commits and tags.

    Raises:
        Refused: An event of the ledger cannot be read, which may be what protects it.
    """
    events = branch.ledger.whole()
    base_tag = base_tag_of(events, branch.branch)
    tags = tuple(name for name in branch.tags.names() if name != base_tag)
    consumers = _consumers_of(branch)
    return LeavingBranch(
        events=events,
        move=move_of_branch(branch, branch.branch),
        base_tag=base_tag,
        tags=tags,
        consumers=consumers,
        lost=_lost(branch, events, tags, consumers, is_kept=is_kept),
        obstacles=(
            *protection_blocks(events, branch.branch, "dropped"),
            *_in_use(branch, events),
        ),
    )


def blocked_expiry(branch: FileStoreTable, *, can_reclaim: bool) -> tuple[Consequence, ...]:
    """Say how the drop of a branch that cannot be read leaves the expiry of the table.

    Args:
        branch: The table on the branch.
        can_reclaim: Whether somebody may drop the branch with its files instead.

    Returns:
        Nothing if the branch can be read.
    """
    if branch.snapshots.latest_id() is None or is_head_found(branch):
        return ()
    way = "drop with reclaim instead, or release the rescue branch later"
    return (
        changes(
            f"Expiry of {branch.identifier.table_name} stays blocked: the rescue branch cannot be "
            "read either, so it may need any file. To end that, "
            f"{way if can_reclaim else 'release the rescue branch later'}."
        ),
    )


def finish_drop(operation: Operation, journal: DropBranchJournal) -> Receipt:
    """Move the branch out of the way, and record it.

    Raises:
        CommitConflict: It got a commit in the meantime; it is where it was.
    """
    move = journal.move
    move_branch(
        operation.table.on(move.source),
        operation.table.on(move.target),
        operation.warehouse.store,
        operation.journal,
        operation.intent.operation_id,
        move,
    )
    put_fence(operation.table.on(move.target), operation.warehouse.store)
    receipt = receipt_of(
        operation,
        moves=(head_gone(move),),
        counts=Counts(),
        notes=(
            f"Branch {move.source!r} is dropped; {move.target!r} keeps all it held.",
            *journal.lost,
        ),
        rescue_branch=move.target,
    )
    return operation.complete(
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


DROP_BRANCH = Procedure(
    name="drop_branch",
    what="drop a branch",
    doing="Moving the branch out of the way.",
    plan=plan_drop,
    codec=DROP_JOURNAL,
    finish=finish_drop,
)


def head_gone(move: BranchMove) -> HeadMove:
    """Return the move of the head of a branch that leaves: nothing stands under its name."""
    return HeadMove(
        branch=move.source, before=move.head, before_id=move.head_id, after=None, after_id=None
    )


def existing_branch(table: FileStoreTable, name: str, what: str) -> FileStoreTable:
    """Return the table on a branch that is not main.

    Args:
        table: The table.
        name: The branch.
        what: The refused action on main, such as `dropped`.

    Raises:
        InvalidInput: It is main.
        NotFound: There is no such branch.
    """
    if name == MAIN_BRANCH:
        raise InvalidInput(
            f"The main branch cannot be {what}. Name another branch.",
            kind=ErrorKind.INVALID_NAME,
            branch=name,
        )
    if not table.branches.exists(name):
        raise no_branch(table, name)
    return table.on(name)


def move_of_branch(branch: FileStoreTable, to: str) -> BranchMove:
    """Return the move of a branch to another name; one whose head is broken may move as well."""
    try:
        head = branch.head()
    except FormatError:
        return BranchMove(
            source=branch.branch, target=to, head=None, head_id=branch.snapshots.latest_id()
        )
    return BranchMove(
        source=branch.branch,
        target=to,
        head=None if head is None else head.identity,
        head_id=None if head is None else head.id,
    )


def open_operations(warehouse: Warehouse, branch: FileStoreTable) -> tuple[Consequence, ...]:
    """Refuse a branch that an operation is at work on, or was cut off at.

    An intent that cannot be read may be of any branch.
    """
    listed = branch.reader.files.names(branch.paths.lineage_dir)
    found = Journal(warehouse.store, branch.paths).open_intents(listed)
    busy = [
        intent
        for intent in found.readable
        # Rows that are staged change no branch before somebody publishes them.
        if intent.procedure != staged_rows.PROCEDURE and branch.branch in intent.branches
    ]
    return (
        *(
            blocks(
                f"Operation {each.operation_id} may be at work on branch {branch.branch!r}: "
                f"{each.error.message}",
                each.error.kind,
            )
            for each in found.broken
        ),
        *(
            blocks(
                f"Operation {intent.operation_id} ({intent.procedure}) is at work on branch "
                f"{branch.branch!r}, or was cut off. Wait for it, or run: branch-console recover.",
                ErrorKind.BRANCH_IN_USE,
            )
            for intent in busy
        ),
    )


def _in_use(branch: FileStoreTable, events: tuple[LineageEvent, ...]) -> tuple[Consequence, ...]:
    found = [
        blocks(
            f"Option {use.key!r} of {use.branch!r} names the branch: its readers would lose rows "
            "and not be told. Unset the option first.",
            ErrorKind.BRANCH_IN_USE,
        )
        for use in options_naming(branch, branch.branch)
    ]
    children = children_of(branch, events, branch.branch)
    if children:
        shown = ", ".join(repr(each) for each in children)
        found.append(
            blocks(
                f"Branch {shown} was made from it, and nothing on main keeps what it began at. "
                "Pin that branch first.",
                ErrorKind.FILES_IN_USE,
                children,
            )
        )
    return tuple(found)


def _consumers_of(branch: FileStoreTable) -> tuple[Consumer, ...]:
    try:
        return branch.consumers.all()
    except PaimonError:
        return ()


def _find_schema(branch: FileStoreTable) -> TableSchema | None:
    """The newest schema of a branch, None if it cannot be read: it may be dropped for that."""
    try:
        return branch.schema()
    except PaimonError:
        return None


def _lost(
    branch: FileStoreTable,
    events: tuple[LineageEvent, ...],
    tags: tuple[str, ...],
    consumers: tuple[Consumer, ...],
    *,
    is_kept: bool,
) -> tuple[Consequence, ...]:
    """Return the consequences of a drop: its own commits, its tags, and streaming readers."""
    found = []
    try:
        own = commits_only_on(branch, events)
    except FormatError as error:
        own = ()
        found.append(loses(f"What it holds alone cannot be told. {error.message}"))
    if own:
        figures = commit_figures(own, None, _find_schema(branch), branch.branch)
        noun = "commit is" if len(own) == 1 else "commits are"
        text = f"{len(own):,} {noun} in no other branch"
        pronoun = "it" if len(own) == 1 else "them"
        found.append(
            (keeps if is_kept else loses)(
                f"{text}; the rescue branch keeps {pronoun}." if is_kept else f"{text}.",
                tuple(
                    f"snapshot {each.id} ({each.identity.short}) by {each.commit_user}: "
                    f"{figure.words(with_sign)}"
                    for each, figure in zip(own, figures, strict=True)
                ),
            )
        )
    if tags:
        names = tuple(f"tag {name}" for name in tags)
        found.append(
            changes("Its tags move to the rescue branch.", names)
            if is_kept
            else loses("Its tags go with it.", names)
        )
    if consumers:
        found.append(
            loses(
                "Streaming readers stand on it, and will find nothing.",
                tuple(
                    f"consumer {each.id} reads {each.next_snapshot_id} next" for each in consumers
                ),
            )
        )
    kept = rescued_for(branch.branch, events)
    if kept is not None:
        found.append(undo_lost(kept))
    return tuple(found)


def undo_lost(kept: LineageEvent) -> Consequence:
    """Return the consequence of a drop for the operation whose undo needs the branch."""
    return loses(f"Operation {kept.operation_id} can then not be undone: this branch keeps it.")


def rescued_for(branch: str, events: tuple[LineageEvent, ...]) -> LineageEvent | None:
    """Return the operation whose undo needs this rescue branch, None for other branches."""
    if not branch.startswith(RESCUE_PREFIX):
        return None
    undone = undone_by(events)
    return next(
        (
            event
            for event in events
            if event.receipt is not None
            and event.receipt.rescue_branch == branch
            and event.operation_id not in undone
        ),
        None,
    )


def _parent(events: tuple[LineageEvent, ...], branch: str) -> str | None:
    event = born(events, branch)
    return None if event is None else event.source_branch
