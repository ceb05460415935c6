"""F10, F12, F22, F23 and F25: what a folder of a branch has too much, or lacks."""

from collections.abc import Iterable, Iterator
from typing import Final

from branch_console.diff.health.facts import BranchFacts
from branch_console.diff.health.finding import (
    EXPIRE,
    FENCE,
    ORPHANS,
    REPAIR,
    UNDO,
    HazardSeverity,
    HealthFinding,
)
from branch_console.diff.health.judging import Judging
from branch_console.diff.history_move import id_range
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.lineage_event import BIRTHS, LineageEvent, LineageKind, name_after_drop

_MOST_EVIDENCE: Final = 20


def left_over(judging: Judging, _: BranchFacts) -> Iterator[HealthFinding]:
    """F10: branches that other engines dropped."""
    there = judging.branches.keys() | judging.table.unreadable
    gone = _gone(judging.table.lineage.events) - there
    if gone:
        names = ", ".join(map(repr, sorted(gone)))
        yield HealthFinding(
            rule="F10",
            severity=HazardSeverity.INFO,
            branch=MAIN_BRANCH,
            evidence=tuple(f"branch {name}" for name in sorted(gone)),
            text=f"The ledger knows of {names}, which another engine dropped or renamed.",
            breaks="Nothing breaks. Files that only such a branch had take space.",
            advice="Remove the files that nothing names any more.",
            remedies=(judging.remedy(ORPHANS, None),),
        )


def below_earliest(judging: Judging, facts: BranchFacts) -> Iterator[HealthFinding]:
    """F12: snapshots that Paimon does not see and never expires."""
    if not facts.below_earliest:
        return
    below, branch = facts.below_earliest, facts.trace.branch
    ids, last = id_range(list(below)), facts.trace.snapshots[-1].id
    first = min(each.id for each in facts.trace.snapshots if each.id not in below)
    yield HealthFinding(
        rule="F12",
        severity=HazardSeverity.WARNING,
        branch=branch,
        evidence=tuple(f"snapshot {each}" for each in below[:_MOST_EVIDENCE]),
        text=f"Its hint EARLIEST is above snapshots that are there: {ids}.",
        breaks="Other engines neither read nor expire them, so that their files take space for "
        "ever.",
        advice="Bring back what only they hold, where that is wanted; then expire them here.",
        remedies=(
            judging.remedy_on(
                EXPIRE,
                branch,
                retain_max=last - first + 1,
                retain_min=last - first + 1,
                max_deletes=first - min(below),
            ),
        ),
    )


def lost_branches(judging: Judging, facts: BranchFacts) -> Iterator[HealthFinding]:
    """F22: options that name a branch which is gone."""
    branch = facts.trace.branch
    there = judging.branches.keys() | judging.table.unreadable
    gone = [(key, name) for key, name in facts.named_branches if name not in there]
    for name in dict.fromkeys(name for _, name in gone):
        keys = [key for key, each in gone if each == name]
        dropped = _drop_of(judging.table.lineage.events, name)
        yield HealthFinding(
            rule="F22",
            severity=HazardSeverity.CRITICAL,
            branch=branch,
            evidence=tuple(f"{key}={name}" for key in keys),
            text=f"Its option {' and '.join(map(repr, keys))} names branch {name!r}, which is not "
            "there.",
            breaks="Whoever reads it lacks the rows of that branch, or fails.",
            advice="Bring the branch back, or unset the option."
            if dropped is not None
            else "Make the option name another branch, or unset it.",
            remedies=(
                judging.unset(branch, *keys)
                if dropped is None
                else judging.remedy(UNDO, None, operation=dropped),
            ),
        )


def _drop_of(events: Iterable[LineageEvent], branch: str) -> str | None:
    """The operation that dropped a branch and kept all of it, None if there is none."""
    found = None
    for event in events:
        if event.kind in BIRTHS and event.branch == branch:
            found = None
        if event.kind is LineageKind.DROPPED and event.branch == branch:
            is_kept = event.receipt is not None and event.receipt.rescue_branch is not None
            found = event.operation_id if is_kept else None
    return found


def lost_fence(judging: Judging, facts: BranchFacts) -> Iterator[HealthFinding]:
    """F23: a fence that is gone, was reset, or that options make ineffective."""
    branch = facts.trace.branch
    if facts.is_fenced or not (facts.has_fence or facts.was_fenced):
        return
    options = " and ".join(map(repr, facts.fence_obstacles))
    if facts.fence_obstacles:
        verb = "lets" if len(facts.fence_obstacles) == 1 else "let"
        text = f"Its fence has no effect: {options} {verb} other engines expire past it."
        advice = f"Unset {options} on the branch."
    else:
        state = "was reset to a later snapshot" if facts.has_fence else "is gone"
        text, advice = f"Its fence {state}.", "Fence it again."
    yield HealthFinding(
        rule="F23",
        severity=HazardSeverity.CRITICAL,
        branch=branch,
        evidence=facts.fence_obstacles or ("consumer branch-console-fence",),
        text=text,
        breaks="The next expiry of the branch deletes what it removed, also where others need it.",
        advice=advice,
        remedies=(
            *((judging.unset(branch, *facts.fence_obstacles),) if facts.fence_obstacles else ()),
            *(
                (judging.remedy(FENCE, branch),)
                if not facts.fence_obstacles or not facts.has_fence
                else ()
            ),
        ),
    )


def lost_schemas(judging: Judging, facts: BranchFacts) -> Iterator[HealthFinding]:
    """F25: schemas without which nobody decodes files of a branch."""
    missing, branch = facts.missing_schemas, facts.trace.branch
    if not missing:
        return
    noun = "schema" if len(missing) == 1 else "schemas"
    is_main = branch == MAIN_BRANCH
    yield HealthFinding(
        rule="F25",
        severity=HazardSeverity.CRITICAL,
        branch=branch,
        evidence=tuple(f"schema {each}" for each in missing),
        text=f"It lacks {noun} {id_range(missing)}, with which some of its files were written.",
        breaks="Nobody can read those files, here or with other engines.",
        advice=f"Restore the {noun} from a copy of the table."
        if is_main
        else f"Copy the {noun} from main, or restore it from a copy of the table.",
        remedies=() if is_main else (judging.remedy(REPAIR, branch),),
    )


def _gone(events: Iterable[LineageEvent]) -> set[str]:
    """The branches that the ledger made, and did not drop itself."""
    found: set[str] = set()
    for event in events:
        if event.kind in BIRTHS:
            found.add(event.branch)
        if event.kind is LineageKind.DROPPED:
            found.discard(event.branch)
            if event.receipt is not None and event.receipt.rescue_branch is None:
                found.discard(name_after_drop(event))
    return found
