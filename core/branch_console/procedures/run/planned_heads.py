"""The heads that a merge is planned at, which a run keeps to while both branches go on."""

from dataclasses import dataclass
from typing import Final

from branch_console.errors import ErrorKind, InvalidInput, Refused
from branch_console.format.snapshot import Snapshot
from branch_console.merge.plan import Plan, merging
from branch_console.operations.agreement import Agreement
from branch_console.procedures.call.call import ProcedureCall
from branch_console.table.file_store_table import FileStoreTable

HEADS: Final = "heads"
"""The argument of a call that names the heads, as `PlannedHeads.to_text` writes them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedHeads:
    """The snapshots of both branches by id; None is the head as it is when somebody looks."""

    source_id: int | None = None
    target_id: int | None = None

    @classmethod
    def of(cls, call: ProcedureCall) -> "PlannedHeads":
        """Read what a call names; raises InvalidInput if that is none."""
        text = call.agreement.heads
        if text is None:
            return cls()
        source, colon, target = text.partition(":")
        if not colon or not all(each.isdecimal() for each in (source, target) if each):
            raise InvalidInput(
                f"Heads are named as SOURCE:TARGET by the ids of snapshots, not {text!r}.",
                kind=ErrorKind.INVALID_ARGUMENT,
                argument=HEADS,
            )
        source_id, target_id = (int(each) if each else None for each in (source, target))
        return cls(source_id=source_id, target_id=target_id)

    @classmethod
    def of_plan(cls, plan: Plan) -> "PlannedHeads | None":
        """The heads of a merge that can run; None of a history that is taken over as it is."""
        merge = merging(plan)
        if merge is None:
            return None
        return cls(source_id=merge.heads.theirs.id, target_id=merge.heads.ours.id)

    def to_text(self) -> str:
        """Encode for a call."""
        parts = ("" if each is None else str(each) for each in (self.source_id, self.target_id))
        return ":".join(parts)

    def named_in(self, call: ProcedureCall) -> ProcedureCall:
        """The same call, planned at these heads."""
        return call.agreeing(Agreement(heads=self.to_text()))


def planned_head(table: FileStoreTable, snapshot_id: int | None) -> Snapshot | None:
    """The snapshot of a branch that a merge is planned at; None if the branch has none.

    Raises:
        Refused: It is gone.
    """
    if snapshot_id is None:
        return table.head()
    found = table.snapshots.find(snapshot_id)
    if found is None:
        raise Refused(
            f"Snapshot {snapshot_id} of {table.branch!r}, at which the merge was planned, is gone. "
            "Nothing was changed; look at the new preview.",
            kind=ErrorKind.HEAD_MOVED,
            branch=table.branch,
        )
    return found
