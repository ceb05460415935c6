"""Fast-forward, decided: may the target take over the source's history, and what would that cost.

Paimon's own fast-forward deletes whatever stands in its way. Here it is legal only if the
target's head is part of the source's history, so that nothing has to go.
"""

import hashlib
import json
from dataclasses import dataclass
from enum import StrEnum

from branch_console.diff.history_move import (
    Arrivals,
    BranchHistory,
    Removals,
    after,
    arrivals,
    clashing_schemas,
    clashing_tags,
    count,
    find_fork,
    id_range,
    is_in_history,
    is_same,
    missing_ids,
    removals,
    replaced_fork,
)
from branch_console.errors import ErrorKind
from branch_console.format.receipt import identity_to
from branch_console.format.snapshot import Snapshot


class Verdict(StrEnum):
    """The kinds of outcomes of a fast-forward."""

    UP_TO_DATE = "up-to-date"
    FAST_FORWARD = "fast-forward"
    REFUSED = "refused"


class WayOut(StrEnum):
    """The alternatives to a fast-forward that is refused."""

    MERGE = "merge"
    UPDATE = "update"
    COMPARE = "compare"
    REPLACE = "replace"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Why a fast-forward is refused, or that there is nothing to do."""

    kind: ErrorKind
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardDecision:
    """The decision on one pair of heads; what is shown is what runs.

    Attributes:
        id: The digest of everything the decision rests on.
        table: Database and table.
        fork: The newest snapshot both sides share; None if there is none.
        fork_is_known: Whether both sides share a history, an empty target included.
        arrives: What comes to the target; of a refused one, what replacing would bring.
        would_remove: The parts that replacing the target would remove; empty for a legal
            fast-forward.
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
                "snapshots": _commit_objects(self.arrives),
                "schemas": list(self.arrives.schema_ids),
                "tags": [tag.name for tag in self.arrives.tags],
                **self.arrives.figure.to_object(),
            },
            "would_remove": {
                "snapshots": _commit_objects(self.would_remove),
                "schemas": list(self.would_remove.schema_ids),
                "tags": [tag.name for tag in self.would_remove.tags],
                "consumers": dict(self.would_remove.consumers),
                **self.would_remove.figure.to_object(),
            },
            "reasons": [{"kind": str(each.kind), "text": each.text} for each in self.reasons],
            "ways_out": [str(way) for way in self.ways_out],
            "notes": list(self.notes),
        }


def plan_forward_move(table: str, source: BranchHistory, target: BranchHistory) -> ForwardDecision:
    """Decide whether `target` may be moved to the head of `source`, and what that would do."""
    fork, fork_is_known = find_fork(source, target)
    reasons = _reasons(source, target, fork, fork_is_known)
    would_remove, refused = Removals(), bool(reasons)
    is_behind = not reasons and is_in_history(source.head, target) and not is_same(source, target)
    arrives = Arrivals() if is_behind else arrivals(source, target, fork)
    if refused:
        verdict, kept = Verdict.REFUSED, replaced_fork(source, target)
        arrives, would_remove = arrivals(source, target, kept), removals(source, target, kept)
    else:
        verdict = Verdict.UP_TO_DATE if arrives.is_empty else Verdict.FAST_FORWARD
    return ForwardDecision(
        id=plan_id(table, source, target, would_remove),
        table=table,
        source=source.branch,
        target=target.branch,
        source_head=source.head,
        target_head=target.head,
        fork=fork,
        fork_is_known=fork_is_known,
        verdict=verdict,
        arrives=arrives,
        would_remove=would_remove,
        reasons=reasons,
        ways_out=_ways_out(source, fork_is_known) if refused else (),
        notes=(
            *_notes(source, target, arrives, is_behind=is_behind),
            *kept_tag_notes(target.branch, would_remove),
        ),
    )


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
    if is_in_history(source.head, target):
        # Where both are at one snapshot schemas and tags may come all the same.
        comes = is_same(source, target) and not arrivals(source, target, fork).is_empty
        return _name_clashes(source, target) if comes else ()
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
    commits = after(target, fork)
    if not commits:
        return None
    users = ", ".join(sorted({snapshot.commit_user for snapshot in commits}))
    since = "" if fork is None else f" since the shared snapshot {fork.id}"
    return Reason(
        kind=ErrorKind.TARGET_MOVED,
        text=f"Branch {target.branch!r} has {count(len(commits), 'commit')} of its own{since} "
        f"(by {users}) that {source.branch!r} does not hold.",
    )


def _gap(source: BranchHistory, target: BranchHistory, fork: Snapshot | None) -> tuple[Reason, ...]:
    """Refuse where expired source snapshots would leave a hole in the target's ids."""
    missing = missing_ids(source, fork)
    if not missing:
        return ()
    return (
        Reason(
            kind=ErrorKind.SNAPSHOT_NOT_FOUND,
            text=f"Snapshots {id_range(missing)} of {source.branch!r} have expired; without them "
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
            text=f"Branch {target.branch!r} has schema {id_range(own)} of its own, which "
            f"{source.branch!r} does not hold: the table was altered after the fork.",
        ),
    )


def _name_clashes(source: BranchHistory, target: BranchHistory) -> tuple[Reason, ...]:
    schemas = clashing_schemas(source, target)
    tags = clashing_tags(source, target)
    reasons = []
    if schemas:
        reasons.append(
            Reason(
                kind=ErrorKind.TARGET_MOVED,
                text=f"Schema {id_range(schemas)} is one thing on {source.branch!r} and another on "
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
        return (f"Branch {target.branch!r} already contains {source.branch!r}, and more commits.",)
    return sharing_notes(source.branch, target.branch, arrives)


def sharing_notes(source: str, target: str, arrives: Arrivals) -> tuple[str, ...]:
    """Say what holds of files that a branch shares with where they arrived."""
    if not arrives.snapshots:
        return ()
    return (
        *_ancestor_notes(source, arrives),
        f"Afterwards {source!r} and {target!r} share "
        f"{count(len(arrives.snapshots), 'more snapshot')}. A tag on main and a consumer file on "
        "the branch keep these files if another engine expires snapshots.",
    )


def _ancestor_notes(source: str, arrives: Arrivals) -> tuple[str, ...]:
    """Say which snapshots the source does not list itself, and where they come from."""
    found: dict[str, list[int]] = {}
    for snapshot_id in sorted(arrives.listed_on):
        found.setdefault(arrives.listed_on[snapshot_id], []).append(snapshot_id)
    return tuple(
        f"{'Snapshot' if len(ids) == 1 else 'Snapshots'} {id_range(ids)} "
        f"{'comes' if len(ids) == 1 else 'come'} from branch {branch!r}, which {source!r} was made "
        "from: the history lies on it."
        for branch, ids in found.items()
    )


def kept_tag_notes(target: str, removed: Removals) -> tuple[str, ...]:
    """Say which tags stay on a target that is replaced, and why."""
    return tuple(
        f"Tag {tag.name!r} stays on {target!r} though snapshot {tag.snapshot.id} leaves: another "
        "branch stands on it."
        for tag in removed.kept_tags
    )


def plan_id(
    table: str, source: BranchHistory, target: BranchHistory, removed: Removals | None = None
) -> str:
    """Hash what the decision rests on: whatever could change it changes the id.

    Of the snapshots only the heads count, so that older ones need not be read for it.

    Args:
        table: Database and table.
        source: Where the target goes.
        target: What moves.
        removed: The parts that the target loses; None without any.
    """
    # Not where readers stand: they go on while somebody looks.
    rewound = [] if removed is None else [name for name, _ in removed.consumers]
    content = [table, *(_digest_part(history) for history in (source, target)), rewound]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


def _digest_part(history: BranchHistory) -> list[object]:
    head = history.head
    return [
        history.branch,
        None if head is None else [head.id, identity_to(head.identity)],
        [[schema.id, schema.fingerprint] for schema in history.schemas],
        [[tag.name, identity_to(tag.snapshot.identity)] for tag in history.tags],
    ]


def _commit_objects(moved: Arrivals | Removals) -> list[dict[str, object]]:
    return [
        {**(_snapshot_object(snapshot) or {}), **figure.to_object()}
        for snapshot, figure in zip(moved.snapshots, moved.changes, strict=True)
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
    }
