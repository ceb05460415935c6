"""F04 to F06 and F11: tags, which other engines go through by id."""

from collections.abc import Iterator

from branch_console.diff.health.facts import TAG_CREATION, BranchFacts
from branch_console.diff.health.finding import (
    FENCE,
    TAG,
    UNTAG,
    HazardSeverity,
    HealthFinding,
    Remedy,
)
from branch_console.diff.health.judging import Judging, names_of, verb_of
from branch_console.diff.shared_files import HidingWords, tag_names
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.lineage_event import born
from branch_console.format.tag import Tag


def own_tags(judging: Judging, facts: BranchFacts) -> Iterator[HealthFinding]:
    """F04, F05: the tags of a branch, which no expiry looks at."""
    trace, branch = facts.trace, facts.trace.branch
    # What cannot be decoded has not expired.
    ids = {each.id for each in trace.snapshots} | facts.broken_ids
    expired = [tag for tag in trace.tags if tag.snapshot.id not in ids and _is_common(judging, tag)]
    if expired and trace.head is not None:
        names = [tag.name for tag in expired]
        verb = verb_of("name", len(names))
        yield HealthFinding(
            rule="F04",
            severity=HazardSeverity.CRITICAL,
            branch=branch,
            evidence=tuple(f"tag {name}" for name in names),
            text=f"Its {tag_names(names)} {verb} what has expired on it and others hold.",
            breaks="Another engine that deletes such a tag deletes files that they need, also "
            "under tags of main.",
            advice="Delete it here, which deletes no file, and fence the branch."
            if not facts.is_fenced
            else "Delete it here, which deletes no file.",
            remedies=(
                *(() if facts.is_fenced else (judging.remedy(FENCE, branch),)),
                *(judging.remedy_on(UNTAG, branch, tag=name) for name in names),
            ),
        )
    if facts.is_fenced:
        return
    alone = [
        tag.name
        for tag in trace.tags
        if tag.snapshot.id in ids and not judging.shared.is_kept(tag.snapshot.identity)
    ]
    if alone:
        yield HealthFinding(
            rule="F05",
            severity=HazardSeverity.WARNING,
            branch=branch,
            evidence=tuple(f"tag {name}" for name in alone),
            text=f"It has {tag_names(alone)}, and expiry by other engines looks at the tags of "
            "main only.",
            breaks="Where the branch expires, what it tags becomes unreadable.",
            advice="Fence it.",
            remedies=(judging.remedy(FENCE, branch),),
        )


def _is_common(judging: Judging, tag: Tag) -> bool:
    """Whether a tag of a branch names what another branch holds, builds on or tags."""
    identity = tag.snapshot.identity
    holders = {
        name
        for name, each in judging.branches.items()
        if judging.shared.builds_on(name, identity)
        or any(one.snapshot.identity.same_as(identity) for one in each.trace.tags)
    }
    return len(holders) > 1


def hidden_base(judging: Judging, facts: BranchFacts) -> Iterator[HealthFinding]:
    """F06 of a branch: a later tag of main hides the one on what the branch began at."""
    fork, branch = facts.fork, facts.trace.branch
    found = None if fork is None else judging.shared.hidden_base(branch, fork.identity)
    if found is None:
        return
    hides, kept = (names_of(tags) for tags in (found.hiding, found.hidden))
    yield judging.judged(
        "F06",
        (branch,),
        branch=branch,
        evidence=tuple(f"tag {tag.name}" for tag in (*found.hiding, *found.hidden)),
        text=f"On main {hides} {verb_of('hide', len(found.hiding))} {kept}, which "
        f"{verb_of('keep', len(found.hidden))} the snapshot that this branch started from. For "
        "each snapshot that another engine expires, it spares only the files of the nearest tag "
        "with a lower number.",
        breaks=f"Expiry on {branch!r} may delete files of {kept} and of all that was made there.",
        advice="Fence it.",
        remedies=(judging.remedy(FENCE, branch),),
    )


def foreign_tags(judging: Judging, facts: BranchFacts) -> Iterator[HealthFinding]:
    """F06 and F11 of main: tags on main that name snapshots of another history."""
    for found in judging.shared.foreign_hidings():
        (tag,) = found.hiding
        words = HidingWords.of(tag.name, tag.snapshot.id, [each.name for each in found.hidden])
        yield judging.judged(
            "F06",
            (MAIN_BRANCH,),
            branch=MAIN_BRANCH,
            evidence=tuple(f"tag {each.name}" for each in (tag, *found.hidden)),
            text=words.text,
            breaks=words.breaks,
            advice=f"{words.advice} Or delete the tag once no branch stands on it.",
            remedies=(judging.remedy(FENCE, MAIN_BRANCH),),
        )
    forks = [each.fork.identity for each in judging.branches.values() if each.fork is not None]
    for tag in judging.shared.foreign_tags:
        identity = tag.snapshot.identity
        holders = [each for each in judging.shared.holders_of(identity) if each != MAIN_BRANCH]
        if not holders or any(identity.same_as(fork) for fork in forks):
            continue  # a pin stands on main, wherever its branch was made from
        yield HealthFinding(
            rule="F11",
            severity=HazardSeverity.WARNING,
            branch=MAIN_BRANCH,
            evidence=(f"tag {tag.name}", f"snapshot {tag.snapshot.id} of {holders[0]}"),
            text=f"Tag {tag.name!r} of main names snapshot {tag.snapshot.id} of {holders[0]!r}.",
            breaks="Whoever reads that tag of main reads the branch, and expiry takes it for a "
            "tag of main's history.",
            advice=f"Make the tag on {holders[0]!r}, delete it on main, and unset "
            "'tag.automatic-creation' on the branch.",
            remedies=tuple(_moved(judging, tag, holders[0])),
        )


def _moved(judging: Judging, tag: Tag, branch: str) -> Iterator[Remedy]:
    """The calls that bring a tag of main to the branch whose snapshot it names."""
    facts = judging.branches[branch]
    if facts.tag_option is not None:
        yield judging.unset(branch, TAG_CREATION)
    # Whatever a branch holds that other software made may be what it stands on: the tag stays.
    if born(judging.table.lineage.events, branch) is None:
        return
    if all(each.name != tag.name for each in facts.trace.tags):
        yield judging.remedy_on(TAG, branch, tag=tag.name, snapshot=tag.snapshot.id)
    yield judging.remedy_on(UNTAG, MAIN_BRANCH, tag=tag.name)


def made_tags(judging: Judging, facts: BranchFacts) -> Iterator[HealthFinding]:
    """F11 of a branch: its writers make tags, and make them on main."""
    if facts.tag_option is None:
        return
    branch = facts.trace.branch
    yield HealthFinding(
        rule="F11",
        severity=HazardSeverity.WARNING,
        branch=branch,
        evidence=(facts.tag_option,),
        text=f"Its option {facts.tag_option!r} has its writers make tags, which Paimon puts on "
        "main.",
        breaks="From the next one on a tag of main names a snapshot of this branch.",
        advice="Unset the option on the branch.",
        remedies=(judging.unset(branch, TAG_CREATION),),
    )
