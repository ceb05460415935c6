"""Three sides of one thing, and the rule that settles most of them."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

T = TypeVar("T")
V = TypeVar("V")


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreeWay(Generic[T]):
    """A value at the merge base, on the target (`ours`) and on the source (`theirs`)."""

    base: T
    ours: T
    theirs: T

    @property
    def mirrored(self) -> "ThreeWay[T]":
        """The same with target and source exchanged."""
        return ThreeWay(base=self.base, ours=self.theirs, theirs=self.ours)


def each_side(sides: ThreeWay[T], of: Callable[[T], V]) -> ThreeWay[V]:
    """Return what `of` says of each side."""
    return ThreeWay(base=of(sides.base), ours=of(sides.ours), theirs=of(sides.theirs))


class Unresolved(Enum):
    """The result if both sides changed a value, and differently."""

    CONFLICT = "conflict"


def settle(sides: ThreeWay[T]) -> T | Unresolved:
    """Take the side that changed; both may change if they agree."""
    if sides.theirs in (sides.ours, sides.base):
        return sides.ours
    if sides.ours == sides.base:
        return sides.theirs
    return Unresolved.CONFLICT
