"""What may break a branch, or others by it, without anybody touching it; and what to do.

The rules F00 to F16 and F23 stand for the hazards H0 to H16 of shared files, F25 for a branch that
was not copied whole: other engines expire
snapshots by looking at one branch and at the tags of main, which they go through by id. A branch is
safe from its own expiry by a fence, and main by a fence or by a tag on the files that others need.
`write-only` and retention options hold until a dedicated job or an argument overrides them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final, TypeAlias

from branch_console.diff.branch_trace import BranchTrace
from branch_console.diff.history_move import count, id_range
from branch_console.diff.lineage import Lineage
from branch_console.diff.shared_files import CountTaken, SharedFiles, SharingMerge, tag_names
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.lineage_event import BIRTHS, LineageEvent, LineageKind
from branch_console.format.snapshot import Snapshot, SnapshotIdentity
from branch_console.format.tag import Tag

FENCE: Final = "fence_branch"
PIN: Final = "pin_branch"
TAG: Final = "create_tag"
REPAIR: Final = "repair_branch"


class HazardSeverity(StrEnum):
    """How bad a finding is, from the least to the worst."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        """A number that rises with how bad it is."""
        return list(HazardSeverity).index(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """A call that remedies a finding; it deletes nothing."""

    procedure: str
    arguments: Mapping[str, str | int | bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthFinding:
    """What is wrong with a branch.

    Attributes:
        rule: The id of the rule, such as `F02`.
        branch: The branch that tells of it.
        evidence: The tags, snapshots, options and branches that it rests on.
        text: What is so.
        breaks: What breaks and when, as a sentence.
        advice: What to do, as a sentence.
        remedies: Calls that do it, each of which is needed; none where only people can.
    """

    rule: str
    severity: HazardSeverity
    branch: str
    evidence: tuple[str, ...]
    text: str
    breaks: str
    advice: str
    remedies: tuple[Remedy, ...] = ()

    @property
    def sentences(self) -> str:
        """All of it, for people."""
        return " ".join(each for each in (self.text, self.breaks, self.advice) if each)

    @property
    def needs_repair(self) -> bool:
        """Whether a repair of the branch is among the remedies."""
        return any(each.procedure == REPAIR for each in self.remedies)

    @property
    def needs_pin(self) -> bool:
        """Whether a pin of the branch is among the remedies."""
        return any(each.procedure == PIN for each in self.remedies)

    def fences(self, branch: str) -> bool:
        """Whether a fence of a branch is among the remedies."""
        return any(
            each.procedure == FENCE and each.arguments["branch"] == branch for each in self.remedies
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class HazardFork:
    """Where a branch left another one."""

    parent: str
    identity: SnapshotIdentity
    snapshot_id: int | None


@dataclass(frozen=True, kw_only=True)
class BranchFacts:
    """What the rules need to know of a branch.

    Attributes:
        fork: Where it began, None for main and what began with nothing.
        base_tag: The tag that the ledger calls its base tag.
        has_fence: Whether the file of a fence is there.
        is_fenced: Whether other engines heed that fence.
        fence_obstacles: Options of the branch by which they do not.
        was_fenced: Whether the ledger tells that it was fenced.
        kept_by: The option that keeps its writers from expiring snapshots.
        tag_option: The option by which its writers make tags, `tag.automatic-creation=…`.
        below_earliest: Ids of its snapshots below the hint EARLIEST, which Paimon does not see.
        began_empty: Whether it was made without a snapshot.
        missing_schemas: Ids of schemas that its files need and that it does not have.
    """

    trace: BranchTrace
    fork: HazardFork | None = None
    base_tag: str | None = None
    has_fence: bool = False
    is_fenced: bool = False
    fence_obstacles: tuple[str, ...] = ()
    was_fenced: bool = False
    kept_by: str | None = None
    tag_option: str | None = None
    below_earliest: tuple[int, ...] = ()
    began_empty: bool = False
    missing_schemas: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class TableFacts:
    """What the rules need to know of a table.

    Attributes:
        table: Its name, for remedies.
        branches: Those that can be read, main first.
        lineage: Their graph, with the ledger under the names of today.
        count_taken: Asked of the few commits that may be merges of Paimon's own.
        lost_commits: The files that tell of commits in no snapshot which are older than the file of
            a snapshot of main. Asked where another engine's fast-forward is seen, as it reads
            manifests.
        older_lists: The manifest lists that are older than main's first snapshot, and that no
            branch names. Asked where main has the whole history of a branch.
    """

    table: str
    branches: Mapping[str, BranchFacts]
    lineage: Lineage
    count_taken: CountTaken
    lost_commits: Callable[[Snapshot], tuple[str, ...]]
    older_lists: Callable[[], tuple[str, ...]]


class Hazards:
    """The findings of a table, branch by branch."""

    def __init__(self, facts: TableFacts) -> None:
        self._facts = facts
        self._branches = facts.branches
        traces = {name: each.trace for name, each in facts.branches.items()}
        unsafe = frozenset(name for name, each in facts.branches.items() if not each.is_fenced)
        self._shared = SharedFiles(traces, facts.lineage, unsafe, facts.count_taken)

    @property
    def branches(self) -> tuple[str, ...]:
        """The branches that were looked at, main first."""
        return tuple(self._branches)

    def of(self, branch: str) -> tuple[HealthFinding, ...]:
        """The findings of a branch, the worst first; each thing is told on one branch only."""
        facts = self._branches[branch]
        rules = _MAIN_RULES if branch == MAIN_BRANCH else _BRANCH_RULES
        found = [each for rule in (*rules, *_ANY_RULES) for each in rule(self, facts)]
        return tuple(sorted(found, key=lambda each: (-each.severity.rank, each.rule)))

    # ---- what a branch began at ----------------------------------------------------------------

    def _base(self, facts: BranchFacts) -> Iterator[HealthFinding]:
        """F00 to F03, F09: the tag of main on what a branch began at."""
        fork, branch = facts.fork, facts.trace.branch
        if fork is None or facts.trace.head is None:
            return
        keepers = self._keepers(facts, fork)
        lasting = [tag for tag in keepers if tag.time_retained_seconds is None]
        if not keepers:
            yield from self._without_base(facts, fork)
        elif not lasting:
            yield from self._brief_base(facts, fork, keepers)
        elif len(lasting) == 1:
            is_listed = self._is_listed_on_main(fork.identity)
            if is_listed and self._is_safe(MAIN_BRANCH):
                return
            name = lasting[0].name
            yield HealthFinding(
                rule="F00" if is_listed else "F03",
                severity=HazardSeverity.INFO if is_listed else HazardSeverity.WARNING,
                branch=branch,
                evidence=(f"tag {name}",),
                text=f"Only tag {name!r} on main keeps what it began at."
                if is_listed
                else f"What it began at is not among the snapshots of main, and only tag {name!r} "
                "on main keeps it.",
                breaks="Once that tag is deleted, expiry by other engines may delete files that "
                "this branch needs."
                if is_listed
                else "Another engine that deletes that tag deletes files that this branch needs.",
                advice="A second tag on the same snapshot prevents that.",
                remedies=(self._remedy(PIN, branch, twin=True),),
            )

    def _without_base(self, facts: BranchFacts, fork: HazardFork) -> Iterator[HealthFinding]:
        branch, parent = facts.trace.branch, fork.parent
        if parent not in self._branches:
            return
        where = "main" if parent == MAIN_BRANCH else repr(parent)
        on_parent = [
            tag.name
            for tag in self._branches[parent].trace.tags
            if parent != MAIN_BRANCH and tag.snapshot.identity.same_as(fork.identity)
        ]
        if on_parent:
            text = (
                f"Its base tag {on_parent[0]!r} stands on {where}, and other engines that expire "
                "snapshots look at the tags of main only."
            )
        elif facts.base_tag is not None:
            text = f"Its base tag {facts.base_tag!r} is gone from {where}."
        else:
            text = "No tag on main keeps the snapshot it began at."
        evidence = tuple(
            each
            for each in (
                None if fork.snapshot_id is None else f"snapshot {fork.snapshot_id} of {parent}",
                None if facts.base_tag is None else f"tag {facts.base_tag}",
            )
            if each is not None
        )
        was_rolled_back = self._was_rolled_back(facts, fork)
        if was_rolled_back:
            yield from self._rolled_back(facts, evidence)
            return
        if not self._is_safe(parent):
            yield self._judged(
                "F02",
                (parent,),
                branch=branch,
                evidence=evidence,
                text=text,
                breaks=f"Expiry on {where} may delete files that this branch needs.",
                advice="Pin it.",
                remedies=(self._remedy(PIN, branch),),
            )
        if not facts.is_fenced:
            yield self._judged(
                "F01",
                (branch,),
                branch=branch,
                evidence=evidence,
                text=text,
                breaks=f"Expiry on {branch!r} may delete files that {where} needs.",
                advice="Pin it, and fence it.",
                remedies=(self._remedy(PIN, branch), self._remedy(FENCE, branch)),
            )

    def _rolled_back(
        self, facts: BranchFacts, evidence: tuple[str, ...]
    ) -> Iterator[HealthFinding]:
        """F09: a pin of what the branch began at comes too late, as main gives its id again."""
        if self._is_safe(MAIN_BRANCH):
            return
        branch = facts.trace.branch
        common = self._shared.newest_shared(branch, MAIN_BRANCH)
        is_there = common is not None and self._is_listed_on_main(common.identity)
        if common is not None and is_there:
            advice, remedy = (
                f"Tag snapshot {common.id} of main for good.",
                self._pin(branch, common),
            )
        else:
            advice, remedy = "Fence main.", self._remedy(FENCE, MAIN_BRANCH)
        yield self._judged(
            "F09",
            (MAIN_BRANCH,),
            branch=branch,
            evidence=evidence,
            text="Main was rolled back below what it began at, and the tag that kept it is gone.",
            breaks="Expiry on main may delete files that this branch needs.",
            advice=advice,
            remedies=(remedy,),
        )

    def _brief_base(
        self, facts: BranchFacts, fork: HazardFork, keepers: tuple[Tag, ...]
    ) -> Iterator[HealthFinding]:
        is_listed = self._is_listed_on_main(fork.identity)
        if is_listed and self._is_safe(MAIN_BRANCH):
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
            advice="Pin it.",
            remedies=(self._remedy(PIN, branch),),
        )

    def _keepers(self, facts: BranchFacts, fork: HazardFork) -> tuple[Tag, ...]:
        main = self._branches.get(MAIN_BRANCH)
        tags = () if main is None else main.trace.tags
        # A pin stands on main, wherever the branch was made from.
        return tuple(
            tag
            for tag in tags
            if tag.snapshot.identity.same_as(fork.identity) or tag.name == facts.base_tag
        )

    def _is_listed_on_main(self, identity: SnapshotIdentity) -> bool:
        main = self._branches.get(MAIN_BRANCH)
        return main is not None and identity.manifest_lists in main.trace.places

    def _was_rolled_back(self, facts: BranchFacts, fork: HazardFork) -> bool:
        """Whether main has another snapshot where a branch began, or ends before that."""
        main = self._branches.get(MAIN_BRANCH)
        if main is None or fork.parent != MAIN_BRANCH or not main.trace.snapshots:
            return False
        first = main.trace.snapshots[0].id
        if fork.snapshot_id is not None and not self._is_listed_on_main(fork.identity):
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
            and self._shared.holders_of(begun.identity) == (facts.trace.branch,)
        )

    # ---- tags ----------------------------------------------------------------------------------

    def _own_tags(self, facts: BranchFacts) -> Iterator[HealthFinding]:
        """F04, F05: the tags of a branch, which no expiry looks at."""
        trace, branch = facts.trace, facts.trace.branch
        ids = {each.id for each in trace.snapshots}
        expired = [tag for tag in trace.tags if tag.snapshot.id not in ids and self._is_common(tag)]
        if expired and trace.head is not None:
            names = [tag.name for tag in expired]
            verb = _verb("name", len(names))
            yield HealthFinding(
                rule="F04",
                severity=HazardSeverity.CRITICAL,
                branch=branch,
                evidence=tuple(f"tag {name}" for name in names),
                text=f"Its {tag_names(names)} {verb} what has expired on it and others hold.",
                breaks="Another engine that deletes such a tag deletes files that they need, also "
                "under tags of main.",
                advice="Delete it here, which deletes no file: branch-console delete-tag. Then "
                "fence the branch.",
                remedies=() if facts.is_fenced else (self._remedy(FENCE, branch),),
            )
        if facts.is_fenced:
            return
        alone = [
            tag.name
            for tag in trace.tags
            if tag.snapshot.id in ids and not self._shared.is_kept(tag.snapshot.identity)
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
                remedies=(self._remedy(FENCE, branch),),
            )

    def _is_common(self, tag: Tag) -> bool:
        """Whether a tag of a branch names what another branch holds, builds on or tags."""
        identity = tag.snapshot.identity
        holders = {
            name
            for name, each in self._branches.items()
            if self._shared.builds_on(name, identity)
            or any(one.snapshot.identity.same_as(identity) for one in each.trace.tags)
        }
        return len(holders) > 1

    def _hidden_base(self, facts: BranchFacts) -> Iterator[HealthFinding]:
        """F06 of a branch: a later tag of main hides the one on what the branch began at."""
        fork, branch = facts.fork, facts.trace.branch
        found = None if fork is None else self._shared.hidden_base(branch, fork.identity)
        if found is None:
            return
        hides, kept = (_names_of(tags) for tags in (found.hiding, found.hidden))
        yield self._judged(
            "F06",
            (branch,),
            branch=branch,
            evidence=tuple(f"tag {tag.name}" for tag in (*found.hiding, *found.hidden)),
            text=f"On main {hides} {_verb('hide', len(found.hiding))} {kept}, which "
            f"{_verb('keep', len(found.hidden))} what this branch began at. Other engines go by "
            "ids: of what it removes after such a number they spare what the newest tag holds.",
            breaks=f"Expiry on {branch!r} may delete files of {kept} and of all that was made "
            "there.",
            advice="Fence it.",
            remedies=(self._remedy(FENCE, branch),),
        )

    def _foreign_tags(self, facts: BranchFacts) -> Iterator[HealthFinding]:
        """F06 and F11 of main: tags on main that name snapshots of another history."""
        for found in self._shared.foreign_hidings():
            (tag,) = found.hiding
            kept = _names_of(found.hidden)
            yield self._judged(
                "F06",
                (MAIN_BRANCH,),
                branch=MAIN_BRANCH,
                evidence=tuple(f"tag {each.name}" for each in (tag, *found.hidden)),
                text=f"Tag {tag.name!r} names snapshot {tag.snapshot.id} of another history than "
                "main's. Other engines go by ids: of what main removes after that number they "
                "spare what this tag holds.",
                breaks=f"Expiry on main may delete files of {kept}.",
                advice="Fence main, so that they delete nothing. Or delete the tag once no branch "
                "stands on it.",
                remedies=(self._remedy(FENCE, MAIN_BRANCH),),
            )
        forks = [each.fork.identity for each in self._branches.values() if each.fork is not None]
        for tag in self._shared.foreign_tags:
            identity = tag.snapshot.identity
            holders = [each for each in self._shared.holders_of(identity) if each != MAIN_BRANCH]
            if not holders or any(identity.same_as(fork) for fork in forks):
                continue  # a pin stands on main, wherever its branch was made from
            yield HealthFinding(
                rule="F11",
                severity=HazardSeverity.WARNING,
                branch=MAIN_BRANCH,
                evidence=(f"tag {tag.name}", f"snapshot {tag.snapshot.id} of {holders[0]}"),
                text=f"Tag {tag.name!r} of main names snapshot {tag.snapshot.id} of "
                f"{holders[0]!r}.",
                breaks="Whoever reads that tag of main reads the branch, and expiry takes it for a "
                "tag of main's history.",
                advice=f"Make the tag on {holders[0]!r}, delete it on main, and unset "
                "'tag.automatic-creation' on the branch.",
            )

    def _made_tags(self, facts: BranchFacts) -> Iterator[HealthFinding]:
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
        )

    # ---- what came to be shared ----------------------------------------------------------------

    def _histories(self, facts: BranchFacts) -> Iterator[HealthFinding]:
        """F07, F15, F16: what a branch and another one share since a fast-forward."""
        branch = facts.trace.branch
        for other in self._shared.partners(branch):
            newest = self._shared.newest_shared(branch, other)
            fork = facts.fork
            if newest is None or (fork is not None and newest.identity.same_as(fork.identity)):
                continue
            is_newer = fork is None or fork.snapshot_id is None or newest.id > fork.snapshot_id
            # What its parent lost of what it began at is told as a rollback (F09).
            if is_newer or (fork is not None and fork.parent != other):
                yield from self._shared_history(facts, other, newest)
            if is_newer and other == MAIN_BRANCH:
                yield from self._forwarded(facts, newest)

    def _shared_history(
        self, facts: BranchFacts, other: str, newest: Snapshot
    ) -> Iterator[HealthFinding]:
        branch = facts.trace.branch
        sides = self._unsafe(branch, other)
        if not sides or self._shared.is_kept(newest.identity):
            return
        is_on_main = self._is_listed_on_main(newest.identity)
        tag_it = f"Tag snapshot {newest.id} of main for good, or fence" if is_on_main else "Fence"
        yield self._judged(
            "F07",
            sides,
            branch=branch,
            evidence=(f"snapshot {newest.id} of {branch}", f"branch {other}"),
            text=f"It shares all up to snapshot {newest.id} with {other!r}, and no tag on main "
            "keeps that.",
            breaks="Of what one of them removes, expiry by other engines deletes files that the "
            "other needs.",
            advice=f"{tag_it} {_quoted(sides)}. Or drop the branch.",
            remedies=(
                *(self._remedy(FENCE, each) for each in sides if each != MAIN_BRANCH),
                *(
                    (self._pin(branch, newest),)
                    if is_on_main
                    else (self._remedy(FENCE, each) for each in sides if each == MAIN_BRANCH)
                ),
            ),
        )

    def _forwarded(self, facts: BranchFacts, newest: Snapshot) -> Iterator[HealthFinding]:
        main, branch = self._branches[MAIN_BRANCH].trace, facts.trace.branch
        if facts.trace.head is None or main.head is None:
            return
        is_ours = self._was_moved_by_us(branch) or self._has_all_of_main(facts)
        lost = () if is_ours else self._facts.lost_commits(newest)
        if lost:
            yield HealthFinding(
                rule="F15",
                severity=HazardSeverity.CRITICAL,
                branch=branch,
                evidence=lost,
                text="Another engine fast-forwarded main to it, and "
                f"{count(len(lost), 'commit')} made before {_is_or_are(len(lost))} in no snapshot.",
                breaks="Their rows are gone from main; orphan cleaning makes that final.",
                advice="See branch-console lost-commits, and write these rows again or restore "
                "them from a rescue branch. Clean no orphan files until then.",
            )
        moved = (facts.trace.head, main.head)
        if all(not each.identity.same_as(newest.identity) for each in moved):
            yield HealthFinding(
                rule="F16",
                severity=HazardSeverity.WARNING,
                branch=branch,
                evidence=tuple(f"snapshot {each.id}" for each in moved),
                text=f"Since main was fast-forwarded to it at snapshot {newest.id}, both have "
                "commits of their own on the same numbers.",
                breaks="A fast-forward by another engine drops those of main without a word.",
                advice=f"Merge it: branch-console merge {branch}.",
            )

    def _replaced_main(self, facts: BranchFacts) -> Iterator[HealthFinding]:
        """F08: a branch that began with nothing was fast-forwarded over main."""
        branch = facts.trace.branch
        if self._was_moved_by_us(branch) or not self._has_all_of_main(facts):
            return
        older = self._facts.older_lists()
        if older:
            yield HealthFinding(
                rule="F08",
                severity=HazardSeverity.CRITICAL,
                branch=branch,
                evidence=older,
                text="It began with nothing, and another engine fast-forwarded main to it: what "
                "main held before is in no snapshot.",
                breaks="Orphan cleaning makes that final.",
                advice="Clean no orphan files. See branch-console lost-commits for the files, and "
                "add them by a commit.",
            )

    def _has_all_of_main(self, facts: BranchFacts) -> bool:
        """Whether main's whole history is that of a branch which began with nothing."""
        main = self._branches.get(MAIN_BRANCH)
        if main is None or not main.trace.snapshots or not facts.trace.snapshots:
            return False
        first = facts.trace.snapshots[0]
        is_same = main.trace.snapshots[0].identity.same_as(first.identity)
        return is_same and facts.began_empty

    def _was_moved_by_us(self, branch: str) -> bool:
        """Whether the ledger tells of it: ours keeps what it replaces on a rescue branch."""
        moves = {LineageKind.FAST_FORWARDED, LineageKind.REPLACED}
        return any(
            event.kind in moves and event.branch == MAIN_BRANCH and event.source_branch == branch
            for event in self._facts.lineage.events
        )

    def _merges(self, facts: BranchFacts) -> Iterator[HealthFinding]:
        """F13: files that a merge or a pick made two branches share."""
        branch = facts.trace.branch
        groups: dict[tuple[bool, str], list[SharingMerge]] = {}
        for merge in self._shared.merges(branch):
            other = merge.target if merge.source == branch else merge.source
            groups.setdefault((merge.is_paimons, other), []).append(merge)
        for (is_paimons, other), merges in groups.items():
            sides = self._unsafe(branch, other)
            if MAIN_BRANCH in sides and all(
                each.state is not None and self._shared.is_kept_as_main(each.state)
                for each in merges
            ):
                sides = tuple(each for each in sides if each != MAIN_BRANCH)
            if not sides:
                continue
            number = count(sum(each.files for each in merges), "data file")
            pins = self._pins(merges) if MAIN_BRANCH in sides else None
            fenced = sides if pins is None else tuple(each for each in sides if each != MAIN_BRANCH)
            advice = [
                *((f"fence {_quoted(fenced)}",) if fenced else ()),
                *(f"tag snapshot {each.id} of main for good" for each in pins or ()),
            ]
            what = "Paimon's own merge" if is_paimons else "Merges"
            yield self._judged(
                "F13",
                sides,
                branch=branch,
                evidence=(number, f"branch {other}"),
                text=f"{what} made it share {number} with {other!r}.",
                breaks="Of what one of them removes, expiry by other engines may delete files that "
                "the other needs.",
                advice=f"{_with_capital(' and '.join(advice))}.",
                remedies=(
                    *(self._remedy(FENCE, each) for each in fenced),
                    *(self._pin(branch, each) for each in pins or ()),
                ),
            )

    def _pins(self, merges: Iterable[SharingMerge]) -> tuple[Snapshot, ...] | None:
        """The snapshots of main to be tagged for merges; None where one is not there any more."""
        main = self._branches[MAIN_BRANCH].trace
        states = {each.state.manifest_lists for each in merges if each.state is not None}
        if any(each.state is None for each in merges) or not states <= main.places.keys():
            return None
        found = (main.snapshots[main.places[each]] for each in states)
        return tuple(each for each in found if not self._shared.is_kept_as_main(each.identity))

    def _pin(self, branch: str, snapshot: Snapshot) -> Remedy:
        tag = f"shared-{branch}-{snapshot.id}"
        return self._remedy(TAG, None, tag=tag, snapshot=snapshot.id)

    # ---- leaks, fences -------------------------------------------------------------------------

    def _left_over(self, _: BranchFacts) -> Iterator[HealthFinding]:
        """F10: branches that other engines dropped."""
        gone = _gone(self._facts.lineage.events) - self._branches.keys()
        if gone:
            names = ", ".join(map(repr, sorted(gone)))
            yield HealthFinding(
                rule="F10",
                severity=HazardSeverity.INFO,
                branch=MAIN_BRANCH,
                evidence=tuple(f"branch {name}" for name in sorted(gone)),
                text=f"The ledger knows of {names}, which another engine dropped or renamed.",
                breaks="Nothing breaks. Files that only such a branch had take space.",
                advice="Cleaning of orphan files frees them.",
            )

    def _below_earliest(self, facts: BranchFacts) -> Iterator[HealthFinding]:
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

    def _lost_fence(self, facts: BranchFacts) -> Iterator[HealthFinding]:
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
            breaks="The next expiry of the branch deletes what it removed, also where others need "
            "it.",
            advice=advice,
            remedies=() if facts.fence_obstacles else (self._remedy(FENCE, branch),),
        )

    # ---- what is missing -----------------------------------------------------------------------

    def _lost_schemas(self, facts: BranchFacts) -> Iterator[HealthFinding]:
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
            remedies=() if is_main else (self._remedy(REPAIR, branch),),
        )

    # ---- who expires ---------------------------------------------------------------------------

    def _is_safe(self, branch: str) -> bool:
        """Whether other engines expire nothing on a branch."""
        facts = self._branches.get(branch)
        return facts is None or facts.is_fenced

    def _unsafe(self, branch: str, other: str) -> tuple[str, ...]:
        return tuple(each for each in (other, branch) if not self._is_safe(each))

    def _judged(
        self,
        rule: str,
        sides: tuple[str, ...],
        *,
        branch: str,
        evidence: tuple[str, ...],
        text: str,
        breaks: str,
        advice: str,
        remedies: tuple[Remedy, ...],
    ) -> HealthFinding:
        """A critical finding; F14 where options keep all sides from expiring by themselves."""
        is_safe = all(map(self._is_safe, sides))
        kept = {each: self._branches[each].kept_by for each in sides}
        if not is_safe and all(kept.values()):
            options = " and ".join(f"{option!r} of {name!r}" for name, option in kept.items())
            verb = "is" if len(kept) == 1 else "are"
            return HealthFinding(
                rule="F14",
                severity=HazardSeverity.CRITICAL,
                branch=branch,
                evidence=(*(f"{name}: {option}" for name, option in kept.items()), rule, *evidence),
                text=f"{text} {options} {verb} all that protects it.",
                breaks="A dedicated compaction job or an explicit expire_snapshots overrides that. "
                f"{breaks}",
                advice=advice,
                remedies=remedies,
            )
        return HealthFinding(
            rule=rule,
            severity=HazardSeverity.INFO if is_safe else HazardSeverity.CRITICAL,
            branch=branch,
            evidence=evidence,
            text=text,
            breaks=breaks if not is_safe else "Its fence keeps other engines from that.",
            advice=advice if not is_safe else "",
            remedies=remedies if not is_safe else (),
        )

    def _remedy(self, procedure: str, branch: str | None, **arguments: str | int | bool) -> Remedy:
        named = {} if branch is None else {"branch": branch}
        told = {"table": self._facts.table, **named, **arguments}
        return Remedy(procedure=procedure, arguments=MappingProxyType(told))


_MOST_EVIDENCE: Final = 20

_Rule: TypeAlias = Callable[[Hazards, BranchFacts], Iterator[HealthFinding]]
_MAIN_RULES: Final[tuple[_Rule, ...]] = (Hazards._foreign_tags, Hazards._left_over)
_BRANCH_RULES: Final[tuple[_Rule, ...]] = (
    Hazards._base,
    Hazards._own_tags,
    Hazards._hidden_base,
    Hazards._made_tags,
    Hazards._histories,
    Hazards._replaced_main,
    Hazards._merges,
)
_ANY_RULES: Final[tuple[_Rule, ...]] = (
    Hazards._below_earliest,
    Hazards._lost_fence,
    Hazards._lost_schemas,
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


def _names_of(tags: Iterable[Tag]) -> str:
    return tag_names([tag.name for tag in tags])


def _quoted(branches: Iterable[str]) -> str:
    return " and ".join(map(repr, branches))


def _with_capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _verb(verb: str, number: int) -> str:
    return f"{verb}s" if number == 1 else verb


def _is_or_are(number: int) -> str:
    return "is" if number == 1 else "are"
