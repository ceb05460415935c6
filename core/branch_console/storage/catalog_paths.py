"""Where the databases of a warehouse lie, and beside them what we keep of catalog branches.

Paimon knows folders of databases and tables only; it passes over names that begin with a dot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from branch_console.storage.table_paths import EVENT_PREFIX

DATABASE_SUFFIX: Final = ".db"
"""What stands behind the name of a database in the name of its folder."""

DATABASE_FILE_PREFIX: Final = "database-"
_OURS: Final = ".branch-console"


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogPaths:
    """The paths of one warehouse."""

    warehouse: str

    def database(self, name: str) -> str:
        """The folder of a database."""
        return f"{self.warehouse}/{name}{DATABASE_SUFFIX}"

    def table(self, database: str, name: str) -> str:
        """The folder of a table."""
        return f"{self.database(database)}/{name}"

    def database_files_of(self, folder: str) -> str:
        """The folder of the files that tell of a database, in the folder of that database."""
        return f"{folder}/{_OURS}"

    def database_file(self, folder: str, number: int) -> str:
        """The path of a file that tells of a database; the highest number holds."""
        return f"{self.database_files_of(folder)}/{DATABASE_FILE_PREFIX}{number:010d}.json"

    def dropped(self, name: str, operation_id: str) -> str:
        """The folder that a dropped database or table becomes."""
        return f"{self.warehouse}/{_OURS}/dropped/{name}-{operation_id}"

    @property
    def catalog_dir(self) -> str:
        """The folder of catalog branches, and of the journal of the catalog."""
        return f"{self.warehouse}/{_OURS}/catalog"

    @property
    def lineage_dir(self) -> str:
        """The folder of the journal of the catalog."""
        return f"{self.catalog_dir}/journal"

    def event(self, time_millis: int, event_id: str) -> str:
        """The path of an event of the catalog's journal; names sort by time."""
        return f"{self.lineage_dir}/{EVENT_PREFIX}{time_millis:013d}-{event_id}.json"
