"""The release of files that only retired names lead to; references are read again before.

`maintenance` reads the references, `diff` decides, and this module combines both.
"""

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from branch_console.commit.base.read_holds import read_holds
from branch_console.commit.journal import Journal
from branch_console.commit.rows import row_write, staged_rows
from branch_console.diff.expiry.dry_run import BLOCKED_UNTIL
from branch_console.diff.expiry.reachability import ReferredManifests, reach, unbalanced
from branch_console.errors import ErrorKind, FormatError, PaimonError
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.journals.branches import BranchRelease, BranchTag, DropBranchJournal
from branch_console.format.journals.catalog_merge import CATALOG_MERGE_JOURNAL
from branch_console.format.journals.expiry import ExpireJournal
from branch_console.format.journals.names import NamesJournal
from branch_console.format.journals.procedures import codec_of
from branch_console.format.journals.read_hold import ReadHold
from branch_console.format.journals.terms import OperationJournal
from branch_console.format.scan_options import moment_text
from branch_console.maintenance.named_files import (
    INDEX_RANK,
    LIST_RANK,
    MANIFEST_RANK,
    RELEASED_FILES,
    STATISTICS_RANK,
    NamedFiles,
    NamedLists,
    lists_of,
    read_named_files,
    released_data_files,
)
from branch_console.maintenance.references import (
    TAKEN_BY,
    Reference,
    ReferenceKind,
    UnreadReferences,
    broken_branch,
    check_read,
    find_references,
    find_retired_references,
    list_references,
    retired_branches,
    retired_operations,
)
from branch_console.maintenance.release import (
    LookAgain,
    find_release_list,
    forget_release_list,
    list_release,
    remove_files,
)
from branch_console.maintenance.retire import ROUNDS, forget_retired
from branch_console.maintenance.trash import Trash
from branch_console.operations.catalog_requests import MergeCatalogRequest
from branch_console.procedures.call.consequence import Consequence, keeps
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.maintenance.branch_tags import (
    released_tags,
    retire_tags,
    tags_noted,
)
from branch_console.procedures.run.open_operation import Operation
from branch_console.table.file_store_table import FileStoreTable

_GOING, _KEPT = 0, 1
ReferenceKey: TypeAlias = tuple[ReferenceKind, str | None, str, str, str, str]
REMOVED: Final = "removed"
"""The step at which a release has removed its files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """The result of a release.

    Attributes:
        files: How many files it removed.
        size: The bytes of the data files and index files among them.
        gone: How many of the files to remove were gone already.
        tags: How many tags it removed that only kept removed files.
        waits_for: The operation or read that the files wait for; nothing was removed then.
        blocked_by: Why it is not known which files are needed; nothing was removed then.
    """

    files: int = 0
    size: int = 0
    gone: int = 0
    tags: int = 0
    waits_for: str | None = None
    blocked_by: str | None = None


def find_released_files(
    warehouse: Warehouse,
    table: FileStoreTable,
    going: Sequence[Reference],
    kept: Sequence[Reference],
) -> pa.Table:
    """Return the files that nothing needs once some references are gone.

    Files outside the warehouse are not among them: nothing is removed there.

    Args:
        warehouse: The warehouse of the table.
        table: The table on any branch.
        going: The references to remove.
        kept: All other references.

    Returns:
        The files, with the columns of RELEASED_FILES.

    Raises:
        FormatError: A reference leads to a file that is missing or broken, or manifests contradict
            each other: then nothing of the table may go.
    """
    if not going:
        return RELEASED_FILES.empty_table()
    named = [lists_of(each) for each in (*going, *kept)]
    files = read_named_files(table, named)
    referred = [
        referred_manifests(files, lists, _GOING if number < len(going) else _KEPT)
        for number, lists in enumerate(named)
    ]
    found = reach(files.columns, referred)
    names = found.names[found.only_needed_by(_GOING)]
    _check_balanced(files, unbalanced(files.columns, referred, names))
    theirs, others = named[: len(going)], named[len(going) :]
    data = _data_files(table, going, referred, files, names)
    found = pa.concat_tables([*data, _metadata(table, files, theirs, others)]).combine_chunks()
    return found.filter(pc.starts_with(found["path"], f"{warehouse.file_io.root.rstrip('/')}/"))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FilesToRelease:
    """The files that go with some references.

    Attributes:
        files: Columns of RELEASED_FILES.
        unread: What is wrong with those references whose files cannot be found. Such files stay,
            as orphans.
        blocked_by: Why it is not known which files others need, so that none goes now.
    """

    files: pa.Table
    unread: tuple[str, ...] = ()
    blocked_by: str | None = None

    @property
    def left_as_orphans(self) -> tuple[Consequence, ...]:
        """The consequence that some files stay; empty if all files are known."""
        if not self.unread:
            return ()
        return (
            keeps(
                "Some metadata to be removed cannot be read. Files that only it names stay until "
                "remove_orphan_files removes them.",
                self.unread,
            ),
        )


def find_files_to_release(
    warehouse: Warehouse,
    table: FileStoreTable,
    going: Sequence[Reference],
    kept: Sequence[Reference],
) -> FilesToRelease:
    """Decide which files go, also if metadata of what goes is missing or broken.

    Args:
        warehouse: As for `find_released_files`.
        table: The same.
        going: The same.
        kept: The same.

    Raises:
        FormatError: A reference that stays leads to a file that is missing or broken, or manifests
            contradict each other: then nothing of the table may go.
    """
    try:
        return FilesToRelease(files=find_released_files(warehouse, table, going, kept))
    except FormatError:
        # Only a broken table is worth looking at piece by piece.
        check_readable(table, kept)
        damage = [(each, _find_damage(table, each)) for each in going]
        readable = [each for each, error in damage if error is None]
        if len(readable) == len(going):
            raise
        unread = tuple(dict.fromkeys(error.message for _, error in damage if error is not None))
    files = find_released_files(warehouse, table, readable, kept)
    return FilesToRelease(files=files, unread=unread)


def find_files_of_broken(
    warehouse: Warehouse,
    table: FileStoreTable,
    going: Sequence[Reference],
    kept: Sequence[Reference],
    *,
    own_error: PaimonError | None,
    unread: Sequence[UnreadReferences],
) -> FilesToRelease:
    """Decide which files go with a branch, also if it and others cannot be read.

    A branch that cannot be read can be released beside others that cannot be read: no file is
    removed then. Otherwise none of them could be the first to leave.

    Args:
        warehouse: As for `find_released_files`.
        table: The same.
        going: The same.
        kept: The same.
        own_error: Why references of the branch are not among those that go; None if they are.
        unread: References that stay and could not be read.

    Raises:
        FormatError: A reference that stays cannot be read, and all that go can.
    """
    own = () if own_error is None else (own_error.message,)
    try:
        check_read(table, unread)
        found = find_files_to_release(warehouse, table, going, kept)
    except FormatError:
        damage = (_find_damage(table, each) for each in going)
        messages = (*own, *(each.message for each in damage if each is not None))
        broken = find_broken_owner(table, kept, unread)
        if not messages or broken is None:
            raise
        return FilesToRelease(
            files=RELEASED_FILES.empty_table(),
            unread=tuple(dict.fromkeys(messages)),
            blocked_by=broken.message,
        )
    return replace(found, unread=(*own, *found.unread))


def find_broken_owner(
    table: FileStoreTable, kept: Sequence[Reference], unread: Sequence[UnreadReferences]
) -> FormatError | None:
    """Return the error of a branch that stays and cannot be read; None if all can.

    Args:
        table: The table on any branch.
        kept: The references that stay and were read.
        unread: Those that stay and could not be read.
    """
    try:
        check_read(table, unread)
        try:
            read_named_files(table, [lists_of(each) for each in kept])
        except FormatError:
            # Only a broken table is worth looking at piece by piece.
            check_readable(table, kept)
            raise
    except FormatError as error:
        return error
    return None


def find_broken_retired(table: FileStoreTable, operation_id: str) -> FormatError | None:
    """Return the error of names that an operation took; None if all can be read."""
    found, unread = find_retired_references(table, operation_id)
    return find_broken_owner(table, found, unread)


def check_readable(table: FileStoreTable, references: Iterable[Reference]) -> None:
    """Look at references one by one, once it is known that not all can be read.

    Raises:
        FormatError: Metadata of one is missing or broken; the message names its branch.
    """
    for each in references:
        error = _find_damage(table, each)
        if error is not None:
            raise broken_branch(table, each.branch, error, expiry=each.expiry) from error


def _find_damage(table: FileStoreTable, reference: Reference) -> FormatError | None:
    """Return what is wrong with the metadata that a reference leads to, None if nothing is."""
    try:
        read_named_files(table, [lists_of(reference)])
    except FormatError as error:
        return error
    return None


def without_needed(
    table: FileStoreTable, files: pa.Table, references: Sequence[Reference]
) -> pa.Table:
    """Leave out of files that are about to go those that some references need.

    Raises:
        FormatError: As `find_released_files`.
    """
    if not references or not files.num_rows:
        return files
    named = [lists_of(each) for each in references]
    read = read_named_files(table, named)
    found = reach(read.columns, [referred_manifests(read, each, _GOING) for each in named])
    needed = pa.array(found.names[found.needed_by(_GOING)])
    paths = pa.array(_metadata(table, read, named, ())["path"].to_pylist(), pa.string())
    is_data = pc.equal(files["rank"], 0)
    is_needed = pc.or_(
        pc.and_(is_data, pc.is_in(files["name"], value_set=needed)),
        pc.is_in(files["path"], value_set=paths),
    )
    return files.filter(pc.invert(is_needed))


@dataclass(frozen=True, slots=True, kw_only=True)
class Grace:
    """How long undo can bring back the names that an operation took."""

    since_millis: int
    until_millis: int


def find_grace(journal: Journal, operation_id: str) -> Grace | None:
    """Return the grace of an operation that took names; None while it is at work.

    Raises:
        FormatError: A newer release took names.
    """
    end, intent = journal.end_of(operation_id), journal.find(operation_id)
    if end is None or intent is None:
        return None
    noted = journal.decode(intent, codec_of(intent.procedure))
    until = end.time_millis + _grace_millis(noted)
    return Grace(since_millis=end.time_millis, until_millis=until)


def until_undo_ends(warehouse: Warehouse, table: FileStoreTable, error: FormatError) -> FormatError:
    """Return the error of an expiry, with the time at which it can run if undo of another ends.

    Args:
        warehouse: The warehouse of the table.
        table: The table on any branch.
        error: Why no file may leave the table. One of names that no operation took is returned.

    Raises:
        FormatError: A newer release took names.
    """
    operation_id = error.facts.get(TAKEN_BY)
    if not isinstance(operation_id, str):
        return error
    grace = find_grace(Journal(warehouse.store, table.paths), operation_id)
    if grace is None:
        return error
    return FormatError(
        f"Expiry of {table.identifier.table_name} is blocked until "
        f"{moment_text(grace.until_millis)}. {error.message}",
        kind=error.kind,
        **{**error.facts, BLOCKED_UNTIL: grace.until_millis},
    )


def due_releases(warehouse: Warehouse, table: FileStoreTable, now_millis: int) -> tuple[str, ...]:
    """Return the operations whose grace is over: nobody can bring back their names any more.

    Raises:
        FormatError: A newer release took names.
    """
    journal = Journal(warehouse.store, table.paths)
    graces = {each: find_grace(journal, each) for each in retired_operations(table)}
    return tuple(
        operation_id
        for operation_id, grace in graces.items()
        if grace is not None and now_millis >= grace.until_millis
    )


def _grace_millis(journal: OperationJournal) -> int:
    match journal:
        case DropBranchJournal(release=BranchRelease(grace_millis=grace)):
            return grace
        case ExpireJournal(grace_millis=grace) | NamesJournal(grace_millis=grace):
            return grace
        case _:
            raise FormatError(f"Names were retired by {type(journal).__name__}, which takes none.")


def going_references(
    warehouse: Warehouse,
    table: FileStoreTable,
    references: Iterable[Reference],
    operations: Collection[str],
) -> frozenset[ReferenceKey]:
    """Return which references go when the files of some operations go.

    Args:
        warehouse: The warehouse of the table.
        table: The table on any branch.
        references: All of the table.
        operations: They; names of theirs are retired, and tags may go with them.
    """
    journal, catalog = Journal(warehouse.store, table.paths), warehouse.catalog_references
    tags = {tag for each in operations for tag in released_tags(table, journal, each, catalog)}
    return frozenset(
        reference_key(each)
        for each in references
        if each.expiry in operations
        or (
            each.kind is ReferenceKind.TAG
            and each.expiry is None
            and BranchTag(branch=each.branch, name=each.name) in tags
        )
    )


def release(operation: Operation, expiries: Collection[str]) -> Released:
    """Remove the files of operations whose grace is over, as far as nothing needs them.

    Going on after a crash is no different: what was listed before is looked at once more.

    Raises:
        FormatError: The files that the table needs are not known, so nothing is removed.
    """
    table, store = operation.table, operation.warehouse.store
    operation_id = operation.intent.operation_id
    if not expiries:
        return Released()
    done = find_released(operation)
    if done is not None:
        _forget(operation, expiries)
        return done
    listed = find_release_list(table, store, operation_id)
    known: set[ReferenceKey] = set()
    if listed is None:
        other = find_other_operation(operation.warehouse, table, operation_id)
        if other is not None:
            return Released(waits_for=other)
        for each in expiries:
            catalog = operation.warehouse.catalog_references
            retire_tags(table, store, operation.journal, each, catalog)
        references = list_references(table, expiries=expiries)
        going = [each for each in references if each.expiry in expiries]
        # Names have gone by now: whoever begins to read one finds out that it is gone.
        reader = find_reader(table, going, operation.warehouse.clock())
        if reader is not None:
            return Released(waits_for=reader.operation_id)
        kept = [each for each in references if each.expiry not in expiries]
        found = find_files_to_release(operation.warehouse, table, going, kept)
        listed = list_release(table, store, operation_id, found.files)
        known.update(map(reference_key, kept))

    def look_again(left: pa.Table) -> pa.Table:
        fresh = [
            each
            for each in list_references(table, expiries=expiries)
            if each.expiry not in expiries and reference_key(each) not in known
        ]
        known.update(map(reference_key, fresh))
        return without_needed(table, left, fresh)

    released = remove_released(
        operation, listed, look_again, tags=_retired_tags(table, operation.journal, expiries)
    )
    _forget(operation, expiries)
    return released


def release_unless_blocked(operation: Operation, tags: Collection[BranchTag]) -> Released:
    """Remove the files of names that the operation itself retired, unless another is broken.

    Then no file goes, and the names stay retired until an expiry can take their files.

    Args:
        operation: The operation.
        tags: The tags that go with the names.

    Raises:
        FormatError: What the table needs is not known any more; files may be gone by then.
    """
    table, own = operation.table, operation.intent.operation_id
    is_begun = find_release_list(table, operation.warehouse.store, own) is not None
    if not is_begun and find_released(operation) is None:
        references, unread = find_references(table)
        kept = [
            each
            for each in references
            if each.expiry != own
            and not (
                each.kind is ReferenceKind.TAG
                and BranchTag(branch=each.branch, name=each.name) in tags
            )
        ]
        broken = find_broken_owner(table, kept, [each for each in unread if each.expiry != own])
        if broken is not None:
            return Released(blocked_by=broken.message)
    return release(operation, (own,))


def find_reader(
    table: FileStoreTable, going: Iterable[Reference], now_millis: int
) -> ReadHold | None:
    """Return a read that runs and that needs some of what goes, None if none does."""
    holds = read_holds(table, now_millis)
    if not holds:
        return None
    identities = [each.snapshot.identity for each in going]
    return next(
        (
            hold
            for hold in holds
            for held in hold.snapshots
            if any(held.identity.same_as(each) for each in identities)
        ),
        None,
    )


def find_released(operation: Operation) -> Released | None:
    """Return what an earlier try of an operation removed, None if it did not come so far."""
    done = operation.journal.find_step(operation.intent.operation_id, REMOVED)
    return None if done is None else Released(**json.loads(done))


def remove_released(
    operation: Operation,
    listed: pa.Table,
    look_again: LookAgain,
    *,
    tags: int = 0,
    trash: Trash | None = None,
) -> Released:
    """Remove the files of a list, as far as nothing needs them by now, and mark that it is done.

    Args:
        operation: The operation that removes them.
        listed: Columns of RELEASED_FILES.
        look_again: As for `remove_files`.
        tags: How many tags went.
        trash: As for `remove_files`.
    """
    left = look_again(listed)
    if trash is not None and left.num_rows:
        trash.note(left)
    removed = remove_files(operation.warehouse.store, left, look_again, trash=trash)
    gone = left.num_rows - removed
    released = {"files": removed, "size": size_of(left), "gone": gone, "tags": tags}
    # The first to come so far counts: who goes on after a crash finds most files gone.
    done = operation.journal.mark(
        operation.intent.operation_id, REMOVED, json.dumps(released).encode()
    )
    return Released(**json.loads(done))


def size_of(files: pa.Table) -> int:
    """The bytes of files, with columns of RELEASED_FILES."""
    size: int = pc.sum(files["file_size"]).as_py() or 0
    return size


def _retired_tags(table: FileStoreTable, journal: Journal, operations: Collection[str]) -> int:
    """How many tags of other branches have been retired with the branch that they were for."""
    return sum(
        len(table.retired(operation_id, branch).tags.names())
        for operation_id in operations
        for branch in {each.branch for each in tags_noted(journal, operation_id)}
    )


def _forget(operation: Operation, expiries: Collection[str]) -> None:
    table, store = operation.table, operation.warehouse.store
    for expiry in expiries:
        for _ in range(ROUNDS):
            forget_retired(table, store, expiry, retired_branches(table, expiry))
    forget_release_list(table, store, operation.intent.operation_id)


def find_other_operation(warehouse: Warehouse, table: FileStoreTable, own: str) -> str | None:
    """Return another operation that is open, and may have seen the names that are retired now.

    Rows that are written or staged are in no snapshot yet, and build on the newest one. A merge of
    the catalog holds all tables that it is to publish, from its beginning on.

    Args:
        warehouse: The warehouse of the table.
        table: The table on any branch.
        own: The operation that asks.
    """
    found = Journal(warehouse.store, table.paths).open_intents()
    for broken in found.broken:
        return broken.operation_id
    for intent in found.readable:
        is_own = intent.operation_id == own
        if not is_own and intent.procedure not in (row_write.PROCEDURE, staged_rows.PROCEDURE):
            return intent.operation_id
    return _find_catalog_merge(warehouse, table)


def _find_catalog_merge(warehouse: Warehouse, table: FileStoreTable) -> str | None:
    paths = warehouse.ledger.paths
    journal, folder = Journal(warehouse.store, paths), paths.relative(table.paths.table)
    found = journal.open_intents()
    for broken in found.broken:
        return broken.operation_id
    for intent in found.readable:
        if intent.procedure == MergeCatalogRequest.procedure:
            merge = journal.decode(intent, CATALOG_MERGE_JOURNAL)
            if any(step.folder == folder for step in merge.steps):
                return intent.operation_id
    return None


def reference_key(reference: Reference) -> ReferenceKey:
    """Return the key of a reference, different also from a later reference of the same name."""
    lists = reference.snapshot.identity.manifest_lists
    return (reference.kind, reference.expiry, reference.branch, reference.name, *lists)


def referred_manifests(files: NamedFiles, lists: NamedLists, owner: int) -> ReferredManifests:
    """Return the manifests that a reference leads to, by their numbers.

    Args:
        files: The files that were read.
        lists: The lists that the reference names.
        owner: The owner of the references.
    """
    return ReferredManifests(
        owner=owner,
        live=files.numbers(lists.live),
        added=files.numbers(lists.added),
        written=files.numbers(lists.written),
    )


def _check_balanced(
    files: NamedFiles, names: "np.ndarray[tuple[int], np.dtype[np.uint64]]"
) -> None:
    if not len(names):
        return
    is_wrong = pc.is_in(files.columns["name"], value_set=pa.array(names))
    numbers = pc.unique(files.columns["manifest"].filter(is_wrong)).to_pylist()
    manifests = [list(files.manifests)[number] for number in sorted(numbers)]
    raise FormatError(
        f"Manifests {', '.join(manifests[:3])} contradict each other: they add a file twice, or "
        "delete one that was not there. What the table needs is not known, so no file was removed. "
        "Run branch-console doctor, and restore the manifests.",
        kind=ErrorKind.BROKEN_FILE,
    )


def _data_files(
    table: FileStoreTable,
    going: Sequence[Reference],
    referred: Sequence[ReferredManifests],
    files: NamedFiles,
    names: "np.ndarray[tuple[int], np.dtype[np.uint64]]",
) -> list[pa.Table]:
    """The data files of each branch that had them, as its own options place them.

    Of one that has another name, those of the table on its present branch do.
    """
    left = files.columns.filter(pc.is_in(files.columns["name"], value_set=pa.array(names)))
    found = []
    owners = dict.fromkeys((each.branch, each.expiry) for each in going)
    for branch, expiry in owners:
        theirs = set[int]()
        for reference, manifests in zip(going, referred, strict=False):
            if (reference.branch, reference.expiry) == (branch, expiry):
                theirs |= {*manifests.live, *manifests.added, *manifests.written}
        is_theirs = pc.is_in(left["manifest"], value_set=pa.array(sorted(theirs), pa.int32()))
        placed = _with_schema(table, branch, expiry)
        found.append(released_data_files(placed, files, left.filter(is_theirs)))
        left = left.filter(pc.invert(is_theirs))
    return found


def _with_schema(table: FileStoreTable, branch: str, expiry: str | None) -> FileStoreTable:
    """The table on a branch, or on what an operation took of it with its schemas."""
    places = [table.on_listed(branch)]
    if expiry is not None:
        places.insert(0, table.retired(expiry, branch))
    # A branch that was dropped or renamed since has no schema under the name that it had.
    return next((each for each in places if _has_schema(each)), table.on(MAIN_BRANCH))


def _has_schema(table: FileStoreTable) -> bool:
    """Whether the newest schema of a branch can be read. A broken branch may go without one."""
    try:
        return table.schemas.find_latest() is not None
    except FormatError:
        return False


def _metadata(
    table: FileStoreTable,
    files: NamedFiles,
    going: Iterable[NamedLists],
    kept: Iterable[NamedLists],
) -> pa.Table:
    rows = named_paths(table, files, going)
    for path in named_paths(table, files, kept):
        rows.pop(path, None)
    return pa.Table.from_pylist(
        [
            {"path": path, "file_size": size, "rank": rank, "name": 0}
            for path, (rank, size) in rows.items()
        ],
        RELEASED_FILES,
    )


def named_paths(
    table: FileStoreTable, files: NamedFiles, named: Iterable[NamedLists]
) -> dict[str, tuple[int, int]]:
    """Return what references lead to beside data files: the rank, and the size where it is told."""
    lists: set[str] = set()
    indexes: set[str] = set()
    found: dict[str, tuple[int, int]] = {}
    for each in named:
        lists.update(each.all)
        if each.index_manifest is not None:
            indexes.add(each.index_manifest)
        if each.statistics is not None:
            found[table.paths.statistics(each.statistics)] = (STATISTICS_RANK, 0)
    for index in indexes:
        found[table.paths.manifest(index)] = (MANIFEST_RANK, 0)
        for path, size in files.index_files[index].items():
            found[path] = (INDEX_RANK, size)
    by_number = list(files.manifests)
    for number in sorted(set(files.numbers(lists))):
        found[table.paths.manifest(by_number[number])] = (MANIFEST_RANK, 0)
    for name in sorted(lists):
        found[table.paths.manifest(name)] = (LIST_RANK, 0)
    return found
