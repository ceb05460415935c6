"""Undoing a merge of the catalog: names, properties, folders and heads are as before it.

Where every table still stands at the head that the merge made, the merge counts no more: its source
can be merged again. Where somebody went on, it stays part of the history, with a revert a table.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from branch_console.errors import CommitConflict, ErrorKind, Refused
from branch_console.format.catalog.catalog_version import (
    CatalogVersion,
    VersionKind,
    VersionName,
)
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.journals.catalog_merge import CatalogMergeJournal
from branch_console.format.journals.history import HistoryJournal
from branch_console.format.journals.intent import Ending
from branch_console.format.journals.merge import MERGE_JOURNAL, MergeJournal
from branch_console.format.journals.undo import UNDO_JOURNAL
from branch_console.format.journals.undo_objects import MergeBackJournal
from branch_console.format.receipt import Counts, Receipt, total_of
from branch_console.merge.catalog.catalog_steps import StepKind
from branch_console.merge.plan import MergeVerdict, verdict_of
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import (
    Preview,
    plan_digest,
)
from branch_console.procedures.call.permissions import Role
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.catalog.branch_change import database_back, is_made
from branch_console.procedures.catalog.catalog_operation import CatalogOperation, CatalogPlan
from branch_console.procedures.catalog_merge.actions import action_of
from branch_console.procedures.catalog_merge.step_actions import MergeOperation, MergeStep
from branch_console.procedures.catalog_merge.table_content import newest_operation, target_of
from branch_console.procedures.history.history_transfer import finish_history_transfer
from branch_console.procedures.merge.merge_branch import journal_of_decision
from branch_console.procedures.merge.merge_kind import MergeKind
from branch_console.procedures.merge.publish import finish_merge, withdraw_merge
from branch_console.procedures.run.open_operation import Operation
from branch_console.procedures.undo.merge_way_back import (
    WayBack,
    call_for_table,
    contents_of,
    event_of_step,
    object_name,
    objects_gone_alone,
    revert_blocks,
    revert_of,
    table_name,
    takes_tables,
    way_back_of,
)
from branch_console.procedures.undo.undo_history import plan_way_back

PROCEDURE: Final = "merge_catalog_branch"
_NOT_UNDONE: Final = "The undo that this is a part of did not begin."


def plan_merge_back(
    warehouse: Warehouse,
    call: ProcedureCall,
    done: CatalogOperation,
    noted: CatalogMergeJournal,
    part: str | None = None,
) -> CatalogPlan:
    """Decide whether a merge of the catalog can be taken back.

    Args:
        warehouse: The warehouse.
        call: The call of `undo`.
        done: The operation that merged.
        noted: The journal of the merge.
        part: The step whose object is taken back alone; None for all of it.
    """
    merge = MergeOperation(operation=done, noted=noted)
    way = way_back_of(merge, call, part)
    newest = warehouse.ledger.newest(noted.target)
    operation_id = merge.id if part is None else f"{merge.id}-{part}"
    subject = noted.subject if part is None else object_name(merge, list(way.steps))
    preview = Preview(
        procedure=call.name,
        title=f"Undo operation {operation_id} of {subject}",
        plan_id=plan_digest(call, newest, way.reverts, [each.text for each in way.consequences]),
        consequences=way.consequences,
        typed_name=None,
        role=Role.OPERATOR if takes_tables(way.steps) else Role.EDITOR,
        undo="Merge the branch again." if not way.reverts else "Revert the reverts.",
    )
    journal = MergeBackJournal(
        subject=subject,
        plan_id=preview.plan_id,
        reason=call.reason,
        undoes=operation_id,
        merge=merge.id,
        catalog_version=_version_back(warehouse, call, way, newest + 1),
        steps=tuple(each.name for each in way.steps),
        reverts=way.reverts,
    )
    return CatalogPlan(preview=preview, branch=noted.target, journal=journal)


def finish_merge_back(
    operation: CatalogOperation, journal: MergeBackJournal
) -> tuple[tuple[str, ...], Counts]:
    """Take a merge back, or go on where an undo was cut off.

    Returns:
        The sentences of the receipt, and how much went of the tables, or came by reverts.

    Raises:
        CommitConflict: Somebody came in between; nothing was changed.
        Refused: Somebody came in between behind the version of the undo: it waits for recovery.
    """
    merge = _merge_of(operation, journal)
    contents = _Contents(operation, merge, journal)
    version = _find_own(operation, journal)
    if version is None:
        try:
            way = way_back_of(merge, _call_of(operation, journal), _part_of(journal))
            _raise_if_blocked(way, journal)
            for step in contents_of(way.steps):
                contents.begin(step)
            version = _commit(operation, journal)
        except CommitConflict:
            for step in contents_of(merge.steps):
                if step.name in journal.steps:
                    contents.forget(step)
            raise
    texts: list[str] = []
    steps = tuple(each for each in merge.steps if each.name in journal.steps)
    for step in reversed(steps):
        try:
            is_content = step.kind is StepKind.MERGE_CONTENT and not step.schemas
            note = (
                contents.take_back(step)
                if is_content
                else action_of(step.kind).take_back(merge, step)
            )
        except CommitConflict as error:
            raise _waiting(journal, object_name(merge, [step]), error) from error
        texts += [] if note is None else [note]
    again = (
        f"What {merge.noted.source!r} brought stays part of the history: a merge brings it again "
        "once the reverts are reverted."
        if journal.reverts
        else f"{merge.noted.source!r} can be merged again."
    )
    done = f"Operation {journal.undoes} ({operation_words(merge)}) is undone: {version.name}."
    return (f"{done} {again}", *texts), total_of(_counts(merge, steps, contents))


def _counts(
    merge: MergeOperation, steps: Iterable[MergeStep], contents: "_Contents"
) -> Iterator[Counts]:
    """Yield the counts of the tables' ways back; a table that the merge made goes as a whole."""
    for step in steps:
        yield Counts(schemas_removed=len(step.schemas))
        if step.kind is StepKind.CREATE_TABLE and merge.is_into_main:
            came = newest_operation(merge, step)
            receipt = None if came is None else came.receipt()
            if receipt is not None:
                yield _taken_away(receipt.counts)
        elif step.kind is StepKind.MERGE_CONTENT:
            went = contents.find(step)
            receipt = None if went is None else went.receipt()
            if receipt is not None:
                yield receipt.counts


def _taken_away(came: Counts) -> Counts:
    return Counts(
        snapshots_removed=came.snapshots_added,
        schemas_removed=came.schemas_added,
        tags_removed=came.tags_added,
        records_added=-came.records_added,
    )


def find_part(warehouse: Warehouse, operation_id: str) -> tuple[CatalogOperation, str] | None:
    """Return the merge of the catalog of which an operation is a step, with the step's name."""
    merge_id, dash, part = operation_id.rpartition("-")
    if not dash or not re.fullmatch(r"t[1-9][0-9]*", part):
        return None
    found = CatalogOperation.find(warehouse, merge_id)
    if found is None or found.intent.procedure != PROCEDURE:
        return None
    is_step = any(each.name == part for each in MergeOperation.of(found).steps)
    return (found, part) if is_step else None


def operation_words(merge: MergeOperation) -> str:
    """Say what was merged into what."""
    return f"merge of {merge.noted.source!r} into {merge.noted.target!r}"


# --- the version ---------------------------------------------------------------------------------


def _version_back(
    warehouse: Warehouse, call: ProcedureCall, way: WayBack, number: int
) -> CatalogVersion:
    """The version that says of each object what it was before the merge."""
    merged = way.committed
    alone = objects_gone_alone(way.merge) if way.covers is None else set()
    keys = {*merged.databases, *merged.tables} - alone
    if way.covers is not None:
        keys &= way.covers
    before = warehouse.ledger.recorded(merged.branch, merged.number - 1)
    now = warehouse.ledger.recorded(merged.branch)
    return CatalogVersion(
        branch=merged.branch,
        number=number,
        kind=VersionKind.UNDONE,
        parents=(VersionName(branch=merged.branch, number=number - 1),),
        covers=way.covers,
        voids=() if way.reverts else (merged.name,),
        operation=call.operation_id,
        actor=call.actor,
        time_millis=warehouse.clock(),
        statement=call.statement,
        reason=call.reason,
        databases={key: database_back(key, before, now) for key in merged.databases if key in keys},
        tables={key: before.tables.get(key) for key in merged.tables if key in keys},
    )


def _find_own(operation: CatalogOperation, journal: MergeBackJournal) -> CatalogVersion | None:
    """The version of the undo, which may have another number than was planned."""
    ledger, first = operation.warehouse.ledger, journal.catalog_version
    for number in range(first.number, ledger.newest(first.branch) + 1):
        found = ledger.version(VersionName(branch=first.branch, number=number))
        if found.operation == first.operation and found.kind is VersionKind.UNDONE:
            return found
    return None


def _commit(operation: CatalogOperation, journal: MergeBackJournal) -> CatalogVersion:
    """Make the version, behind what was merely noted of main meanwhile; raises CommitConflict."""
    ledger, publisher = operation.warehouse.ledger, operation.warehouse.store.publisher
    version = journal.catalog_version
    while not ledger.publish(publisher, version) and not is_made(ledger, version):
        found = ledger.version(version.name)
        if found.kind is not VersionKind.SIGHTED:
            raise CommitConflict(
                f"Somebody else changed {version.branch!r} of the catalog in the meantime, to "
                f"version {found.name} ({found.kind}). Nothing was undone; look at the new "
                "preview.",
                kind=ErrorKind.HEAD_MOVED,
            )
        version = replace(version, number=version.number + 1, parents=(found.name,))
    return version


def _raise_if_blocked(way: WayBack, journal: MergeBackJournal) -> None:
    found = [each.text for each in way.consequences if each.kind is not None]
    if way.reverts is not journal.reverts:
        found.append("Somebody wrote to a table of the merge in the meantime.")
    if found:
        raise CommitConflict(
            f"{found[0]} Nothing was undone; look at the new preview.", kind=ErrorKind.HEAD_MOVED
        )


def _waiting(journal: MergeBackJournal, name: str, error: CommitConflict) -> Refused:
    return Refused(
        f"The undo of operation {journal.undoes} has begun, and waits for {name}: {error.message} "
        "Once that is out of the way, for example by branch-console rollback TABLE --snapshot ID "
        "--cut, run: branch-console recover.",
        kind=ErrorKind.UNDO_BLOCKED,
    )


# --- content -------------------------------------------------------------------------------------


class _Contents:
    """Takes the content of tables back, each by an operation of its table."""

    def __init__(
        self, operation: CatalogOperation, merge: MergeOperation, journal: MergeBackJournal
    ) -> None:
        self._operation = operation
        self._merge = merge
        self._reverts = journal.reverts

    def begin(self, step: MergeStep) -> None:
        """Note in the ledger of the table how it goes back; raises CommitConflict."""
        tries = self._tries(step)
        if not tries or _is_stopped(tries[-1]):
            self._begin(step, self._call(step, len(tries)))

    def _begin(self, step: MergeStep, call: ProcedureCall) -> None:
        table, whole = target_of(self._merge, step), self._operation.intent.operation_id
        if self._reverts:
            revert = self._revert(step, call)
            if revert is None:
                return
            named = replace(call, name=str(MergeKind.REVERT))
            Operation.begin(
                self._operation.warehouse,
                table,
                named,
                branch=table.branch,
                codec=MERGE_JOURNAL,
                journal=revert,
                catalog_operation=whole,
            )
        else:
            Operation.begin(
                self._operation.warehouse,
                table,
                call,
                branch=table.branch,
                codec=UNDO_JOURNAL,
                journal=self._rollback(step, call),
                catalog_operation=whole,
            )

    def forget(self, step: MergeStep) -> None:
        """End the operations that were begun for an undo that is not carried out."""
        found = self.find(step)
        if found is None:
            return
        if self._reverts:
            journal = found.read(MERGE_JOURNAL)
            if isinstance(journal, MergeJournal):
                withdraw_merge(found, journal)
        found.end(Ending.ROLLED_BACK, _NOT_UNDONE)

    def take_back(self, step: MergeStep) -> str | None:
        """Give the table its earlier head, or a revert; raises CommitConflict.

        A try that somebody came in between of is over: the next one is planned on what is there.
        """
        found = self.find(step)
        if found is not None and _is_stopped(found):
            self.begin(step)
            found = self.find(step)
        if found is None or _is_stopped(found):
            return None
        try:
            done = found.receipt() or self._carry_out(found, step)
        except CommitConflict as error:
            found.end(Ending.STOPPED, error.message)
            raise
        found.end(Ending.DONE)
        notes = list(done.notes[:1])
        if done.rescue_branch is not None:
            notes.append(f"Rescue branch {done.rescue_branch!r} keeps the snapshots that left.")
        return f"{table_name(self._merge, step)}: {' '.join(notes)}" if notes else None

    def _carry_out(self, found: Operation, step: MergeStep) -> Receipt:
        if self._reverts:
            return finish_merge(found, found.read(MERGE_JOURNAL))
        journal = found.read(UNDO_JOURNAL)
        if not isinstance(journal, HistoryJournal):
            raise _no_way_back(self._merge, step)
        return finish_history_transfer(found, journal)

    def find(self, step: MergeStep) -> Operation | None:
        """The newest operation of the table, where one has begun."""
        tries = self._tries(step)
        return tries[-1] if tries else None

    def _tries(self, step: MergeStep) -> list[Operation]:
        """Return the tries that began in the ledger of the table, the first one first."""
        table, tries = target_of(self._merge, step), list[Operation]()
        while True:
            operation_id = self._call(step, len(tries)).operation_id
            found = Operation.find(self._operation.warehouse, table, operation_id)
            if found is None:
                return tries
            tries.append(replace(found, is_held=True))

    def _call(self, step: MergeStep, tries: int) -> ProcedureCall:
        intent = self._operation.intent
        call = ProcedureCall(
            name="undo", actor=intent.actor, operation_id=intent.operation_id, role="operator"
        )
        found = call_for_table(call, self._merge, step)
        again = f"-again{tries}" if tries else ""
        return replace(found, operation_id=f"{found.operation_id}{again}")

    def _rollback(self, step: MergeStep, call: ProcedureCall) -> HistoryJournal:
        event, table = event_of_step(self._merge, step), target_of(self._merge, step)
        if event is None:
            raise _no_way_back(self._merge, step)
        planned = plan_way_back(self._operation.warehouse, call, table.on(MAIN_BRANCH), event)
        if planned.preview.blocks:
            raise CommitConflict(planned.preview.blocks[0].text, kind=ErrorKind.HEAD_MOVED)
        if not isinstance(planned.journal, HistoryJournal):
            raise _no_way_back(self._merge, step)
        return planned.journal

    def _revert(self, step: MergeStep, call: ProcedureCall) -> MergeJournal | None:
        """Return what a revert sets out to do, None if it would change nothing."""
        found = next(revert_blocks(self._merge, step), None)
        if found is not None:
            raise CommitConflict(found.text, kind=ErrorKind.HEAD_MOVED)
        decided = revert_of(self._merge, step)
        if verdict_of(decided.plan) is MergeVerdict.UP_TO_DATE:
            return None
        journal = journal_of_decision(decided, call.operation_id)
        if not isinstance(journal, MergeJournal):
            raise _no_way_back(self._merge, step)
        return replace(journal, plan_id=decided.plan.id)


def _is_stopped(operation: Operation) -> bool:
    """Whether somebody came in between of an operation of a table, which did nothing then."""
    end = operation.journal.end_of(operation.intent.operation_id)
    is_over = end is not None and end.ending is not Ending.DONE
    return is_over and operation.receipt() is None


def _merge_of(operation: CatalogOperation, journal: MergeBackJournal) -> MergeOperation:
    """The merge that is taken back; raises CommitConflict if its journal is gone."""
    found = CatalogOperation.find(operation.warehouse, journal.merge)
    if found is None:
        raise CommitConflict(
            f"The journal of operation {journal.merge} is gone, and with it the way back.",
            kind=ErrorKind.OPERATION_NOT_FOUND,
        )
    return MergeOperation.of(found)


def _part_of(journal: MergeBackJournal) -> str | None:
    """The step whose object is taken back alone; None for all of a merge."""
    if journal.undoes == journal.merge:
        return None
    return str(journal.undoes).removeprefix(f"{journal.merge}-")


def _call_of(operation: CatalogOperation, journal: MergeBackJournal) -> ProcedureCall:
    intent = operation.intent
    return ProcedureCall(
        name="undo",
        arguments={"operation": journal.undoes},
        actor=intent.actor,
        operation_id=intent.operation_id,
    )


def _no_way_back(merge: MergeOperation, step: MergeStep) -> CommitConflict:
    return CommitConflict(
        f"{table_name(merge, step)} cannot go back to what it was before the merge by now. "
        "Nothing was undone; look at the new preview.",
        kind=ErrorKind.HEAD_MOVED,
    )
