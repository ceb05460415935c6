"""Folders that nobody has anything in any more, at places that a merge gives to other objects.

A branch that made a table or a database and dropped it again leaves its folder. It is kept among
what was dropped while the merge stands.
"""

from branch_console.errors import CommitConflict, ErrorKind
from branch_console.procedures.catalog_merge.step_actions import MergeOperation, MergeStep
from branch_console.storage.directory_mover import MoveOutcome


def put_away(merge: MergeOperation, step: MergeStep, folder: str) -> None:
    """Move a folder out of the way, unless an earlier try has; raises CommitConflict."""
    if merge.warehouse.file_io.exists(folder):
        _move(merge, folder, _kept(merge, step, folder))


def bring_back(merge: MergeOperation, step: MergeStep, folder: str) -> None:
    """Move a folder back that was put away; raises CommitConflict."""
    kept, files = _kept(merge, step, folder), merge.warehouse.file_io
    if files.exists(kept) and not files.exists(folder):
        _move(merge, kept, folder)


def _kept(merge: MergeOperation, step: MergeStep, folder: str) -> str:
    paths = merge.operation.paths
    name = paths.relative(folder).replace(".db/", ".").replace("/", ".")
    return paths.dropped(name, merge.step_id(step))


def _move(merge: MergeOperation, source: str, target: str) -> None:
    if merge.warehouse.store.mover.move(source, target) is not MoveOutcome.DONE:
        raise CommitConflict(
            f"{source} could not be put at {target}: something is there already. Look at both, "
            "then run: branch-console recover.",
            kind=ErrorKind.NAME_TAKEN,
            path=target,
        )
