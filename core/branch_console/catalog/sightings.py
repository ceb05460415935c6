"""A look at the folders of main: which databases and tables there are, and where they stand.

It tells what is there, not which object that is: a folder may have been moved or made again.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from branch_console.errors import FormatError, NotFound, PaimonError
from branch_console.format import options as table_options
from branch_console.format.catalog.catalog_version import TableHead
from branch_console.format.catalog.sighting import SightedDatabase, SightedTable, Sighting
from branch_console.format.identifier import Identifier
from branch_console.format.json_text import JsonObject
from branch_console.format.options import Options
from branch_console.storage.catalog_paths import DATABASE_SUFFIX, CatalogPaths
from branch_console.storage.file_io import FileStatus
from branch_console.storage.metadata_cache import MetadataReader
from branch_console.storage.table_paths import SCHEMA_PREFIX
from branch_console.table.database_files import find_database_file
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.versioned_files import decode, list_numbered


def look_at_main(
    reader: MetadataReader, paths: CatalogPaths, births: Iterable[str] = ()
) -> Sighting:
    """Look at all folders of a warehouse; a broken table spoils itself only.

    Args:
        reader: The metadata of the warehouse.
        paths: Its paths.
        births: Those of the tables that were known; if several share one, their folders are looked
            into for what tells them apart.

    Raises:
        StorageError: The store did not answer.
        FormatError: The file of a database cannot be decoded.
    """
    folders = [each for each in _folders(reader, paths.warehouse) if _names_database(each)]
    names = [each.name.removesuffix(DATABASE_SUFFIX) for each in folders]
    databases = reader.map_parallel(lambda name: _database(reader, paths, name), names)
    listed = reader.map_parallel(lambda folder: _folders(reader, folder.path), folders)
    found = [
        (name, folder) for name, tables in zip(names, listed, strict=True) for folder in tables
    ]
    left_out: dict[str, str] = {}

    def sighted(item: tuple[str, FileStatus]) -> SightedTable | None:
        database, folder = item
        try:
            return _table(reader, paths, database, folder)
        except PaimonError as error:
            left_out[f"{database}.{folder.name}"] = error.message
            return None

    tables = [each for each in reader.map_parallel(sighted, found) if each is not None]
    shared = _repeated(each.birth for each in tables) | _repeated(births)
    return Sighting(
        databases=tuple(databases),
        tables=tuple(
            _with_identities(reader, paths, each) if each.birth in shared else each
            for each in tables
        ),
        left_out=dict(sorted(left_out.items())),
    )


def _repeated(births: Iterable[str]) -> frozenset[str]:
    return frozenset(birth for birth, count in Counter(births).items() if count > 1)


def birth_of(data: bytes) -> str:
    """Return the birth of a table from the bytes of its first schema file."""
    return hashlib.sha256(data).hexdigest()


def _type_of(data: bytes) -> str:
    """Return the type of a table from its newest schema, whose columns nobody asks for here."""
    options = JsonObject.parse(data, "schema file").text_map("options")
    return Options(options).read(table_options.TABLE_TYPE)


def find_birth(reader: MetadataReader, folder: str) -> str | None:
    """Return the birth of the table in a folder, None if main has none there."""
    schemas = list_numbered(reader, f"{folder}/schema", SCHEMA_PREFIX)
    try:
        return reader.decode(schemas[min(schemas)], birth_of) if schemas else None
    except NotFound:
        return None


def _table(
    reader: MetadataReader, paths: CatalogPaths, database: str, folder: FileStatus
) -> SightedTable | None:
    schemas = list_numbered(reader, f"{folder.path}/schema", SCHEMA_PREFIX)
    if not schemas:
        return None  # main has no table there, though branches may
    newest = max(schemas)
    kind = decode(reader, schemas[newest], _type_of)
    if kind not in table_options.TYPES_WITH_BRANCHES:
        raise FormatError(f"It is a {kind}, which has no snapshots and branches.")
    identifier = Identifier(database=database, table=folder.name)
    head = FileStoreTable(reader, folder.path, identifier).head()
    return SightedTable(
        database=database,
        name=folder.name,
        folder=paths.relative(folder.path),
        birth=reader.decode(schemas[min(schemas)], birth_of),
        schema=newest,
        head=None if head is None else TableHead(id=head.id, identity=head.identity),
    )


def _with_identities(
    reader: MetadataReader, paths: CatalogPaths, table: SightedTable
) -> SightedTable:
    identifier = Identifier(database=table.database, table=table.name)
    opened = FileStoreTable(reader, paths.folder(table.folder), identifier)
    snapshots = (state.value for state in opened.snapshots.states())
    tagged = (state.value.snapshot for state in opened.tags.states() if state.value is not None)
    known = [each.identity for each in (*snapshots, *tagged) if each is not None]
    return replace(table, identities=tuple(dict.fromkeys(known)))


def _database(reader: MetadataReader, paths: CatalogPaths, name: str) -> SightedDatabase:
    found = find_database_file(reader.files, paths, paths.database(name))
    return SightedDatabase(name=name, file=None if found is None else found.content)


def _names_database(folder: FileStatus) -> bool:
    return folder.name.endswith(DATABASE_SUFFIX) and folder.name != DATABASE_SUFFIX


def _folders(reader: MetadataReader, path: str) -> list[FileStatus]:
    found = reader.files.list(path)
    return [each for each in found if each.is_directory and not each.name.startswith(".")]
