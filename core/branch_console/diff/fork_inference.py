"""The fork of a branch from another one: as recorded, else inferred, with the evidence shown."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from branch_console.diff.branch_trace import BranchTrace, Lists
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console.format.snapshot import Snapshot, SnapshotIdentity

_FORK_EVENTS: Final = frozenset({LineageKind.CREATED, LineageKind.FORKED})
_IdsByBranch = dict[str, dict[Lists, int]]
# What somebody recorded, or what both sides hold: nothing else comes before it.
_CERTAIN: Final = frozenset({"recorded", "high"})


class Confidence(StrEnum):
    """How sure an inferred fork is."""

    RECORDED = "recorded"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkCandidate:
    """A candidate for the fork of a branch.

    Attributes:
        parent: The branch it came from.
        identity: The snapshot both share.
        snapshot: That snapshot; None if no file has it any more.
        source_id: Its id on the branch; None if it has expired there.
        target_id: Its id on the parent; None if it has expired there.
        evidence: Sentences, strongest first.
    """

    branch: str
    parent: str
    identity: SnapshotIdentity
    snapshot: Snapshot | None
    source_id: int | None
    target_id: int | None
    evidence: tuple[str, ...]
    confidence: Confidence


def best_forks(
    traces: Sequence[BranchTrace],
    events: Sequence[LineageEvent] = (),
    parents: Mapping[str, BranchTrace] | None = None,
) -> dict[str, ForkCandidate]:
    """The most likely fork of each branch that has any candidate, by branch.

    Args:
        traces: All branches that can be read.
        events: The ledger.
        parents: Of branches of which it is known, the one that they came from.
    """
    forks, ids, holders = {}, _ids_by_branch(traces), _holders(traces)
    by_name = {trace.branch: trace for trace in traces}
    for trace in traces:
        if trace.is_main:
            continue
        parent = (parents or {}).get(trace.branch)
        others = list(by_name.values()) if parent is None else [parent]
        # Of hundreds of branches most have nothing to do with each other.
        names = {name for lists in _own_lists(trace) for name in holders.get(lists, ())}
        near = [each for each in others if each.branch in names]
        found = _certain(trace, near, events, by_name, ids)
        likely = {each.parent for each in found} - {trace.branch}
        for other in (each for each in others if each.branch in likely):
            found += _by_circumstance(trace, other, ids)
        candidates = _ranked(found, others)
        if not candidates or candidates[0].confidence not in _CERTAIN:
            candidates = _infer(trace, others, events, ids)
        if candidates:
            forks[trace.branch] = candidates[0]
    return forks


def _own_lists(trace: BranchTrace) -> set[Lists]:
    """The manifest lists by which what a branch began with may be found on others."""
    first = trace.snapshots[:1]
    snapshots = (*first, *(tag.snapshot for tag in trace.tags))
    return {each.identity.manifest_lists for each in snapshots}


def _holders(traces: Sequence[BranchTrace]) -> dict[Lists, set[str]]:
    """Return the branches that have a snapshot, or a tag of it, by its manifest lists."""
    found: dict[Lists, set[str]] = {}
    for trace in traces:
        tagged = (tag.snapshot.identity.manifest_lists for tag in trace.tags)
        for lists in (*trace.places, *tagged):
            found.setdefault(lists, set()).add(trace.branch)
    return found


def _infer(
    branch: BranchTrace,
    traces: Sequence[BranchTrace],
    events: Sequence[LineageEvent],
    ids: _IdsByBranch,
) -> tuple[ForkCandidate, ...]:
    """All candidates, the most likely first.

    A branch made from a tag begins with a copy of that tag and of its snapshot [Paimon
    FileSystemBranchManager.createBranch], so its oldest snapshot is the fork while it lasts.
    """
    others = [trace for trace in traces if trace.branch != branch.branch]
    by_name = {trace.branch: trace for trace in others}
    found = [
        *_certain(branch, others, events, by_name, ids),
        *(each for other in others for each in _by_circumstance(branch, other, ids)),
    ]
    return _ranked(found, others)


def _certain(
    branch: BranchTrace,
    others: Sequence[BranchTrace],
    events: Sequence[LineageEvent],
    by_name: Mapping[str, BranchTrace],
    ids: _IdsByBranch,
) -> list[ForkCandidate]:
    """Candidates from what was recorded, and from what the branch and others both hold."""
    return [
        *_recorded(branch, by_name, events),
        *(
            each
            for other in others
            if other.branch != branch.branch
            for each in _shared_with(branch, other, ids)
        ),
    ]


def _ranked(
    found: Iterable[ForkCandidate], others: Iterable[BranchTrace]
) -> tuple[ForkCandidate, ...]:
    best: dict[tuple[str, Lists], ForkCandidate] = {}
    for candidate in found:
        key = (candidate.parent, candidate.identity.manifest_lists)
        best[key] = _joined(best[key], candidate) if key in best else candidate
    parents = {each.parent for each in best.values()}
    origins = {each.branch: _is_origin(each) for each in others if each.branch in parents}
    return tuple(sorted(best.values(), key=lambda each: _rank(each, origins)))


def _recorded(
    branch: BranchTrace, others: Mapping[str, BranchTrace], events: Sequence[LineageEvent]
) -> list[ForkCandidate]:
    made = [
        event for event in events if event.branch == branch.branch and event.kind in _FORK_EVENTS
    ]
    if not made:
        return []
    event = made[-1]
    parent = event.source_branch or MAIN_BRANCH
    target = others.get(parent)
    tagged = _snapshot_of_tag(event.base_tag, target) or _snapshot_of_tag(event.base_tag, branch)
    identity = event.parents[0] if event.parents else event.after
    if identity is None and tagged is not None:
        identity = tagged.identity
    if identity is None:
        return []
    text = f"The ledger records that {event.actor} made {branch.branch!r} from {parent!r}."
    found = _candidate(branch, parent, target, identity, text, Confidence.RECORDED)
    if tagged is None or not tagged.identity.same_as(identity):
        return [found]
    base = f"Its base tag {event.base_tag!r} names snapshot {tagged.id}."
    return [replace(found, evidence=(*found.evidence, base))]


def _snapshot_of_tag(name: str | None, trace: BranchTrace | None) -> Snapshot | None:
    tags = trace.tags if trace else ()
    return next((tag.snapshot for tag in tags if tag.name == name), None)


def _shared_with(branch: BranchTrace, other: BranchTrace, ids: _IdsByBranch) -> list[ForkCandidate]:
    """Candidates from what both branches hold: snapshots and tags with one identity."""
    found = []
    snapshots = ids[other.branch]
    first = next(iter(branch.snapshots), None)
    if first is not None and first.identity.manifest_lists in snapshots:
        theirs = snapshots[first.identity.manifest_lists]
        by = "uuid" if first.uuid else "manifest lists"
        text = (
            f"Its oldest snapshot {first.id} is snapshot {theirs} of {other.branch!r}: "
            f"the same {by}."
        )
        found.append(_candidate(branch, other.branch, other, first.identity, text, Confidence.HIGH))
    tags = {tag.snapshot.identity.manifest_lists: tag.name for tag in other.tags}
    for tag in branch.tags:
        key = tag.snapshot.identity.manifest_lists
        if key in tags:
            text = f"Tag {tag.name!r} and tag {tags[key]!r} of {other.branch!r} name one snapshot."
        elif key in snapshots:
            text = f"Tag {tag.name!r} names snapshot {snapshots[key]} of {other.branch!r}."
        else:
            continue
        is_first = first is None or tag.snapshot.id <= first.id
        confidence = Confidence.HIGH if is_first else Confidence.MEDIUM
        found.append(
            _candidate(branch, other.branch, other, tag.snapshot.identity, text, confidence)
        )
    if first is not None and first.identity.manifest_lists in tags:
        name = tags[first.identity.manifest_lists]
        text = f"Its oldest snapshot {first.id} has the tag {name!r} on {other.branch!r}."
        found.append(_candidate(branch, other.branch, other, first.identity, text, Confidence.HIGH))
    return found


def _by_circumstance(
    branch: BranchTrace, other: BranchTrace, ids: _IdsByBranch
) -> list[ForkCandidate]:
    """Candidates if no snapshot is shared any more: files in common, numbers, times."""
    first = next(iter(branch.snapshots), None)
    if first is None or not ids[branch.branch].keys().isdisjoint(ids[other.branch].keys()):
        return []
    found = []
    for snapshot in reversed(other.snapshots):
        text = _common_file(first, snapshot, other.branch)
        if text is not None:
            found.append(
                _candidate(branch, other.branch, other, snapshot.identity, text, Confidence.MEDIUM)
            )
            break
    # Ids of a branch go on from its tag: snapshot k + 1 of the branch was made on k of the parent.
    before = next((each for each in other.snapshots if each.id == first.id - 1), None)
    if before is not None and before.time_millis <= first.time_millis:
        text = (
            f"Its ids begin at {first.id}, right after snapshot {before.id} of {other.branch!r}, "
            "which is older."
        )
        found.append(_candidate(branch, other.branch, other, before.identity, text, Confidence.LOW))
    if branch.created_millis is not None and first.id > 1:
        then = [each for each in other.snapshots if each.time_millis <= branch.created_millis]
        if then:
            text = f"Snapshot {then[-1].id} was the head of {other.branch!r} when it was made."
            found.append(
                _candidate(branch, other.branch, other, then[-1].identity, text, Confidence.LOW)
            )
    return found


def _common_file(first: Snapshot, snapshot: Snapshot, branch: str) -> str | None:
    for what, ours, theirs in (
        ("base manifest list", first.base_manifest_list, snapshot.base_manifest_list),
        ("delta manifest list", first.delta_manifest_list, snapshot.delta_manifest_list),
        ("index manifest", first.index_manifest, snapshot.index_manifest),
        ("statistics file", first.statistics, snapshot.statistics),
    ):
        if ours is not None and ours == theirs:
            return (
                f"Its oldest snapshot {first.id} shares the {what} with snapshot {snapshot.id} "
                f"of {branch!r}."
            )
    return None


def _candidate(
    branch: BranchTrace,
    parent: str,
    target: BranchTrace | None,
    identity: SnapshotIdentity,
    evidence: str,
    confidence: Confidence,
) -> ForkCandidate:
    ours, theirs = _find(branch, identity), _find(target, identity)
    return ForkCandidate(
        branch=branch.branch,
        parent=parent,
        identity=identity,
        snapshot=ours or theirs or _tagged(branch, identity) or _tagged(target, identity),
        source_id=ours.id if ours else None,
        target_id=theirs.id if theirs else None,
        evidence=(evidence,),
        confidence=confidence,
    )


def _joined(first: ForkCandidate, second: ForkCandidate) -> ForkCandidate:
    """Two pieces of evidence for one candidate, the stronger one in front."""
    strong, weak = sorted((first, second), key=lambda each: _ORDER[each.confidence])
    evidence = tuple(dict.fromkeys((*strong.evidence, *weak.evidence)))
    return replace(strong, snapshot=strong.snapshot or weak.snapshot, evidence=evidence)


_ORDER: Final = {confidence: position for position, confidence in enumerate(Confidence)}


def _rank(candidate: ForkCandidate, origins: Mapping[str, frozenset[Lists]]) -> tuple[object, ...]:
    is_copy = candidate.identity.manifest_lists in origins.get(candidate.parent, frozenset())
    newest = -(candidate.snapshot.id if candidate.snapshot else 0)
    return (
        _ORDER[candidate.confidence],
        # A snapshot that the other branch was itself begun with was made elsewhere.
        is_copy and candidate.parent != MAIN_BRANCH,
        newest,
        candidate.parent != MAIN_BRANCH,
        candidate.parent,
    )


def _is_origin(trace: BranchTrace) -> frozenset[Lists]:
    """The snapshot that a branch was begun with; main was begun with nothing."""
    if trace.is_main or not trace.snapshots:
        return frozenset()
    return frozenset({trace.snapshots[0].identity.manifest_lists})


def _ids_by_branch(traces: Iterable[BranchTrace]) -> _IdsByBranch:
    return {
        trace.branch: {lists: trace.snapshots[at].id for lists, at in trace.places.items()}
        for trace in traces
    }


def _find(trace: BranchTrace | None, identity: SnapshotIdentity) -> Snapshot | None:
    at = trace.places.get(identity.manifest_lists) if trace else None
    return None if trace is None or at is None else trace.snapshots[at]


def _tagged(trace: BranchTrace | None, identity: SnapshotIdentity) -> Snapshot | None:
    tags = trace.tags if trace else ()
    return next((t.snapshot for t in tags if t.snapshot.identity.same_as(identity)), None)
