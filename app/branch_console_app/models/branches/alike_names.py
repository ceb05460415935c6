"""Names of one list that begin alike, in parts: what they share, and what tells them apart."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

_WORD_BEFORE: Final = re.compile(r"[^\W_]*$")
_WORD_BEHIND: Final = re.compile(r"[^\W_]*")
_MOST_BEFORE, _MOST_BEHIND = 4, 8
"""Letters of a word that are told before the place where two names differ, and from there on."""


def alike_parts(names: Sequence[str], letters: int) -> Mapping[str, tuple[str, ...]]:
    """Return the parts of the names that look like another one where they are cut off.

    Args:
        names: The names of a list, each once.
        letters: How many letters of each name are seen in any case.

    Returns:
        By name, what it shares with others and what tells it apart, in turn. Joined, the parts are
        the name. Names that nobody confuses are left out.
    """
    long = [name for name in names if len(name) > letters]
    found = {}
    for name in long:
        places = {_first_difference(name, each) for each in long if each != name}
        if alike := sorted(place for place in places if place >= letters):
            found[name] = _parts(name, alike)
    return found


def _first_difference(name: str, other: str) -> int:
    pairs = enumerate(zip(name, other, strict=False))
    return next((at for at, (one, two) in pairs if one != two), min(len(name), len(other)))


def _parts(name: str, places: Sequence[int]) -> tuple[str, ...]:
    parts: list[str] = []
    at = 0
    for place in places:
        before, behind = _WORD_BEFORE.search(name[:place]), _WORD_BEHIND.match(name, place + 1)
        start = max(at, place - (min(_MOST_BEFORE, len(before[0])) if before else 0))
        end = min(place + _MOST_BEHIND, behind.end() if behind else len(name))
        if place >= at and start < end:
            parts += [name[at:start], name[start:end]]
            at = end
    return (*parts, name[at:]) if at < len(name) else tuple(parts)
