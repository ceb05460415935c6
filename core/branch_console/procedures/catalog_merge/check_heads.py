"""Whether a merge of the catalog still stands on what it was decided on."""

from branch_console.catalog.sightings import find_birth
from branch_console.errors import CommitConflict, ErrorKind
from branch_console.format.snapshot import SnapshotIdentity
from branch_console.merge.catalog.catalog_steps import StepKind
from branch_console.procedures.catalog_merge.actions import action_of
from branch_console.procedures.catalog_merge.step_actions import MergeOperation, MergeStep
from branch_console.procedures.catalog_merge.table_content import name_of, table_at


def check_unmoved(merge: MergeOperation) -> None:
    """See that each table stands where it stood, under its name and at its head.

    Raises:
        CommitConflict: It moved; nothing was changed.
    """
    for step in merge.steps:
        if step.folder is None or merge.is_made(step.object_id):
            continue
        folder = merge.operation.paths.folder(step.folder)
        if merge.is_into_main:
            _check_birth(merge, step, folder)
        if step.kind is StepKind.MERGE_CONTENT:
            _check_head(merge, step, folder)


def read_back(merge: MergeOperation) -> None:
    """See that what the steps were to do is there.

    Raises:
        CommitConflict: Something of it is not there any more.
    """
    for step in merge.steps:
        if not action_of(step.kind).is_done(merge, step):
            raise CommitConflict(
                f"what the merge did by its step {step.name} ({step.kind}) is gone again.",
                kind=ErrorKind.HEAD_MOVED,
            )


def _check_birth(merge: MergeOperation, step: MergeStep, folder: str) -> None:
    if find_birth(merge.warehouse.catalog.reader, folder) != step.birth:
        raise _moved(f"{name_of(step.folder or '')} is gone, or is another table by now.")


def _check_head(merge: MergeOperation, step: MergeStep, folder: str) -> None:
    expected = merge.version.expects.get(step.object_id)
    if expected is None:
        return
    head = table_at(merge, folder).head()
    wanted = None if expected.before is None else expected.before.identity
    if not _is_same(wanted, None if head is None else head.identity):
        raise _moved(f"{name_of(step.folder or '')} got a commit in the meantime.")


def _is_same(wanted: SnapshotIdentity | None, found: SnapshotIdentity | None) -> bool:
    if wanted is None or found is None:
        return wanted is found
    return wanted.same_as(found)


def _moved(what: str) -> CommitConflict:
    return CommitConflict(
        f"{what} Nothing was changed; look at the new preview.", kind=ErrorKind.HEAD_MOVED
    )
