"""Branch traces from a few words: `trace("dev", "m1 m2 d3")`; one word is one snapshot."""

from branch_console.diff.branch_trace import BranchTrace
from branch_console.diff.lineage import Lineage
from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console.format.snapshot import Snapshot, SnapshotIdentity
from branch_console.format.tag import Tag
from tests.support.table_files import a_snapshot


def snapshot(word: str, **fields: object) -> Snapshot:
    """`m2`: the snapshot that writer m made under id 2; the same word is the same snapshot."""
    return a_snapshot(int(word[1:]), word[0], **fields)  # type: ignore[arg-type]


def trace(
    branch: str, words: str = "", *, tags: str = "", created_minute: int | None = None
) -> BranchTrace:
    """A branch with snapshots and tags, each named after its snapshot."""
    return BranchTrace(
        branch=branch,
        snapshots=tuple(snapshot(word) for word in words.split()),
        tags=tuple(Tag(name=f"tag-{word}", snapshot=snapshot(word)) for word in tags.split()),
        created_millis=None if created_minute is None else created_minute * 60_000,
    )


def an_event(kind: LineageKind, **fields: object) -> LineageEvent:
    """Something that the ledger tells of dev."""
    given = {"id": "e", "branch": "dev", "operation_id": "op", "actor": "ann", "time_millis": 1}
    return LineageEvent(kind=kind, **{**given, **fields})  # type: ignore[arg-type]


def has_ancestor(lineage: Lineage, head: SnapshotIdentity, other: SnapshotIdentity) -> bool:
    """Whether a snapshot is another one, or builds on it."""
    return any(each.same_as(other) for each in lineage.ancestors(head).values())
