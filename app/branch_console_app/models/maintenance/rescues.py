"""Branches that operations kept: what each keeps, since when, and what its release would free."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from branch_console.diff.expiry.storage_cost import FileAmount, TableStorage
from branch_console.format.identifier import RESERVED_PREFIXES
from branch_console.format.lineage_event import LineageEvent, undone_by


@dataclass(frozen=True, slots=True, kw_only=True)
class RescueLine:
    """A branch that an operation kept.

    Attributes:
        event: The event of the operation; None if the ledger lacks it.
        is_undone: Whether that was taken back, so that nobody needs the branch for an undo.
        alone: The files that nothing else needs; None if they were not counted.
    """

    name: str
    event: LineageEvent | None
    is_undone: bool
    alone: FileAmount | None


def rescue_lines(
    names: Iterable[str], events: Sequence[LineageEvent], storage: TableStorage | None
) -> tuple[RescueLine, ...]:
    """Return the branches that operations kept, the newest first.

    Args:
        names: The names of all branches.
        events: The ledger of the table.
        storage: The cost of its files; None if that was not read.
    """
    kept_by = {
        each.receipt.rescue_branch: each
        for each in events
        if each.receipt is not None and each.receipt.rescue_branch is not None
    }
    undone = undone_by(events)
    costs = {} if storage is None else {each.owner.name: each for each in storage.cost.owners}
    lines = []
    for name in names:
        if not name.startswith(RESERVED_PREFIXES):
            continue
        event, cost = kept_by.get(name), costs.get(name)
        lines.append(
            RescueLine(
                name=name,
                event=event,
                is_undone=event is not None and event.operation_id in undone,
                alone=None if cost is None else cost.exclusive,
            )
        )
    return tuple(sorted(lines, key=lambda each: -(each.event.time_millis if each.event else 0)))
