"""Tables that are new to the target: main gets them with their history, a branch as a fork."""

from dataclasses import dataclass

from branch_console.catalog.sightings import find_birth
from branch_console.commit.base.head_check import is_at
from branch_console.commit.branch.branch_creation import put_base_tags
from branch_console.commit.catalog.table_birth import give_main
from branch_console.commit.catalog.table_retreat import discard_retreated, retreat
from branch_console.diff.file_safety import FileSafety
from branch_console.errors import CommitConflict, ErrorKind, Refused
from branch_console.format.catalog.catalog_version import TableChange
from branch_console.format.identifier import MAIN_BRANCH, Identifier, rescue_name
from branch_console.format.journals.history import HistoryCopy, HistoryJournal
from branch_console.format.journals.intent import Ending
from branch_console.format.journals.merge import MERGE_JOURNAL
from branch_console.format.lineage_event import LineageKind
from branch_console.procedures.branch.member_branch import check_folder_is_free, creation_of
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.catalog_merge.step_actions import MergeOperation, MergeStep
from branch_console.procedures.catalog_merge.table_content import newest_operation
from branch_console.procedures.history.file_sharing import (
    Share,
    journal_of_sharing,
    put_fences,
    put_pins,
    safety_of,
)
from branch_console.procedures.history.history_transfer import complete_take_over
from branch_console.procedures.merge.merge_kind import MergeKind
from branch_console.procedures.run.open_operation import Operation
from branch_console.storage.directory_mover import MoveOutcome
from branch_console.table.file_store_table import FileStoreTable


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTable:
    """Makes a table of the target that it did not have."""

    def check(self, merge: MergeOperation, step: MergeStep) -> None:
        """See that main can get the table; raises Refused and CommitConflict."""
        if merge.is_into_main:
            source, fork = _source(merge, step)
            _check_alone(merge, step, source)
            _copy_of(source, fork)
            _check_shares(merge, step, _safety(source))

    def prepare(self, merge: MergeOperation, step: MergeStep) -> None:
        """Note what comes, in the ledger of the table; raises Refused and CommitConflict."""
        if not merge.is_into_main:
            _pin_fork(merge, step)
            return
        source, fork = _source(merge, step)
        _check_alone(merge, step, source)
        copy, safety = _copy_of(source, fork), _safety(source)
        _check_shares(merge, step, safety)
        operation_id = merge.step_id(step)
        intent = merge.operation.intent
        Operation.begin(
            merge.warehouse,
            source,
            ProcedureCall(
                name=str(MergeKind.MERGE),
                arguments={
                    "table": _name(merge, step),
                    "branch": source.branch,
                    "target": MAIN_BRANCH,
                },
                actor=intent.actor,
                operation_id=operation_id,
            ),
            branch=MAIN_BRANCH,
            codec=MERGE_JOURNAL,
            journal=HistoryJournal(
                copy=copy,
                sharing=journal_of_sharing(
                    safety, source, operation_id, (source.branch, MAIN_BRANCH)
                ),
                event=LineageKind.FAST_FORWARDED,
                schema_id_after=max(copy.schema_ids),
            ),
            catalog_operation=merge.id,
        )

    def forget(self, merge: MergeOperation, step: MergeStep) -> None:
        """End the operation of the table."""
        operation = newest_operation(merge, step)
        if operation is not None:
            operation.end(
                Ending.ROLLED_BACK,
                "The merge of the catalog that this is a part of was not published.",
            )

    def is_done(self, merge: MergeOperation, step: MergeStep) -> bool:
        """Whether main has the table at its place, or at one that it has after that."""
        return not merge.is_into_main or _place_of(merge, step) is not None

    def carry_out(self, merge: MergeOperation, step: MergeStep) -> None:
        """Give main the history of the branch, then the folder its place."""
        if self.is_done(merge, step):
            return
        operation = newest_operation(merge, step)
        if operation is None:
            raise CommitConflict(
                f"The prepared steps of {_name(merge, step)} are missing from its ledger. Put the "
                "files back from a copy, then run: branch-console recover.",
                kind=ErrorKind.HEAD_MOVED,
            )
        journal = operation.read(MERGE_JOURNAL)
        assert isinstance(journal, HistoryJournal)
        table, store = operation.table, merge.warehouse.store
        birth = find_birth(merge.warehouse.catalog.reader, table.paths.table)
        if birth is None:
            put_fences(operation, journal.sharing)
            give_main(
                table,
                store,
                journal.copy,
                f"{merge.operation.paths.root}/new/{merge.step_id(step)}-schema",
                lambda: put_pins(operation, journal.sharing),
            )
        elif birth != step.birth:
            raise _taken(merge, step)
        source, target = table.paths.table, merge.folder_of(step.object_id, step.after)
        if source != target:
            _move(merge, step, source, target)

    def take_back(self, merge: MergeOperation, step: MergeStep) -> str | None:
        """Take main of the table away again; what others wrote to it stays in a rescue branch."""
        if not merge.is_into_main:
            return None
        operation = newest_operation(merge, step)
        if operation is None:
            return None
        table, store = operation.table, merge.warehouse.store
        journal = operation.read(MERGE_JOURNAL)
        assert isinstance(journal, HistoryJournal)
        rescue = rescue_name(merge.step_id(step))
        is_ours = not _others_wrote(table, journal.copy, rescue)
        birth = find_birth(merge.warehouse.catalog.reader, table.paths.table)
        if birth not in (None, step.birth):
            return None
        main = table.on(MAIN_BRANCH).paths
        retreat(store, main, rescue)
        if is_ours:
            discard_retreated(store, main, rescue)
        source = merge.operation.paths.folder(step.folder or "")
        if table.paths.table != source:
            _move(merge, step, table.paths.table, source)
        operation.end(Ending.ROLLED_BACK, "The merge of the catalog was turned back.")
        if is_ours:
            return None
        return f"What others wrote to {_name(merge, step)} is kept by its branch {rescue!r}."

    def complete(self, merge: MergeOperation, step: MergeStep) -> str | None:
        """Record in the ledger of the table that main has it."""
        name = _name(merge, step)
        if not merge.is_into_main:
            return f"Table {name} is new."
        operation = newest_operation(merge, step)
        if operation is not None:
            journal = operation.read(MERGE_JOURNAL)
            assert isinstance(journal, HistoryJournal)
            if operation.receipt() is None:
                complete_take_over(operation, journal)
            operation.end(Ending.DONE)
        return f"Table {name} is new, with its history."


def _pin_fork(merge: MergeOperation, step: MergeStep) -> None:
    """Keep where a branch begins with a table that is new to it."""
    fork = merge.version.tables.get(step.object_id) or TableChange()
    dropped = [key for key, table in merge.version.tables.items() if table is None]
    seen = merge.warehouse.on(merge.noted.target)
    check_folder_is_free(merge.warehouse, seen, fork.folder or "", [*dropped, step.object_id])
    table = _table_at(merge, merge.operation.paths.folder(fork.folder or ""))
    creation = creation_of(merge.noted.target_content, fork, table)
    put_base_tags(merge.warehouse.store, [(table, creation)])


def _name(merge: MergeOperation, step: MergeStep) -> str:
    return f"{merge.final_name(step.after.database)}.{step.after.name}"


def _source(merge: MergeOperation, step: MergeStep) -> tuple[FileStoreTable, TableChange | None]:
    """The new table on the branch that it lies on, and where the source began with it there.

    None is all that it holds now.
    """
    folder = merge.operation.paths.folder(step.folder or "")
    table = _table_at(merge, folder)
    member = merge.warehouse.on(merge.noted.source).member(step.object_id)
    if member.is_made:
        return table.on(merge.noted.source_content), None
    return table.on(member.table.source or MAIN_BRANCH), member.table


def _table_at(merge: MergeOperation, folder: str) -> FileStoreTable:
    identifier = Identifier(database="new", table=folder.rpartition("/")[2])
    return FileStoreTable(merge.warehouse.catalog.reader, folder, identifier)


def _place_of(merge: MergeOperation, step: MergeStep) -> str | None:
    """Return the folder of main's table, at its place or a later one; None if it is not there."""
    reader = merge.warehouse.catalog.reader
    source = merge.operation.paths.folder(step.folder or "")
    target = merge.folder_of(step.object_id, step.after)
    places = (each for each in merge.folders_of(step) if each != source or source == target)
    return next((each for each in places if find_birth(reader, each) == step.birth), None)


def _copy_of(source: FileStoreTable, fork: TableChange | None) -> HistoryCopy:
    """All of a branch, or the part of it that was there where another one began."""
    schemas, snapshots, tags = source.schemas.ids(), source.snapshots.ids(), source.tags.all()
    head = source.head()
    if fork is not None:
        last = 0 if fork.head is None else fork.head.id
        schemas = tuple(each for each in schemas if each <= (fork.schema or 0))
        snapshots = tuple(each for each in snapshots if each <= last)
        tags = tuple(each for each in tags if each.snapshot.id <= last)
        head = source.snapshots.find(last)
        if fork.head is not None and (head is None or not is_at(head, fork.head.identity)):
            raise Refused(
                f"Snapshot {last} of {source.branch!r}, with which the table began, is gone. "
                "Nothing was merged.",
                kind=ErrorKind.SNAPSHOT_NOT_FOUND,
            )
    return HistoryCopy(
        source=source.branch,
        target=MAIN_BRANCH,
        expected_head=None,
        expected_head_id=None,
        new_head=None if head is None else head.identity,
        new_head_id=None if head is None else head.id,
        schema_ids=tuple(schemas),
        tags=tuple(each.name for each in tags),
        snapshot_ids=tuple(snapshots),
    )


def _others_wrote(table: FileStoreTable, copy: HistoryCopy, rescue: str) -> bool:
    """Whether main of a new table, or what an earlier try made of it, holds what did not come."""
    heads = (table.on(MAIN_BRANCH).head(), table.on(rescue).head())
    source = table.on(copy.source)
    return any(
        not (
            (copy.new_head is not None and head.identity.same_as(copy.new_head))
            # A try that was cut off while it removed the copy left a shorter one.
            or source.snapshots.holds(head)
        )
        for head in heads
        if head is not None
    )


def _safety(source: FileStoreTable) -> FileSafety:
    """Whether main may name the files of the branch, and what that takes."""
    main = source.on(MAIN_BRANCH).with_schema(source.schema())
    snapshots = source.snapshots.all()
    return safety_of(
        Share(
            branches=(source, main),
            on_main=snapshots[-1:],
            history=snapshots,
            can_copy=False,
        )
    )


def _check_shares(merge: MergeOperation, step: MergeStep, safety: FileSafety) -> None:
    """Refuse a table whose files main may not name."""
    if not safety.shares:
        raise Refused(
            f"{_name(merge, step)} cannot come: {' '.join(safety.reasons)} Nothing was merged.",
            kind=ErrorKind.UNSUPPORTED,
        )


def _check_alone(merge: MergeOperation, step: MergeStep, source: FileStoreTable) -> None:
    """Refuse a table whose folder has another place, while other tables lie in it too."""
    reader = merge.warehouse.catalog.reader
    target = merge.folder_of(step.object_id, step.after)
    folder = source.paths.table
    of_main = find_birth(reader, folder)
    if folder == target:
        if of_main is not None:
            raise _taken(merge, step)
        return
    births = {find_birth(reader, source.on(each).paths.root) for each in source.branches.names()}
    if {of_main, *births} - {None, step.birth}:
        raise Refused(
            f"{_name(merge, step)} shares its folder {merge.operation.paths.relative(folder)} "
            "with another table, so that it cannot get another place. Nothing was merged. Drop or "
            "rename the other one first.",
            kind=ErrorKind.UNSUPPORTED,
        )
    if merge.warehouse.file_io.exists(target):
        raise _taken(merge, step)


def _move(merge: MergeOperation, step: MergeStep, source: str, target: str) -> None:
    match merge.warehouse.store.mover.move(source, target):
        case MoveOutcome.DONE:
            return
        case MoveOutcome.TAKEN:
            raise _taken(merge, step)
        case MoveOutcome.UNSUPPORTED:
            raise CommitConflict(
                "This store cannot give a folder another name in one step, so that "
                f"{_name(merge, step)} does not get its place.",
                kind=ErrorKind.UNSUPPORTED,
            )


def _taken(merge: MergeOperation, step: MergeStep) -> CommitConflict:
    return CommitConflict(
        f"Another table has the folder of {_name(merge, step)} by now.", kind=ErrorKind.NAME_TAKEN
    )
