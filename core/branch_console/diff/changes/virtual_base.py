"""The common origin of both sides of a criss-cross history: their bases, merged with each other."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeAlias, TypeVar

from branch_console.diff.three_way import ThreeWay, each_side

T = TypeVar("T")
V = TypeVar("V")


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedBase(Generic[T]):
    """Two bases, and the base of these; each of them may be joined again."""

    sides: "ThreeWay[Base[T]]"


Base: TypeAlias = T | JoinedBase[T]
"""The base of a three-way merge."""


def each_base(base: Base[T], of: Callable[[T], V]) -> Base[V]:
    """Return what `of` says of each base."""
    if isinstance(base, JoinedBase):
        return JoinedBase(sides=each_side(base.sides, lambda one: each_base(one, of)))
    return of(base)


def all_bases(base: Base[T]) -> tuple[T, ...]:
    """The bases of a joined one, and theirs."""
    if isinstance(base, JoinedBase):
        sides = (base.sides.base, base.sides.ours, base.sides.theirs)
        return tuple(each for side in sides for each in all_bases(side))
    return (base,)


def fold_base(base: Base[T], join: Callable[[ThreeWay[T]], T]) -> T:
    """Merge bases with each other, the oldest first."""
    if isinstance(base, JoinedBase):
        return join(each_side(base.sides, lambda one: fold_base(one, join)))
    return base


def simple_base(base: Base[T], is_same: Callable[[T, T], bool]) -> Base[T]:
    """Leave out what need not be joined: bases that are the same, or of which one did not change.

    Args:
        base: To be made simpler.
        is_same: Whether two bases hold the same.
    """
    if not isinstance(base, JoinedBase):
        return base
    simple = partial(simple_base, is_same=is_same)
    sides: ThreeWay[Base[T]] = each_side(base.sides, simple)
    root, ours, theirs = sides.base, sides.ours, sides.theirs
    if isinstance(ours, JoinedBase) or isinstance(theirs, JoinedBase):
        return JoinedBase(sides=sides)
    if is_same(ours, theirs):
        return ours
    if not isinstance(root, JoinedBase):
        if is_same(root, ours):
            return theirs
        if is_same(root, theirs):
            return ours
    return JoinedBase(sides=sides)
