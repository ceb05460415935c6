"""Data files that branches share, and tags of main that come between them and an expiry.

Other engines expire snapshots by looking at one branch and at the tags of main, which they go
through by id. All of it is told from histories; manifests are read only of commits that look like
a merge by Paimon's own procedure, which leaves no word of its source.
"""

import functools
import itertools
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from branch_console.diff.branch_trace import BranchTrace, Lists
from branch_console.diff.lineage import BRINGS_HISTORY, OPERATION, Lineage, merge_source
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console.format.snapshot import CommitKind, Snapshot, SnapshotIdentity
from branch_console.format.tag import Tag

_ADOPTS_FILES: Final = frozenset({LineageKind.MERGED, LineageKind.CHERRY_PICKED})
_ADDS_ONLY: Final = frozenset({CommitKind.APPEND, CommitKind.ANALYZE})
_MOST_NAMED: Final = 3

CountTaken: TypeAlias = Callable[[Snapshot, Snapshot], int]
"""Counts the data files that a commit added and another state holds too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharingMerge:
    """Merges by which two branches came to share data files.

    Attributes:
        target, source: The branches.
        files: How many they were.
        state: What the one of the two that is main was then, so that a tag of it keeps the files.
        is_paimons: Whether Paimon's own procedure merged.
    """

    target: str
    source: str
    files: int
    state: SnapshotIdentity | None
    is_paimons: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Hiding:
    """Tags of main that hide others from an expiry, which goes through them by id."""

    hiding: tuple[Tag, ...]
    hidden: tuple[Tag, ...]


class SharedFiles:
    """The files that branches of a table share, and the tags of main that keep them."""

    def __init__(
        self,
        traces: Mapping[str, BranchTrace],
        lineage: Lineage,
        expiring: frozenset[str],
        count_taken: CountTaken,
    ) -> None:
        """Look at the histories of a table.

        Args:
            traces: All branches that can be read, by name.
            lineage: Their graph, with the ledger's events under the names of today.
            expiring: Branches that other engines may expire.
            count_taken: Asked of the few commits that may be merges of Paimon's own.
        """
        self._traces = traces
        self._lineage = lineage
        self._expiring = expiring
        self._count_taken = count_taken
        self._undone = {event.undoes for event in lineage.events}

    def keepers(self, identity: SnapshotIdentity) -> tuple[Tag, ...]:
        """The tags of main on a snapshot, those that end by themselves included."""
        main = self._traces.get(MAIN_BRANCH)
        tags = () if main is None else main.tags
        return tuple(tag for tag in tags if tag.snapshot.identity.same_as(identity))

    def is_kept(self, identity: SnapshotIdentity) -> bool:
        """Whether a tag of main keeps a snapshot for good."""
        return any(tag.time_retained_seconds is None for tag in self.keepers(identity))

    def is_kept_as_main(self, state: SnapshotIdentity) -> bool:
        """Whether a tag of main keeps for good all files of what main was at a time."""
        if self.is_kept(state):
            return True
        main = self._traces.get(MAIN_BRANCH)
        at = None if main is None else main.places.get(state.manifest_lists)
        if main is None or at is None:
            return False
        since = itertools.takewhile(
            lambda each: each.commit_kind in _ADDS_ONLY, main.snapshots[at + 1 :]
        )
        return any(self.is_kept(each.identity) for each in since)

    def builds_on(self, branch: str, identity: SnapshotIdentity) -> bool:
        """Whether a branch's head builds on a snapshot, as far as that is known."""
        return identity.manifest_lists in self._held(branch)

    def merges(self, branch: str) -> tuple[SharingMerge, ...]:
        """The merges that made a branch share files, each told on one of its two branches.

        That is the side that came, or the other one where main did.
        """
        ours = (
            SharingMerge(
                target=event.branch,
                source=event.source_branch,
                files=event.receipt.counts.files_shared,
                state=event.after if event.branch == MAIN_BRANCH else self._came_from(event),
                is_paimons=False,
            )
            for event in self._lineage.events
            if event.kind in _ADOPTS_FILES
            and event.receipt is not None
            and event.source_branch is not None
            and event.operation_id not in self._undone
        )
        return tuple(
            each
            for each in (*ours, *self._taken_by_paimon)
            if each.files
            and each.target != each.source
            and {each.target, each.source} <= self._traces.keys()
            and branch == (each.target if each.source == MAIN_BRANCH else each.source)
        )

    def _came_from(self, event: LineageEvent) -> SnapshotIdentity | None:
        """The snapshot that a merge or pick brought files of."""
        lists = None if event.after is None else event.after.manifest_lists
        made = None if lists is None else self._lineage.snapshots.get(lists)
        noted = None if made is None else merge_source(made)
        if noted is not None or event.kind is not LineageKind.MERGED:
            return noted
        return event.parents[-1] if event.parents else None

    @functools.cached_property
    def _taken_by_paimon(self) -> tuple[SharingMerge, ...]:
        """The merges by Paimon's own procedure that a target still lists, as far as at risk.

        They leave no word of it but a commit that looks like few others, so that its files are
        compared with those that each other branch had then.
        """
        found = []
        for target in self._traces.values():
            for commit in filter(_may_be_paimons_merge, target.snapshots):
                lists = commit.identity.manifest_lists
                for other in self._traces.values():
                    then = _state_at(other, commit.time_millis)
                    if (
                        other is target
                        or self._expiring.isdisjoint((target.branch, other.branch))
                        or then is None
                        or then.identity.manifest_lists in self._held(target.branch)
                        or lists in self._held(other.branch)
                    ):
                        continue
                    found.append(
                        SharingMerge(
                            target=target.branch,
                            source=other.branch,
                            files=self._count_taken(commit, then),
                            state=commit.identity if target.is_main else then.identity,
                            is_paimons=True,
                        )
                    )
        return tuple(found)

    def hidden_base(self, branch: str, fork: SnapshotIdentity) -> Hiding | None:
        """Return the tags of main that hide the base tag of a branch from that branch's expiry.

        Paimon picks the newest tag of main before a snapshot, even one of another history (F06).
        """
        main, trace = self._traces.get(MAIN_BRANCH), self._traces[branch]
        if main is None or trace.head is None or trace.is_main:
            return None
        keeping = self.keepers(fork)
        if not keeping:
            return None
        least, first = keeping[0].snapshot.id, trace.snapshots[0].id
        # What it removed up to its oldest snapshot is gone by now, or was spared.
        reached = max((tag.snapshot.id for tag in main.tags if tag.snapshot.id <= first), default=0)
        near = [
            tag
            for tag in main.tags
            if max(least, reached) <= tag.snapshot.id <= trace.head.id and tag not in keeping
        ]
        hiding = self._without_files_of(branch, near, keeping[0]) if near else []
        return Hiding(hiding=tuple(hiding), hidden=keeping) if hiding else None

    def _without_files_of(self, branch: str, tags: list[Tag], base: Tag) -> list[Tag]:
        """Leave out tags of main that are certain to keep the base files that a branch removes."""
        held, shared = self._held(branch), self.newest_shared(branch, MAIN_BRANCH)
        # Of what has expired since main took the branch over only the number tells.
        kept_id = 0 if shared is None else shared.id
        if base.name not in self._foreign_names:
            kept_id = max(kept_id, self._adds_only_up_to(base.snapshot.id, tags))
        return [
            tag
            for tag in tags
            if tag.snapshot.identity.manifest_lists not in held
            and (tag.name in self._foreign_names or kept_id < tag.snapshot.id)
        ]

    def _adds_only_up_to(self, first_id: int, tags: Iterable[Tag]) -> int:
        """Up to where, of some tags, no commit of main can have removed a file."""
        last_id = max(tag.snapshot.id for tag in tags)
        for number in range(first_id + 1, last_id + 1):
            then = self._on_main.get(number)
            if then is None or then.commit_kind not in _ADDS_ONLY:
                return number - 1
        return last_id

    @functools.cached_property
    def _on_main(self) -> Mapping[int, Snapshot]:
        """The history of main by snapshot id, as far as snapshots and its own tags show it."""
        main = self._traces[MAIN_BRANCH]
        tagged = (tag.snapshot for tag in main.tags if tag.name not in self._foreign_names)
        return {each.id: each for each in (*tagged, *main.snapshots)}

    @functools.cached_property
    def _foreign_names(self) -> frozenset[str]:
        return frozenset(tag.name for tag in self.foreign_tags)

    @functools.cached_property
    def foreign_tags(self) -> tuple[Tag, ...]:
        """The tags of main on what main never held."""
        main = self._traces.get(MAIN_BRANCH)
        return () if main is None else tuple(self._tags_of_others(main))

    def foreign_hidings(self) -> tuple[Hiding, ...]:
        """Return main's tags of other histories that hide its own tags from other engines."""
        main = self._traces.get(MAIN_BRANCH)
        if main is None or main.head is None:
            return ()
        own = [tag for tag in main.tags if tag.name not in self._foreign_names]
        found = []
        for tag in self.foreign_tags:
            hidden = tuple(each for each in own if each.snapshot.id <= tag.snapshot.id)
            # What was removed before a newer tag of its own goes by that one, and is gone by now.
            passed = (tag.snapshot.id < each.snapshot.id <= main.snapshots[0].id for each in own)
            if hidden and not any(passed):
                found.append(Hiding(hiding=(tag,), hidden=hidden))
        return tuple(found)

    def holders_of(self, identity: SnapshotIdentity) -> tuple[str, ...]:
        """The branches that list a snapshot."""
        lists = identity.manifest_lists
        return tuple(name for name, trace in self._traces.items() if lists in trace.places)

    def _tags_of_others(self, main: BranchTrace) -> Iterator[Tag]:
        """Tags on main of what it never held; of expired snapshots only if others list them."""
        held, ids = self._held(MAIN_BRANCH), {each.id for each in main.snapshots}
        was_rewritten = any(
            event.kind is LineageKind.RESCUED and event.source_branch == MAIN_BRANCH
            for event in self._lineage.events
        )
        for tag in main.tags if main.snapshots else ():
            lists, number = tag.snapshot.identity.manifest_lists, tag.snapshot.id
            if lists in held:
                continue
            is_another = number in ids or number > main.snapshots[-1].id
            if is_another or (lists in self._lineage.snapshots and not was_rewritten):
                yield tag

    def partners(self, branch: str) -> list[str]:
        """The branches that may hold more of a branch's history than it began with."""
        moved = (
            event.branch
            for event in self._lineage.events
            if event.kind in BRINGS_HISTORY and event.source_branch == branch
        )
        names = dict.fromkeys((MAIN_BRANCH, *moved))
        return [each for each in names if each != branch and each in self._traces]

    def newest_shared(self, branch: str, other: str) -> Snapshot | None:
        """The newest snapshot of a branch's history that another branch builds on too."""
        head, held = self._traces[branch].head, self._held(other)
        line = () if head is None else self._lineage.history(head.identity)
        return next((each for each in line if each.identity.manifest_lists in held), None)

    def _held(self, branch: str) -> Container[Lists]:
        """The history of a branch, by manifest lists."""
        head = self._traces[branch].head
        return () if head is None else self._lineage.full_history(head.identity).places


@dataclass(frozen=True, slots=True, kw_only=True)
class HidingWords:
    """A tag of another history on main that hides tags of main, in sentences.

    Attributes:
        text: What it is, and how other engines take it.
        breaks: What they may do to the hidden tags.
        advice: What to do about it.
    """

    text: str
    breaks: str
    advice: str = "Fence main, so that other engines delete nothing."

    @classmethod
    def of(cls, tag: str, snapshot_id: int, hidden: Sequence[str]) -> "HidingWords":
        """Describe a tag by its name, its snapshot and the names of the tags that it hides."""
        return cls(
            text=f"Tag {tag!r} names snapshot {snapshot_id} of another history than main's. For "
            "each later snapshot that another engine expires on main, it spares only the files of "
            "this tag.",
            breaks=f"Expiry on main may delete files of {tag_names(hidden)}.",
        )


def text_of_hiding(tag: str, snapshot_id: int, own: Iterable[Tag]) -> str | None:
    """Say which tags of main a tag of another history would hide; None if it hides none.

    Args:
        tag: The name of that tag on main.
        snapshot_id: The number of its snapshot, which main gives or gave to another one.
        own: The other tags of main.
    """
    hidden = [each.name for each in own if each.snapshot.id <= snapshot_id]
    if not hidden:
        return None
    words = HidingWords.of(tag, snapshot_id, hidden)
    return f"{words.text} {words.breaks} {words.advice}"


def _may_be_paimons_merge(commit: Snapshot) -> bool:
    """Whether a commit may be one of Paimon's `merge_branch`, which there is since uuids.

    Source: Paimon FileSystemBranchManager.mergeBranch.
    """
    return (
        commit.commit_kind is CommitKind.APPEND
        and commit.commit_identifier == 0
        and commit.uuid is not None
        and commit.delta_record_count != 0
        and OPERATION not in commit.properties
    )


def _state_at(branch: BranchTrace, time_millis: int) -> Snapshot | None:
    """The newest snapshot up to a time, or the oldest one that is left."""
    earlier = (each for each in reversed(branch.snapshots) if each.time_millis <= time_millis)
    return next(earlier, branch.snapshots[0] if branch.snapshots else None)


def tag_names(tags: Sequence[str]) -> str:
    """Write names of tags for people, the first of many."""
    if len(tags) == 1:
        return f"tag {tags[0]!r}"
    *first, last = [repr(each) for each in tags[:_MOST_NAMED]]
    if len(tags) > _MOST_NAMED:
        return f"tags {', '.join([*first, last])} and {len(tags) - _MOST_NAMED:,} more"
    return f"tags {', '.join(first)} and {last}"
