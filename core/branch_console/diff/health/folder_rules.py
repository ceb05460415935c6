"""F10, F12, F23 and F25: what a folder of a branch has too much, or lacks."""

from collections.abc import Iterable, Iterator
from typing import Final

from branch_console.diff.health.facts import BranchFacts
from branch_console.diff.health.finding import (
    FENCE,
    REPAIR,
    HazardSeverity,
    HealthFinding,
)
from branch_console.diff.health.judging import Judging
from branch_console.diff.history_move import id_range
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.lineage_event import BIRTHS, LineageEvent, LineageKind

_MOST_EVIDENCE: Final = 20


def left_over(judging: Judging, _: BranchFacts) -> Iterator[HealthFinding]:
    """F10: branches that other engines dropped."""
    gone = _gone(judging.table.lineage.events) - judging.branches.keys()
    if gone:
        names = ", ".join(map(repr, sorted(gone)))
        yield HealthFinding(
            rule="F10",
            severity=HazardSeverity.INFO,
            branch=MAIN_BRANCH,
            evidence=tuple(f"branch {name}" for name in sorted(gone)),
            text=f"The ledger knows of {names}, which another engine dropped or renamed.",
            breaks="Nothing breaks. Files that only such a branch had take space.",
            advice="Free it: branch-console orphans, or CALL sys.remove_orphan_files.",
        )


def below_earliest(judging: Judging, facts: BranchFacts) -> Iterator[HealthFinding]:
    """F12: snapshots that Paimon does not see and never expires."""
    if not facts.below_earliest:
        return
    ids = id_range(list(facts.below_earliest))
    yield HealthFinding(
        rule="F12",
        severity=HazardSeverity.WARNING,
        branch=facts.trace.branch,
        evidence=tuple(f"snapshot {each}" for each in facts.below_earliest[:_MOST_EVIDENCE]),
        text=f"Its hint EARLIEST is above snapshots that are there: {ids}.",
        breaks="Other engines neither read nor expire them, so that their files take space for "
        "ever.",
        advice="Delete the file EARLIEST, which any reader finds again by a listing.",
    )


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
        remedies=() if facts.fence_obstacles else (judging.remedy(FENCE, branch),),
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
    return found
