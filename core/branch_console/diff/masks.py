"""Deletion vectors of two states side by side: which data files mask other rows, and how many."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from branch_console.diff.changes.file_history import original_name
from branch_console.diff.file_masks import MaskKey
from branch_console.format.index_manifest import deletion_vector_entries
from branch_console.format.values.deletion_vector import (
    DeletionVectorRange,
    Positions,
    differing_positions,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mask:
    """The deletion vector of one data file.

    Attributes:
        place: The partition and the bucket of the data file.
        index_file: The file that holds the vector, as its entry names it.
        external_path: Where that file lies if not in the table's own folder.
    """

    place: tuple[bytes, int]
    index_file: str
    external_path: str | None
    range: DeletionVectorRange


Load: TypeAlias = Callable[[Mask], Positions]
"""Reads the positions of a vector."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskChange:
    """The masks of one data file in two states.

    Attributes:
        before_only: Rows that the first state hides and the second shows.
        after_only: Rows that the first state shows and the second hides.
    """

    key: MaskKey
    before_only: int
    after_only: int


def masks_of(entries: pa.Table) -> dict[MaskKey, Mask]:
    """The deletion vectors of a state, from the columns of INDEX_MANIFEST_ENTRY."""
    vectors = deletion_vector_entries(entries)
    columns = ["partition", "bucket", "file_name", "external_path", "dv_ranges"]
    return {
        (row["partition"], row["bucket"], original_name(part["data_file"])): Mask(
            place=(row["partition"], row["bucket"]),
            index_file=row["file_name"],
            external_path=row["external_path"],
            range=DeletionVectorRange(**part),
        )
        for row in vectors.select(columns).to_pylist()
        for part in row["dv_ranges"] or ()
    }


def changed_masks(
    before: dict[MaskKey, Mask], after: dict[MaskKey, Mask], load: Load
) -> tuple[MaskChange, ...]:
    """Compare the vectors of all files that either state masks; those that agree are left out.

    A vector that was only written again is looked into: that it moved says nothing of its rows.
    """
    found = []
    for key in sorted(before.keys() | after.keys()):
        old, new = before.get(key), after.get(key)
        if old == new:
            continue
        if old is None or new is None:
            sides = (cardinality(old, load), cardinality(new, load))
        else:
            sides = differing_positions(load(old), load(new))
        if any(sides):
            found.append(MaskChange(key=key, before_only=sides[0], after_only=sides[1]))
    return tuple(found)


def cardinality(mask: Mask | None, load: Load) -> int:
    """How many rows a vector hides; old files do not say it, so the vector itself is asked."""
    if mask is None:
        return 0
    known = mask.range.cardinality
    return len(load(mask)) if known is None else known
