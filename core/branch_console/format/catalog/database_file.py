"""The file of a database: its id and its properties on main. Paimon knows nothing of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from branch_console.format.catalog.catalog_version import NEWEST_FORMAT, check_format
from branch_console.format.json_text import JsonObject, to_pretty_json

_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseFile:
    """The facts of main about a database; the file with the highest number holds.

    Attributes:
        is_on_main: False for a database that was made on a catalog branch only.
    """

    id: str
    name: str
    is_on_main: bool = True
    properties: Mapping[str, str] = field(default_factory=lambda: _NOTHING)

    @classmethod
    def from_json(cls, text: str | bytes) -> "DatabaseFile":
        """Decode a database file.

        Raises:
            FormatError: The text is not a database file, or one of a newer format.
        """
        raw = JsonObject.parse(text, "database file")
        check_format(raw)
        is_on_main = raw.find("onMain", bool)
        return cls(
            id=raw.get("id", str),
            name=raw.get("name", str),
            is_on_main=is_on_main is not False,
            properties=raw.text_map("properties"),
        )

    def to_json(self) -> str:
        """Encode as JSON text."""
        return to_pretty_json(
            {
                "format": NEWEST_FORMAT,
                "id": self.id,
                "name": self.name,
                "onMain": self.is_on_main,
                "properties": dict(self.properties),
            }
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedDatabaseFile:
    """A database file, and its number; 0 for a database that has none."""

    number: int
    content: DatabaseFile
