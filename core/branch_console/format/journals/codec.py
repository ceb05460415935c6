"""A journal as a value and back: by its version, and by the order of its keys."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Generic, Protocol, TypeVar, cast

from branch_console.errors import ErrorKind, FormatError
from branch_console.format.journals.keys import Entry
from branch_console.format.json_text import JsonObject

J = TypeVar("J")

_VERSION: Final = "version"


class Shape(Protocol[J]):
    """How one version of a journal looks."""

    def read(self, raw: JsonObject) -> J:
        """Decode; raises FormatError."""
        ...

    def write(self, journal: J) -> dict[str, object]:
        """Encode as JSON values."""
        ...


class Layout(Generic[J]):
    """The keys of a journal in the order in which they are written.

    Args:
        kind: The class of the journal.
        entries: They; together they give every attribute of the class that has no default.
    """

    def __init__(self, kind: type[J], *entries: Entry) -> None:
        self.kind = kind
        self._entries = entries

    @property
    def names(self) -> tuple[str, ...]:
        """The keys, in their order."""
        return tuple(name for entry in self._entries for name in entry.names)

    def read(self, raw: JsonObject) -> J:
        """Decode; raises FormatError."""
        values: dict[str, Any] = {}
        for entry in self._entries:
            values |= entry.read(raw)
        return self.kind(**values)

    def write(self, journal: J) -> dict[str, object]:
        """Encode as JSON values."""
        content: dict[str, object] = {}
        for entry in self._entries:
            content |= entry.write(journal)
        return content


class Ways(Generic[J]):
    """A journal of one of several classes, which `way` tells apart.

    Args:
        layouts: By the value of `way`; each writes that itself.
        default: The way of journals that do not name one.
    """

    def __init__(self, layouts: Mapping[str, Layout[Any]], default: str | None = None) -> None:
        self.layouts = MappingProxyType(layouts)
        self._default = default

    def read(self, raw: JsonObject) -> J:
        """Decode; raises FormatError."""
        way = raw.find("way", str) or self._default
        layout = None if way is None else self.layouts.get(way)
        if layout is None:
            text = "no 'way'" if way is None else f"the unknown 'way' {way!r}"
            raise FormatError(f"The {raw.what} has {text}.")
        return cast("J", layout.read(raw))

    def write(self, journal: J) -> dict[str, object]:
        """Encode as JSON values."""
        for layout in self.layouts.values():
            if layout.kind is type(journal):
                return layout.write(journal)
        raise TypeError(f"{type(journal).__name__} is none of {', '.join(self.layouts)}")


class Either(Generic[J]):
    """A journal of one of two classes; a key that one of them lacks decides which.

    Args:
        key: That key.
        having: The class that has the key.
        lacking: The class that lacks it.
    """

    def __init__(self, key: str, having: Layout[Any], lacking: Layout[Any]) -> None:
        self._key = key
        self._having = having
        self._lacking = lacking

    @property
    def layouts(self) -> tuple[Layout[Any], ...]:
        """Both layouts."""
        return self._having, self._lacking

    def read(self, raw: JsonObject) -> J:
        """Decode; raises FormatError."""
        layout = self._having if self._key in raw.values else self._lacking
        return cast("J", layout.read(raw))

    def write(self, journal: J) -> dict[str, object]:
        """Encode as JSON values."""
        is_having = type(journal) is self._having.kind
        return (self._having if is_having else self._lacking).write(journal)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Codec(Generic[J]):
    """Reads and writes the journals of one procedure.

    Attributes:
        what: The name of the journal in errors, such as "journal of a rollback".
        version: The version that is written. The first one is not named in the file.
        reads: How each version looks that can be read.
    """

    what: str
    version: int = 1
    reads: Mapping[int, Shape[J]]

    def decode(self, plan: Mapping[str, object]) -> J:
        """Return the journal.

        Args:
            plan: JSON values of an intent.

        Raises:
            FormatError: It is broken, or a newer release wrote it.
        """
        raw = JsonObject(plan, self.what)
        found = raw.find(_VERSION, int)
        version = 1 if found is None else found
        shape = self.reads.get(version)
        if shape is None:
            raise FormatError(
                f"The {self.what} was written by a newer release: it has version {version}, and "
                f"{max(self.reads)} is the newest that this release reads. Nothing was changed. "
                "Upgrade Branch Console, then run: branch-console recover.",
                kind=ErrorKind.UNKNOWN_VERSION,
                version=version,
            )
        return shape.read(raw)

    def encode(self, journal: J) -> dict[str, object]:
        """Return JSON values for an intent."""
        content = self.reads[self.version].write(journal)
        return content if self.version == 1 else {_VERSION: self.version, **content}
