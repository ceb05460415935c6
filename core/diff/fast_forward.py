"""Fast-forward, decided: may the target take over the source's history, and what would that cost.

Paimon's own fast-forward deletes whatever stands in its way. Here it is legal only where the
target's head is part of the source's history, so that nothing has to go.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from core.errors import ErrorKind
from core.format.receipt import identity_to
from core.format.snapshot import Snapshot, SnapshotIdentity
from core.format.table_schema import TableSchema
from core.format.tag import Tag


class Verdict(StrEnum):
    """What a fast-forward would be."""

    UP_TO_DATE = "up-to-date"
    FAST_FORWARD = "fast-forward"
    REFUSED = "refused"


class WayOut(StrEnum):
    """What to do instead of a fast-forward that is refused."""

    MERGE = "merge"
    UPDATE = "update"
    COMPARE = "compare"
    REPLACE = "replace"


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchHistory:
    """All that a decision needs to know of one branch.

    Attributes:
        snapshots: By id, oldest first, without those that expired.
        consumers: Streaming consumers and the snapshot id each reads next.
    """

    branch: str
    snapshots: tuple[Snapshot, ...]
    schemas: tuple[TableSchema, ...]
    tags: tuple[Tag, ...]
    consumers: tuple[tuple[str, int], ...] = ()

    @property
    def head(self) -> Snapshot | None:
        """The newest snapshot."""
        return self.snapshots[-1] if self.snapshots else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrivals:
    """What a fast-forward brings to the target."""

    snapshots: tuple[Snapshot, ...] = ()
    schema_ids: tuple[int, ...] = ()
    tags: tuple[Tag, ...] = ()

    @property
    def row_count(self) -> int:
        """Rows that the arriving snapshots added, less those they removed."""
        return sum(snapshot.delta_record_count or 0 for snapshot in self.snapshots)

    @property
    def is_empty(self) -> bool:
        """Whether nothing arrives."""
        return not (self.snapshots or self.schema_ids or self.tags)


@dataclass(frozen=True, slots=True, kw_only=True)
class Removals:
    """What taking over the source's state would take from the target.

    Attributes:
        consumers: Consumers that would have to read again, with the id each reads next.
    """

    snapshots: tuple[Snapshot, ...] = ()
    schema_ids: tuple[int, ...] = ()
    tags: tuple[Tag, ...] = ()
    consumers: tuple[tuple[str, int], ...] = ()

    @property
    def row_count(self) -> int:
        """Rows that the snapshots added, less those they removed."""
        return sum(snapshot.delta_record_count or 0 for snapshot in self.snapshots)

    @property
    def is_empty(self) -> bool:
        """Whether nothing would go."""
        return not (self.snapshots or self.schema_ids or self.tags or self.consumers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Why a fast-forward is refused, or that there is nothing to do."""

    kind: ErrorKind
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FastForwardPlan:
    """The decision on one pair of heads; what is shown is what runs.

    Attributes:
        id: The digest of everything the decision rests on.
        table: Database and table.
        fork: The newest snapshot both sides share; None if there is none.
        fork_is_known: Whether both sides share a history, an empty target included.
        arrives: What comes to the target; of a refused one, what replacing would bring.
        would_remove: What replacing the target would remove; empty for a legal fast-forward.
    """

    id: str
    table: str
    source: str
    target: str
    source_head: Snapshot | None
    target_head: Snapshot | None
    fork: Snapshot | None
    fork_is_known: bool
    verdict: Verdict
    arrives: Arrivals
    would_remove: Removals
    reasons: tuple[Reason, ...]
    ways_out: tuple[WayOut, ...]
    notes: tuple[str, ...]

    @property
    def can_run(self) -> bool:
        """Whether the fast-forward is legal and brings something."""
        return self.verdict is Verdict.FAST_FORWARD

    @property
    def can_replace(self) -> bool:
        """Whether `force` may replace the target by the source."""
        return self.verdict is Verdict.REFUSED and WayOut.REPLACE in self.ways_out

    def to_object(self) -> dict[str, object]:
        """Return the plan as JSON values, as the command line prints it."""
        return {
            "id": self.id,
            "table": self.table,
            "source": self.source,
            "target": self.target,
            "verdict": str(self.verdict),
            "source_head": _snapshot_object(self.source_head),
            "target_head": _snapshot_object(self.target_head),
            "fork": _snapshot_object(self.fork),
            "arrives": {
                "snapshots": [_snapshot_object(snapshot) for snapshot in self.arrives.snapshots],
                "schemas": list(self.arrives.schema_ids),
                "tags": [tag.name for tag in self.arrives.tags],
                "rows": self.arrives.row_count,
            },
            "would_remove": {
                "snapshots": [
                    _snapshot_object(snapshot) for snapshot in self.would_remove.snapshots
                ],
                "schemas": list(self.would_remove.schema_ids),
                "tags": [tag.name for tag in self.would_remove.tags],
                "consumers": dict(self.would_remove.consumers),
                "rows": self.would_remove.row_count,
            },
            "reasons": [{"kind": str(each.kind), "text": each.text} for each in self.reasons],
            "ways_out": [str(way) for way in self.ways_out],
            "notes": list(self.notes),
        }


def plan_fast_forward(table: str, source: BranchHistory, target: BranchHistory) -> FastForwardPlan:
    """Decide whether `target` may be moved to the head of `source`, and what that would do."""
    fork, fork_is_known = _find_fork(source, target)
    reasons = _reasons(source, target, fork, fork_is_known)
    is_behind = not reasons and _stands_in(source.head, target) and not _same(source, target)
    arrives = Arrivals() if is_behind else _arrivals(source, target, fork)
    if reasons:
        verdict = Verdict.REFUSED
    else:
        verdict = Verdict.UP_TO_DATE if arrives.is_empty else Verdict.FAST_FORWARD
    refused = verdict is Verdict.REFUSED
    return FastForwardPlan(
        id=plan_id(table, source, target),
        table=table,
        source=source.branch,
        target=target.branch,
        source_head=source.head,
        target_head=target.head,
        fork=fork,
        fork_is_known=fork_is_known,
        verdict=verdict,
        arrives=arrives,
        would_remove=_removals(source, target, fork) if refused else Removals(),
        reasons=reasons,
        ways_out=_ways_out(source, fork_is_known) if refused else (),
        notes=_notes(source, target, arrives, is_behind=is_behind),
    )


class _Known:
    """Which snapshots a branch knows, by identity: ids of two branches collide by design."""

    def __init__(self, snapshots: Iterable[Snapshot]) -> None:
        self._uuids: set[str] = set()
        self._lists: dict[tuple[str, str], str | None] = {}
        for snapshot in snapshots:
            identity = snapshot.identity
            self._lists[identity.manifest_lists] = identity.uuid
            if identity.uuid is not None:
                self._uuids.add(identity.uuid)

    def __contains__(self, identity: SnapshotIdentity) -> bool:
        if identity.uuid is not None and identity.uuid in self._uuids:
            return True
        uuid = self._lists.get(identity.manifest_lists, "")
        return uuid is None or (uuid != "" and identity.uuid is None)


def _known(history: BranchHistory) -> _Known:
    # A tag keeps a snapshot readable, and provable, after its file has expired.
    return _Known([*history.snapshots, *(tag.snapshot for tag in history.tags)])


def _stands_in(snapshot: Snapshot | None, history: BranchHistory) -> bool:
    return snapshot is not None and snapshot.identity in _known(history)


def _same(left: BranchHistory, right: BranchHistory) -> bool:
    if left.head is None or right.head is None:
        return left.head is right.head
    return left.head.identity.same_as(right.head.identity)


def _find_fork(source: BranchHistory, target: BranchHistory) -> tuple[Snapshot | None, bool]:
    """Return the newest snapshot of the target that the source knows, and whether they relate."""
    known = _known(source)
    for snapshot in reversed(target.snapshots):
        if snapshot.identity in known:
            return snapshot, True
    # An empty history is a beginning of every history.
    return None, target.head is None


def _reasons(
    source: BranchHistory, target: BranchHistory, fork: Snapshot | None, fork_is_known: bool
) -> tuple[Reason, ...]:
    if source.head is None:
        return (
            Reason(
                kind=ErrorKind.BRANCH_EMPTY,
                text=f"Branch {source.branch!r} has no snapshot, so it has nothing to bring.",
            ),
        )
    if not fork_is_known:
        return (_no_common_history(source, target), *_name_clashes(source, target))
    if _stands_in(source.head, target):
        return ()
    moved = _target_moved(source, target, fork)
    return (
        *((moved,) if moved else ()),
        *_gap(source, target, fork),
        *_own_schemas(source, target, fork),
        *_name_clashes(source, target),
    )


def _no_common_history(source: BranchHistory, target: BranchHistory) -> Reason:
    return Reason(
        kind=ErrorKind.NO_COMMON_HISTORY,
        text=f"Branches {source.branch!r} and {target.branch!r} share no snapshot: "
        f"{source.branch!r} was not made from a snapshot of {target.branch!r}, or what they "
        "shared has expired.",
    )


def _target_moved(
    source: BranchHistory, target: BranchHistory, fork: Snapshot | None
) -> Reason | None:
    commits = _after(target, fork)
    if not commits:
        return None
    users = ", ".join(sorted({snapshot.commit_user for snapshot in commits}))
    since = "" if fork is None else f" since the shared snapshot {fork.id}"
    return Reason(
        kind=ErrorKind.TARGET_MOVED,
        text=f"Branch {target.branch!r} has {_count(len(commits), 'commit')} of its own{since} "
        f"(by {users}) that {source.branch!r} does not hold.",
    )


def _gap(source: BranchHistory, target: BranchHistory, fork: Snapshot | None) -> tuple[Reason, ...]:
    """Refuse where expired source snapshots would leave a hole in the target's ids."""
    next_id = 1 if fork is None else fork.id + 1
    present = {snapshot.id for snapshot in source.snapshots}
    assert source.head is not None
    missing = [each for each in range(next_id, source.head.id + 1) if each not in present]
    if not missing:
        return ()
    return (
        Reason(
            kind=ErrorKind.SNAPSHOT_NOT_FOUND,
            text=f"Snapshots {_range(missing)} of {source.branch!r} have expired; without them "
            f"the history of {target.branch!r} would have a hole.",
        ),
    )


def _own_schemas(
    source: BranchHistory, target: BranchHistory, fork: Snapshot | None
) -> tuple[Reason, ...]:
    """Refuse where the target was altered after the fork: its schema would rule foreign rows."""
    theirs = {schema.id for schema in source.schemas}
    shared = -1 if fork is None else fork.schema_id
    own = [each.id for each in target.schemas if each.id > shared and each.id not in theirs]
    if not own:
        return ()
    return (
        Reason(
            kind=ErrorKind.TARGET_MOVED,
            text=f"Branch {target.branch!r} has schema {_range(own)} of its own, which "
            f"{source.branch!r} does not hold: the table was altered after the fork.",
        ),
    )


def _name_clashes(source: BranchHistory, target: BranchHistory) -> tuple[Reason, ...]:
    schemas = _clashing_schemas(source, target)
    tags = _clashing_tags(source, target)
    reasons = []
    if schemas:
        reasons.append(
            Reason(
                kind=ErrorKind.TARGET_MOVED,
                text=f"Schema {_range(schemas)} is one thing on {source.branch!r} and another on "
                f"{target.branch!r}: both were altered.",
            )
        )
    if tags:
        names = ", ".join(repr(tag.name) for tag in tags)
        reasons.append(
            Reason(
                kind=ErrorKind.NAME_TAKEN,
                text=f"Tag {names} names one snapshot on {source.branch!r} and another on "
                f"{target.branch!r}.",
            )
        )
    return tuple(reasons)


def _clashing_schemas(source: BranchHistory, target: BranchHistory) -> list[int]:
    ours = {schema.id: schema.fingerprint for schema in target.schemas}
    return [
        schema.id
        for schema in source.schemas
        if ours.get(schema.id, schema.fingerprint) != schema.fingerprint
    ]


def _clashing_tags(source: BranchHistory, target: BranchHistory) -> list[Tag]:
    theirs = {tag.name: tag.snapshot.identity for tag in source.tags}
    return [
        tag
        for tag in target.tags
        if tag.name in theirs and not tag.snapshot.identity.same_as(theirs[tag.name])
    ]


def _arrivals(source: BranchHistory, target: BranchHistory, fork: Snapshot | None) -> Arrivals:
    """List what comes from the source; what clashes comes only where the target is replaced."""
    known = _known(target)
    schemas = {schema.id: schema.fingerprint for schema in target.schemas}
    tags = {tag.name: tag.snapshot.identity for tag in target.tags}
    return Arrivals(
        snapshots=tuple(each for each in _after(source, fork) if each.identity not in known),
        schema_ids=tuple(
            each.id for each in source.schemas if schemas.get(each.id) != each.fingerprint
        ),
        tags=tuple(
            tag
            for tag in source.tags
            if tag.name not in tags or not tags[tag.name].same_as(tag.snapshot.identity)
        ),
    )


def _removals(source: BranchHistory, target: BranchHistory, fork: Snapshot | None) -> Removals:
    known = _known(source)
    theirs = {schema.id: schema.fingerprint for schema in source.schemas}
    shared = -1 if fork is None else fork.schema_id
    clashing = set(_clashing_schemas(source, target))
    clashing_tags = {tag.name for tag in _clashing_tags(source, target)}
    kept_id = 0 if fork is None else fork.id
    return Removals(
        snapshots=_after(target, fork),
        schema_ids=tuple(
            schema.id
            for schema in target.schemas
            if schema.id in clashing or (schema.id > shared and schema.id not in theirs)
        ),
        tags=tuple(
            tag
            for tag in target.tags
            if tag.name in clashing_tags
            or (tag.snapshot.id > kept_id and tag.snapshot.identity not in known)
        ),
        consumers=tuple(each for each in target.consumers if each[1] > kept_id + 1),
    )


def _after(history: BranchHistory, fork: Snapshot | None) -> tuple[Snapshot, ...]:
    first = 0 if fork is None else fork.id
    return tuple(snapshot for snapshot in history.snapshots if snapshot.id > first)


def _ways_out(source: BranchHistory, fork_is_known: bool) -> tuple[WayOut, ...]:
    if source.head is None:
        return (WayOut.COMPARE,)
    if not fork_is_known:
        return (WayOut.COMPARE, WayOut.REPLACE)
    return (WayOut.MERGE, WayOut.UPDATE, WayOut.COMPARE, WayOut.REPLACE)


def _notes(
    source: BranchHistory, target: BranchHistory, arrives: Arrivals, *, is_behind: bool
) -> tuple[str, ...]:
    if is_behind:
        return (f"Branch {target.branch!r} already holds all of {source.branch!r} and more.",)
    if not arrives.snapshots:
        return ()
    return (
        f"Afterwards {source.branch!r} and {target.branch!r} share "
        f"{_count(len(arrives.snapshots), 'more snapshot')}. Other engines expire files by "
        "looking at one branch: keep their automatic expiry off, or keep a tag on main.",
    )


def plan_id(table: str, source: BranchHistory, target: BranchHistory) -> str:
    """Hash what the decision rests on: whatever could change it changes the id.

    Of the snapshots only the heads count, so that older ones need not be read for it.
    """
    content = [table, *(_digest_part(history) for history in (source, target))]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


def _digest_part(history: BranchHistory) -> list[object]:
    head = history.head
    return [
        history.branch,
        None if head is None else [head.id, identity_to(head.identity)],
        [[schema.id, schema.fingerprint] for schema in history.schemas],
        [[tag.name, identity_to(tag.snapshot.identity)] for tag in history.tags],
    ]


def _snapshot_object(snapshot: Snapshot | None) -> dict[str, object] | None:
    if snapshot is None:
        return None
    return {
        "id": snapshot.id,
        "identity": snapshot.identity.short,
        "schema_id": snapshot.schema_id,
        "user": snapshot.commit_user,
        "kind": str(snapshot.commit_kind),
        "time_millis": snapshot.time_millis,
        "rows": snapshot.delta_record_count,
    }


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _range(ids: list[int]) -> str:
    """Write ids for people: `3`, `3, 5` or `3-9`."""
    if len(ids) > 2 and ids[-1] - ids[0] == len(ids) - 1:
        return f"{ids[0]}-{ids[-1]}"
    return ", ".join(str(each) for each in ids)
