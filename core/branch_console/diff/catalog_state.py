"""The databases and tables of one catalog branch at one of its versions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from branch_console.format.snapshot import SnapshotIdentity

_NOTHING: Mapping[str, str] = MappingProxyType({})


class Content(StrEnum):
    """The place of a table's rows on a catalog branch.

    Attributes:
        MADE: On the table branch of that name, which exists.
        PINNED: At the fork, mostly on main, with the base head and base schema: nothing was written
            on the branch yet.
        LOST: The table branch was made and is gone; nobody said that the table was dropped.
    """

    MADE = "made"
    PINNED = "pinned"
    LOST = "lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseState:
    """A database; its comment is the property `comment`."""

    id: str
    name: str
    properties: Mapping[str, str] = field(default_factory=lambda: _NOTHING)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableState:
    """A table, known by its id, whatever it is called.

    Attributes:
        database: The id of its database: a renamed database changes no table.
        folder: Below the warehouse, such as `air.db/flights`.
        birth: The SHA-256 of the bytes of its first schema file, in hexadecimal digits.
        head: None before its first commit.
        schema: The id of its newest schema.
        read_branch: The table branch that pinned content is read on; None of what is made or lost.
    """

    id: str
    database: str
    name: str
    folder: str
    birth: str
    head: SnapshotIdentity | None
    schema: int
    content: Content = Content.MADE
    read_branch: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogState:
    """All objects of a catalog branch at one version.

    Attributes:
        version: Such as `main@41`.
        databases: By id.
        tables: By id.
        left_out: Tables that cannot be branched, by their names, with the reason.
        members: The ids that this branch speaks for, those that it dropped too; None of main,
            which speaks for all. An object that is missing here and is no member was not dropped.
        unclear: Objects that several folders may be, by id, with the reason.
    """

    version: str
    databases: Mapping[str, DatabaseState]
    tables: Mapping[str, TableState]
    left_out: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    members: frozenset[str] | None = None
    unclear: Mapping[str, str] = field(default_factory=lambda: _NOTHING)

    @property
    def branch(self) -> str:
        """The name of the branch."""
        return self.version.rpartition("@")[0]

    def speaks_for(self, object_id: str) -> bool:
        """Whether a missing object was dropped here, and is not merely outside the branch."""
        return self.members is None or object_id in self.members

    def name_of(self, object_id: str) -> str | None:
        """Return what people call an object here, such as `air` or `air.flights`."""
        database = self.databases.get(object_id)
        if database is not None:
            return database.name
        table = self.tables.get(object_id)
        if table is None:
            return None
        home = self.databases.get(table.database)
        return f"{table.database if home is None else home.name}.{table.name}"
