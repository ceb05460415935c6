"""Catalogs that keep tables outside of the warehouse's folders: a Hive metastore, a database.

A JDBC catalog keeps the names of databases and tables, and their options, in a database. A Hive
catalog keeps them in the metastore, with the columns of main and, on demand, partitions. Both keep
schemas, snapshots, branches and tags in the folder of the table, as the filesystem catalog does.
Source: Paimon JdbcCatalog and HiveCatalog, in 1.4.2 and 2.0.0.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from branch_console.format.options import Options


class CatalogKind(StrEnum):
    """A catalog of Paimon, by its value of the option `metastore`."""

    FILESYSTEM = "filesystem"
    JDBC = "jdbc"
    HIVE = "hive"

    @property
    def keeper(self) -> str:
        """The keeper of its tables, as the end of "kept in …"."""
        return _KEEPERS[self]


_KEEPERS: Final = {
    CatalogKind.FILESYSTEM: "the folders of the warehouse",
    CatalogKind.JDBC: "the database of a JDBC catalog",
    CatalogKind.HIVE: "a Hive metastore",
}
# Options that only a Hive catalog reads: it makes partitions, table properties or an external
# table of them.
_OF_HIVE: Final = "hive."
_TAG_TO_PARTITION: Final = "metastore.tag-to-partition"
_HIVE_SWITCHES: Final = ("metastore.partitioned-table", "external", "EXTERNAL")


def find_catalog_sign(options: Options) -> tuple[str, CatalogKind] | None:
    """Return the option by which a table tells of another catalog, and which catalog that is.

    A JDBC catalog leaves no option in its tables; only somebody who wrote `metastore` there did.
    """
    return next(_signs(options), None)


def _signs(options: Options) -> Iterator[tuple[str, CatalogKind]]:
    named = options.get("metastore", "").strip().lower()
    if named in (CatalogKind.JDBC, CatalogKind.HIVE):
        yield "metastore", CatalogKind(named)
    for key in _HIVE_SWITCHES:
        if options.get(key, "").strip().lower() == "true":
            yield key, CatalogKind.HIVE
    if options.get(_TAG_TO_PARTITION, "").strip():
        yield _TAG_TO_PARTITION, CatalogKind.HIVE
    for key in options:
        if key.startswith(_OF_HIVE):
            yield key, CatalogKind.HIVE
