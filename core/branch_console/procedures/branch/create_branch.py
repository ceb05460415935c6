"""Making branches: all or nothing, with a permanent tag at the fork."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain, count

from branch_console.commit.branch.branch_creation import (
    make_branch,
    names_fork,
    unmake_branch,
    whose_branch,
)
from branch_console.commit.branch.branch_folder import FolderOwner
from branch_console.commit.schema.tag_commit import remove_tag
from branch_console.errors import (
    AlreadyExists,
    CommitConflict,
    ErrorKind,
    FormatError,
    InvalidInput,
    NotFound,
    Refused,
    StorageError,
)
from branch_console.format.bounds import missing_numbers
from branch_console.format.identifier import MAIN_BRANCH, Identifier, check_branch_name
from branch_console.format.journals.branches import (
    CREATE_JOURNAL,
    CREATION,
    BranchCreation,
    CreateBranchJournal,
)
from branch_console.format.journals.intent import Ending
from branch_console.format.lineage_event import LineageEvent, LineageKind, forks_of_base_tags
from branch_console.format.receipt import Counts, HeadMove, Receipt
from branch_console.format.snapshot import Snapshot, SnapshotIdentity
from branch_console.operations.branch_requests import CreateBranchRequest
from branch_console.procedures.branch.tags import vital_blocks
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import (
    Consequence,
    Preview,
    changes,
    keeps,
    plan_digest,
)
from branch_console.procedures.call.permissions import Role, check_role
from branch_console.procedures.call.row_engine import Progress, RowEngine
from branch_console.procedures.call.stages import Facts, Stages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.history.lost_histories import (
    commits_sentence,
    get_lost_history,
    snapshots_of,
)
from branch_console.procedures.run.open_operation import Operation
from branch_console.procedures.run.procedure import PlannedOperation, table_of
from branch_console.storage.parallel_io import both
from branch_console.storage.table_paths import BASE_TAG_PREFIX
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.missing_branch import no_branch


@dataclass(frozen=True, slots=True, kw_only=True)
class Fork:
    """The start of a new branch.

    Attributes:
        snapshot: The first snapshot; None for an empty branch.
        commits: The following commits, if they are in no snapshot of any branch.
    """

    source: str
    snapshot: Snapshot | None
    tag: str | None
    schema_ids: tuple[int, ...]
    commits: tuple[Snapshot, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _PlannedCreation(PlannedOperation):
    """A new branch that was decided on."""

    journal: CreateBranchJournal


def create_branch(
    warehouse: Warehouse, rows: RowEngine, call: ProcedureCall, stages: Stages
) -> Receipt:
    """Create a branch.

    Arguments of the call: `table`, `branch`; one of `tag`, `snapshot`, `timestamp` (milliseconds),
    `empty`, `lost` (the newest manifest list of a history that is in no snapshot), or none for the
    head; `from_branch`, `owner`, `reason`, `fence` (false leaves the fence
    out, which operators may).

    Raises:
        AlreadyExists: The name is taken.
        InvalidInput: The name is none that a branch may have, or two forks are given.
        NotFound: There is no such table, branch, tag or snapshot.
        Refused: The snapshot that it would begin at cannot be read.
    """
    facts = stages.run(
        "create branch",
        lambda progress: _create(warehouse, call, progress),
        message=f"Making branch {call.request(CreateBranchRequest).branch!r}.",
        publishes=True,
    )
    return Receipt.from_json(str(facts["receipt"]))


def resolve_fork(table: FileStoreTable, call: ProcedureCall) -> Fork:
    """Find the snapshot that a new branch would begin at, and see that it can be read.

    Raises:
        InvalidInput: More than one place is named.
        NotFound: There is no such place.
        Refused: Metadata of the snapshot is missing or broken, so the branch could not be read.
    """
    try:
        fork = _find_fork(table, call)
        if fork.snapshot is not None:
            table.on(fork.source).check_manifests(fork.snapshot)
    except FormatError as error:
        raise Refused(
            f"A branch that begins there could not be read. {error.message} "
            "Or begin at an older snapshot or a tag that can be read, or with an empty branch.",
            kind=error.kind,
            **error.facts,
        ) from error
    return fork


def _find_fork(table: FileStoreTable, call: ProcedureCall) -> Fork:
    asked = call.request(CreateBranchRequest)
    source = table.on(asked.from_branch or table.branch)
    tag, snapshot_id = asked.tag, asked.snapshot
    time_millis, is_empty = asked.timestamp, asked.empty
    given = (tag, snapshot_id, time_millis, asked.lost, is_empty or None)
    if sum(each is not None for each in given) > 1:
        raise InvalidInput(
            "A branch begins at one place: give a tag, a snapshot, a time, a lost history or "
            "empty, not several."
        )
    schema_ids = source.schemas.ids()
    if not schema_ids:
        if not table.branches.exists(source.branch):
            raise no_branch(table, source.branch)
        raise NotFound(
            f"Table {table.identifier.table_name} has no readable branch {source.branch!r} to "
            "begin at.",
            kind=ErrorKind.BRANCH_NOT_FOUND,
            branch=source.branch,
        )
    if asked.lost is not None:
        return _lost_fork(source, schema_ids, asked.lost)
    if is_empty:
        _check_schemas(source, schema_ids, None)
        return Fork(source=source.branch, snapshot=None, tag=None, schema_ids=schema_ids)
    if tag is None and snapshot_id is None and time_millis is None:
        # From the head the schema of today comes along, also if it was altered since.
        head = source.head()
        _check_schemas(source, schema_ids, head)
        return Fork(source=source.branch, snapshot=head, tag=None, schema_ids=schema_ids)
    if tag is not None:
        snapshot = source.tags.get(tag).snapshot
    elif snapshot_id is not None:
        snapshot = _snapshot_by_id(source, snapshot_id)
    else:
        snapshot = source.snapshot_for(timestamp_millis=time_millis)
    _check_schemas(source, schema_ids, snapshot)
    known = tuple(each for each in schema_ids if each <= snapshot.schema_id)
    return Fork(source=source.branch, snapshot=snapshot, tag=tag, schema_ids=known)


def _lost_fork(source: FileStoreTable, schema_ids: tuple[int, ...], tip: str) -> Fork:
    """Return the fork of a history that is in no snapshot; raises like `resolve_fork`."""
    history = get_lost_history(source, tip)
    commits, follows = snapshots_of(source, history), history.follows
    if follows is None:
        _check_schemas(source, schema_ids, None)
        return Fork(
            source=source.branch, snapshot=None, tag=None, schema_ids=schema_ids, commits=commits
        )
    parent = source.on(follows.branch)
    known = parent.schemas.ids()
    _check_schemas(parent, known, follows.snapshot)
    return Fork(
        source=parent.branch,
        snapshot=follows.snapshot,
        tag=None,
        schema_ids=known,
        commits=commits,
    )


def _check_schemas(
    source: FileStoreTable, listed: tuple[int, ...], snapshot: Snapshot | None
) -> None:
    """Refuse a listing that left a schema out: the branch would lack it for ever.

    Raises:
        StorageError: A schema is there that the listing does not have.
        FormatError: So many are missing that a file is there which no engine wrote.
        NotFound: The snapshot needs a schema that is not there.
    """
    last = max((*listed, 0 if snapshot is None else snapshot.schema_id))
    for schema_id in missing_numbers(0, last + 1, listed, "schemas"):
        path = source.paths.schema(schema_id)
        if source.reader.files.exists(path):
            raise StorageError(
                f"The store listed the schemas of branch {source.branch!r} without {path}, which "
                "is there. Nothing was changed; try again.",
                path=path,
            )
        if snapshot is not None and schema_id == snapshot.schema_id:
            raise NotFound(
                f"{path} is missing, though snapshot {snapshot.id} of branch {source.branch!r} "
                "needs it. Restore it, or choose another snapshot.",
                kind=ErrorKind.SCHEMA_NOT_FOUND,
                path=path,
            )


def plan_creation(warehouse: Warehouse, call: ProcedureCall) -> PlannedOperation:
    """Decide where a branch begins; the arguments and errors are those of `create_branch`."""
    with warehouse.deciding() as deciding:
        return _planned(table_of(deciding, call), call)


def _planned(table: FileStoreTable, call: ProcedureCall) -> _PlannedCreation:
    creation = _plan_creation(table, call)
    asked = call.request(CreateBranchRequest)
    journal = CreateBranchJournal(creation=creation, owner=asked.owner, reason=asked.reason)
    is_empty = creation.base_tag is None
    source = f"snapshot {creation.snapshot_id} of {creation.source!r}"
    begins = "with the schema and no rows" if is_empty else f"at {source}"
    lost = tuple(map(Snapshot.from_json, creation.commits))
    tags = () if is_empty else (keeps(f"Tag {creation.base_tag!r} keeps {source} for good."),)
    preview = Preview(
        procedure=call.name,
        title=f"Create branch {creation.branch!r} of {table.identifier.table_name}",
        plan_id=plan_digest(call, CREATION.write(creation)),
        consequences=(
            changes(f"Branch {creation.branch!r} begins {begins}."),
            *((changes(commits_sentence(lost)),) if lost else ()),
            *tags,
            *(changes(note) for note in _notes(creation) if is_empty),
            _fence_consequence(creation),
            keeps("No data file is copied."),
        ),
        typed_name=None,
        role=Role.EDITOR if creation.is_fenced else Role.OPERATOR,
        undo="Drop the branch.",
    )
    return _PlannedCreation(preview=preview, table=table, branch=creation.branch, journal=journal)


def _fence_consequence(creation: BranchCreation) -> Consequence:
    if creation.is_fenced:
        return keeps("A fence (a consumer file) stops other engines from expiring its snapshots.")
    return changes(
        "It gets no fence: once another engine expires it, files may go that other branches read."
    )


def finish_creation(operation: Operation) -> Receipt:
    """Make the branch of an operation, or finish one that was cut off.

    Raises:
        AlreadyExists: Another operation makes a branch of this name.
        CommitConflict: Others made one, or the operation was taken back before.
        NotFound: The snapshot at which the branch begins is gone or replaced.
    """
    table, journal, intent = operation.table, operation.journal, operation.intent
    done = operation.receipt()
    if done is None:
        if operation.is_resumed:
            operation.end_unless_stopped()
        noted = operation.read(CREATE_JOURNAL)
        creation = noted.creation
        store = operation.warehouse.store
        holder, whose = both(
            store.files,
            lambda: journal.claim(creation.branch, intent.operation_id),
            lambda: whose_branch(table, store, creation),
        )
        if holder != intent.operation_id:
            operation.end(Ending.STOPPED, f"Operation {holder} makes a branch of this name.")
            raise _taken(table, creation.branch)
        try:
            _make(operation, creation, whose)
            done = operation.complete(event_of_creation(operation, noted))
        except (NotFound, CommitConflict) as error:
            # What it was to stand on is gone, or its name is somebody else's by now.
            if operation.is_resumed:
                undo_creation(operation, creation, error.message)
            raise
    else:
        operation.end(Ending.DONE)
    journal.release(intent.branch, intent.operation_id)
    return done


def undo_creation(operation: Operation, creation: BranchCreation, reason: str) -> None:
    """Take back a branch that cannot be finished, so that nothing of it is left.

    What others made under its name stays as it is, and so does a base tag that they may stand on.
    """
    kept = take_back_creation(operation.warehouse, operation.table, creation)
    if kept is not None:
        reason = (
            f"{reason} Tag {kept!r} stays on {creation.source!r}; delete it where no branch "
            "stands on it."
        )
    operation.end(Ending.ROLLED_BACK, reason)
    operation.journal.release(creation.branch, operation.intent.operation_id)


def take_back_creation(
    warehouse: Warehouse, table: FileStoreTable, creation: BranchCreation
) -> str | None:
    """Take back a branch and its base tag, as far as they were made.

    Returns:
        The base tag, if it stays since others may stand on it.
    """
    store, tag, source = warehouse.store, creation.base_tag, table.on(creation.source)
    is_gone = unmake_branch(table, store, creation)
    found = None if tag is None else store.files.find(source.paths.tag(tag))
    if tag is None or found is None or not names_fork(found, creation):
        return None
    if not is_gone or vital_blocks(source, tag, "deleted"):
        return tag
    remove_tag(source, store, tag, found)
    return None


def _make(operation: Operation, creation: BranchCreation, whose: FolderOwner) -> None:
    """Make what is not there yet of a branch, where its folder is nobody else's."""
    if whose is FolderOwner.THEIRS:
        raise CommitConflict(
            f"Somebody made a branch {creation.branch!r} of their own in the meantime. It stays as "
            "it is, and this creation is taken back. Choose another name.",
            kind=ErrorKind.NAME_TAKEN,
            branch=creation.branch,
        )
    if whose is FolderOwner.OURS:
        make_branch(operation.table, operation.warehouse.store, creation)


def _create(warehouse: Warehouse, call: ProcedureCall, progress: Progress) -> Facts:
    warehouse.check_writable()
    check_role(call.role, Role.EDITOR, "make a branch")
    table = warehouse.table(Identifier.parse(call.table))
    operation = Operation.find(warehouse, table, call.operation_id)
    if operation is None:
        planned = _planned(table, call)
        check_role(call.role, planned.preview.role, "make a branch without a fence")
        planned.preview.raise_unless_runnable(call.agreement.plan_id)
        operation = Operation.begin(
            warehouse,
            table,
            call,
            branch=planned.branch,
            codec=CREATE_JOURNAL,
            journal=planned.journal,
        )
    progress(0, 1)
    with operation.held() as held:
        receipt = finish_creation(held)
    progress(1, 1)
    return {"receipt": receipt.to_json()}


def _plan_creation(table: FileStoreTable, call: ProcedureCall) -> BranchCreation:
    asked = call.request(CreateBranchRequest)
    branch = asked.branch
    check_branch_name(branch)
    if table.branches.exists(branch):
        raise _taken(table, branch)
    fork, events = table.reader.both(lambda: resolve_fork(table, call), table.ledger.events)
    source, snapshot = table.on(fork.source), fork.snapshot
    identity = None if snapshot is None else snapshot.identity
    base_tag = None if identity is None else free_base_tag(source, branch, identity, events)
    return BranchCreation(
        branch=branch,
        source=fork.source,
        schema_ids=fork.schema_ids,
        base_tag=base_tag,
        snapshot_id=None if fork.snapshot is None else fork.snapshot.id,
        from_tag=fork.tag,
        fork=identity,
        is_fenced=asked.fence,
        commits=tuple(each.to_json() for each in fork.commits),
    )


def free_base_tag(
    holder: FileStoreTable,
    branch: str,
    fork: SnapshotIdentity,
    events: Iterable[LineageEvent],
    *,
    wanted: str | None = None,
) -> str:
    """Return a free name for the base tag of a branch, or one that names this very snapshot.

    A base tag stays when its branch goes, so that undo works. No other snapshot gets its name on
    any branch: the two would stand in the way of a fast-forward, which brings tags along.

    Args:
        holder: The table on the branch that is to hold the tag.
        branch: The branch that stands on it.
        fork: The snapshot that it names.
        events: The ledger.
        wanted: The name to begin with; one made of the branch's where left out.
    """
    first, named = wanted or f"{BASE_TAG_PREFIX}{branch}", forks_of_base_tags(events)

    def is_free(name: str) -> bool:
        if any(each is not None and not each.same_as(fork) for each in named.get(name, ())):
            return False
        found = holder.tags.find(name)
        # A tag that expires by itself would take the fork with it.
        return found is None or (
            found.time_retained_seconds is None and found.snapshot.identity.same_as(fork)
        )

    names = chain((first,), (f"{first}-{number}" for number in count(2)))
    return next(filter(is_free, names))


def _snapshot_by_id(source: FileStoreTable, snapshot_id: int) -> Snapshot:
    found = source.snapshots.find(snapshot_id)
    if found is not None:
        return found
    kept = [tag.snapshot for tag in source.tags.all() if tag.snapshot.id == snapshot_id]
    return kept[0] if kept else source.snapshots.get(snapshot_id)


def event_of_creation(operation: Operation, journal: CreateBranchJournal) -> LineageEvent:
    """Return the event of a branch that was made, with its receipt."""
    intent, creation = operation.intent, journal.creation
    head = _first(operation.table, creation)
    identity = None if head is None else head.identity
    return LineageEvent(
        id=intent.operation_id,
        branch=creation.branch,
        operation_id=intent.operation_id,
        actor=intent.actor,
        kind=LineageKind.CREATED if head is None else LineageKind.FORKED,
        source_branch=creation.source,
        time_millis=intent.event_millis,
        after=identity,
        parents=() if identity is None else (identity,),
        owner=journal.owner,
        reason=journal.reason,
        base_tag=creation.base_tag,
        receipt=Receipt(
            operation_id=intent.operation_id,
            statement=intent.statement,
            actor=intent.actor,
            plan_id=intent.operation_id,
            moves=(
                HeadMove(
                    branch=creation.branch,
                    before=None,
                    before_id=None,
                    after=identity,
                    after_id=None if head is None else head.id,
                ),
            ),
            counts=Counts(
                snapshots_added=int(head is not None) + len(creation.commits),
                schemas_added=len(creation.schema_ids),
                tags_added=int(creation.base_tag is not None),
            ),
            notes=_notes(creation),
            started_millis=intent.time_millis,
            finished_millis=operation.warehouse.clock(),
        ),
    )


def _first(table: FileStoreTable, creation: BranchCreation) -> Snapshot | None:
    """The snapshot that a branch begins with; others may have gone on from it already."""
    if creation.base_tag is None or creation.snapshot_id is None:
        return None
    return table.on(creation.branch).snapshots.get(creation.snapshot_id)


def _notes(creation: BranchCreation) -> tuple[str, ...]:
    if creation.base_tag is None and creation.commits:
        return (
            "Nothing is left of what its first commit builds on: it has no base, so it cannot be "
            "merged. Read it there, or make main its history: branch-console replace-main.",
        )
    if creation.base_tag is None:
        return (
            "The branch is empty: it has no base, so it cannot be merged. A branch without a "
            "snapshot can be fast-forwarded to it.",
        )
    note = f"Tag {creation.base_tag!r} on {creation.source!r} keeps the fork readable; leave it."
    if creation.source == MAIN_BRANCH:
        return (note,)
    return (note, "The tag is not on main: expiry by other engines does not look at it.")


def _taken(table: FileStoreTable, branch: str) -> AlreadyExists:
    return AlreadyExists(
        f"Table {table.identifier.table_name} has a branch {branch!r} already. Choose another "
        "name.",
        branch=branch,
    )
