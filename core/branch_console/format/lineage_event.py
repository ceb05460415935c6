"""An entry of a table's ledger: what happened to a branch, and from what to what.

Paimon records neither parents nor fork points; the ledger does.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from branch_console.format.json_text import JsonObject, to_pretty_json, without_nulls
from branch_console.format.receipt import Receipt, identity_from, identity_to
from branch_console.format.snapshot import SnapshotIdentity


class LineageKind(StrEnum):
    """The kinds of events."""

    CREATED = "created"
    FORKED = "forked"
    MERGED = "merged"
    FAST_FORWARDED = "fast-forwarded"
    REPLACED = "replaced"
    RENAMED = "renamed"
    DROPPED = "dropped"
    REVERTED = "reverted"
    RESCUED = "rescued"
    PINNED = "pinned"
    PROTECTED = "protected"
    UNPROTECTED = "unprotected"
    RESTORED = "restored"
    ROLLED_BACK = "rolled-back"
    UNDONE = "undone"
    TAGGED = "tagged"
    UNTAGGED = "untagged"
    TAG_RENAMED = "tag-renamed"
    CHERRY_PICKED = "cherry-picked"
    FENCED = "fenced"
    UNFENCED = "unfenced"
    REPAIRED = "repaired"
    ALTERED = "altered"
    EXPIRED = "expired"
    RELEASED = "released"
    CLEANED = "cleaned"
    WARNED = "warned"
    ARCHIVED = "archived"
    UNARCHIVED = "unarchived"
    CONSUMERS_RESET = "consumers-reset"
    COMPACTED = "compacted"
    PARTITIONS_EXPIRED = "partitions-expired"
    MARKED_DONE = "marked-done"
    MISSING_FILES_REMOVED = "missing-files-removed"


@dataclass(frozen=True, slots=True, kw_only=True)
class LineageEvent:
    """One immutable event.

    Attributes:
        branch: The branch it happened to; of a protection a name or a pattern such as `release-*`.
        source_branch: Where it came from; of a renamed branch its earlier name, of a restored one
            the rescue branch.
        parents: The snapshots that `after` builds on, first one first.
        tag: The tag that was made, moved, renamed or deleted; None if there were several.
        source_tag: The earlier name of a tag that was renamed.
        undoes: The operation that this one took back.
    """

    id: str
    branch: str
    operation_id: str
    actor: str
    kind: LineageKind
    source_branch: str | None = None
    time_millis: int
    before: SnapshotIdentity | None = None
    after: SnapshotIdentity | None = None
    parents: tuple[SnapshotIdentity, ...] = ()
    owner: str | None = None
    reason: str | None = None
    base_tag: str | None = None
    tag: str | None = None
    source_tag: str | None = None
    undoes: str | None = None
    receipt: Receipt | None = None

    @classmethod
    def from_json(cls, text: str | bytes) -> "LineageEvent":
        """Decode an event file.

        Raises:
            FormatError: The text is not an event.
        """
        raw = JsonObject.parse(text, "lineage event")
        parents = (identity_from(dict(p.values), raw.what) for p in raw.objects("parents"))
        receipt = raw.find("receipt", dict)
        return cls(
            id=raw.get("id", str),
            branch=raw.get("branch", str),
            operation_id=raw.get("operationId", str),
            actor=raw.get("actor", str),
            kind=raw.choice("kind", LineageKind),
            source_branch=raw.find("sourceBranch", str),
            time_millis=raw.get("timeMillis", int),
            before=identity_from(raw.find("before", dict), raw.what),
            after=identity_from(raw.find("after", dict), raw.what),
            parents=tuple(parent for parent in parents if parent is not None),
            owner=raw.find("owner", str),
            reason=raw.find("reason", str),
            base_tag=raw.find("baseTag", str),
            tag=raw.find("tag", str),
            source_tag=raw.find("sourceTag", str),
            undoes=raw.find("undoes", str),
            receipt=None if receipt is None else Receipt.from_object(JsonObject(receipt, raw.what)),
        )

    def to_json(self) -> str:
        """Encode as JSON text."""
        return to_pretty_json(
            without_nulls(
                {
                    "id": self.id,
                    "branch": self.branch,
                    "operationId": self.operation_id,
                    "actor": self.actor,
                    "kind": str(self.kind),
                    "sourceBranch": self.source_branch,
                    "timeMillis": self.time_millis,
                    "before": identity_to(self.before),
                    "after": identity_to(self.after),
                    "parents": [identity_to(parent) for parent in self.parents],
                    "owner": self.owner,
                    "reason": self.reason,
                    "baseTag": self.base_tag,
                    "tag": self.tag,
                    "sourceTag": self.source_tag,
                    "undoes": self.undoes,
                    "receipt": None if self.receipt is None else self.receipt.to_object(),
                }
            )
        )


BIRTHS: Final = frozenset({LineageKind.CREATED, LineageKind.FORKED, LineageKind.RESCUED})
"""Events that give a new branch its name."""

_GIVES_NAME: Final = frozenset({LineageKind.DROPPED, LineageKind.RENAMED, LineageKind.RESTORED})
"""Events that give a branch another name; a dropped one has that of its rescue branch."""

_GIVES_BASE: Final = frozenset({LineageKind.CREATED, LineageKind.FORKED, LineageKind.PINNED})


def born(events: Iterable[LineageEvent], branch: str) -> LineageEvent | None:
    """The event by which a branch came to be, None if other software made it."""
    found = None
    for event in events:
        if event.branch == branch and event.kind in BIRTHS:
            found = event
    return found


def base_tag_of(events: Iterable[LineageEvent], branch: str) -> str | None:
    """The name of a branch's base tag, as the ledger has it."""
    found = None
    for event in events:
        if event.branch == branch and event.kind in _GIVES_BASE:
            found = event.base_tag
    return found


def name_after_drop(event: LineageEvent) -> str:
    """Return the name under which a dropped branch goes on: that of its rescue branch.

    Where its names are retired until its files go, it is a name that no branch has.

    Args:
        event: The event of the drop.
    """
    rescue = None if event.receipt is None else event.receipt.rescue_branch
    return rescue or released_name(event.branch, event.operation_id)


def released_name(branch: str, operation_id: str) -> str:
    """Return the name of a branch whose names an operation retired."""
    return f"{branch} (released by {operation_id})"


def tag_name_now(events: Iterable[LineageEvent], event: LineageEvent) -> str | None:
    """Return the current name of the tag of an event, after later renames.

    Args:
        events: In the order they happened.
        event: One of them.
    """
    name, branch = event.tag, None
    for other in events:
        if other.id == event.id:
            branch = other.branch
        elif branch == other.branch and other.kind is LineageKind.TAG_RENAMED:
            name = other.tag if other.source_tag == name else name
    return name


def is_fenced_by(events: Iterable[LineageEvent], branch: str) -> bool:
    """Whether a branch was fenced by an operation of its own, and not freed again since."""
    found = False
    for event in events:
        if event.branch == branch:
            match event.kind:
                case LineageKind.FENCED:
                    found = True
                case LineageKind.UNFENCED:
                    found = False
    return found


def forks_of_base_tags(
    events: Iterable[LineageEvent],
) -> Mapping[str, tuple[SnapshotIdentity | None, ...]]:
    """Return the branch of each base tag by the tag's name, also of branches that are gone.

    Args:
        events: In the order they happened.
    """
    forks: dict[str, SnapshotIdentity | None] = {}
    found: dict[str, list[SnapshotIdentity | None]] = {}
    for event in events:
        if event.kind in BIRTHS:
            # What was rescued is pinned where it left its parent, which its event does not name.
            forks[event.branch] = None if event.kind is LineageKind.RESCUED else event.after
        if event.kind in _GIVES_BASE and event.base_tag is not None:
            found.setdefault(event.base_tag, []).append(forks.get(event.branch))
    return {name: tuple(each) for name, each in found.items()}


def undone_by(events: Iterable[LineageEvent]) -> Mapping[str, LineageEvent]:
    """Return the event that reverted each reverted operation, by that operation.

    What was taken back in turn, such as a revert that was reverted, took nothing back.

    Args:
        events: In the order they happened.
    """
    found: dict[str, LineageEvent] = {}
    for event in reversed(tuple(events)):
        if event.undoes is not None and event.operation_id not in found:
            found.setdefault(event.undoes, event)
    return found


def under_present_names(events: Iterable[LineageEvent]) -> tuple[LineageEvent, ...]:
    """Tell the history of branches under the names they have now.

    A renamed branch keeps its past; a dropped one has it under the name of its rescue branch, until
    it is restored. What a name was before belongs to the branch that had it then.

    Args:
        events: In the order they happened.
    """
    now: dict[str, str] = {}
    renamed = []
    for event in reversed(tuple(events)):
        kind, name, source = event.kind, event.branch, event.source_branch
        if kind in _GIVES_NAME:
            if kind is LineageKind.DROPPED:
                # The name is free from here on; whoever took it later is somebody else.
                renamed.append(event)
                kept = name_after_drop(event)
                now[name] = now.pop(kept, kept)
                continue
            if source is not None:
                renamed.append(_named(event, now.get(name, name), source))
                now[source] = now.pop(name, name)
                continue
        if name not in now and source not in now:
            renamed.append(event)  # as nearly all are: a thousand branches have thousands
            continue
        known_source = None if source is None else now.get(source, source)
        renamed.append(_named(event, now.get(name, name), known_source))
        if kind in BIRTHS:
            now.pop(name, None)
    return tuple(reversed(renamed))


def _named(event: LineageEvent, branch: str, source_branch: str | None) -> LineageEvent:
    if (branch, source_branch) == (event.branch, event.source_branch):
        return event
    return replace(event, branch=branch, source_branch=source_branch)
