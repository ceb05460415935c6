"""Undoing a merge of the catalog: names, properties, folders and heads are as before it.

Where every table still stands at the head that the merge made, each goes back to its earlier head,
and the merge counts no more: its source can be merged again. Where somebody went on, each table
gets a revert instead, and the merge stays part of the history.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from branch_console.diff.catalog_state import CatalogState, TableState
from branch_console.diff.history_move import count
from branch_console.errors import CommitConflict, ErrorKind, PaimonError, Refused
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
from branch_console.format.lineage_event import LineageEvent
from branch_console.format.receipt import Receipt
from branch_console.merge.catalog.catalog_steps import StepKind, StepPlace
from branch_console.merge.plan import MergeVerdict, blocks_of, conflicts_of, verdict_of
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import (
    Consequence,
    Preview,
    blocks,
    changes,
    keeps,
    plan_digest,
)
from branch_console.procedures.call.permissions import Role
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.catalog.branch_change import database_back, is_made
from branch_console.procedures.catalog.catalog_operation import CatalogOperation, CatalogPlan
from branch_console.procedures.catalog.database_words import property_sentences
from branch_console.procedures.catalog.main_tables import is_kept
from branch_console.procedures.catalog.states import state_of_branch
from branch_console.procedures.catalog_merge.actions import action_of
from branch_console.procedures.catalog_merge.content_back import RULES_OF_REVERT
from branch_console.procedures.catalog_merge.publish_catalog import find_commit
from branch_console.procedures.catalog_merge.step_actions import MergeOperation, MergeStep
from branch_console.procedures.catalog_merge.table_content import operations_of, target_of
from branch_console.procedures.catalog_merge.table_steps import drop_of_step
from branch_console.procedures.history.history_transfer import finish_take_over
from branch_console.procedures.merge.inputs import DecidedMerge, decided_for
from branch_console.procedures.merge.merge_branch import journal_of_decision
from branch_console.procedures.merge.merge_kind import MergeKind, MergeSpec
from branch_console.procedures.merge.publish import finish_merge, withdraw_merge
from branch_console.procedures.run.open_operation import Operation
from branch_console.procedures.undo.undo_history import plan_way_back

PROCEDURE: Final = "merge_catalog_branch"
UNDONE: Final = "undone"
"""The step of an operation that was taken back; it holds the id of the undo."""
_NOT_UNDONE: Final = "The undo that this is a part of did not begin."


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _WayBack:
    """What of a merge is taken back, as things stand.

    Attributes:
        steps: In the order in which they were carried out.
        reverts: Whether tables get a revert, as somebody went on with one.
        told: What it leads to, and what stands in the way.
        covers: The objects that go back alone; None for the whole.
    """

    merge: MergeOperation
    committed: CatalogVersion
    steps: tuple[MergeStep, ...]
    reverts: bool
    told: tuple[Consequence, ...]
    covers: frozenset[str] | None


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
        noted: What it set out to do.
        part: The step whose object is taken back alone; None for all of it.
    """
    merge = MergeOperation(operation=done, noted=noted)
    way = _look(merge, call, part)
    newest = warehouse.ledger.newest(noted.target)
    operation_id = merge.id if part is None else f"{merge.id}-{part}"
    subject = noted.subject if part is None else _name(merge, list(way.steps))
    preview = Preview(
        procedure=call.name,
        title=f"Undo operation {operation_id} of {subject}",
        plan_id=plan_digest(call, newest, way.reverts, [each.text for each in way.told]),
        consequences=way.told,
        typed_name=None,
        role=Role.OPERATOR if _takes_tables(way.steps) else Role.EDITOR,
        undo="Merge the branch again." if not way.reverts else "Revert the reverts.",
    )
    journal = MergeBackJournal(
        subject=subject,
        plan_id=preview.plan_id,
        undoes=operation_id,
        merge=merge.id,
        catalog_version=_version_back(warehouse, call, way, newest + 1),
        steps=tuple(each.name for each in way.steps),
        reverts=way.reverts,
    )
    return CatalogPlan(preview=preview, branch=noted.target, journal=journal)


def finish_merge_back(operation: CatalogOperation, journal: MergeBackJournal) -> tuple[str, ...]:
    """Take a merge back, or go on where an undo was cut off; return what the receipt tells.

    Raises:
        CommitConflict: Somebody came in between; nothing was changed.
        Refused: Somebody came in between behind the version of the undo: it waits for recovery.
    """
    merge = _merge_of(operation, journal)
    contents = _Contents(operation, merge, journal)
    version = _find_own(operation, journal)
    if version is None:
        try:
            way = _look(merge, _call_of(operation, journal), _part_of(journal))
            _raise_if_blocked(way, journal)
            for step in _contents_of(way.steps):
                contents.begin(step)
            version = _commit(operation, journal)
        except CommitConflict:
            for step in _contents_of(merge.steps):
                if step.name in journal.steps:
                    contents.forget(step)
            raise
    told: list[str] = []
    for step in reversed(merge.steps):
        if step.name not in journal.steps:
            continue
        try:
            is_content = step.kind is StepKind.MERGE_CONTENT and not step.schemas
            note = (
                contents.take_back(step)
                if is_content
                else action_of(step.kind).take_back(merge, step)
            )
        except CommitConflict as error:
            raise _waiting(journal, _name(merge, [step]), error) from error
        told += [] if note is None else [note]
    again = (
        f"What {merge.noted.source!r} brought stays part of the history: a merge brings it again "
        "once the reverts are reverted."
        if journal.reverts
        else f"{merge.noted.source!r} can be merged again."
    )
    return (
        f"Operation {journal.undoes} ({operation_words(merge)}) is undone: {version.name}. {again}",
        *told,
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


# --- what stands in the way ----------------------------------------------------------------------


def _look(merge: MergeOperation, call: ProcedureCall, part: str | None) -> _WayBack:
    committed = find_commit(merge)
    if committed is None or committed.kind is not VersionKind.MERGED:
        raise CommitConflict(
            f"Operation {merge.id} has no version in the ledger of {merge.noted.target!r} any "
            "more. Nothing was changed.",
            kind=ErrorKind.HEAD_MOVED,
        )
    state = state_of_branch(merge.warehouse, merge.noted.target)
    steps = _steps_back(merge, part)
    told = [
        _no_undo(reason)
        for reason in (
            *(_part_reasons(merge, steps) if part is not None else ()),
            *_object_reasons(merge, steps, state),
        )
    ]
    is_there = not told
    reverts = False
    if is_there:
        contents = list(_contents_of(steps))
        found = [each for step in contents for each in _rollback_blocks(merge, step, call)]
        reverts = bool(found)
        if reverts:
            told += [each for step in contents for each in _revert_blocks(merge, step)]
    told += _consequences(merge, steps, reverts=reverts)
    return _WayBack(
        merge=merge,
        committed=committed,
        steps=steps,
        reverts=reverts,
        told=tuple(told),
        covers=None if part is None else frozenset(each.object_id for each in steps),
    )


def _steps_back(merge: MergeOperation, part: str | None) -> tuple[MergeStep, ...]:
    """The steps that are taken back: of one object, or all but those that went back alone."""
    if part is not None:
        object_id = next(each.object_id for each in merge.steps if each.name == part)
        return tuple(each for each in merge.steps if each.object_id == object_id)
    gone = _gone_alone(merge)
    return tuple(each for each in merge.steps if each.object_id not in gone)


def _gone_alone(merge: MergeOperation) -> set[str]:
    """The objects that went back alone before, by id."""
    return {
        each.object_id
        for each in merge.steps
        if merge.journal.has_reached(merge.step_id(each), UNDONE)
    }


def _part_reasons(merge: MergeOperation, steps: tuple[MergeStep, ...]) -> Iterator[str]:
    """Why one object cannot go back alone: the merge changed its database too."""
    moved = {each.object_id for each in merge.steps if each.kind in _WITH_TABLES}
    for step in steps:
        if step.kind is StepKind.MERGE_CONTENT:
            continue
        homes = {each.database for each in (step.step.before, step.step.after) if each is not None}
        inside = {
            each.object_id
            for each in merge.steps
            for place in (each.step.before, each.step.after)
            if place is not None and place.database == step.object_id
        }
        if homes & moved or (step.kind in _WITH_TABLES and inside):
            name = _name(merge, list(steps))
            yield f"{name} came or went with its database; undo operation {merge.id} as a whole"
            return


def _object_reasons(
    merge: MergeOperation, steps: tuple[MergeStep, ...], state: CatalogState
) -> Iterator[str]:
    """Why objects cannot be where and what they were."""
    ids = {each.object_id for each in steps}
    for object_id in dict.fromkeys(each.object_id for each in steps):
        of_object = [each for each in steps if each.object_id == object_id]
        first, last = of_object[0].step.before, of_object[-1].step.after
        name = _name(merge, of_object)
        if any(each.kind in _OF_DATABASES for each in of_object):
            yield from _database_reasons(merge, of_object, first, last, state, name)
        else:
            yield from _table_reasons(merge, of_object, first, last, state, name, ids)


def _database_reasons(
    merge: MergeOperation,
    steps: list[MergeStep],
    first: StepPlace | None,
    last: StepPlace | None,
    state: CatalogState,
    name: str,
) -> Iterator[str]:
    object_id = steps[0].object_id
    now = state.databases.get(object_id)
    if last is not None and (now is None or now.name != last.name):
        yield f"database {last.name!r} was dropped or renamed since"
    elif last is not None and now is not None:
        for step in steps:
            if step.kind is StepKind.SET_PROPERTIES and (
                now.properties != step.step.properties_after
            ):
                yield f"properties of database {now.name!r} changed since"
    if first is None:
        going = {each.object_id for each in merge.steps}
        inside = [
            each.name
            for each in state.tables.values()
            if each.database == object_id and each.id not in going
        ]
        if inside:
            yield f"database {name!r} holds table {inside[0]!r} by now; drop or move it first"
    elif any(
        each.name == first.name and each.id not in {step.object_id for step in merge.steps}
        for each in state.databases.values()
    ):
        yield f"another database has the name {first.name!r} by now; rename it first"


def _table_reasons(
    merge: MergeOperation,
    steps: list[MergeStep],
    first: StepPlace | None,
    last: StepPlace | None,
    state: CatalogState,
    name: str,
    ids: set[str],
) -> Iterator[str]:
    now = state.tables.get(steps[0].object_id)
    if last is not None and (now is None or (now.database, now.name) != (last.database, last.name)):
        yield f"table {_last_name(merge, last)} was dropped or renamed since"
    if first is None:
        return
    dropped = next((each for each in steps if each.kind is StepKind.DROP_TABLE), None)
    if dropped is not None and now is not None:
        yield f"table {name} is there again"
    elif (
        dropped is not None
        and merge.is_into_main
        and not is_kept(merge.warehouse, drop_of_step(merge, dropped))
    ):
        yield f"nothing is left of table {name}"
    taker = _holder(state, first, ids)
    if taker is not None:
        yield f"another table has the name {name} by now; rename it first"
    if first.database not in state.databases and not _is_database_back(merge, first.database):
        yield f"the database of table {name} is gone"


def _holder(state: CatalogState, place: StepPlace, ids: set[str]) -> TableState | None:
    """Another table at a place, which stays there."""
    for each in state.tables.values():
        if (each.database, each.name) == (place.database, place.name) and each.id not in ids:
            return each
    return None


def _is_database_back(merge: MergeOperation, database_id: str) -> bool:
    """Whether the merge dropped a database, which comes back first."""
    return any(
        each.kind is StepKind.DROP_DATABASE and each.object_id == database_id
        for each in merge.steps
    )


def _rollback_blocks(
    merge: MergeOperation, step: MergeStep, call: ProcedureCall
) -> tuple[Consequence, ...]:
    """What keeps a table from its earlier head."""
    event = _event_of(merge, step)
    if event is None:
        return (_no_undo(f"the ledger of {_table_name(merge, step)} has nothing of the merge"),)
    table = target_of(merge, step)
    return plan_way_back(
        merge.warehouse, _call_for(call, merge, step), table.on(MAIN_BRANCH), event
    ).preview.blocks


def _revert_blocks(merge: MergeOperation, step: MergeStep) -> Iterator[Consequence]:
    """What keeps a table from a revert of what came."""
    name = _table_name(merge, step)
    try:
        decided = _revert_of(merge, step)
    except PaimonError as error:
        yield _no_undo(f"{name}: {error.message}")
        return
    texts = [
        *(each.text for each in blocks_of(decided.plan)),
        *(f"{each.subject} is a conflict" for each in conflicts_of(decided.plan)),
    ]
    if not texts and verdict_of(decided.plan) not in (MergeVerdict.CLEAN, MergeVerdict.UP_TO_DATE):
        texts.append("its rows would have to be compared")
    for text in texts:
        yield _no_undo(
            f"{name} got commits since, and what came cannot be reverted by itself: {text}"
        )


def _revert_of(merge: MergeOperation, step: MergeStep) -> DecidedMerge:
    """Decide on the revert of what a merge brought to a table."""
    event, table = _event_of(merge, step), target_of(merge, step)
    landed = None if event is None or event.receipt is None else event.receipt.moves[0].after_id
    spec = MergeSpec(
        kind=MergeKind.REVERT,
        source=table.branch,
        target=table.branch,
        snapshot_id=landed,
        reverts=merge.step_id(step),
        one_version=True,
    )
    return decided_for(merge.warehouse, table, spec, RULES_OF_REVERT)


def _event_of(merge: MergeOperation, step: MergeStep) -> LineageEvent | None:
    """The event that the merge left in the ledger of a table."""
    wanted = {each.intent.operation_id for each in operations_of(merge, step)}
    events = target_of(merge, step).ledger.whole_as_written()
    return next((each for each in events if each.operation_id in wanted and each.receipt), None)


def _consequences(
    merge: MergeOperation, steps: tuple[MergeStep, ...], *, reverts: bool
) -> Iterator[Consequence]:
    contents = [_table_name(merge, each) for each in _contents_of(steps)]
    if contents:
        what = "get a revert of what came" if reverts else "go back to their earlier heads"
        yield changes(f"{count(len(contents), 'table')}: {what}.", tuple(contents))
    for step in reversed(steps):
        text = _step_words(merge, step)
        if text is not None:
            yield changes(text)
    if reverts:
        yield keeps(
            f"The merge stays part of the history: merging {merge.noted.source!r} again brings "
            "nothing of it until the reverts are reverted."
        )
    else:
        yield keeps(f"{merge.noted.source!r} stays as it is, and can be merged again.")


def _step_words(merge: MergeOperation, step: MergeStep) -> str | None:
    """What taking a step back does, as a sentence; nothing for what waits aside only."""
    places = (step.step.before, step.step.after)
    if any(each is not None and each.is_aside for each in places):
        return None
    name = _name(merge, [step])
    match step.kind:
        case StepKind.CREATE_DATABASE:
            return f"Database {name!r} is dropped again."
        case StepKind.DROP_DATABASE:
            return f"Database {name!r} comes back."
        case StepKind.RENAME_DATABASE:
            return f"Database {step.after.name!r} is called {step.before.name!r} again."
        case StepKind.SET_PROPERTIES:
            told = property_sentences(step.step.properties_after, step.step.properties_before)
            return f"Database {name!r}: {told}"
        case StepKind.CREATE_TABLE:
            return f"Table {name} is dropped again."
        case StepKind.DROP_TABLE:
            return f"Table {name} comes back with all its branches."
        case StepKind.MOVE_TABLE:
            return f"Table {_place_name(merge, step.after)} is called {name} again."
        case _:
            return None


_WITH_TABLES: Final = frozenset(
    {StepKind.CREATE_DATABASE, StepKind.DROP_DATABASE, StepKind.RENAME_DATABASE}
)
"""The steps that change where the tables of a database are."""
_OF_DATABASES: Final = frozenset(
    {
        StepKind.CREATE_DATABASE,
        StepKind.DROP_DATABASE,
        StepKind.RENAME_DATABASE,
        StepKind.SET_PROPERTIES,
    }
)


def _takes_tables(steps: tuple[MergeStep, ...]) -> bool:
    """Whether tables or databases go or come back, as only an operator may do."""
    kinds = {StepKind.CREATE_TABLE, StepKind.CREATE_DATABASE, StepKind.DROP_TABLE}
    return any(each.kind in kinds | {StepKind.DROP_DATABASE} for each in steps)


# --- the version ---------------------------------------------------------------------------------


def _version_back(
    warehouse: Warehouse, call: ProcedureCall, way: _WayBack, number: int
) -> CatalogVersion:
    """The version that says of each object what it was before the merge."""
    merged = way.committed
    alone = _gone_alone(way.merge) if way.covers is None else set()
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


def _raise_if_blocked(way: _WayBack, journal: MergeBackJournal) -> None:
    found = [each.text for each in way.told if each.kind is not None]
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
        """End what was begun of an undo that does not come to be."""
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
        name = _table_name(self._merge, step)
        return f"{name}: {done.notes[0]}" if done.notes else None

    def _carry_out(self, found: Operation, step: MergeStep) -> Receipt:
        if self._reverts:
            return finish_merge(found, found.read(MERGE_JOURNAL))
        journal = found.read(UNDO_JOURNAL)
        if not isinstance(journal, HistoryJournal):
            raise _no_way_back(self._merge, step)
        return finish_take_over(found, journal)

    def find(self, step: MergeStep) -> Operation | None:
        """The newest operation of the table, where one has begun."""
        tries = self._tries(step)
        return tries[-1] if tries else None

    def _tries(self, step: MergeStep) -> list[Operation]:
        """What was begun in the ledger of the table, the first try first."""
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
        found = _call_for(call, self._merge, step)
        again = f"-again{tries}" if tries else ""
        return replace(found, operation_id=f"{found.operation_id}{again}")

    def _rollback(self, step: MergeStep, call: ProcedureCall) -> HistoryJournal:
        event, table = _event_of(self._merge, step), target_of(self._merge, step)
        if event is None:
            raise _no_way_back(self._merge, step)
        planned = plan_way_back(self._operation.warehouse, call, table.on(MAIN_BRANCH), event)
        if planned.preview.blocks:
            raise CommitConflict(planned.preview.blocks[0].text, kind=ErrorKind.HEAD_MOVED)
        if not isinstance(planned.journal, HistoryJournal):
            raise _no_way_back(self._merge, step)
        return planned.journal

    def _revert(self, step: MergeStep, call: ProcedureCall) -> MergeJournal | None:
        """Return what a revert sets out to do, None where it would change nothing."""
        found = next(_revert_blocks(self._merge, step), None)
        if found is not None:
            raise CommitConflict(found.text, kind=ErrorKind.HEAD_MOVED)
        decided = _revert_of(self._merge, step)
        if verdict_of(decided.plan) is MergeVerdict.UP_TO_DATE:
            return None
        journal = journal_of_decision(decided, call.operation_id)
        if not isinstance(journal, MergeJournal):
            raise _no_way_back(self._merge, step)
        return replace(journal, plan_id=decided.plan.id)


# --- names ---------------------------------------------------------------------------------------


def _is_stopped(operation: Operation) -> bool:
    """Whether somebody came in between of an operation of a table, which did nothing then."""
    end = operation.journal.end_of(operation.intent.operation_id)
    is_over = end is not None and end.ending is not Ending.DONE
    return is_over and operation.receipt() is None


def _merge_of(operation: CatalogOperation, journal: MergeBackJournal) -> MergeOperation:
    """The merge that is taken back; raises CommitConflict where its journal is gone."""
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


def _contents_of(steps: tuple[MergeStep, ...]) -> Iterator[MergeStep]:
    """The steps that brought a snapshot to a table that was there."""
    return (each for each in steps if each.kind is StepKind.MERGE_CONTENT and not each.schemas)


def _call_of(operation: CatalogOperation, journal: MergeBackJournal) -> ProcedureCall:
    intent = operation.intent
    return ProcedureCall(
        name="undo",
        arguments={"operation": journal.undoes},
        actor=intent.actor,
        operation_id=intent.operation_id,
    )


def _call_for(call: ProcedureCall, merge: MergeOperation, step: MergeStep) -> ProcedureCall:
    """The call by which the content of one table goes back."""
    return replace(
        call,
        name="undo",
        arguments={"table": _table_name(merge, step), "operation": merge.step_id(step)},
        operation_id=f"{call.operation_id}-{step.name}",
    )


def _table_name(merge: MergeOperation, step: MergeStep) -> str:
    return target_of(merge, step).identifier.table_name


def _name(merge: MergeOperation, steps: list[MergeStep]) -> str:
    """What an object was called before the merge; one that it made, after it."""
    first = steps[0].step.before or steps[-1].step.after
    return "" if first is None else _place_name(merge, first)


def _last_name(merge: MergeOperation, place: StepPlace) -> str:
    """What a table is called after the merge."""
    return f"{merge.final_name(place.database)}.{place.name}"


def _place_name(merge: MergeOperation, place: StepPlace) -> str:
    if not place.database:
        return place.name
    names = merge.noted.database_names
    return f"{names.get(place.database, place.database)}.{place.name}"


def _no_way_back(merge: MergeOperation, step: MergeStep) -> CommitConflict:
    return CommitConflict(
        f"{_table_name(merge, step)} cannot go back to what it was before the merge by now. "
        "Nothing was undone; look at the new preview.",
        kind=ErrorKind.HEAD_MOVED,
    )


def _no_undo(reason: str) -> Consequence:
    return blocks(f"Undo is not possible: {reason}.", ErrorKind.UNDO_BLOCKED)
