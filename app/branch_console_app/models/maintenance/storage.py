"""The cost of a table's files as bars and lines: who needs them, and which could be removed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from branch_console.diff.expiry.retention import SnapshotHold
from branch_console.diff.expiry.storage_cost import (
    FileAmount,
    FileOwner,
    Overlap,
    OwnerCost,
    OwnerKind,
    TableStorage,
)
from branch_console_app.models.parts.wording import age, plural, short_id, size

MOST_BARS: Final = 24
"""A chart has so many owners; the list below has all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageLine:
    """One owner of files.

    Attributes:
        name: The branch; of retired snapshots the operation that took them.
        holds: The reasons that keep its snapshots from expiring.
    """

    name: str
    kind: OwnerKind
    cost: OwnerCost
    holds: tuple[SnapshotHold, ...]

    @property
    def needed(self) -> FileAmount:
        """All files that it needs."""
        return add_amounts(self.cost.exclusive, self.cost.shared)


def storage_lines(storage: TableStorage) -> tuple[StorageLine, ...]:
    """Return the owners of a table's files: main first, then who needs the most alone."""
    lines = [
        StorageLine(
            name=each.owner.name,
            kind=each.owner.kind,
            cost=each,
            holds=storage.holds.get(each.owner.name, ())
            if each.owner.kind is not OwnerKind.RETIRED
            else (),
        )
        for each in storage.cost.owners
    ]
    first, rest = lines[:1], lines[1:]
    return (*first, *sorted(rest, key=lambda each: -each.cost.exclusive.byte_count))


def owner_words(owner: FileOwner) -> str:
    """Say in a word or two who needs files."""
    if owner.kind is OwnerKind.RETIRED:
        return f"retired by {short_id(owner.name)}"
    return owner.name


def overlaps_of(pairs: Sequence[Overlap], owner: FileOwner | None) -> tuple[Overlap, ...]:
    """Return the pairs that share files, or those of one owner, with it first."""
    if owner is None:
        return tuple(pairs)
    return tuple(
        Overlap(owners=(owner, other), amount=pair.amount)
        for pair in pairs
        if owner in pair.owners
        for other in pair.owners
        if other != owner
    )


def orphan_words(storage: TableStorage, now_millis: int) -> str:
    """Say what the last cleaning of orphan files left."""
    scan = storage.orphans
    if scan is None:
        return "Nobody has looked for orphan files yet."
    when = age(scan.time_millis, now_millis)
    waiting = scan.waiting
    if not waiting.file_count:
        return f"Orphan files were looked for {when}; none waits to be removed."
    return (
        f"Orphan files were looked for {when}; {plural(waiting.file_count, 'file')} with "
        f"{size(waiting.byte_count)} wait for the next cleaning."
    )


def storage_alt(lines: Sequence[StorageLine]) -> str:
    """Say in a sentence what the bars show."""
    parts = (
        f"{line.name} needs {size(line.cost.exclusive.byte_count)} alone and "
        f"{size(line.cost.shared.byte_count)} with others"
        for line in lines[:MOST_BARS]
    )
    return "; ".join(parts)


def add_amounts(*amounts: FileAmount) -> FileAmount:
    """Add up files that nobody counts twice."""
    return FileAmount(
        file_count=sum(each.file_count for each in amounts),
        byte_count=sum(each.byte_count for each in amounts),
    )
