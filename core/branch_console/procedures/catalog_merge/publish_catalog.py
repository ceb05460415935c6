"""Publishing a merge of the catalog: all of it or nothing, decided by the next version.

Whatever comes before that version is invisible and goes again. Behind it the steps are carried out
in their order, by whoever comes first: the runner, or recovery.
"""

import time
from dataclasses import replace
from typing import Final

from branch_console.errors import CommitConflict, ErrorKind, NotFound, PaimonError, Refused
from branch_console.format.catalog.catalog_version import (
    CatalogVersion,
    VersionKind,
    VersionName,
)
from branch_console.format.journals.catalog_merge import CatalogMergeJournal, MergeDirection
from branch_console.format.journals.intent import Ending
from branch_console.format.lineage_event import LineageKind
from branch_console.format.receipt import Counts, Receipt, total_of
from branch_console.merge.catalog.catalog_steps import StepKind
from branch_console.operations.catalog_requests import MergeCatalogRequest
from branch_console.procedures.catalog.catalog_operation import CatalogOperation
from branch_console.procedures.catalog_merge.actions import action_of
from branch_console.procedures.catalog_merge.check_heads import check_unmoved, read_back
from branch_console.procedures.catalog_merge.sign_of_life import SignOfLife
from branch_console.procedures.catalog_merge.step_actions import MergeOperation, MergeStep
from branch_console.procedures.catalog_merge.table_content import newest_operation
from branch_console.procedures.catalog_merge.turn_back import (
    decide_direction,
    direction_of,
    turn_back,
    turn_back_again,
)
from branch_console.procedures.run.receipts import event_of, receipt_of

_CLAIM_SECONDS: Final = 5.0
_LOOK_SECONDS: Final = 0.2
_BRINGS: Final = (StepKind.MERGE_CONTENT, StepKind.CREATE_TABLE)
"""The steps that are operations of their tables, with receipts of their own."""
_CUT_OFF: Final = (
    "The merge was cut off before it was decided, and was taken back: such an operation does not "
    "go on, also where it is asked for again by its id. Nothing was changed; merge again, as a new "
    "operation."
)


def finish_catalog_merge(operation: CatalogOperation, journal: CatalogMergeJournal) -> Receipt:
    """Finish a merge that was cut off: forward where its version is there, else it is taken back.

    Raises:
        CommitConflict: It was taken back, and nothing was changed.
    """
    merge = MergeOperation(operation=operation, noted=journal)
    while (committed := find_commit(merge)) is None:
        if _take_number(merge):
            raise roll_back(merge, _CUT_OFF)
    if committed.kind is VersionKind.VOID:
        raise roll_back(merge, _CUT_OFF)
    return go_forward(merge, committed)


def look_again(operation: CatalogOperation) -> str | None:
    """Take back what came of a merge after it had turned back; None if nothing did."""
    if operation.intent.procedure != MergeCatalogRequest.procedure:
        return None
    merge = MergeOperation.of(operation)
    committed = find_commit(merge)
    return None if committed is None else turn_back_again(merge, committed)


def forget_prepared(operation: CatalogOperation) -> str | None:
    """Discard the prepared steps of a merge that was taken back; None if it was not.

    A runner that slept through its recovery finds out before the commit point, unless it dies.
    """
    ended = operation.journal.end_of(operation.intent.operation_id)
    is_merge = operation.intent.procedure == MergeCatalogRequest.procedure
    if not is_merge or ended is None or ended.ending is not Ending.ROLLED_BACK:
        return None
    merge = MergeOperation.of(operation)
    committed = find_commit(merge)
    if committed is not None and committed.kind is not VersionKind.VOID:
        return None
    for step in reversed(merge.steps):
        action_of(step.kind).forget(merge, step)
    return "It was prepared for a merge of the catalog that had been taken back."


def publish_merge_of(merge: MergeOperation) -> Receipt:
    """Publish a merge that has begun, from the claim of its target to its receipt.

    Raises:
        CommitConflict: Somebody else changed what it is about; nothing was changed.
        Refused: Another merge into the target goes on.
    """
    try:
        _claim(merge)
        sign = SignOfLife(merge)
        for step in merge.steps:
            sign.give()
            action_of(step.kind).prepare(merge, step)
        version = _commit(merge)
    except (CommitConflict, Refused) as error:
        found = find_commit(merge)
        if found is None or found.kind is VersionKind.VOID:
            roll_back(merge, error.message)
        raise
    return go_forward(merge, version)


def find_commit(merge: MergeOperation) -> CatalogVersion | None:
    """Return the version that decided the merge, or the one that keeps it from that; else None."""
    ledger, first = merge.warehouse.ledger, merge.version
    for number in range(first.number, ledger.newest(first.branch) + 1):
        found = ledger.version(VersionName(branch=first.branch, number=number))
        is_decision = found.kind in (VersionKind.MERGED, VersionKind.VOID)
        if found.operation == merge.id and is_decision:
            return found
    return None


def go_forward(merge: MergeOperation, version: CatalogVersion) -> Receipt:
    """Carry out all steps, look at what came of them, and record it.

    Raises:
        CommitConflict: A step lost against somebody else, and all of them were taken back.
        Refused: They are to be taken back, and something is in the way.
    """
    direction = _carry_out(merge)
    if direction.turns_back:
        error = turn_back(merge, version, direction)
        merge.journal.release(_claim_of(merge), merge.id)
        raise error
    texts = [action_of(step.kind).complete(merge, step) for step in merge.steps]
    return _complete(merge, version, [each for each in texts if each is not None])


def _carry_out(merge: MergeOperation) -> MergeDirection:
    """Carry out the steps while nobody turns back; return which way the merge goes."""
    sign = SignOfLife(merge)
    try:
        for number, step in enumerate(merge.steps):
            merge.progress(number, len(merge.steps))
            # Whoever else is at work on it may have turned back by now.
            direction = direction_of(merge)
            if direction is not None:
                return direction
            sign.give()
            _carry_out_step(merge, step)
        read_back(merge)
    except PaimonError as error:
        # What a store cannot do it cannot do in recovery either.
        if not isinstance(error, CommitConflict) and error.kind is not ErrorKind.UNSUPPORTED:
            raise
        lost = MergeDirection(turns_back=True, reason=error.message)
        return decide_direction(merge, lost)
    return decide_direction(merge, MergeDirection(turns_back=False))


def _carry_out_step(merge: MergeOperation, step: MergeStep) -> None:
    action = action_of(step.kind)
    try:
        action.carry_out(merge, step)
    except NotFound:
        # Somebody else who is at work on it moved the folder first.
        if not action.is_done(merge, step):
            raise


def roll_back(merge: MergeOperation, reason: str) -> CommitConflict:
    """Forget all prepared steps; return the conflict, as nothing was changed."""
    for step in reversed(merge.steps):
        action_of(step.kind).forget(merge, step)
    merge.operation.end(Ending.ROLLED_BACK, reason)
    merge.journal.release(_claim_of(merge), merge.id)
    return CommitConflict(reason, kind=ErrorKind.HEAD_MOVED)


def _claim(merge: MergeOperation) -> None:
    """Be the only merge into the target; raises Refused if another one does not end in time."""
    deadline = time.monotonic() + _CLAIM_SECONDS
    while (holder := merge.journal.claim(_claim_of(merge), merge.id)) != merge.id:
        if time.monotonic() > deadline:
            raise Refused(
                f"Operation {holder} is merging into {merge.noted.target!r}. Nothing was changed. "
                "Wait for it, or run: branch-console recover.",
                kind=ErrorKind.BRANCH_IN_USE,
                operation_id=holder,
            )
        time.sleep(_LOOK_SECONDS)


def _claim_of(merge: MergeOperation) -> str:
    return f"merge-into-{merge.noted.target}"


def _commit(merge: MergeOperation) -> CatalogVersion:
    """Make the version after the one that was read last: the commit point.

    One that loses to a mere sighting verifies again, and stands behind that.

    Raises:
        CommitConflict: Somebody else changed the target, or took this merge back.
    """
    ledger, publisher = merge.warehouse.ledger, merge.warehouse.store.publisher
    version = merge.version
    while True:
        check_unmoved(merge)
        if ledger.publish(publisher, version):
            return version
        try:
            found = ledger.version(version.name)
        except NotFound:
            continue  # the store did not tell whether it made it
        if found.operation == merge.id and found.kind is VersionKind.MERGED:
            return found
        if found.kind is not VersionKind.SIGHTED:
            raise CommitConflict(
                f"Somebody else changed {merge.noted.target!r} of the catalog in the meantime, to "
                f"version {found.name} ({found.kind}). Nothing was changed; look at the new "
                "preview.",
                kind=ErrorKind.HEAD_MOVED,
            )
        version = replace(
            version,
            number=version.number + 1,
            parents=(found.name, *version.parents[1:]),
        )


def _take_number(merge: MergeOperation) -> bool:
    """Keep a runner that wakes up late from deciding the merge; whether this was the first."""
    ledger, first = merge.warehouse.ledger, merge.version
    newest = max(ledger.newest(first.branch), first.number - 1)
    void = CatalogVersion(
        branch=first.branch,
        number=newest + 1,
        kind=VersionKind.VOID,
        parents=(VersionName(branch=first.branch, number=newest),),
        operation=merge.id,
        actor=first.actor,
        time_millis=merge.warehouse.clock(),
    )
    return ledger.publish(merge.warehouse.store.publisher, void)


def _complete(merge: MergeOperation, version: CatalogVersion, texts: list[str]) -> Receipt:
    operation, noted = merge.operation, merge.noted
    receipt = receipt_of(
        operation,
        counts=_counts(merge),
        notes=(
            f"{noted.source!r} was merged into {noted.target!r}: {version.name}.",
            *texts,
            *noted.notes,
        ),
    )
    done = operation.complete(event_of(operation, LineageKind.MERGED, receipt))
    merge.journal.release(_claim_of(merge), merge.id)
    return done


def _counts(merge: MergeOperation) -> Counts:
    """Add up what came to the tables, and the schemas that came alone."""
    done = (
        operation.receipt()
        for step in merge.steps
        if step.kind in _BRINGS and (operation := newest_operation(merge, step)) is not None
    )
    counts = total_of(each.counts for each in done if each is not None)
    alone = sum(len(step.schemas) for step in merge.steps)
    return replace(
        counts,
        schemas_added=counts.schemas_added + alone,
        files_verified=merge.noted.files_verified,
    )
