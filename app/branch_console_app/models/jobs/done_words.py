"""A finished act in a sentence, and the branch to look at after it."""

from collections.abc import Mapping
from typing import Final

from branch_console.format.identifier import MAIN_BRANCH
from branch_console.operations.branch_requests import (
    CreateBranchRequest,
    DropBranchRequest,
    FastForwardRequest,
    ProtectBranchRequest,
    ReleaseBranchRequest,
    RenameBranchRequest,
    ReplaceMainRequest,
)
from branch_console.operations.merge_requests import CherryPickRequest, MergeRequest
from branch_console.operations.undo_request import UndoRequest
from branch_console.procedures.call.call import Argument
from branch_console.procedures.history.protection import is_pattern
from branch_console.sql.statement import Statement
from branch_console_app.models.jobs.job_titles import title_of_call
from branch_console_app.models.parts.wording import code, shortened

_DONE: Final[Mapping[str, str]] = {
    "create_branch": "Branch {branch} created.",
    "drop_branch": "Branch {branch} dropped.",
    "fence_branch": "Fence of {branch} changed.",
    "pin_branch": "Merge base of {branch} pinned.",
    "release_branch": "Branch {branch} released.",
    "rename_branch": "Branch {branch} renamed to {to}.",
    "repair_branch": "Branch {branch} repaired.",
    "replace_main": "Main replaced by {branch}.",
}
_LONGEST: Final = 40
# After these nothing is left under the name that they were given.
_ENDINGS: Final = frozenset({DropBranchRequest.procedure, ReleaseBranchRequest.procedure})

_INTO_A_TARGET: Final = frozenset(
    {CherryPickRequest.procedure, FastForwardRequest.procedure, MergeRequest.procedure}
)


def done_words(
    procedure: str, arguments: Mapping[str, Argument], undone: Statement | None = None
) -> str:
    """Say in Markdown what an act has done, as in ``Branch `dev` created``.

    Args:
        procedure: The procedure.
        arguments: Its arguments.
        undone: What it took back; None if it is no undo, or nobody knows.
    """
    if procedure == UndoRequest.procedure and undone is not None:
        title = title_of_call(undone.procedure, undone.arguments)
        return f"Undone: {title[0].lower()}{title[1:]}."
    given = {
        name: code(shortened(str(value), _LONGEST))
        for name, value in arguments.items()
        if value is not None
    }
    if procedure == ProtectBranchRequest.procedure and "branch" in given:
        is_many = is_pattern(str(arguments["branch"]))
        subject = f"{'Branches' if is_many else 'Branch'} {given['branch']}"
        since = "now" if arguments.get("protected", True) else "no longer"
        return f"{subject} {'are' if is_many else 'is'} {since} protected."
    words = _DONE.get(procedure)
    try:
        if words is not None:
            return words.format_map(given)
    except KeyError:
        pass
    return f"{title_of_call(procedure, arguments)}: done."


def branch_left(
    procedure: str, arguments: Mapping[str, Argument], undone: Statement | None = None
) -> str | None:
    """Return the branch that an act leaves to look at, as it was called then; None if it has none.

    Args:
        procedure: The procedure.
        arguments: Its arguments.
        undone: What it took back; None if it is no undo, or nobody knows.
    """
    if procedure == UndoRequest.procedure:
        if undone is None or undone.procedure == UndoRequest.procedure:
            return None
        if undone.procedure == CreateBranchRequest.procedure:
            return _text(undone.arguments, "from_branch")
        if undone.procedure in _INTO_A_TARGET:
            return branch_left(undone.procedure, undone.arguments)
        return _text(undone.arguments, "branch")
    if procedure in _ENDINGS:
        return None
    if procedure == ReplaceMainRequest.procedure:
        return MAIN_BRANCH
    if procedure == RenameBranchRequest.procedure:
        return _text(arguments, "to")
    if procedure in _INTO_A_TARGET:
        return _text(arguments, "target") or MAIN_BRANCH
    branch = _text(arguments, "branch")
    if procedure == ProtectBranchRequest.procedure and branch and is_pattern(branch):
        return None
    return branch


def _text(arguments: Mapping[str, Argument], name: str) -> str | None:
    value = arguments.get(name)
    return str(value) if value else None
