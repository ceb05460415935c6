"""Databases and tables in the folders of main, before they are matched with known objects."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from branch_console.format.catalog.catalog_version import TableHead
from branch_console.format.catalog.database_file import DatabaseFile
from branch_console.format.snapshot import SnapshotIdentity

_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class SightedDatabase:
    """The folder of a database.

    Attributes:
        file: The newest of its own files; None if it has none.
    """

    name: str
    file: DatabaseFile | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SightedTable:
    """The folder of a table that main has.

    Attributes:
        database: The name of its database.
        folder: Below the warehouse, such as `air.db/flights`.
        birth: The SHA-256 of the bytes of its first schema file.
        schema: The id of its newest schema.
        identities: Its snapshots and those of its tags; empty if its birth tells it apart.
    """

    database: str
    name: str
    folder: str
    birth: str
    schema: int
    head: TableHead | None
    identities: tuple[SnapshotIdentity, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """All that one look at the folders of main shows.

    Attributes:
        left_out: Tables that cannot be branched, by their names, with the reason.
    """

    databases: tuple[SightedDatabase, ...]
    tables: tuple[SightedTable, ...]
    left_out: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
