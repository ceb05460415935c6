"""The kinds of merges: of a branch, of one snapshot, or of the reverse of a snapshot.

All three are one three-way merge; they differ in the snapshots used as base and theirs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from branch_console.errors import ErrorKind, InvalidInput, NotFound
from branch_console.format.followed_branch import follow_branch
from branch_console.format.journals.merge import MergeJournal
from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console.format.receipt import HeadMove
from branch_console.format.snapshot import Snapshot
from branch_console.merge.plan_merge import MergeSides
from branch_console.operations.isolation import InsertScope, Isolation
from branch_console.operations.merge_requests import (
    CherryPickRequest,
    MergeRequest,
    MergingRequest,
    RevertRequest,
)
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.history.merge_heads import (
    MergeHeads,
    find_heads_of_pick,
    find_merge_heads,
)
from branch_console.procedures.merge.sides import read_reverse_sides, read_sides
from branch_console.table.file_store_table import FileStoreTable


class MergeKind(StrEnum):
    """The kind of a merge; values are the names of the procedures.

    Attributes:
        MERGE: All changes of a branch since the merge base.
        CHERRY_PICK: The changes of one snapshot of a branch.
        REVERT: The reversed changes of one snapshot of the target.
    """

    MERGE = "merge_branch"
    CHERRY_PICK = "cherry_pick"
    REVERT = "revert"

    @property
    def event(self) -> LineageKind:
        """The kind of its event in the ledger."""
        return _EVENTS[self]


_EVENTS: Mapping[MergeKind, LineageKind] = {
    MergeKind.MERGE: LineageKind.MERGED,
    MergeKind.CHERRY_PICK: LineageKind.CHERRY_PICKED,
    MergeKind.REVERT: LineageKind.REVERTED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeSpec:
    """The source, target and kind of a merge.

    Attributes:
        source: The branch that is merged; for a revert the target itself.
        snapshot_id: The snapshot that is picked or reverted; None for a whole branch.
        reverts: The operation that is reverted, if one was named.
        one_version: Whether the target gets one snapshot even if a fast-forward is possible: a
            merge of many tables publishes one version of each.
    """

    kind: MergeKind
    source: str
    target: str
    snapshot_id: int | None = None
    reverts: str | None = None
    one_version: bool = False

    @classmethod
    def from_call(cls, target: FileStoreTable, call: ProcedureCall) -> "MergeSpec":
        """Read what a call asks for.

        Raises:
            InvalidInput: An argument is missing, or the operation to revert did not add just one
                snapshot.
            NotFound: The operation to revert is not known, or added no snapshot.
        """
        kind = MergeKind(call.name)
        match call.request(MergingRequest):
            case MergeRequest(source=source):
                return cls(kind=kind, source=source, target=target.branch)
            case CherryPickRequest(source=source, snapshot=snapshot):
                return cls(kind=kind, source=source, target=target.branch, snapshot_id=snapshot)
            case RevertRequest(operation=operation, snapshot=snapshot):
                if operation is not None:
                    snapshot = _snapshot_of(target, operation)
                if snapshot is None:
                    raise InvalidInput(
                        f"{call.name} needs a snapshot. Name it and call again.",
                        kind=ErrorKind.INVALID_ARGUMENT,
                    )
                return cls(
                    kind=kind,
                    source=target.branch,
                    target=target.branch,
                    snapshot_id=snapshot,
                    reverts=operation,
                )
            case other:
                raise AssertionError(f"{other} brings nothing")

    @classmethod
    def from_journal(cls, procedure: str, journal: MergeJournal) -> "MergeSpec":
        """Return what an operation set out to merge."""
        return cls(
            kind=MergeKind(procedure),
            source=journal.source,
            target=journal.target,
            snapshot_id=journal.snapshot_id,
            reverts=journal.reverts,
        )

    @property
    def title(self) -> str:
        """The title of the merge, without the table."""
        match self.kind:
            case MergeKind.MERGE:
                return f"Merge {self.source!r} into {self.target!r}"
            case MergeKind.CHERRY_PICK:
                return f"Pick snapshot {self.snapshot_id} of {self.source!r} onto {self.target!r}"
            case MergeKind.REVERT:
                return f"Revert snapshot {self.snapshot_id} of {self.target!r}"


def option_notes(source: str, target: str, *, isolation: str, scope: str) -> tuple[str, ...]:
    """Say which rows of the target the options of a three-way merge leave alone."""
    notes = []
    if isolation == Isolation.SNAPSHOT:
        notes.append(f"Isolation snapshot was set: rows that {target!r} added stay as they are.")
    if scope == InsertScope.PARTITION:
        notes.append(
            f"Insert scope partition was set: rows that {target!r} added to partitions that "
            f"{source!r} did not change stay as they are."
        )
    return tuple(notes)


def theirs_of(source: FileStoreTable, spec: MergeSpec, head: Snapshot | None) -> Snapshot | None:
    """The snapshot used as theirs: the head, a picked one, or the one before a reverted one.

    Raises:
        NotFound: There is no such snapshot, or none before it.
    """
    if spec.snapshot_id is None:
        return head
    named = source.snapshots.get(spec.snapshot_id)
    if spec.kind is not MergeKind.REVERT:
        return named
    before = source.snapshots.find(named.id - 1)
    if before is None:
        raise NotFound(
            f"Snapshot {named.id} of {source.branch!r} cannot be reverted: what stood before it "
            "never was or has expired. Roll back to a snapshot that there is.",
            kind=ErrorKind.SNAPSHOT_NOT_FOUND,
            branch=source.branch,
            snapshot=named.id,
        )
    return before


def sides_of(
    target: FileStoreTable,
    spec: MergeSpec,
    ours: Snapshot,
    theirs: Snapshot,
    heads: MergeHeads | None = None,
) -> MergeSides:
    """Read both sides; raises NotFound if they share no history.

    Args:
        target: The table on the branch that gets the change.
        spec: The source and target of the merge.
        ours: The head of the target.
        theirs: The snapshot used as theirs.
        heads: The heads of a merge, if they are known already.
    """
    source = target.on(spec.source)
    match spec.kind:
        case MergeKind.MERGE:
            return read_sides(
                target, source, heads or find_merge_heads(target, source, ours, theirs)
            )
        case MergeKind.CHERRY_PICK:
            heads = find_heads_of_pick(target, source, ours, theirs)
            return read_sides(target, source, heads, is_pick=True)
        case MergeKind.REVERT:
            undone = target.snapshots.get(theirs.id + 1)
            return read_reverse_sides(target, ours, undone, theirs)


def _snapshot_of(target: FileStoreTable, operation_id: str) -> int:
    """The snapshot that an operation added to the target."""
    events, elsewhere = target.ledger.whole_as_written(), ""
    for event in events:
        if event.operation_id != operation_id or event.receipt is None:
            continue
        for move in event.receipt.moves:
            if move.after_id is None:
                continue
            trail = follow_branch(events, operation_id, move.branch)
            if trail.ended_by is not None:
                elsewhere = _gone_sentence(move.branch, trail.name, trail.ended_by)
            elif trail.name != target.branch:
                elsewhere = f" It changed {trail.name!r}: revert it there."
            elif not _is_there(target, move):
                elsewhere = f" Snapshot {move.after_id}, which it added, was taken back."
            elif move.is_one_snapshot:
                return move.after_id
            else:
                raise InvalidInput(
                    f"Operation {operation_id!r} moved {target.branch!r} {_span(move)}; a revert "
                    "takes back one snapshot. Undo the operation, or revert its snapshots one by "
                    "one, the newest first.",
                    kind=ErrorKind.UNSUPPORTED,
                    operation_id=operation_id,
                )
    raise NotFound(
        f"The ledger of {target.identifier.table_name} knows no operation {operation_id!r} that "
        f"added a snapshot to {target.branch!r}.{elsewhere}",
        kind=ErrorKind.OPERATION_NOT_FOUND,
        operation_id=operation_id,
    )


def _is_there(target: FileStoreTable, move: HeadMove) -> bool:
    """Whether the id still is the added snapshot's; an expired snapshot is reported later."""
    found = None if move.after_id is None else target.snapshots.find(move.after_id)
    return found is None or move.after is None or found.identity.same_as(move.after)


def _gone_sentence(branch: str, name: str, by: LineageEvent) -> str:
    did = "dropped it" if by.kind is LineageKind.DROPPED else f"gave {name!r} to another"
    return f" It changed a branch {branch!r} that is gone: operation {by.operation_id} {did}."


def _span(move: HeadMove) -> str:
    before = "no snapshot" if move.before_id is None else f"snapshot {move.before_id}"
    return f"from {before} to {move.after_id}"
