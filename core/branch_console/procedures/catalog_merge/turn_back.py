"""A decided merge of the catalog that cannot be finished: every step is taken back.

One mark, made once, says which way a merge goes, so that of two who are at work on it none goes
forward while the other turns back. Where a step cannot be taken back the operation stays open: a
person settles what is in the way.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from branch_console.commit.journal import Journal
from branch_console.errors import CommitConflict, ErrorKind, NotFound
from branch_console.format.catalog.catalog_version import (
    CatalogVersion,
    DatabaseChange,
    TableChange,
    VersionKind,
    VersionName,
)
from branch_console.format.journals.catalog_merge import MERGE_DIRECTION, MergeDirection
from branch_console.format.journals.intent import End, Ending
from branch_console.format.json_text import to_pretty_json
from branch_console.format.lineage_event import LineageKind
from branch_console.format.receipt import Counts
from branch_console.merge.catalog.catalog_steps import StepKind
from branch_console.operations.catalog_requests import MergeCatalogRequest
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.catalog.catalog_operation import CatalogOperation, paths_of
from branch_console.procedures.catalog_merge.actions import action_of
from branch_console.procedures.catalog_merge.partial_end import (
    StandingSteps,
    find_waiting,
    waiting_words,
    waits,
)
from branch_console.procedures.catalog_merge.step_actions import MergeOperation, MergeStep
from branch_console.procedures.catalog_merge.table_content import has_landed, target_of
from branch_console.procedures.run.receipts import event_of, receipt_of

TURNED_BACK: Final = "turned_back"
"""The fact of an error that names the operation which was decided, and taken back since."""
_DIRECTION: Final = "direction"
_LATE_MILLIS: Final = 86_400_000
"""For how long after a merge turned back somebody may wake up who was at work on it."""


def direction_of(merge: MergeOperation) -> MergeDirection | None:
    """Return which way a merge goes for good; None while it goes forward and may turn yet."""
    found = merge.journal.find_step(merge.id, _DIRECTION)
    return None if found is None else _read(merge, found)


def decide_direction(merge: MergeOperation, wanted: MergeDirection) -> MergeDirection:
    """Say which way a merge goes, unless somebody said so before; return which way it goes."""
    content = to_pretty_json(MERGE_DIRECTION.encode(wanted)).encode()
    return _read(merge, merge.journal.mark(merge.id, _DIRECTION, content))


def find_waiting_words(operation: CatalogOperation) -> str | None:
    """Say what an open operation waits for that turns back; None if it does not wait."""
    is_open = operation.journal.end_of(operation.intent.operation_id) is None
    if operation.intent.procedure != MergeCatalogRequest.procedure or not is_open:
        return None
    merge = MergeOperation.of(operation)
    direction, obstacle = direction_of(merge), find_waiting(merge)
    if direction is None or obstacle is None:
        return None
    return waiting_words(merge.id, direction.reason, obstacle)


def turned_back_lately(warehouse: Warehouse) -> Iterator[CatalogOperation]:
    """Yield the merges that turned back, of which somebody who slept then may publish a step."""
    journal = Journal(warehouse.store, paths_of(warehouse))
    for operation_id in journal.ended_with(_DIRECTION):
        end, operation = (
            journal.end_of(operation_id),
            CatalogOperation.find(warehouse, operation_id),
        )
        is_back = end is not None and end.ending in (Ending.ROLLED_BACK, Ending.PARTIAL)
        is_late = end is not None and warehouse.clock() - end.time_millis < _LATE_MILLIS
        if is_back and is_late and operation is not None:
            yield operation


def turn_back_again(merge: MergeOperation, version: CatalogVersion) -> str | None:
    """Take back what somebody published who slept while the merge turned back.

    Returns:
        What tells of it; None if there is nothing, as nearly always.
    """
    direction = direction_of(merge)
    if direction is None or not direction.turns_back:
        return None
    is_new, standing = False, StandingSteps(merge)
    for step in reversed(merge.steps):
        if not standing.has(step) and _has_come_late(merge, step, version):
            before = _head(merge, step)
            action_of(step.kind).take_back(merge, step)
            # What others built on may have nothing left of it, and then stays as it is.
            is_new = is_new or before is None or _head(merge, step) != before
    if not is_new:
        return None
    return "Somebody published a part of it after it had turned back; that was taken back, too."


def _has_come_late(merge: MergeOperation, step: MergeStep, version: CatalogVersion) -> bool:
    if step.kind is StepKind.MERGE_CONTENT:
        return has_landed(merge, step)
    # A snapshot says whose it is. A folder does not: a later merge may have moved it.
    ledger = merge.warehouse.ledger
    newest = VersionName(branch=version.branch, number=ledger.newest(version.branch))
    is_last = merge.is_into_main and ledger.version(newest).operation == merge.id
    return is_last and action_of(step.kind).is_done(merge, step)


def _head(merge: MergeOperation, step: MergeStep) -> int | None:
    """Return the head's id of a step's table; None if the step is not about content."""
    if step.kind is not StepKind.MERGE_CONTENT:
        return None
    head = target_of(merge, step).head()
    return 0 if head is None else head.id


def turn_back(
    merge: MergeOperation, version: CatalogVersion, direction: MergeDirection
) -> CommitConflict:
    """Take all steps back, the last one first, and record it; return the receipt.

    Raises:
        Refused: A step cannot be taken back: the operation stays open, and waits for a person.
    """
    standing = StandingSteps(merge)
    sentences = _take_back(merge, direction, standing)
    turned = _turned_back(merge, version, standing)
    reason = f"The merge was decided and then turned back, because {direction.reason}"
    if standing.steps:
        sentences = [
            f"{reason} {standing.ended_by} ended it as partial: {turned.name}.",
            *standing.sentences,
            *sentences,
        ]
    else:
        sentences = [f"{reason} {merge.noted.target!r} is as before: {turned.name}.", *sentences]
    receipt = receipt_of(merge.operation, counts=Counts(), notes=tuple(sentences))
    event = event_of(merge.operation, LineageKind.UNDONE, receipt)
    message = " ".join(receipt.notes)
    end = End(
        ending=Ending.PARTIAL if standing.steps else Ending.ROLLED_BACK,
        time_millis=merge.warehouse.clock(),
        message=message,
    )
    merge.journal.conclude(merge.id, [event], end)
    return CommitConflict(message, kind=ErrorKind.HEAD_MOVED, **{TURNED_BACK: merge.id})


def _take_back(
    merge: MergeOperation, direction: MergeDirection, standing: StandingSteps
) -> list[str]:
    """Take back each step that can be; return the receipt's sentences about them.

    Raises:
        Refused: A step cannot be taken back, and nobody ended the merge as partial.
    """
    sentences, is_partial = [], standing.ended_by is not None
    for step in reversed(merge.steps):
        if is_partial and standing.holds(step):
            continue
        try:
            note = action_of(step.kind).take_back(merge, step)
        except CommitConflict as error:
            if not is_partial:
                raise waits(merge, direction.reason, error) from error
            standing.add(step, error.message)
            continue
        if note is not None:
            sentences.append(note)
    return sentences


def _turned_back(
    merge: MergeOperation, version: CatalogVersion, standing: StandingSteps
) -> CatalogVersion:
    """Make the version that voids the edge of the merge, unless an earlier try has."""
    ledger, publisher = merge.warehouse.ledger, merge.warehouse.store.publisher
    number = version.number + 1
    while True:
        try:
            found = ledger.version(VersionName(branch=version.branch, number=number))
        except NotFound:
            made = _version_back(merge, version, number, standing.moved_objects)
            if ledger.publish(publisher, made):
                return made
            continue
        if found.operation == merge.id and found.kind is VersionKind.TURNED_BACK:
            return found
        number += 1


def _version_back(
    merge: MergeOperation, version: CatalogVersion, number: int, stands: frozenset[str]
) -> CatalogVersion:
    before = merge.warehouse.ledger.recorded(version.branch, version.number - 1)
    databases: Mapping[str, DatabaseChange | None] = {
        key: _database_back(before.databases.get(key), change)
        for key, change in version.databases.items()
        if key not in stands
    }
    tables: Mapping[str, TableChange | None] = {
        key: before.tables.get(key) for key in version.tables if key not in stands
    }
    # What stands is merged. Content that stands is known to be by the ledger of its table.
    touched = {*version.databases, *version.tables, *(each.object_id for each in merge.steps)}
    return CatalogVersion(
        branch=version.branch,
        number=number,
        kind=VersionKind.TURNED_BACK,
        parents=(VersionName(branch=version.branch, number=number - 1),),
        covers=frozenset(touched - stands) if stands else None,
        voids=(version.name,),
        operation=merge.id,
        actor=version.actor,
        time_millis=merge.warehouse.clock(),
        databases=databases,
        tables=tables,
    )


def _database_back(
    before: DatabaseChange | None, change: DatabaseChange | None
) -> DatabaseChange | None:
    """Return what makes a database what it was before a change."""
    if before is None or change is None:
        return before
    gone = {key: None for key in change.properties if key not in before.properties}
    return DatabaseChange(
        name=before.name, properties={**gone, **before.properties}, has_file=before.has_file
    )


def _read(merge: MergeOperation, content: bytes) -> MergeDirection:
    return merge.journal.decode_step(merge.id, _DIRECTION, content, MERGE_DIRECTION)
