"""Paths outside of tables: branches and tags of the catalog, and the maintenance policies.

All of it is ours; Paimon knows nothing of these files, and lists none of these folders.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from branch_console.storage.table_paths import EVENT_PREFIX, POLICY_PREFIX

DATABASE_SUFFIX: Final = ".db"
OWN_FOLDER: Final = ".branch-console"
DROPPED: Final = f"{OWN_FOLDER}/dropped"
"""Below the warehouse: folders of dropped databases and tables, until somebody removes them."""
OF_WAREHOUSE: Final = "warehouse"
"""The maintenance policy of tables that have none of their own; names of tables have a dot."""
VERSION_PREFIX: Final = "version-"
CHECKPOINT_PREFIX: Final = "checkpoint-"
DATABASE_PREFIX: Final = "database-"
SUFFIX: Final = ".json"
_DIGITS: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogPaths:
    """The paths of the catalog's branches in a warehouse: versions, journal and tags.

    `lineage_dir` and `event` are named as those of a table, so that one journal writes to both.
    """

    warehouse: str

    @property
    def root(self) -> str:
        """The folder of all of it."""
        return f"{self.warehouse}/{OWN_FOLDER}/catalog"

    @property
    def versions_dir(self) -> str:
        """The folder that has one folder a branch."""
        return f"{self.root}/versions"

    def branch_dir(self, branch: str) -> str:
        """The folder of the versions of a branch."""
        return f"{self.versions_dir}/{branch}"

    def version(self, branch: str, number: int) -> str:
        """The path of a version."""
        return f"{self.branch_dir(branch)}/{VERSION_PREFIX}{number:0{_DIGITS}d}{SUFFIX}"

    def checkpoint(self, branch: str, number: int) -> str:
        """The path of what all versions up to one say."""
        return f"{self.branch_dir(branch)}/{CHECKPOINT_PREFIX}{number:0{_DIGITS}d}{SUFFIX}"

    @property
    def lineage_dir(self) -> str:
        """The folder of intents, steps, ends, claims and events."""
        return f"{self.root}/journal"

    def event(self, time_millis: int, event_id: str) -> str:
        """The path of an event; names sort by time."""
        return f"{self.lineage_dir}/{EVENT_PREFIX}{time_millis:013d}-{event_id}{SUFFIX}"

    def policy_draft_dir(self, draft: str) -> str:
        """The folder of the versions of a draft, which settles conflicts of a merge to come."""
        return f"{self.root}/drafts/{draft}"

    def policy_draft(self, draft: str, version: int) -> str:
        """The path of a version of a draft."""
        return f"{self.policy_draft_dir(draft)}/{POLICY_PREFIX}{version}"

    @property
    def tags_dir(self) -> str:
        """The folder of the catalog tags."""
        return f"{self.root}/tags"

    def tag(self, name: str) -> str:
        """The path of a catalog tag."""
        return f"{self.tags_dir}/{name}{SUFFIX}"

    def database(self, name: str) -> str:
        """The folder of a database."""
        return f"{self.warehouse}/{name}{DATABASE_SUFFIX}"

    def database_file(self, folder: str, number: int) -> str:
        """The path of a file of a database, which lies in a folder; the highest number holds."""
        name = f"{DATABASE_PREFIX}{number:0{_DIGITS}d}{SUFFIX}"
        return f"{folder}/{OWN_FOLDER}/{name}"

    def table(self, database: str, name: str) -> str:
        """The folder of a table."""
        return f"{self.database(database)}/{name}"

    def dropped(self, name: str, operation_id: str) -> str:
        """The folder that a dropped database or table becomes."""
        return f"{self.warehouse}/{DROPPED}/{name}-{operation_id}"

    def new_table(self, table_id: str) -> str:
        """The folder of a new table of a branch whose own folder is taken."""
        return f"{self.root}/new/{table_id}"

    def folder(self, relative: str) -> str:
        """The path of a folder that a version names, such as `air.db/flights`."""
        return f"{self.warehouse}/{relative}"

    def relative(self, path: str) -> str:
        """A path below the warehouse, as versions name it."""
        return path.removeprefix(f"{self.warehouse}/")


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenancePaths:
    """The paths of a warehouse's maintenance policies, named like drafts of policies."""

    warehouse: str

    @property
    def root(self) -> str:
        """The folder that has one folder a policy."""
        return f"{self.warehouse}/{OWN_FOLDER}/maintenance"

    def policy_draft_dir(self, draft: str) -> str:
        """The folder of the versions of a policy; `draft` is a table, or OF_WAREHOUSE."""
        return f"{self.root}/{draft}"

    def policy_draft(self, draft: str, version: int) -> str:
        """The path of a version of a policy."""
        return f"{self.policy_draft_dir(draft)}/{POLICY_PREFIX}{version}"


def number_in(name: str, prefix: str) -> int | None:
    """Return the number in the name of such a file, None if it is another file's name."""
    digits = name.removeprefix(prefix).removesuffix(SUFFIX)
    is_ours = name == f"{prefix}{digits}{SUFFIX}" and digits.isascii() and digits.isdigit()
    return int(digits) if is_ours else None
