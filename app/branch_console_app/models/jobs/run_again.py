"""Running the command of a job that has ended once more: where it is confirmed, and what it names.

What was confirmed the first time is confirmed each time, on what there is by then.
"""

from collections.abc import Collection
from enum import StrEnum, auto
from typing import Final

from branch_console.errors import PaimonError
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.jobs.progress import JobState, JobView
from branch_console.operations.agreement import GRANTED
from branch_console.operations.argument import Unserved
from branch_console.operations.branch_requests import (
    CreateBranchRequest,
    DropBranchRequest,
    FastForwardRequest,
    FenceBranchRequest,
    PinBranchRequest,
    ReleaseBranchRequest,
    RenameBranchRequest,
    RepairBranchRequest,
    ReplaceMainRequest,
)
from branch_console.operations.catalog_requests import MergeCatalogRequest
from branch_console.operations.declared import REQUESTS
from branch_console.operations.merge_requests import CherryPickRequest, MergeRequest, RevertRequest
from branch_console.operations.request import Request
from branch_console.operations.statement_requests import StatementRequest
from branch_console.procedures.call.call import Argument, ProcedureCall
from branch_console.sql.parser import WRITING
from branch_console_app.models.parts.command_line import PREVIEWED
from branch_console_app.models.parts.wording import code


class Again(StrEnum):
    """The way to run a job's command again."""

    AT_ONCE = auto()
    DIALOG = auto()
    MERGE_PAGE = auto()
    SQL_PAGE = auto()


_IN_SQL_ALONE: Final = frozenset(
    name
    for name, request in REQUESTS.items()
    if isinstance(request.command, Unserved)
    and not isinstance(request.in_sql, Unserved)
    and "plan_id" in request.terms
)
_ON_MERGE_PAGE: Final = frozenset({MergeRequest.procedure, FastForwardRequest.procedure})
_MERGES: Final = frozenset({*_ON_MERGE_PAGE, MergeCatalogRequest.procedure})


def way_again(procedure: str) -> Again:
    """Return where a person confirms a procedure."""
    if procedure in _ON_MERGE_PAGE:
        return Again.MERGE_PAGE
    if procedure in WRITING or procedure in _IN_SQL_ALONE:
        return Again.SQL_PAGE
    return Again.DIALOG if procedure in PREVIEWED else Again.AT_ONCE


def is_done_merge(job: JobView) -> bool:
    """Whether a job merged: its undo or a new commit decides if there is anything to merge."""
    return job.state is JobState.DONE and job.name in _MERGES


def arguments_again(call: ProcedureCall) -> dict[str, Argument]:
    """Return what a form is filled in with: all but what held for that one run.

    What somebody looked at is another thing by now, and a gate that was overridden judges anew.
    """
    return {name: value for name, value in call.asked.items() if name not in GRANTED}


def nothing_to_run_on(call: ProcedureCall, branches: Collection[str]) -> str | None:
    """Say why a call makes no sense any more, None if it does; Markdown.

    Args:
        call: The call.
        branches: The branches of its table without main.
    """
    there = {MAIN_BRANCH, *branches}
    asked = call.request(Request)
    if isinstance(asked, CreateBranchRequest) and asked.branch in there:
        return f"Branch {code(asked.branch)} is there, so it cannot be created again."
    wanted = (*_branches_of(asked), _branch_of_table(call))
    gone = next((each for each in wanted if each is not None and each not in there), None)
    return f"Branch {code(gone)} is gone, so this cannot be run again." if gone else None


def _branches_of(asked: Request) -> tuple[str | None, ...]:
    """The branches that a request needs; a protection is for names and patterns of any."""
    match asked:
        case CreateBranchRequest():
            return (asked.from_branch,)
        case MergeRequest() | CherryPickRequest() | FastForwardRequest():
            return asked.source, asked.target
        case RevertRequest():
            return (asked.target,)
        case (
            DropBranchRequest()
            | ReleaseBranchRequest()
            | RenameBranchRequest()
            | PinBranchRequest()
            | FenceBranchRequest()
            | RepairBranchRequest()
            | ReplaceMainRequest()
            | StatementRequest()
        ):
            return (asked.branch,)
        case _:
            return ()


def _branch_of_table(call: ProcedureCall) -> str | None:
    try:
        return Identifier.parse(call.table).branch
    except PaimonError:
        return None
