"""A catalog tag: a named set of table versions. Paimon knows nothing of this file."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from branch_console.errors import FormatError
from branch_console.format.catalog.catalog_version import (
    NEWEST_FORMAT,
    DatabaseChange,
    TableChange,
    VersionName,
    check_format,
)
from branch_console.format.json_text import JsonObject, to_pretty_json

_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogTag:
    """The databases and tables of a catalog branch when the tag was made, each table at its head.

    Attributes:
        version: The version that the branch had.
        databases: By id.
        tables: By id; each with its head, if it had one, and the branch's table tag of this name.
        left_out: Tables that have no tag, by name, with the reason.
    """

    name: str
    version: VersionName
    operation: str
    actor: str
    time_millis: int
    databases: Mapping[str, DatabaseChange]
    tables: Mapping[str, TableChange]
    left_out: Mapping[str, str] = field(default_factory=lambda: _NOTHING)

    @classmethod
    def from_json(cls, text: str | bytes) -> "CatalogTag":
        """Decode the file of a catalog tag.

        Raises:
            FormatError: The text is not a catalog tag, or one of a newer format.
        """
        raw = JsonObject.parse(text, "catalog tag")
        check_format(raw)
        return cls(
            name=raw.get("tag", str),
            version=VersionName.parse(raw.get("version", str)),
            operation=raw.get("operation", str),
            actor=raw.get("actor", str),
            time_millis=raw.get("timeMillis", int),
            databases={
                key: DatabaseChange.from_object(each)
                for key, each in _objects(raw, "databases").items()
            },
            tables={
                key: TableChange.from_object(each) for key, each in _objects(raw, "tables").items()
            },
            left_out=raw.text_map("leftOut"),
        )

    def to_json(self) -> str:
        """Encode as JSON text."""
        return to_pretty_json(
            {
                "format": NEWEST_FORMAT,
                "tag": self.name,
                "version": str(self.version),
                "operation": self.operation,
                "actor": self.actor,
                "timeMillis": self.time_millis,
                "databases": {key: each.to_object() for key, each in self.databases.items()},
                "tables": {key: each.to_object() for key, each in self.tables.items()},
                "leftOut": dict(self.left_out),
            }
        )


def _objects(raw: JsonObject, key: str) -> dict[str, JsonObject]:
    values = raw.get(key, dict)
    if not all(isinstance(value, dict) for value in values.values()):
        raise FormatError(f"The {raw.what} has something other than objects in {key!r}.")
    return {name: JsonObject(value, raw.what) for name, value in values.items()}
