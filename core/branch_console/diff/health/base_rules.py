"""F00 to F03 and F09: what keeps the files that a branch began with."""

from collections.abc import Iterator

from branch_console.diff.health.facts import BranchFacts, HazardFork
from branch_console.diff.health.finding import FENCE, PIN, HazardSeverity, HealthFinding
from branch_console.diff.health.judging import Judging
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.tag import Tag


def base(judging: Judging, facts: BranchFacts) -> Iterator[HealthFinding]:
    """F00 to F03, F09: the tag of main on what a branch began at."""
    fork, branch = facts.fork, facts.trace.branch
    if fork is None or facts.trace.head is None:
        return
    keepers = _keepers(judging, facts, fork)
    lasting = [tag for tag in keepers if tag.time_retained_seconds is None]
    if not keepers:
        yield from _without_base(judging, facts, fork)
    elif not lasting:
        yield from _brief_base(judging, facts, fork, keepers)
    elif len(lasting) == 1:
        is_listed = judging.is_listed_on_main(fork.identity)
        if is_listed and judging.is_safe(MAIN_BRANCH):
            return
        name = lasting[0].name
        yield HealthFinding(
            rule="F00" if is_listed else "F03",
            severity=HazardSeverity.INFO if is_listed else HazardSeverity.WARNING,
            branch=branch,
            evidence=(f"tag {name}",),
            text=f"Only tag {name!r} on main keeps the snapshot that it started from."
            if is_listed
            else "The snapshot that it started from is not on main any more, and only tag "
            f"{name!r} on main keeps it.",
            breaks="Once that tag is deleted, expiry by other engines may delete files that "
            "this branch needs."
            if is_listed
            else "Another engine that deletes that tag deletes files that this branch needs.",
            advice="A second tag on the same snapshot prevents that.",
            remedies=(judging.remedy(PIN, branch, twin=True),),
        )


def _without_base(
    judging: Judging, facts: BranchFacts, fork: HazardFork
) -> Iterator[HealthFinding]:
    branch, parent = facts.trace.branch, fork.parent
    if parent not in judging.branches:
        return
    where = "main" if parent == MAIN_BRANCH else repr(parent)
    # Empty if the parent is main: a tag of main on that snapshot would have kept it.
    on_parent = [
        tag.name
        for tag in judging.branches[parent].trace.tags
        if tag.snapshot.identity.same_as(fork.identity)
    ]
    if on_parent:
        text = (
            f"Its base tag {on_parent[0]!r} stands on {where}, and other engines that expire "
            "snapshots look at the tags of main only."
        )
    elif facts.base_tag is not None:
        text = f"Its base tag {facts.base_tag!r} is gone from {where}."
    else:
        text = "No tag on main keeps the snapshot that it started from."
    evidence = tuple(
        each
        for each in (
            f"branch {parent}"
            if fork.snapshot_id is None
            else f"snapshot {fork.snapshot_id} of {parent}",
            None if facts.base_tag is None else f"tag {facts.base_tag}",
        )
        if each is not None
    )
    was_rolled_back = _was_rolled_back(judging, facts, fork)
    if was_rolled_back:
        yield from _rolled_back(judging, facts, evidence)
        return
    if not judging.is_safe(parent):
        yield judging.judged(
            "F02",
            (parent,),
            branch=branch,
            evidence=evidence,
            text=text,
            breaks=f"Expiry on {where} may delete files that this branch needs.",
            advice="Pin it.",
            remedies=(judging.remedy(PIN, branch),),
        )
    if not facts.is_fenced:
        yield judging.judged(
            "F01",
            (branch,),
            branch=branch,
            evidence=evidence,
            text=text,
            breaks=f"Expiry on {branch!r} may delete files that {where} needs.",
            advice="Pin it, and fence it.",
            remedies=(judging.remedy(PIN, branch), judging.remedy(FENCE, branch)),
        )


def _rolled_back(
    judging: Judging, facts: BranchFacts, evidence: tuple[str, ...]
) -> Iterator[HealthFinding]:
    """F09: a pin of what the branch began at comes too late, as main gives its id again."""
    if judging.is_safe(MAIN_BRANCH):
        return
    branch = facts.trace.branch
    common = judging.shared.newest_shared(branch, MAIN_BRANCH)
    if common is not None and judging.is_listed_on_main(common.identity):
        advice, remedy = (
            f"Tag snapshot {common.id} of main for good.",
            judging.pin(branch, common),
        )
    else:
        advice, remedy = "Fence main.", judging.remedy(FENCE, MAIN_BRANCH)
    yield judging.judged(
        "F09",
        (MAIN_BRANCH,),
        branch=branch,
        evidence=evidence,
        text="Main was rolled back to before the snapshot that this branch started from, and the "
        "tag that kept it is gone.",
        breaks="Expiry on main may delete files that this branch needs.",
        advice=advice,
        remedies=(remedy,),
    )


def _brief_base(
    judging: Judging, facts: BranchFacts, fork: HazardFork, keepers: tuple[Tag, ...]
) -> Iterator[HealthFinding]:
    is_listed = judging.is_listed_on_main(fork.identity)
    if is_listed and judging.is_safe(MAIN_BRANCH):
        return
    name, branch = keepers[0].name, facts.trace.branch
    yield HealthFinding(
        rule="F03",
        severity=HazardSeverity.WARNING if is_listed else HazardSeverity.CRITICAL,
        branch=branch,
        evidence=tuple(f"tag {tag.name}" for tag in keepers),
        text=f"Tag {name!r} on main keeps its files, but expires by itself.",
        breaks="After that expiry on main may delete files that this branch needs."
        if is_listed
        else "What it names has expired on main, so that its end deletes files that this "
        "branch needs.",
        advice="Pin it." if is_listed else "Pin it twice: Paimon deletes with the last tag.",
        remedies=(
            judging.remedy(PIN, branch),
            *(() if is_listed else (judging.remedy(PIN, branch, twin=True),)),
        ),
    )


def _keepers(judging: Judging, facts: BranchFacts, fork: HazardFork) -> tuple[Tag, ...]:
    main = judging.branches.get(MAIN_BRANCH)
    tags = () if main is None else main.trace.tags
    # A pin stands on main, wherever the branch was made from.
    return tuple(
        tag
        for tag in tags
        if tag.snapshot.identity.same_as(fork.identity) or tag.name == facts.base_tag
    )


def _was_rolled_back(judging: Judging, facts: BranchFacts, fork: HazardFork) -> bool:
    """Whether main has another snapshot where a branch began, or ends before that."""
    main = judging.branches.get(MAIN_BRANCH)
    if main is None or fork.parent != MAIN_BRANCH or not main.trace.snapshots:
        return False
    first = main.trace.snapshots[0].id
    if fork.snapshot_id is not None and not judging.is_listed_on_main(fork.identity):
        return fork.snapshot_id >= first
    # Main may have lost what the branch was made from: then the fork is a guess at what is
    # left, and the copy of a tag tells where it began [FileSystemBranchManager.createBranch].
    begun = facts.trace.snapshots[0]
    is_made = facts.base_tag is None and any(
        tag.snapshot.identity.same_as(begun.identity) for tag in facts.trace.tags
    )
    return (
        is_made
        and begun.id >= first
        and judging.shared.holders_of(begun.identity) == (facts.trace.branch,)
    )
