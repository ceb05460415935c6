"""The catalog that keeps the tables of a warehouse, and the calls that are refused beside it."""

from dataclasses import dataclass
from itertools import chain, islice
from typing import Final

from branch_console.errors import ErrorKind, NotAllowed, PaimonError
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.format.options import Options
from branch_console.format.other_catalog import CatalogKind, find_catalog_sign
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.table.file_store_table import FileStoreTable

_MOST_ASKED: Final = 100
"""Tables that are asked which catalog keeps a database that is new; a warehouse may have 10,000."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherCatalog:
    """A catalog that keeps tables outside of the warehouse's folders.

    Attributes:
        known_from: The source of this fact, as the beginning of a sentence.
    """

    kind: CatalogKind
    known_from: str


def catalog_of_table(warehouse: Warehouse, table: FileStoreTable) -> OtherCatalog | None:
    """Return the other catalog of a table by the setting or the table's own options."""
    if warehouse.catalog_kind is not None:
        return _catalog_of_setting(warehouse.catalog_kind)
    try:
        options = table.on_listed(MAIN_BRANCH).schema().options
    except PaimonError:
        return None  # main is missing or broken: such a table tells nothing
    return _catalog_of_options(table.identifier, options)


def check_catalog(
    warehouse: Warehouse, identifier: Identifier, what: str, *, consequence: str
) -> None:
    """Refuse to create, drop, rename or alter a table that another catalog keeps.

    Where no setting tells, the options of the tables of its database do: a new table has none yet.

    Args:
        warehouse: The warehouse.
        identifier: The table.
        what: The action that is refused, as the beginning of a sentence.
        consequence: The damage to the catalog, as the end of "the catalog would …".

    Raises:
        NotAllowed: Another catalog keeps the table.
    """
    _refuse(_find_catalog(warehouse, identifier), what, consequence)


def check_catalog_of_database(
    warehouse: Warehouse, database: str | None, what: str, *, consequence: str
) -> None:
    """Refuse to create, drop, rename or alter a database that another catalog keeps.

    If no setting tells, tables do: those of the database, or for a new one some of the warehouse.

    Args:
        warehouse: The warehouse.
        database: The database; None for one that is new.
        what: The action that is refused, as the beginning of a sentence.
        consequence: The damage to the catalog, as the end of "the catalog would …".

    Raises:
        NotAllowed: Another catalog keeps the databases.
    """
    if warehouse.catalog_kind is not None:
        _refuse(_catalog_of_setting(warehouse.catalog_kind), what, consequence)
        return
    databases = warehouse.catalog.databases() if database is None else (database,)
    entries = islice(
        chain.from_iterable(map(warehouse.catalog.tables, databases)),
        _MOST_ASKED if database is None else None,
    )
    signs = (_catalog_of_options(entry.identifier, entry.options) for entry in entries)
    _refuse(next(filter(None, signs), None), what, consequence)


def _refuse(other: OtherCatalog | None, what: str, consequence: str) -> None:
    if other is None:
        return
    raise NotAllowed(
        f"{what}. {other.known_from} that the tables of this warehouse are kept in "
        f"{other.kind.keeper}. Branch Console does not write there, so the catalog would "
        f"{consequence}. Nothing was changed. Run the statement in an engine that uses that "
        "catalog; if the folders alone keep these tables, set BRANCH_CONSOLE_CATALOG=filesystem.",
        kind=ErrorKind.UNSUPPORTED,
        catalog=str(other.kind),
    )


def _find_catalog(warehouse: Warehouse, identifier: Identifier) -> OtherCatalog | None:
    if warehouse.catalog_kind is not None:
        return _catalog_of_setting(warehouse.catalog_kind)
    # Of several tables its own says it best.
    entries = sorted(
        warehouse.catalog.tables(identifier.database),
        key=lambda entry: entry.identifier.table != identifier.table,
    )
    signs = (_catalog_of_options(entry.identifier, entry.options) for entry in entries)
    return next(filter(None, signs), None)


def _catalog_of_options(table: Identifier, options: Options) -> OtherCatalog | None:
    sign = find_catalog_sign(options)
    if sign is None:
        return None
    key, kind = sign
    return OtherCatalog(kind=kind, known_from=f"The option {key!r} of {table.table_name} says")


def _catalog_of_setting(kind: CatalogKind) -> OtherCatalog | None:
    if kind is CatalogKind.FILESYSTEM:
        return None
    return OtherCatalog(kind=kind, known_from=f"The setting catalog={kind} says")
