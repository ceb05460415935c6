"""F07, F08, F13 and F15 to F17: what a branch and another one came to share."""

from collections.abc import Iterable, Iterator
from typing import Final

from branch_console.diff.health.facts import BranchFacts
from branch_console.diff.health.finding import (
    CREATE,
    FENCE,
    MERGE,
    HazardSeverity,
    HealthFinding,
    Remedy,
)
from branch_console.diff.health.judging import Judging, quoted
from branch_console.diff.history_move import count, id_range
from branch_console.diff.lost_history import lost_branch_name
from branch_console.diff.shared_files import SharingMerge
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.lineage_event import LineageKind, born
from branch_console.format.snapshot import Snapshot

_MOST_PINS: Final = 20
_MAKE: Final = "Make a branch of what remains, and merge it or put it in the place of main."
_SEE_LOST: Final = "See branch-console lost-commits for the files, and write their rows again."


def shared_histories(judging: Judging, facts: BranchFacts) -> Iterator[HealthFinding]:
    """F07, F15, F16: what a branch and another one share since a fast-forward."""
    branch = facts.trace.branch
    for other in judging.shared.partners(branch):
        newest = judging.shared.newest_shared(branch, other)
        fork = facts.fork
        if newest is None or (fork is not None and newest.identity.same_as(fork.identity)):
            continue
        is_newer = fork is None or fork.snapshot_id is None or newest.id > fork.snapshot_id
        # What its parent lost of what it began at is told as a rollback (F09).
        if is_newer or (fork is not None and fork.parent != other):
            yield from _shared_history(judging, facts, other, newest)
        if is_newer and other == MAIN_BRANCH:
            yield from _forwarded(judging, facts, newest)


def _shared_history(
    judging: Judging, facts: BranchFacts, other: str, newest: Snapshot
) -> Iterator[HealthFinding]:
    branch = facts.trace.branch
    sides = judging.unsafe(branch, other)
    if not sides or judging.shared.is_kept(newest.identity):
        return
    is_on_main = judging.is_listed_on_main(newest.identity)
    tag_it = f"Tag snapshot {newest.id} of main for good, or fence" if is_on_main else "Fence"
    yield judging.judged(
        "F07",
        sides,
        branch=branch,
        evidence=(f"snapshot {newest.id} of {branch}", f"branch {other}"),
        text=f"It shares all up to snapshot {newest.id} with {other!r}, and no tag on main "
        "keeps that.",
        breaks="Of what one of them removes, expiry by other engines deletes files that the "
        "other needs.",
        advice=f"{tag_it} {quoted(sides)}. Or drop the branch.",
        remedies=(
            *(judging.remedy(FENCE, each) for each in sides if each != MAIN_BRANCH),
            *(
                (judging.pin(branch, newest),)
                if is_on_main
                else (judging.remedy(FENCE, each) for each in sides if each == MAIN_BRANCH)
            ),
        ),
    )


def _forwarded(judging: Judging, facts: BranchFacts, newest: Snapshot) -> Iterator[HealthFinding]:
    main, branch = judging.branches[MAIN_BRANCH].trace, facts.trace.branch
    if facts.trace.head is None or main.head is None:
        return
    is_ours = _was_moved_by_us(judging, branch) or _has_all_of_main(judging, facts)
    lost = () if is_ours else judging.table.lost_commits(newest)
    if lost:
        rescues = _rescues(judging, lost)
        yield HealthFinding(
            rule="F15",
            severity=HazardSeverity.CRITICAL,
            branch=branch,
            evidence=lost,
            text="Another engine fast-forwarded main to it, and "
            f"{count(len(lost), 'commit')} made before {_is_or_are(len(lost))} in no snapshot.",
            breaks="Their rows are gone from main; orphan cleaning makes that final.",
            advice=f"{_MAKE if rescues else _SEE_LOST} Clean no orphan files until then.",
            remedies=rescues,
        )
    moved = (facts.trace.head, main.head)
    is_merged = main.head.identity.manifest_lists in judging.table.lineage.ancestors(
        facts.trace.head.identity
    )
    if not is_merged and all(not each.identity.same_as(newest.identity) for each in moved):
        yield HealthFinding(
            rule="F16",
            severity=HazardSeverity.WARNING,
            branch=branch,
            evidence=tuple(f"snapshot {each.id}" for each in moved),
            text=f"Since main was fast-forwarded to it at snapshot {newest.id}, both have "
            "commits of their own on the same numbers.",
            breaks="A fast-forward by another engine drops those of main without a word.",
            advice="Merge main into it: a fast-forward drops nothing of main then.",
            remedies=(judging.remedy(MERGE, MAIN_BRANCH, target=branch),),
        )


def _rescues(judging: Judging, lists: Iterable[str]) -> tuple[Remedy, ...]:
    """The calls that make a branch of each history which is in no snapshot and has such a list."""
    names = {each.rpartition("/")[2] for each in lists}
    return tuple(
        judging.remedy(CREATE, lost_branch_name(each), lost=each)
        for each in judging.table.lost_tips(names)
    )


def replaced_main(judging: Judging, facts: BranchFacts) -> Iterator[HealthFinding]:
    """F08: a branch that began with nothing was fast-forwarded over main."""
    branch = facts.trace.branch
    if _was_moved_by_us(judging, branch) or not _has_all_of_main(judging, facts):
        return
    older = judging.table.older_lists()
    if older:
        rescues = _rescues(judging, older)
        yield HealthFinding(
            rule="F08",
            severity=HazardSeverity.CRITICAL,
            branch=branch,
            evidence=older,
            text="It began with nothing, and another engine fast-forwarded main to it: what "
            "main held before is in no snapshot.",
            breaks="Orphan cleaning makes that final.",
            advice=f"{_MAKE if rescues else _SEE_LOST} Clean no orphan files until then.",
            remedies=rescues,
        )


def rescued_history(judging: Judging, facts: BranchFacts) -> Iterator[HealthFinding]:
    """F17: older snapshots of main that a rescue branch lists too: one pin keeps the newest."""
    branch = facts.trace.branch
    event = born(judging.table.lineage.events, branch)
    if event is None or event.kind is not LineageKind.RESCUED or judging.is_safe(MAIN_BRANCH):
        return
    head = facts.trace.head
    older = [
        each
        for each in facts.trace.snapshots
        if judging.is_listed_on_main(each.identity)
        and not judging.shared.is_kept(each.identity)
        and not (head is not None and each.identity.same_as(head.identity))
    ]
    if not older:
        return
    ids = id_range([each.id for each in older])
    is_few = len(older) <= _MOST_PINS
    yield HealthFinding(
        rule="F17",
        severity=HazardSeverity.INFO,
        branch=branch,
        evidence=tuple(f"snapshot {each.id} of main" for each in older[:_MOST_PINS]),
        text=f"It shares these snapshots with main, and no tag on main keeps them: {ids}.",
        breaks="If another engine expires them on main, it deletes their manifest lists and files: "
        "a restore then brings back the head, but not these.",
        advice="Tag them on main for good." if is_few else "Fence main.",
        remedies=tuple(judging.pin(branch, each) for each in older)
        if is_few
        else (judging.remedy(FENCE, MAIN_BRANCH),),
    )


def _has_all_of_main(judging: Judging, facts: BranchFacts) -> bool:
    """Whether main's whole history is that of a branch which began with nothing."""
    main = judging.branches.get(MAIN_BRANCH)
    if main is None or not main.trace.snapshots or not facts.trace.snapshots:
        return False
    first = facts.trace.snapshots[0]
    is_same = main.trace.snapshots[0].identity.same_as(first.identity)
    return is_same and facts.began_empty


def _was_moved_by_us(judging: Judging, branch: str) -> bool:
    """Whether the ledger has the move: our moves keep the replaced state on a rescue branch."""
    moves = {LineageKind.FAST_FORWARDED, LineageKind.REPLACED}
    return any(
        event.kind in moves and event.branch == MAIN_BRANCH and event.source_branch == branch
        for event in judging.table.lineage.events
    )


def sharing_merges(judging: Judging, facts: BranchFacts) -> Iterator[HealthFinding]:
    """F13: files that a merge or a pick made two branches share."""
    branch = facts.trace.branch
    groups: dict[tuple[bool, str], list[SharingMerge]] = {}
    for merge in judging.shared.merges(branch):
        other = merge.target if merge.source == branch else merge.source
        groups.setdefault((merge.is_paimons, other), []).append(merge)
    for (is_paimons, other), merges in groups.items():
        sides = judging.unsafe(branch, other)
        if MAIN_BRANCH in sides and all(
            each.state is not None and judging.shared.is_kept_as_main(each.state) for each in merges
        ):
            sides = tuple(each for each in sides if each != MAIN_BRANCH)
        if not sides:
            continue
        number = count(sum(each.files for each in merges), "data file")
        pins = _pins(judging, merges) if MAIN_BRANCH in sides else None
        fenced = sides if pins is None else tuple(each for each in sides if each != MAIN_BRANCH)
        advice = [
            *((f"fence {quoted(fenced)}",) if fenced else ()),
            *(f"tag snapshot {each.id} of main for good" for each in pins or ()),
        ]
        what = "Paimon's own merge" if is_paimons else "Merges"
        yield judging.judged(
            "F13",
            sides,
            branch=branch,
            evidence=(number, f"branch {other}"),
            text=f"{what} made it share {number} with {other!r}.",
            breaks="Of what one of them removes, expiry by other engines may delete files that "
            "the other needs.",
            advice=f"{_with_capital(' and '.join(advice))}.",
            remedies=(
                *(judging.remedy(FENCE, each) for each in fenced),
                *(judging.pin(branch, each) for each in pins or ()),
            ),
        )


def _pins(judging: Judging, merges: Iterable[SharingMerge]) -> tuple[Snapshot, ...] | None:
    """The snapshots of main to be tagged for merges; None if one is not there any more."""
    main = judging.branches[MAIN_BRANCH].trace
    states = {each.state.manifest_lists for each in merges if each.state is not None}
    if any(each.state is None for each in merges) or not states <= main.places.keys():
        return None
    found = (main.snapshots[main.places[each]] for each in states)
    return tuple(each for each in found if not judging.shared.is_kept_as_main(each.identity))


def _with_capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _is_or_are(number: int) -> str:
    return "is" if number == 1 else "are"
