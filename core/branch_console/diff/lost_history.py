"""Histories that are in no snapshot any more, as far as their manifest lists are left.

A commit of Paimon writes its base list and then its delta list, under one name and with numbers
that follow each other; ours writes each under a name of its own, one right after the other. So two
lists that no snapshot names are a commit, and what it builds on is the state that holds exactly the
files of its base list.
Source: Paimon FileStoreCommitImpl.tryCommitOnce, FileStorePathFactory.manifestListFactory.
"""

import itertools
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

T = TypeVar("T")

_TOGETHER_MILLIS: Final = 60_000
"""Two lists of one commit are written within so long, also if it was tried again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnnamedList:
    """A manifest list that no snapshot, tag or changelog names.

    Attributes:
        manifests: The manifests that it lists.
        entries: How often each file is added in them, less how often it is deleted.
        is_new: Whether a manifest of it is named nowhere else.
    """

    name: str
    modified_millis: int
    manifests: frozenset[str]
    entries: Mapping[str, int]
    is_new: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LostPair:
    """A commit that is in no snapshot.

    Attributes:
        began_with: The files of the state that it builds on.
        files: The files of the state that it made.
    """

    base: UnnamedList
    delta: UnnamedList
    began_with: frozenset[str]
    files: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class LostHistory(Generic[T]):
    """Commits that follow each other and are in no snapshot.

    Attributes:
        follows: The snapshot that the first of them builds on; None if it is gone, or there was
            none.
        commits: Oldest first.
    """

    follows: T | None
    commits: tuple[LostPair, ...]

    @property
    def tip(self) -> str:
        """The delta list of the newest commit, which names the history."""
        return self.commits[-1].delta.name


def find_lost_histories(
    lists: Sequence[UnnamedList], states: Mapping[frozenset[str], T]
) -> tuple[LostHistory[T], ...]:
    """Put commits together from their lists, and histories from commits; the oldest tip first.

    Args:
        lists: All lists that nothing names.
        states: The states that can be built on, by their files.
    """
    pairs = _pairs(lists, states.keys())
    made_by = {each.files: each for each in pairs if each.files != each.began_with}
    built_on = {each.began_with for each in pairs}
    found = []
    for tip in pairs:
        if tip.files in states or (tip.files in built_on and tip.files != tip.began_with):
            continue
        commits, seen = [tip], {tip.delta.name}
        while commits[-1].began_with not in states:
            earlier = made_by.get(commits[-1].began_with)
            if earlier is None or earlier.delta.name in seen:
                break
            seen.add(earlier.delta.name)
            commits.append(earlier)
        found.append(
            LostHistory(
                follows=states.get(commits[-1].began_with), commits=tuple(reversed(commits))
            )
        )
    return tuple(sorted(found, key=lambda each: (each.commits[-1].delta.modified_millis, each.tip)))


def lost_branch_name(tip: str) -> str:
    """Name the branch on which a history comes back, by the list that names the history."""
    writer, _, number = tip.removeprefix("manifest-list-").rpartition("-")
    return f"lost-{writer[:8]}-{number}"


def _pairs(lists: Sequence[UnnamedList], states: Iterable[frozenset[str]]) -> list[LostPair]:
    """The commits, those first whose beginning is known.

    A list of changelog files follows the delta list as that follows the base list: a pair counts
    from a known state on, or else as the first of its writer.
    """
    bases = {_state(each.entries) for each in lists}
    left = sorted(_candidates(lists), key=lambda each: _surest_first(each, bases))
    known = {frozenset(), *states}
    found: list[LostPair] = []
    while left:
        chosen = next((each for each in left if each.began_with in known), None) or left[0]
        found.append(chosen)
        known.add(chosen.files)
        used = {chosen.base.name, chosen.delta.name}
        left = [each for each in left if used.isdisjoint((each.base.name, each.delta.name))]
    return found


def _candidates(lists: Sequence[UnnamedList]) -> Iterator[LostPair]:
    """Two lists that may be a commit: neighbours of one writer, or each of a writer of its own."""
    writers = Counter(_writer(each.name) for each in lists)
    for base, delta in itertools.permutations(lists, 2):
        is_one = _writer(base.name) == _writer(delta.name)
        is_near = abs(base.modified_millis - delta.modified_millis) <= _TOGETHER_MILLIS
        if is_one and _number(delta.name) != _number(base.name) + 1:
            continue
        if not is_one and (
            not is_near or {writers[_writer(each.name)] for each in (base, delta)} != {1}
        ):
            continue
        pair = _pair(base, delta)
        if pair is not None:
            yield pair


def _surest_first(pair: LostPair, bases: Container[frozenset[str] | None]) -> tuple[object, ...]:
    """Return the sort key by which the more certain of two pairs with a common list comes first."""
    base, delta = pair.base, pair.delta
    return (
        _writer(base.name) != _writer(delta.name),
        # Another commit builds on what it made.
        pair.files not in bases,
        abs(base.modified_millis - delta.modified_millis),
        -len(pair.began_with),
        _writer(base.name),
        _number(base.name),
    )


def _pair(base: UnnamedList, delta: UnnamedList) -> LostPair | None:
    """The commit that two lists are; None if they are none."""
    if not delta.is_new or not base.manifests.isdisjoint(delta.manifests):
        return None
    began_with, files = _state(base.entries), _state(base.entries, delta.entries)
    if began_with is None or files is None:
        return None
    return LostPair(base=base, delta=delta, began_with=began_with, files=files)


def _state(*entries: Mapping[str, int]) -> frozenset[str] | None:
    """The files that some entries come to; None if they are no state of a table."""
    total: Counter[str] = Counter()
    for each in entries:
        total.update(each)
    left = {name: number for name, number in total.items() if number}
    return frozenset(left) if all(number == 1 for number in left.values()) else None


def _writer(name: str) -> str:
    return name.rpartition("-")[0]


def _number(name: str) -> int:
    number = name.rpartition("-")[2]
    return int(number) if number.isdecimal() else -1
