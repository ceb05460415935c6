"""The content of a table that both sides have: merged as one table is, inside a merge of many.

It is an operation of the table, whose intent says which operation of the catalog it is a part of.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from branch_console.catalog.sightings import find_birth
from branch_console.commit.base.metadata_copy import publish_files
from branch_console.commit.journal import Journal
from branch_console.commit.schema.schema_commit import withdraw_schemas
from branch_console.errors import CommitConflict, ErrorKind, Refused
from branch_console.format.identifier import Identifier
from branch_console.format.journals.history import HistoryJournal
from branch_console.format.journals.intent import Ending
from branch_console.format.journals.merge import MERGE_JOURNAL, AnyMergeJournal, MergeJournal
from branch_console.format.receipt import Receipt
from branch_console.format.snapshot import Snapshot
from branch_console.format.table_schema import TableSchema
from branch_console.merge.file_moves import MergeRules
from branch_console.merge.plan import SchemaPlan, UpToDatePlan, can_run, merging
from branch_console.procedures.branch.member_branch import open_to_write
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.catalog_merge.content_back import take_content_back, was_taken_back
from branch_console.procedures.catalog_merge.step_actions import (
    MergeOperation,
    MergeStep,
    StagedContent,
)
from branch_console.procedures.history.history_transfer import complete_take_over, take_over
from branch_console.procedures.merge.inputs import decided_for
from branch_console.procedures.merge.merge_branch import journal_of_decision
from branch_console.procedures.merge.merge_kind import MergeKind, MergeSpec
from branch_console.procedures.merge.publish import (
    complete_merge,
    find_landed,
    publish_merge,
    remove_lost_tries,
    rules_of_journal,
    stage_merge,
    withdraw_merge,
)
from branch_console.procedures.run.open_operation import Operation
from branch_console.procedures.run.planned_heads import PlannedHeads
from branch_console.procedures.run.written_rows import hand_over_staged_rows, take_staged_rows
from branch_console.storage.catalog_paths import DATABASE_SUFFIX
from branch_console.table.file_store_table import FileStoreTable

_MOST_TRIES: Final = 3
"""How often a table is planned again whose publish others were faster than."""
_LONGEST_MILLIS: Final = 60_000
_NOTHING: Final = "nothing"
"""The end of the name of a note: the source held nothing that the table lacks."""
_NOT_PUBLISHED: Final = "The merge of the catalog that this is a part of was not published."


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeContent:
    """Merges what the source did to the content of a table."""

    def check(self, merge: MergeOperation, step: MergeStep) -> None:
        """Nothing beyond the plan of its table."""

    def prepare(self, merge: MergeOperation, step: MergeStep) -> None:
        """Note in the ledger of the table what comes, with the rows that were written for it."""
        staged = merge.staged.get(step.object_id) or _made_for(merge, step)
        if staged is None or isinstance(staged.decided.plan, SchemaPlan):
            return
        call = call_of_step(merge, step)
        table = staged.decided.target
        take_staged_rows(merge.warehouse, call, table, staged.written)
        operation = Operation.begin(
            merge.warehouse,
            table,
            call,
            branch=table.branch,
            codec=MERGE_JOURNAL,
            journal=_journal_of(staged, call),
            catalog_operation=merge.id,
        )
        journal = operation.read(MERGE_JOURNAL)
        if isinstance(journal, MergeJournal):
            stage_merge(operation, journal)
        if staged.written.staged_rows is not None:
            begun = journal.row_messages if isinstance(journal, MergeJournal) else None
            hand_over_staged_rows(merge.warehouse, call, table, staged.written, begun)

    def forget(self, merge: MergeOperation, step: MergeStep) -> None:
        """Remove the rows that were written, and end the operation of the table."""
        for operation in operations_of(merge, step):
            journal = operation.read(MERGE_JOURNAL)
            if isinstance(journal, MergeJournal):
                withdraw_merge(operation, journal)
            operation.end(Ending.ROLLED_BACK, _NOT_PUBLISHED)

    def is_done(self, merge: MergeOperation, step: MergeStep) -> bool:
        """Whether the snapshot of the merge is there, or the schemas that come alone."""
        if step.schemas:
            table = target_of(merge, step)
            newest = TableSchema.from_json(step.schemas[-1])
            return newest.id in table.schemas.ids()
        operation = newest_operation(merge, step)
        if operation is None:
            return _brings_nothing(merge, step)
        journal = operation.read(MERGE_JOURNAL)
        if was_taken_back(operation, journal):
            return False
        is_recorded = operation.receipt() is not None
        return is_recorded or _find_landed(operation, journal) is not None

    def carry_out(self, merge: MergeOperation, step: MergeStep) -> None:
        """Publish the schemas, then one snapshot; raises CommitConflict."""
        if step.schemas:
            table, store = target_of(merge, step), merge.warehouse.store
            files = [(TableSchema.from_json(each).id, each.encode()) for each in step.schemas]
            publish_files(store, [(table.paths.schema(key), data) for key, data in files])
            return
        tries = list(operations_of(merge, step))
        if not tries and _brings_nothing(merge, step):
            return
        if not tries:
            raise _lost(step)
        if tries[-1].receipt() is not None:
            return
        while True:
            try:
                _publish(tries[-1])
            except CommitConflict as error:
                tries[-1].end(Ending.STOPPED, error.message)
                tries.append(_planned_again(merge, step, tries, error))
            else:
                return

    def take_back(self, merge: MergeOperation, step: MergeStep) -> str | None:
        """Withdraw the schemas, or what was published; raises CommitConflict."""
        if step.schemas:
            schemas = [TableSchema.from_json(each) for each in step.schemas]
            withdraw_schemas(target_of(merge, step), merge.warehouse.store, schemas)
            return None
        operation = newest_operation(merge, step)
        if operation is None:
            return None
        journal = operation.read(MERGE_JOURNAL)
        if operation.receipt() is None and _find_landed(operation, journal) is None:
            # What was written stays, as garbage: somebody who sleeps in the middle of the step may
            # publish it yet, and what is published must be whole to be taken back.
            operation.end(Ending.ROLLED_BACK, _NOT_PUBLISHED)
            return None
        return take_content_back(operation, journal, _recorded(operation, journal, step))

    def complete(self, merge: MergeOperation, step: MergeStep) -> str | None:
        """Record the merge in the ledger of the table."""
        if step.schemas:
            name = target_of(merge, step).identifier.table_name
            newest = TableSchema.from_json(step.schemas[-1]).id
            return f"{name}: its schema is {newest}."
        operation = newest_operation(merge, step)
        if operation is None and _brings_nothing(merge, step):
            return None
        if operation is None:
            raise _lost(step)
        journal = operation.read(MERGE_JOURNAL)
        done = _recorded(operation, journal, step)
        if isinstance(journal, MergeJournal):
            target = operation.table.on(operation.intent.branch)
            remove_lost_tries(operation, target, find_landed(operation, journal))
        name = operation.table.identifier.table_name
        return f"{name}: {' '.join(done.notes)}" if done.notes else None


def has_landed(merge: MergeOperation, step: MergeStep) -> bool:
    """Whether a snapshot of a step is in its table, which nobody took back."""
    operation = newest_operation(merge, step)
    if operation is None:
        return False
    journal = operation.read(MERGE_JOURNAL)
    return _find_landed(operation, journal) is not None and not was_taken_back(operation, journal)


def _made_for(merge: MergeOperation, step: MergeStep) -> StagedContent | None:
    """Make the branch of a table that the target has not made yet, and plan its merge.

    Raises:
        Refused: Rows have to be read for it, or it cannot be planned.
    """
    if step.schemas or merge.is_into_main:
        return None
    warehouse = merge.warehouse
    seen = warehouse.on(merge.noted.target)
    call = call_of_step(merge, step)
    making = replace(call, role=merge.role)
    table = open_to_write(warehouse, seen, seen.member(step.object_id), making)
    spec = MergeSpec(
        kind=MergeKind.MERGE,
        source=merge.noted.source_content,
        target=merge.noted.target_content,
        one_version=True,
    )
    decided = decided_for(warehouse, table, spec, merge.rules or MergeRules())
    plan = merging(decided.plan)
    if isinstance(decided.plan, UpToDatePlan):
        merge.journal.mark(merge.id, f"{step.name}-{_NOTHING}")
        return None
    if plan is None or plan.writes_rows:
        raise Refused(
            f"{decided.plan.table} has no branch on {merge.noted.target!r} yet, and rows of it "
            "have to be read to merge it. Its branch is made by now, and main is as before: merge "
            "again.",
            kind=ErrorKind.HEAD_MOVED,
        )
    return StagedContent(decided=decided)


def _brings_nothing(merge: MergeOperation, step: MergeStep) -> bool:
    return merge.journal.has_reached(merge.id, f"{step.name}-{_NOTHING}")


def _publish(operation: Operation) -> None:
    ended = operation.journal.end_of(operation.intent.operation_id)
    if ended is not None and ended.ending is not Ending.DONE:
        raise CommitConflict(ended.message or _NOT_PUBLISHED, kind=ErrorKind.HEAD_MOVED)
    journal = operation.read(MERGE_JOURNAL)
    if isinstance(journal, HistoryJournal):
        take_over(operation, journal)
    else:
        publish_merge(operation, journal)


def _planned_again(
    merge: MergeOperation, step: MergeStep, tries: Sequence[Operation], lost: CommitConflict
) -> Operation:
    """Plan the merge of a table on what others committed first, where every decision stands.

    Raises:
        CommitConflict: What stopped the last try, where this comes to a conflict, needs rows to be
            read, or was tried often enough.
    """
    last, now = tries[-1], merge.warehouse.clock()
    journal = last.read(MERGE_JOURNAL)
    waited = now - (tries[1].intent.time_millis if len(tries) > 1 else now)
    is_judged = journal.gate is not None
    if len(tries) > _MOST_TRIES or waited > _LONGEST_MILLIS or is_judged:
        raise lost
    if not isinstance(journal, MergeJournal) or journal.row_messages is not None:
        raise lost
    target = last.table.on(journal.target)
    spec = MergeSpec(
        kind=MergeKind.MERGE, source=journal.source, target=journal.target, one_version=True
    )
    rules, heads = rules_of_journal(journal), PlannedHeads(source_id=journal.theirs_id)
    try:
        decided = decided_for(merge.warehouse, target, spec, rules, heads)
    except Refused as error:
        raise lost from error
    plan = merging(decided.plan)
    if plan is None or plan.writes_rows or plan.heads.theirs.id != journal.theirs_id:
        raise lost
    call = call_of_step(merge, step, _again(len(tries)))
    again = _journal_of(StagedContent(decided=decided), call)
    note = f"Planned again at snapshot {plan.heads.ours.id}, as others committed first."
    return Operation.begin(
        merge.warehouse,
        target,
        call,
        branch=target.branch,
        codec=MERGE_JOURNAL,
        journal=replace(again, notes=(*again.notes, note)),
        catalog_operation=merge.id,
    )


def _recorded(operation: Operation, journal: AnyMergeJournal, step: MergeStep) -> Receipt:
    """Return the receipt of what was published, which is recorded by then."""
    done = operation.receipt()
    if done is not None:
        operation.end(Ending.DONE)
        return done
    if isinstance(journal, HistoryJournal):
        return complete_take_over(operation, journal)
    landed = find_landed(operation, journal)
    if landed is None:
        raise _lost(step)
    return complete_merge(operation, journal, landed)


def call_of_step(merge: MergeOperation, step: MergeStep, attempt: str = "") -> ProcedureCall:
    """Return the call that a merge of a table is inside a merge of many."""
    intent = merge.operation.intent
    folder = step.folder or ""
    return ProcedureCall(
        name=str(MergeKind.MERGE),
        arguments={
            "table": name_of(folder),
            "branch": merge.noted.source_content,
            "target": merge.noted.target_content,
        },
        actor=intent.actor,
        operation_id=f"{merge.step_id(step)}{attempt}",
    )


def name_of(folder: str) -> str:
    """Return what a table is called by its folder below the warehouse, such as `air.flights`."""
    database, _, table = folder.partition("/")
    return f"{database.removesuffix('.db')}.{table}"


def target_of(merge: MergeOperation, step: MergeStep) -> FileStoreTable:
    """Open the table of a step on the branch that changes, where it lies now."""
    reader, folders = merge.warehouse.catalog.reader, merge.folders_of(step)
    # Another table may have the name that it had.
    born = (each for each in folders if find_birth(reader, each) == step.birth)
    folder = next(born, folders[0]) if merge.is_into_main else folders[0]
    return table_at(merge, folder)


def table_at(merge: MergeOperation, folder: str) -> FileStoreTable:
    """Open the table of a folder on the branch that changes."""
    home, _, name = merge.operation.paths.relative(folder).rpartition("/")
    # Also of a table that waits aside, whose folder names no database.
    identifier = Identifier(database=home.removesuffix(DATABASE_SUFFIX), table=name)
    return FileStoreTable(
        merge.warehouse.catalog.reader,
        folder,
        replace(identifier, branch=merge.noted.target_content),
    )


def operations_of(merge: MergeOperation, step: MergeStep) -> Iterator[Operation]:
    """Yield what the step began in the ledger of its table, the first try first."""
    store = merge.warehouse.store
    for folder in merge.folders_of(step):
        table = table_at(merge, folder)
        journal = Journal(store, table.paths)
        tries = 0
        while True:
            operation_id = f"{merge.step_id(step)}{_again(tries)}"
            intent = journal.find(operation_id)
            if intent is None or intent.catalog_operation != merge.id:
                break
            yield Operation(
                warehouse=merge.warehouse,
                table=table,
                journal=journal,
                intent=intent,
                is_resumed=merge.operation.is_resumed,
                is_held=True,
            )
            tries += 1
        if tries:
            return


def newest_operation(merge: MergeOperation, step: MergeStep) -> Operation | None:
    """Return the last try of a step; None if it began nothing."""
    found = list(operations_of(merge, step))
    return found[-1] if found else None


def _again(tries: int) -> str:
    return f"-again{tries}" if tries else ""


def _journal_of(staged: StagedContent, call: ProcedureCall) -> AnyMergeJournal:
    decided = staged.decided
    journal = journal_of_decision(decided, call.operation_id)
    if not can_run(decided.plan) or not isinstance(journal, MergeJournal | HistoryJournal):
        raise Refused(
            f"{decided.plan.table} cannot be merged as it was planned. Nothing was changed; plan "
            "again.",
            kind=ErrorKind.HEAD_MOVED,
        )
    journal = replace(journal, plan_id=decided.plan.id)
    if staged.judged is not None:
        gate, counted = staged.judged.gate, staged.judged.rows_counted
        journal = replace(journal, gate=gate, rows_counted=counted or journal.rows_counted)
    if isinstance(journal, MergeJournal) and staged.written.row_messages is not None:
        return replace(
            journal,
            row_messages=staged.written.row_messages,
            row_notes=staged.written.row_notes,
        )
    return journal


def _find_landed(operation: Operation, journal: AnyMergeJournal) -> Snapshot | None:
    if isinstance(journal, MergeJournal):
        return find_landed(operation, journal)
    head = operation.table.on(journal.copy.target).head()
    wanted = journal.copy.new_head
    is_there = head is not None and wanted is not None and head.identity.same_as(wanted)
    return head if is_there else None


def _lost(step: MergeStep) -> CommitConflict:
    return CommitConflict(
        f"The prepared steps of {name_of(step.folder or '')} are missing from its ledger. Put the "
        "files back from a copy, then run: branch-console recover.",
        kind=ErrorKind.HEAD_MOVED,
    )
