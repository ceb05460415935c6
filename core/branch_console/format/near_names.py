"""Names that somebody perhaps meant who wrote one that is not there."""

import difflib
from collections.abc import Iterable, Sequence
from typing import Final

_CUTOFF: Final = 0.6
MOST_NEAR: Final = 3
"""How many names are offered if nobody says."""


def nearest_names(name: str, known: Iterable[str], most: int = MOST_NEAR) -> tuple[str, ...]:
    """Return the names that look most like `name`, best first, then those that hold it."""
    by_lower = {each.lower(): each for each in known}
    wanted = name.lower()
    close = difflib.get_close_matches(wanted, by_lower, n=most, cutoff=_CUTOFF)
    holding = [lower for lower in by_lower if wanted and wanted in lower]
    return tuple(by_lower[lower] for lower in dict.fromkeys([*close, *holding]))[:most]


def did_you_mean(near: Sequence[str]) -> str:
    """Ask, after a space, whether one of these names was meant; blank if there is none."""
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
