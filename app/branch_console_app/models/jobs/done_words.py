"""A finished act in a sentence, and the branch to look at after it."""

from collections.abc import Mapping
from typing import Final

from branch_console.errors import InvalidInput
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.operations.branch_requests import (
    ArchiveBranchRequest,
    CreateBranchRequest,
    DropBranchRequest,
    FastForwardRequest,
    FenceBranchRequest,
    PinBranchRequest,
    ProtectBranchRequest,
    ReleaseBranchRequest,
    RenameBranchRequest,
    RepairBranchRequest,
    ReplaceMainRequest,
    WarnBranchRequest,
)
from branch_console.operations.declared import REQUESTS
from branch_console.operations.merge_requests import CherryPickRequest, MergeRequest
from branch_console.operations.request import Request
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
_INTO_A_TARGET: Final = (CherryPickRequest, FastForwardRequest, MergeRequest)
_LEAVING_THEIR_BRANCH: Final = (
    ArchiveBranchRequest, CreateBranchRequest, FenceBranchRequest, PinBranchRequest,
    ProtectBranchRequest, RepairBranchRequest, WarnBranchRequest,
)  # fmt: skip
# An undo of these leads back to the branch that they were given.
_NAMED_BEFORE: Final = (
    *_LEAVING_THEIR_BRANCH, DropBranchRequest, ReleaseBranchRequest, RenameBranchRequest,
    ReplaceMainRequest,
)  # fmt: skip


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
    asked = _decoded(procedure, arguments)
    if isinstance(asked, ProtectBranchRequest):
        is_many = is_pattern(asked.branch)
        subject = f"{'Branches' if is_many else 'Branch'} {given['branch']}"
        since = "now" if asked.protected else "no longer"
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
    asked = _decoded(procedure, arguments)
    if isinstance(asked, UndoRequest):
        return None if undone is None else _left_by_undo(undone)
    if isinstance(asked, ReplaceMainRequest):
        return MAIN_BRANCH
    if isinstance(asked, RenameBranchRequest):
        return asked.to
    if isinstance(asked, _INTO_A_TARGET):
        return asked.target or MAIN_BRANCH
    if isinstance(asked, ProtectBranchRequest) and is_pattern(asked.branch):
        return None
    # After the others nothing is left under the name that they were given.
    return asked.branch if isinstance(asked, _LEAVING_THEIR_BRANCH) else None


def _left_by_undo(undone: Statement) -> str | None:
    asked = _decoded(undone.procedure, undone.arguments)
    if isinstance(asked, UndoRequest):
        return None
    if isinstance(asked, CreateBranchRequest):
        return asked.from_branch
    if isinstance(asked, _NAMED_BEFORE):
        return asked.branch
    return branch_left(undone.procedure, undone.arguments)


def _decoded(procedure: str, arguments: Mapping[str, Argument]) -> Request | None:
    """Return a call as its request; None if a later release wrote it."""
    request = REQUESTS.get(procedure)
    try:
        return None if request is None else request.decode(procedure, arguments)
    except InvalidInput:
        return None
