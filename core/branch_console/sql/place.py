"""Places in the text of statements, as people count them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A place in the text of a statement; both counted from 1."""

    line: int = 1
    column: int = 1

    def behind(self, text: str) -> "Place":
        """The place behind some text that begins here."""
        breaks = text.count("\n")
        if breaks:
            return Place(line=self.line + breaks, column=len(text) - text.rfind("\n"))
        return Place(line=self.line, column=self.column + len(text))

    def __str__(self) -> str:
        return f"Line {self.line}, column {self.column}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origins:
    """Where the parts of a text stand in what was given: offsets, rising, and their places."""

    parts: tuple[tuple[int, Place], ...] = ((0, Place()),)

    def place_of(self, offset: int, text: str) -> Place:
        """The place of an offset of the text."""
        start, place = max(part for part in self.parts if part[0] <= offset)
        return place.behind(text[start:offset])
