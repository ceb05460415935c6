"""F24 to F29 and F34: what grows, waits or is half made, and stops others from cleaning up."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from branch_console.diff.health.finding import (
    DROP,
    EXPIRE,
    RECOVER,
    REPAIR,
    RESET,
    HazardSeverity,
    HealthFinding,
    Remedy,
)
from branch_console.diff.health.open_operations import OpenOperationFacts, open_operation
from branch_console.diff.history_move import count
from branch_console.format.identifier import MAIN_BRANCH, Identifier

_DAY_MILLIS: Final = 86_400_000
_SKEW_MILLIS: Final = 60_000
"""A clock that is off by less changes nothing: ages are asked for in hours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerFacts:
    """A reader that keeps snapshots.

    Attributes:
        next_id: The snapshot that it reads next.
        idle_millis: How long ago it went on.
        held: How many snapshots it keeps from an expiry by the options of the branch.
    """

    id: str
    branch: str
    next_id: int
    idle_millis: int
    held: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FenceFacts:
    """A fence that keeps snapshots.

    Attributes:
        held: How many snapshots it keeps from an expiry by the options of the branch.
        limit: How many an expiry takes at once.
    """

    branch: str
    held: int
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedFacts:
    """A result that a dry run staged and nobody published."""

    plan_id: str
    subject: str
    branch: str
    age_millis: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockingRelease:
    """A removed branch that undo can bring back and that cannot be read.

    Attributes:
        operation_id: The release, or the drop that removes the files too.
        procedure: Its procedure, `release_branch` or `drop_branch`.
        until: The end of its undo, in words.
    """

    operation_id: str
    procedure: str
    branch: str
    until: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UpkeepFacts:
    """Facts about a table that needs regular maintenance.

    Attributes:
        table: Its name, for remedies.
        half_made: Branches without any schema, and whether one of them has snapshots or tags.
        store_ahead_millis: How far the newest file of the ledger is in the future.
    """

    table: str
    operations: Sequence[OpenOperationFacts] = ()
    half_made: Sequence[tuple[str, bool]] = ()
    consumers: Sequence[ConsumerFacts] = ()
    fences: Sequence[FenceFacts] = ()
    staged: Sequence[StagedFacts] = ()
    store_ahead_millis: int = 0
    blocking: Sequence[BlockingRelease] = ()


def upkeep_findings(facts: UpkeepFacts) -> Iterator[HealthFinding]:
    """Yield what has to be looked after."""
    for consumer in facts.consumers:
        yield from _idle_consumer(facts, consumer)
    for branch, has_history in facts.half_made:
        yield _half_made(facts, branch, has_history)
    for operation in facts.operations:
        yield open_operation("F26", operation, _remedy(facts, RECOVER))
    for fence in facts.fences:
        yield from _full_fence(facts, fence)
    if facts.store_ahead_millis > _SKEW_MILLIS:
        yield _wrong_clock(facts)
    for staged in facts.staged:
        yield from _old_result(facts, staged)
    for release in facts.blocking:
        yield _blocked_expiry(facts, release)


def _idle_consumer(facts: UpkeepFacts, consumer: ConsumerFacts) -> Iterator[HealthFinding]:
    """F24: a reader that went away and keeps what it did not read."""
    if consumer.idle_millis < _DAY_MILLIS or not consumer.held:
        return
    days = count(consumer.idle_millis // _DAY_MILLIS, "day")
    yield HealthFinding(
        rule="F24",
        severity=HazardSeverity.WARNING,
        branch=consumer.branch,
        evidence=(f"consumer {consumer.id}", f"snapshot {consumer.next_id}"),
        text=f"Consumer {consumer.id!r} has not moved for {days}, and keeps "
        f"{count(consumer.held, 'snapshot')} from {consumer.next_id} on.",
        breaks="Nothing breaks. What writers remove takes space until the consumer goes on.",
        advice="Where nobody reads as this consumer any more, take it away.",
        remedies=(_remedy(facts, RESET, branch=consumer.branch, consumer=consumer.id),),
    )


def _half_made(facts: UpkeepFacts, branch: str, has_history: bool) -> HealthFinding:
    """F25: a branch whose making was cut off before it got a schema."""
    held = "It has snapshots or tags and no schema" if has_history else "It has no schema"
    return HealthFinding(
        rule="F25",
        severity=HazardSeverity.WARNING,
        branch=branch,
        evidence=(f"branch {branch}",),
        text=f"{held}: the making of this branch was cut off.",
        breaks="Nobody can read it, and no orphan file of the table can be removed, here or by "
        "other engines.",
        advice="Give it the schemas of main; drop it then if nobody needs it.",
        remedies=(Remedy(procedure=REPAIR, arguments=_named(facts.table, branch=branch)),),
    )


def _full_fence(facts: UpkeepFacts, fence: FenceFacts) -> Iterator[HealthFinding]:
    """F27: a fenced branch that nobody expires."""
    if fence.held <= fence.limit:
        return
    yield HealthFinding(
        rule="F27",
        severity=HazardSeverity.WARNING,
        branch=fence.branch,
        evidence=(count(fence.held, "snapshot"),),
        text=f"Its fence keeps {count(fence.held, 'snapshot')} that are due to expire, more than "
        "one run takes.",
        breaks="Nothing breaks. What writers remove takes space until snapshots are expired here.",
        advice="Expire them here: that looks at all branches.",
        remedies=(_remedy(facts, EXPIRE, branch=fence.branch, max_deletes=fence.held),),
    )


def _wrong_clock(facts: UpkeepFacts) -> HealthFinding:
    """F28: a store whose clock is ahead of this machine's."""
    seconds = count(facts.store_ahead_millis // 1_000, "second")
    return HealthFinding(
        rule="F28",
        severity=HazardSeverity.WARNING,
        branch=MAIN_BRANCH,
        evidence=(seconds,),
        text=f"The store wrote files of this table {seconds} in the future of this machine.",
        breaks="Ages are told wrong: expiry and the removal of orphan files take too much or too "
        "little.",
        advice="Set the clock of this machine, or of the store.",
    )


def _old_result(facts: UpkeepFacts, staged: StagedFacts) -> Iterator[HealthFinding]:
    """F29: files that a dry run wrote and nothing names."""
    if staged.age_millis < _DAY_MILLIS:
        return
    yield HealthFinding(
        rule="F29",
        severity=HazardSeverity.WARNING,
        branch=staged.branch,
        evidence=(f"plan {staged.plan_id}",),
        text=f"A dry run of {staged.subject} staged files "
        f"{count(staged.age_millis // _DAY_MILLIS, 'day')} ago that nobody published.",
        breaks="Orphan cleaning by other engines deletes files of that age.",
        advice="Recovery discards them. To publish the merge, run it again.",
        remedies=(_remedy(facts, RECOVER),),
    )


def _blocked_expiry(facts: UpkeepFacts, release: BlockingRelease) -> HealthFinding:
    """F34: a removed branch that cannot be read and that undo keeps."""
    # Only rescue and merge branches can be released: an ordinary one is dropped once more.
    removed, again = (
        ("dropped", "drop the branch with reclaim and the grace '0 s'")
        if release.procedure == DROP
        else ("released", "release the branch with the grace '0 s'")
    )
    return HealthFinding(
        rule="F34",
        severity=HazardSeverity.WARNING,
        branch=release.branch,
        evidence=(f"operation {release.operation_id}",),
        text=f"Expiry of {facts.table} is blocked until {release.until}: the {removed} branch "
        f"{release.branch!r} cannot be read.",
        breaks="Nothing breaks. Until then undo can bring the branch back, and no file may leave "
        "the table.",
        advice=f"Wait. To end this now, undo operation {release.operation_id}, and {again}.",
    )


def _remedy(
    facts: UpkeepFacts, procedure: str, *, branch: str = MAIN_BRANCH, **arguments: str | int
) -> Remedy:
    """The call of a procedure that takes the table with its branch."""
    name = Identifier.parse(facts.table).on_branch(branch).full_name
    return Remedy(procedure=procedure, arguments=_named(name, **arguments))


def _named(table: str, **arguments: str | int) -> MappingProxyType[str, str | int | bool]:
    return MappingProxyType({"table": table, **arguments})
