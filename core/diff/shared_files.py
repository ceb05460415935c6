"""Data files that branches share, and what keeps one from deleting those of another.

Other engines expire snapshots by looking at one branch and at the tags of main, which they go
through by id. So what two branches share is safe where neither of them expires by itself, or where
a tag on main keeps it for good. All of it is told from histories; manifests are read only of
commits that look like a merge by Paimon's own procedure, which leaves no word of its source.
"""

import functools
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from core.diff.branch_trace import BranchTrace, Lists
from core.diff.history_move import count
from core.diff.lineage import BRINGS_HISTORY, OPERATION, Lineage
from core.format.identifier import MAIN_BRANCH
from core.format.lineage_event import LineageKind
from core.format.snapshot import CommitKind, Snapshot, SnapshotIdentity
from core.format.tag import Tag

_ADOPTS_FILES: Final = frozenset({LineageKind.MERGED, LineageKind.CHERRY_PICKED})
_ADDS_ONLY: Final = frozenset({CommitKind.APPEND, CommitKind.ANALYZE})
_MOST_NAMED: Final = 3

CountTaken: TypeAlias = Callable[[Snapshot, Snapshot], int]
"""Counts the data files that a commit added and another state holds too."""


class SharedFiles:
    """What the branches of a table share, and what nothing protects of it."""

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
            expiring: Branches whose snapshots other engines expire by themselves.
            count_taken: Asked of the few commits that may be merges of Paimon's own.
        """
        self._traces = traces
        self._lineage = lineage
        self._expiring = expiring
        self._count_taken = count_taken
        self._undone = {event.undoes for event in lineage.events}

    def findings(self, branch: str, fork: SnapshotIdentity | None) -> tuple[str, ...]:
        """Say what other branches or this one may lose, each thing on one branch only.

        Args:
            branch: The branch.
            fork: What it began at, which its base tag is to keep.
        """
        if branch == MAIN_BRANCH:
            return self._foreign_tags()
        others = [each for each in self._partners(branch) if self.is_at_risk(branch, each)]
        told = (self._history(branch, each, fork) for each in others)
        return (
            *(each for each in told if each is not None),
            *self._merges(branch),
            *self._hidden_base(branch, fork),
        )

    def is_at_risk(self, branch: str, other: str) -> bool:
        """Whether other engines expire snapshots of one of two branches by themselves."""
        return other in self._traces and not self._expiring.isdisjoint((branch, other))

    def _history(self, branch: str, other: str, fork: SnapshotIdentity | None) -> str | None:
        newest = self._newest_shared(branch, other)
        if newest is None or (fork is not None and newest.identity.same_as(fork)):
            return None
        main = self._traces.get(MAIN_BRANCH)
        if main is not None and any(
            tag.time_retained_seconds is None and tag.snapshot.identity.same_as(newest.identity)
            for tag in main.tags
        ):
            return None
        is_on_main = main is not None and newest.identity.manifest_lists in main.places
        tag_it = f"Tag snapshot {newest.id} of main for good, or set" if is_on_main else "Set"
        return (
            f"It shares all up to snapshot {newest.id} with {other!r}, and no tag on main keeps "
            "that: of what one of them removes, expiry by other engines deletes files that the "
            f"other needs. {tag_it} 'write-only' on {self._named(branch, other)}."
        )

    def _merges(self, branch: str) -> tuple[str, ...]:
        """Say where files that a merge made common lost what kept them, or never had it."""
        ours = (
            (event.branch, event.source_branch, event.receipt.counts.files_shared)
            for event in self._lineage.events
            if event.kind in _ADOPTS_FILES
            and event.receipt is not None
            and event.operation_id not in self._undone
        )
        told = (
            ("Merges", "as neither expired by itself then: of what one of them removes now", ours),
            (
                "Paimon's own merge",
                "and nothing keeps them: of what one of them removes",
                self._taken_by_paimon,
            ),
        )
        return tuple(
            f"{what} made it share {count(number, 'data file')} with {other!r}, {why}, expiry by "
            "other engines deletes files that the other may need. Set 'write-only' on "
            f"{self._named(branch, other)}."
            for what, why, merges in told
            for other, number in self._shared_with(branch, merges)
        )

    def _shared_with(
        self, branch: str, merges: Iterable[tuple[str, str | None, int]]
    ) -> Iterator[tuple[str, int]]:
        """How many files merges made a branch share with each other one that is at risk with it.

        Args:
            branch: The branch.
            merges: Target, source and number of files of each merge.
        """
        files: dict[str, int] = {}
        for target, source, number in merges:
            # Told by the side that came, or by the other one where main did.
            other = target if source == branch else source if target == branch else None
            if other is None or (target == branch and other != MAIN_BRANCH):
                continue
            if self.is_at_risk(branch, other):
                files[other] = files.get(other, 0) + number
        return ((other, number) for other, number in files.items() if number)

    @functools.cached_property
    def _taken_by_paimon(self) -> tuple[tuple[str, str, int], ...]:
        """The merges by Paimon's own procedure that a target still lists, as far as at risk.

        They leave no word of it but a commit that looks like few others, so that its files are
        compared with those that each other branch had then.
        """
        found = []
        for target in self._traces.values():
            for commit in filter(_may_be_paimons_merge, target.snapshots):
                lists = commit.identity.manifest_lists
                for other in self._traces.values():
                    if not self.is_at_risk(target.branch, other.branch):
                        continue
                    then = _state_at(other, commit.time_millis)
                    if (
                        then is None
                        or then.identity.manifest_lists in self._held(target.branch)
                        or lists in self._held(other.branch)
                    ):
                        continue
                    found.append((target.branch, other.branch, self._count_taken(commit, then)))
        return tuple(found)

    def _hidden_base(self, branch: str, fork: SnapshotIdentity | None) -> tuple[str, ...]:
        """Say which tags of main hide from the branch's expiry the tag on what it began at.

        That goes by the newest tag of main before a snapshot, be it of another history (hazard H6).
        """
        main, trace = self._traces.get(MAIN_BRANCH), self._traces[branch]
        if main is None or trace.head is None or fork is None or branch not in self._expiring:
            return ()
        keeping = [tag for tag in main.tags if tag.snapshot.identity.same_as(fork)]
        if not keeping:
            return ()
        least, first = keeping[0].snapshot.id, trace.snapshots[0].id
        # What it removed up to its oldest snapshot is gone by now, or was spared.
        reached = max((tag.snapshot.id for tag in main.tags if tag.snapshot.id <= first), default=0)
        near = [
            tag
            for tag in main.tags
            if max(least, reached) <= tag.snapshot.id <= trace.head.id and tag not in keeping
        ]
        hiding = self._without_files_of(branch, near, keeping[0]) if near else []
        if not hiding:
            return ()
        hides, kept = (_names([each.name for each in tags]) for tags in (hiding, keeping))
        return (
            f"On main {hides} {'hides' if len(hiding) == 1 else 'hide'} {kept}, which keeps what "
            "this branch began at. Other engines go by ids: of what it removes after such a "
            f"number they spare what the newest tag holds, and may delete files of {kept} and of "
            f"all that was made there. Set 'write-only' on {branch!r}.",
        )

    def _without_files_of(self, branch: str, tags: list[Tag], base: Tag) -> list[Tag]:
        """Leave out tags of main that surely hold what a branch removes of what its base held."""
        held, shared = self._held(branch), self._newest_shared(branch, MAIN_BRANCH)
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
        """What main built on by its number, as far as snapshots and its own tags tell."""
        main = self._traces[MAIN_BRANCH]
        tagged = (tag.snapshot for tag in main.tags if tag.name not in self._foreign_names)
        return {each.id: each for each in (*tagged, *main.snapshots)}

    @functools.cached_property
    def _foreign_names(self) -> frozenset[str]:
        main = self._traces[MAIN_BRANCH]
        return frozenset(tag.name for tag in self._tags_of_others(main))

    def _foreign_tags(self) -> tuple[str, ...]:
        """Say which tags of main other engines take for tags of its history, with what result."""
        main = self._traces.get(MAIN_BRANCH)
        if main is None or main.head is None or MAIN_BRANCH not in self._expiring:
            return ()
        foreign = [tag for tag in main.tags if tag.name in self._foreign_names]
        own = [tag for tag in main.tags if tag.name not in self._foreign_names]
        told = []
        for tag in foreign:
            hiding = text_of_hiding(tag.name, tag.snapshot.id, own)
            # What was removed before a newer tag of its own goes by that one, and is gone by now.
            passed = (tag.snapshot.id < each.snapshot.id <= main.snapshots[0].id for each in own)
            if hiding is not None and not any(passed):
                told.append(f"{hiding} Or delete the tag once no branch stands on it.")
        return tuple(told)

    def _tags_of_others(self, main: BranchTrace) -> Iterator[Tag]:
        """Tags on main of what it never held; of expired snapshots only where others list them."""
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

    def _partners(self, branch: str) -> list[str]:
        """The branches that may hold more of a branch's history than it began with."""
        moved = (
            event.branch
            for event in self._lineage.events
            if event.kind in BRINGS_HISTORY and event.source_branch == branch
        )
        names = dict.fromkeys((MAIN_BRANCH, *moved))
        return [each for each in names if each != branch and each in self._traces]

    def _newest_shared(self, branch: str, other: str) -> Snapshot | None:
        head, held = self._traces[branch].head, self._held(other)
        line = () if head is None else self._lineage.line(head.identity)
        return next((each for each in line if each.identity.manifest_lists in held), None)

    def _held(self, branch: str) -> Container[Lists]:
        """What a branch builds on, by manifest lists."""
        head = self._traces[branch].head
        return () if head is None else self._lineage.whole_line(head.identity).places

    def _named(self, branch: str, other: str) -> str:
        return " and ".join(repr(each) for each in (other, branch) if each in self._expiring)


def text_of_hiding(tag: str, snapshot_id: int, own: Iterable[Tag]) -> str | None:
    """Say which tags of main a tag of another history would hide; None where it hides none.

    Args:
        tag: The name of that tag on main.
        snapshot_id: The number of its snapshot, which main gives or gave to another one.
        own: The other tags of main.
    """
    hidden = [each.name for each in own if each.snapshot.id <= snapshot_id]
    if not hidden:
        return None
    return (
        f"Tag {tag!r} names snapshot {snapshot_id} of another history than main's. Other engines "
        "go by ids: of what main removes after that number they spare what this tag holds, and may "
        f"delete files of {_names(hidden)}. Set 'write-only' on main, so that they delete nothing."
    )


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


def _names(tags: Sequence[str]) -> str:
    if len(tags) == 1:
        return f"tag {tags[0]!r}"
    *first, last = [repr(each) for each in tags[:_MOST_NAMED]]
    if len(tags) > _MOST_NAMED:
        return f"tags {', '.join([*first, last])} and {len(tags) - _MOST_NAMED:,} more"
    return f"tags {', '.join(first)} and {last}"
