"""The words of the product, read from the document that has them: one meaning each, one source."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """A word, or several that are told together, and its meaning in Markdown."""

    name: str
    meaning: str


def parse_words(document: str) -> tuple[Word, ...]:
    """Return the words of a document's tables of two columns, in their order."""
    found = []
    for line in document.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        is_row = line.startswith("|") and len(cells) == 2
        if is_row and cells != ["word", "meaning"] and set(cells[0]) - set("-: "):
            found.append(Word(name=cells[0], meaning=cells[1]))
    return tuple(found)


def find_words(text: str, words: Iterable[Word]) -> tuple[Word, ...]:
    """Return the words that have a text in them, those that are called so before their meanings."""
    sought = text.strip().casefold()
    named = [word for word in words if sought in f"{word.name} {word.meaning}".casefold()]
    return tuple(sorted(named, key=lambda word: sought not in word.name.casefold()))
