"""The rows of data files that deletion vectors hide, as values, and the merge of their changes."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from pyroaring import BitMap64

from branch_console.diff.three_way import ThreeWay

MaskKey: TypeAlias = tuple[bytes, int, str]
"""Encoded partition, bucket, and the name of the data file that a copy was made of."""

HiddenRows: TypeAlias = BitMap64
"""Positions of rows in a data file; a value, never changed."""


def rows_digest(rows: HiddenRows) -> str:
    """Return a text that differs for different positions."""
    return hashlib.sha256(rows.serialize()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class FileMask:
    """The rows of one data file that are hidden in two states, by their positions."""

    before: HiddenRows = field(default_factory=HiddenRows)
    after: HiddenRows = field(default_factory=HiddenRows)

    @property
    def hidden(self) -> HiddenRows:
        """Rows that only the second state hides."""
        return self.after - self.before

    @property
    def shown(self) -> HiddenRows:
        """Rows that only the first state hides."""
        return self.before - self.after

    @property
    def is_change(self) -> bool:
        """Whether the states hide different rows."""
        return self.before != self.after

    def on(self, other: HiddenRows) -> HiddenRows:
        """The rows that are hidden once this change is made to another state."""
        return (other - self.shown) | self.hidden


Masks: TypeAlias = Mapping[MaskKey, FileMask]


def masks_since(base: Masks, side: Masks) -> dict[MaskKey, FileMask]:
    """The positions that a side hid and showed since the base, both counted from one root."""
    found = {}
    for key in base.keys() | side.keys():
        then, now = base.get(key), side.get(key)
        # What a log does not mention is as it was at the root.
        root = (then or now or FileMask()).before
        change = FileMask(before=then.after if then else root, after=now.after if now else root)
        if change.is_change:
            found[key] = change
    return found


def hidden_on_sides(sides: ThreeWay[Masks]) -> dict[MaskKey, ThreeWay[HiddenRows]]:
    """The masks of each side for files that any of them mentions, all counted from one root."""
    found = {}
    for key in {*sides.base, *sides.ours, *sides.theirs}:
        masks = [each.get(key) for each in (sides.base, sides.ours, sides.theirs)]
        root = next(each.before for each in masks if each is not None)
        base, ours, theirs = (root if each is None else each.after for each in masks)
        found[key] = ThreeWay(base=base, ours=ours, theirs=theirs)
    return found


def joined_masks(left: Masks, right: Masks) -> dict[MaskKey, FileMask]:
    """The masks of two sides, both counted from one root."""
    found = {**left, **right}
    for key in left.keys() & right.keys():
        one, two = left[key], right[key]
        found[key] = FileMask(before=one.before, after=two.on(one.after))
    return found
