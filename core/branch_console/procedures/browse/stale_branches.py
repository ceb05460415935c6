"""The steps of a maintenance policy for the branches of a table: read here, decided in diff."""

from collections.abc import Iterable

from branch_console.commit.journal import Journal, OpenIntents
from branch_console.diff.lifecycle.archive import archived_by
from branch_console.diff.lifecycle.ladder import (
    BranchLife,
    BranchPlan,
    last_commit_millis,
    plan_branch,
)
from branch_console.diff.lifecycle.policy import MaintenancePolicy
from branch_console.errors import PaimonError
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console.procedures.browse.branches import BranchReader, read_branches
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.history.protection import protection_of
from branch_console.table.branch_manager import BranchState
from branch_console.table.file_store_table import FileStoreTable

# Somebody took the branch back from a rescue, or out of the archive: it is wanted.
_RENEWS = frozenset({LineageKind.RESTORED, LineageKind.UNARCHIVED})


def plan_stale_branches(
    warehouse: Warehouse, table: Identifier, policy: MaintenancePolicy, only: str | None = None
) -> tuple[BranchPlan, ...]:
    """Decide what becomes of each branch of a table but main, by name.

    Args:
        warehouse: The warehouse.
        table: The table.
        policy: The policy that holds for it.
        only: The branch that is asked for; the commits of the others are not read.

    Raises:
        NotFound: There is no such table.
    """
    now = warehouse.clock()
    lives = read_branch_lives(warehouse, table, only)
    return tuple(plan_branch(policy, life, now) for life in lives)


def read_branch_lives(
    warehouse: Warehouse, table: Identifier, only: str | None = None
) -> tuple[BranchLife, ...]:
    """Read what is known of the use of each branch of a table but main, or of one.

    Raises:
        NotFound: There is no such table.
    """
    opened = warehouse.table(table)
    reader = read_branches(warehouse, table)
    intents = Journal(warehouse.store, opened.paths).open_intents()
    return tuple(
        _life(opened, reader, state, intents)
        for state in reader.states
        if state.name != MAIN_BRANCH and only in (None, state.name)
    )


def _life(
    table: FileStoreTable, reader: BranchReader, state: BranchState, intents: OpenIntents
) -> BranchLife:
    name, events = state.name, reader.events
    made, archived = reader.made(name), archived_by(events, name)
    holds = tuple(_holds(reader, name, intents))
    committed, ahead, moved = None, None, None
    if state.error is not None:
        holds = (*holds, f"It cannot be read: {state.error.message}")
    else:
        try:
            committed = last_commit_millis(reader.history(name))
            ahead = _ahead(reader, state)
            moved = _last_read(table.on_listed(name))
        except PaimonError as error:
            holds = (*holds, f"It cannot be read: {error.message}")
    return BranchLife(
        branch=name,
        created_millis=state.created_millis if made is None else made.time_millis,
        committed_millis=committed,
        renewed_millis=_newest(moved, *(each.time_millis for each in _renewals(events, name))),
        holds=holds,
        ahead=ahead,
        is_protected=protection_of(events, name) is not None,
        owner=None if made is None else made.owner,
        warned_millis=_newest(*_times(events, name, LineageKind.WARNED)),
        archived_millis=None if archived is None else archived.time_millis,
    )


def _ahead(reader: BranchReader, state: BranchState) -> int | None:
    """The commits of a branch that neither main nor its parent has; None if that is not known."""
    if state.ref is None or state.ref.head is None:
        return 0
    others = dict.fromkeys((MAIN_BRANCH, reader.parent(state.name) or MAIN_BRANCH))
    known = {each.name for each in reader.states if each.error is None}
    found = [reader.ahead(state.name, each) for each in others if each in known]
    return min((each for each in found if each is not None), default=None)


def _last_read(table: FileStoreTable) -> int | None:
    """When a streaming reader of the branch moved on last; the fence is none."""
    return _newest(*(each.modified_millis for each in table.consumers.states()))


def _holds(reader: BranchReader, branch: str, intents: OpenIntents) -> Iterable[str]:
    for broken in intents.broken:
        yield f"Operation {broken.operation_id}, which cannot be read, may be at work on it."
    for intent in intents.readable:
        if branch in intent.branches:
            yield f"Operation {intent.operation_id} ({intent.procedure}) is at work on it."
    for used in reader.users(branch):
        yield f"Option {used} names it."


def _renewals(events: Iterable[LineageEvent], branch: str) -> Iterable[LineageEvent]:
    for event in events:
        rescue = None if event.receipt is None else event.receipt.rescue_branch
        if (event.branch == branch and event.kind in _RENEWS) or rescue == branch:
            yield event


def _times(events: Iterable[LineageEvent], branch: str, kind: LineageKind) -> Iterable[int]:
    return (each.time_millis for each in events if each.branch == branch and each.kind is kind)


def _newest(*times: int | None) -> int | None:
    return max((each for each in times if each is not None), default=None)
