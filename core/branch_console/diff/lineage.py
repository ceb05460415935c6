"""The parents of snapshots: the graph over all branches of a table.

Paimon records no parents. They are derived from the ids on a branch, the ledger's events, the fork
of each branch, and the properties of merge commits.
"""

import json
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final, NamedTuple

from branch_console.diff.branch_trace import BranchTrace, Lists
from branch_console.diff.fork_inference import ForkCandidate, best_forks
from branch_console.errors import FormatError
from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console.format.receipt import identity_from
from branch_console.format.snapshot import Snapshot, SnapshotIdentity

MERGE_SOURCE_IDENTITY: Final = "branch.merge.source-identity"
MERGE_BASE_IDENTITY: Final = "branch.merge.base-identity"
MERGE_SOURCE: Final = "branch.merge.source"
MERGE_SCHEMA_ID: Final = "branch.merge.source-schema-id"
MERGE_FIELD_IDS: Final = "branch.merge.field-ids"
MERGE_COMPLETE: Final = "branch.merge.complete"
MERGE_REWRITES: Final = "branch.merge.rewrites"
"""The property of a merge or pick that lists files it read, and the files it wrote from them."""
REWRITES_ALL: Final = "all"
OPERATION: Final = "branch.operation"
"""The kind of a snapshot that moves files between states: a merge, pick, revert or rollback."""
REVERTS: Final = "branch.reverts"
"""The delta manifest list of the snapshot that a revert takes back, also if that was picked."""
TAKES_BACK: Final = "branch.takes-back"
"""The property of a pick that brought a revert or rollback: its removed files count as reverted."""
RESTORES: Final = "branch.restores"
"""The delta manifest list of the snapshot whose state a rollback brings back."""
ROW_OPERATION: Final = "branch.row-operation"
"""The effect of our statement on rows, in the words of Paimon's Snapshot.Operation."""

BRINGS_HISTORY: Final = frozenset({LineageKind.FAST_FORWARDED, LineageKind.REPLACED})
"""Events that give one branch the history of another."""

# Of so many heads it is remembered what they build on.
_MOST_KNOWN: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """A history on whatever branches it lies.

    Attributes:
        snapshots: From the newest back, without what has expired.
        places: Where in it each stands, by its manifest lists.
    """

    snapshots: tuple[Snapshot, ...]
    places: Mapping[Lists, int]


@dataclass(frozen=True, kw_only=True)
class Lineage:
    """The events of a table and the edges of its snapshots, as (child, parent).

    Attributes:
        snapshots: The snapshots of branches, by their manifest lists.
        older: What each was committed on top of: one parent, which merges are never.
    """

    events: tuple[LineageEvent, ...]
    parents: frozenset[tuple[SnapshotIdentity, SnapshotIdentity]]
    snapshots: Mapping[Lists, Snapshot]
    older: Mapping[Lists, Lists]

    def history(self, head: SnapshotIdentity) -> Iterator[Snapshot]:
        """The history of a snapshot from itself back, across the branches that it lies on.

        What has expired is left out, and so is what merges took in.
        """
        lists: Lists | None = head.manifest_lists
        seen: set[Lists] = set()
        # Where a branch forked may be a guess, and two guesses may name each other.
        while lists is not None and lists not in seen:
            seen.add(lists)
            if lists in self.snapshots:
                yield self.snapshots[lists]
            lists = self.older.get(lists)

    def full_history(self, head: SnapshotIdentity) -> History:
        """All that `history` yields, kept for a head that many are compared with."""
        known = self._lines.get(head.manifest_lists)
        if known is None:
            if len(self._lines) >= _MOST_KNOWN:
                self._lines.clear()
            snapshots = tuple(self.history(head))
            places = {each.identity.manifest_lists: at for at, each in enumerate(snapshots)}
            known = History(snapshots=snapshots, places=places)
            self._lines[head.manifest_lists] = known
        return known

    def ancestors(self, head: SnapshotIdentity) -> Mapping[Lists, SnapshotIdentity]:
        """The snapshot and all that it builds on by their manifest lists, near ones first."""
        known = self._known.get(head.manifest_lists)
        if known is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            known = {each.manifest_lists: each for each in self.walk(head)}
            self._known[head.manifest_lists] = known
        return known

    def walk(
        self, head: SnapshotIdentity, until: Container[Lists] = ()
    ) -> Iterator[SnapshotIdentity]:
        """The snapshot and what it builds on, each once, near ones first.

        Args:
            head: The snapshot to begin at.
            until: Manifest lists; what these snapshots build on is not looked at from there.
        """
        seen, wave = {head.manifest_lists}, [head]
        while wave:
            yield from wave
            following = {
                parent.manifest_lists: parent
                for child in wave
                if child.manifest_lists not in until
                for parent in self._parents_of.get(child.manifest_lists, ())
                if parent.manifest_lists not in seen
            }
            seen |= following.keys()
            wave = sorted(following.values(), key=lambda each: each.manifest_lists)

    @cached_property
    def _parents_of(self) -> dict[Lists, list[SnapshotIdentity]]:
        found: dict[Lists, list[SnapshotIdentity]] = {}
        for child, parent in self.parents:
            found.setdefault(child.manifest_lists, []).append(parent)
        return found

    @cached_property
    def _lines(self) -> dict[Lists, History]:
        return {}

    @cached_property
    def _known(self) -> dict[Lists, Mapping[Lists, SnapshotIdentity]]:
        return {}


def build_lineage(
    traces: Sequence[BranchTrace],
    events: Sequence[LineageEvent] = (),
    forks: Mapping[str, ForkCandidate] | None = None,
) -> Lineage:
    """Put the graph together.

    Args:
        traces: All branches that can be read.
        events: The ledger, in order.
        forks: The fork of each branch; None infers them.
    """
    if forks is None:
        forks = best_forks(traces, events)
    commits = [
        (newer.identity, older.identity)
        for trace in traces
        for older, newer in pairwise(trace.snapshots)
    ]
    snapshots = {
        lists: trace.snapshots[at] for trace in traces for lists, at in trace.places.items()
    }
    commits += [edge for trace in traces for edge in _beginning(trace, forks, events, snapshots)]
    edges = set(commits)
    for trace in traces:
        for snapshot in trace.snapshots:
            source = merge_source(snapshot)
            if source is not None:
                edges.add((snapshot.identity, source))
    for event in events:
        if event.after is not None:
            edges |= {(event.after, parent) for parent in event.parents}
    older: dict[Lists, Lists] = {}
    for child, parent in commits:
        older.setdefault(child.manifest_lists, parent.manifest_lists)
    return Lineage(
        events=tuple(events),
        parents=frozenset(edge for edge in edges if not edge[0].same_as(edge[1])),
        snapshots=snapshots,
        older=older,
    )


def _beginning(
    trace: BranchTrace,
    forks: Mapping[str, ForkCandidate],
    events: Sequence[LineageEvent],
    snapshots: Mapping[Lists, Snapshot],
) -> list[tuple[SnapshotIdentity, SnapshotIdentity]]:
    """Return the edges below the oldest snapshot of a branch, as (child, parent).

    That is where the branch began and, where its history has expired from there on, what other
    branches left it at since, or brought it to: they hold that still.
    """
    fork, oldest = forks.get(trace.branch), trace.snapshots[:1]
    if fork is not None and fork.identity.manifest_lists in trace.places:
        # A rescue branch holds a whole history: its own oldest snapshot is older than its fork.
        fork = None
    least = 0 if fork is None or fork.snapshot is None else fork.snapshot.id
    most = oldest[0].id if oldest else None
    # What was taken away from a branch is not what it builds on.
    rewritten = max(
        (
            each.time_millis
            for each in events
            if each.kind is LineageKind.RESCUED and each.source_branch == trace.branch
        ),
        default=-1,
    )
    held = {
        each.id: each
        for each in (
            *_left_at(trace.branch, forks, rewritten),
            *_brought_to(trace.branch, events, rewritten, snapshots),
        )
        if each.id > least and (most is None or each.id < most)
    }
    line = [
        *(() if fork is None else (fork.identity,)),
        *(held[each].identity for each in sorted(held)),
        *(each.identity for each in oldest),
    ]
    return [(child, parent) for parent, child in pairwise(line) if not child.same_as(parent)]


def _left_at(
    branch: str, forks: Mapping[str, ForkCandidate], since_millis: int
) -> Iterator[Snapshot]:
    for each in forks.values():
        found = each.snapshot if each.parent == branch else None
        if found is not None and found.time_millis > since_millis:
            yield found


def _brought_to(
    branch: str,
    events: Sequence[LineageEvent],
    since_millis: int,
    snapshots: Mapping[Lists, Snapshot],
) -> Iterator[Snapshot]:
    for each in events:
        if each.kind not in BRINGS_HISTORY or each.branch != branch or each.after is None:
            continue
        found = snapshots.get(each.after.manifest_lists)
        if found is not None and each.time_millis >= since_millis:
            yield found


def merge_source(snapshot: Snapshot) -> SnapshotIdentity | None:
    """The head of the source that a merge commit took in, None for other commits."""
    return _noted_identity(snapshot, MERGE_SOURCE_IDENTITY)


def merge_base(snapshot: Snapshot) -> SnapshotIdentity | None:
    """The merge base that a merge commit was made from, None for other commits."""
    return _noted_identity(snapshot, MERGE_BASE_IDENTITY)


def _noted_identity(snapshot: Snapshot, name: str) -> SnapshotIdentity | None:
    text = snapshot.properties.get(name)
    if text is None:
        return None
    try:
        raw = json.loads(text)
        return identity_from(raw, "merge property") if isinstance(raw, dict) else None
    except (ValueError, FormatError):
        return None  # written by other software under our key


def field_ids_from(text: str) -> dict[int, int]:
    """Decode the column numbers that a merge commit noted; nothing if others wrote the text."""
    try:
        return {int(theirs): int(ours) for theirs, ours in json.loads(text).items()}
    except (ValueError, TypeError, AttributeError):
        return {}


class Rewrites(NamedTuple):
    """Files that a commit wrote again and those that it wrote in their place, by name."""

    read: frozenset[str] = frozenset()
    written: frozenset[str] = frozenset()

    def __or__(self, other: "Rewrites") -> "Rewrites":
        return Rewrites(self.read | other.read, self.written | other.written)

    @property
    def text(self) -> str:
        """Encode rewrites as `rewrites_from` decodes them."""
        return json.dumps({"read": sorted(self.read), "written": sorted(self.written)})


def rewrites_from(properties: Mapping[str, str]) -> Rewrites | None:
    """Decode what a commit noted that moves files; None if it wrote all that it brought.

    A pick brings what was written as it was, in place of the same files.
    """
    noted = properties.get(MERGE_REWRITES)
    if noted == REWRITES_ALL or (noted is None and OPERATION not in properties):
        return None
    try:
        raw = json.loads(noted or "{}")
        return Rewrites(*(frozenset(map(str, raw[each])) for each in Rewrites._fields))
    except (ValueError, TypeError, KeyError):
        return Rewrites()  # none, or written by other software under our key
