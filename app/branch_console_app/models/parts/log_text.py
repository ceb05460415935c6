"""The end of a log: the lines that have all the words."""

from collections.abc import Sequence
from typing import Final

MOST_LINES: Final = 500


def tail_of(text: str, words: str = "", most: int = MOST_LINES) -> Sequence[str]:
    """Return the last lines that have all the words, oldest first; case does not count."""
    wanted = words.lower().split()
    lines = [line for line in text.splitlines() if all(word in line.lower() for word in wanted)]
    return lines[-most:]
