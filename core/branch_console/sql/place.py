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
    """The origins of a text's parts in the given text: rising offsets with their places.

    Attributes:
        parts: The offsets and places.
        end: The end of the given text, if the text continues after it.
    """

    parts: tuple[tuple[int, Place], ...] = ((0, Place()),)
    end: int | None = None

    @classmethod
    def within(cls, before: str, given: str) -> "Origins":
        """Return those of a text that has something before and behind what was given."""
        end = len(before) + len(given)
        places = ((0, Place()), (len(before), Place()), (end, Place().behind(given)))
        return cls(parts=places, end=end)

    @classmethod
    def replacing(cls, given: str, old: str, new: str) -> "Origins":
        """Return those of `given.replace(old, new)`."""
        at, place, parts = 0, Place(), [(0, Place())]
        for part in given.split(old)[:-1]:
            at += len(part) + len(new)
            place = place.behind(part + old)
            parts.append((at, place))
        return cls(parts=tuple(parts))

    def place_of(self, offset: int, text: str) -> Place:
        """The place of an offset of the text."""
        start, place = max(part for part in self.parts if part[0] <= offset)
        return place.behind(text[start:offset])

    def is_behind(self, offset: int) -> bool:
        """Whether an offset is behind what was given."""
        return self.end is not None and offset >= self.end
