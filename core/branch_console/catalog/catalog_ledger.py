"""The ledger of catalog branches: numbered versions, each made only if there is none.

A version is never written again, so what was read once stays read. Checkpoints save reading many of
them; one that is missing or broken changes no answer.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from branch_console.errors import ErrorKind, FormatError, NotFound, StorageError
from branch_console.format.catalog.catalog_version import (
    CatalogCheckpoint,
    CatalogScope,
    CatalogVersion,
    DatabaseChange,
    TableChange,
    VersionName,
)
from branch_console.format.identifier import MAIN_BRANCH, branch_name_problem
from branch_console.format.near_names import did_you_mean, nearest_names
from branch_console.storage.catalog_paths import (
    CHECKPOINT_PREFIX,
    VERSION_PREFIX,
    CatalogPaths,
    number_in,
)
from branch_console.storage.file_publisher import FilePublisher, Published
from branch_console.storage.metadata_cache import MetadataReader
from branch_console.table.versioned_files import naming_file

Change = TypeVar("Change", DatabaseChange, TableChange)

_CHECKPOINT_EVERY: Final = 64
_TRIES: Final = 5
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCatalog:
    """All objects of a branch at one version, as the ledger has them.

    Attributes:
        fork: The version that the branch begins with; None for main.
        scope: The objects that belong to it now.
        added: The versions that added to the scope since the fork.
        databases: By id, each with all that is known of it.
        tables: By id, as the databases.
        members: The ids of all that the branch ever had, also of what it dropped.
    """

    version: VersionName
    fork: CatalogVersion | None
    is_dropped: bool
    scope: CatalogScope
    added: tuple[VersionName, ...]
    databases: dict[str, DatabaseChange]
    tables: dict[str, TableChange]
    members: frozenset[str]


class CatalogLedger:
    """Reads the versions of all branches, main among them; looking writes nothing."""

    def __init__(self, reader: MetadataReader, paths: CatalogPaths) -> None:
        self._reader = reader
        self.paths = paths

    def branches(self) -> tuple[str, ...]:
        """The names of the catalog branches that there are, sorted; main is none of them.

        One whose versions cannot be read is among them: reading it raises, and spoils no other.
        """
        found = sorted(self._reader.files.folder_names(self.paths.versions_dir))
        return tuple(name for name in found if name != MAIN_BRANCH and self._is_there(name))

    def _is_there(self, branch: str) -> bool:
        try:
            return self.find(branch) is not None
        except (FormatError, NotFound):
            return True

    def newest(self, branch: str) -> int:
        """The number of the newest version of a branch, 0 if it has none."""
        return max(self._numbers(branch, VERSION_PREFIX), default=0)

    def find(self, branch: str) -> CatalogCheckpoint | None:
        """Return the state after all versions of a branch; None if there is no such branch."""
        if branch_name_problem(branch) is not None:
            return None
        found = self.at(branch, self.newest(branch))
        return None if found.fork is None or found.is_dropped else found

    def get(self, branch: str) -> CatalogCheckpoint:
        """Return the state after all versions of a branch.

        Raises:
            NotFound: There is no such catalog branch.
        """
        found = self.find(branch)
        if found is None:
            raise self.no_branch(branch)
        return found

    def no_branch(self, branch: str) -> NotFound:
        """The error for a catalog branch that is not there, with the name that is perhaps meant."""
        hint = did_you_mean(nearest_names(branch, self.branches()))
        return NotFound(
            f"There is no catalog branch {branch!r}.{hint} See: branch-console catalog list.",
            kind=ErrorKind.BRANCH_NOT_FOUND,
            branch=branch,
        )

    def version(self, name: VersionName) -> CatalogVersion:
        """A version by its name.

        Raises:
            NotFound: There is none.
            FormatError: It cannot be decoded.
        """
        path = self.paths.version(name.branch, name.number)
        found = self._reader.known(path, CatalogVersion.from_json)
        if isinstance(found, CatalogVersion):
            return found
        try:
            version = CatalogVersion.from_json(self._reader.read_immutable(path))
        except NotFound as error:
            raise _gone(name, path) from error
        except FormatError as error:
            raise naming_file(error, path) from error
        self._reader.keep(path, CatalogVersion.from_json, version)
        return version

    def check_not_behind(self, branch: str) -> None:
        """See that a branch, or main, has all versions at which others begin; raises NotFound.

        A number that is given again would name another version to them. Branches that cannot be
        read say nothing.
        """
        newest = self.newest(branch)
        for name in self._reader.files.folder_names(self.paths.versions_dir):
            try:
                found = self.find(name)
            except (FormatError, NotFound):
                continue
            fork = None if found is None else found.fork
            for parent in () if fork is None else fork.parents:
                if parent.branch == branch and parent.number > newest:
                    raise _gone(parent, self.paths.version(branch, parent.number))

    def versions(self, branch: str) -> Iterator[CatalogVersion]:
        """The versions of a branch, newest first."""
        for number in sorted(self._numbers(branch, VERSION_PREFIX), reverse=True):
            yield self.version(VersionName(branch=branch, number=number))

    def at(self, branch: str, number: int) -> CatalogCheckpoint:
        """Return the state after the versions of a branch up to a number; 0 is the empty state.

        Raises:
            NotFound: A version is missing.
            FormatError: A version cannot be decoded.
        """
        found = self._checkpoint(branch, number) if number else None
        first = 1 if found is None else found.number + 1
        found = found or CatalogCheckpoint(branch=branch, number=0)
        names = [VersionName(branch=branch, number=each) for each in range(first, number + 1)]
        for version in self._reader.map_parallel(self.version, names):
            found = found.then(version)
        return found

    def recorded(self, branch: str, number: int | None = None) -> RecordedCatalog:
        """All objects of a branch at a version, the newest if none is named.

        Raises:
            NotFound: There is no such catalog branch or version.
        """
        if number is None:
            found = self.at(branch, self.newest(branch)) if branch == MAIN_BRANCH else None
            found = found or self.get(branch)
        else:
            found = self.at(branch, number)
        return self._whole(found)

    def forked(self, fork: CatalogVersion) -> RecordedCatalog:
        """All objects of a branch as it begins with a version, which need not be made yet."""
        return self._whole(CatalogCheckpoint(branch=fork.branch, number=0).then(fork))

    def _whole(self, found: CatalogCheckpoint) -> RecordedCatalog:
        databases: dict[str, DatabaseChange] = {}
        tables: dict[str, TableChange] = {}
        if found.fork is not None:
            databases, tables = self._at_fork(found.fork)
        # A table that the fork left out was not dropped: the branch does not speak for it.
        excluded = {
            key
            for key, table in ({} if found.fork is None else found.fork.tables).items()
            if table is None and found.tables.get(key) is None
        }
        known = (*databases, *tables, *found.databases, *found.tables)
        members = frozenset(known) - excluded
        for key, change in found.databases.items():
            _put(databases, key, change)
        for key, table in found.tables.items():
            _put(tables, key, table)
        return RecordedCatalog(
            version=VersionName(branch=found.branch, number=found.number),
            fork=found.fork,
            is_dropped=found.is_dropped,
            scope=found.scope or (found.fork and found.fork.scope) or CatalogScope(),
            added=found.added,
            databases=databases,
            tables=tables,
            members=members,
        )

    def publish(self, publisher: FilePublisher, version: CatalogVersion) -> bool:
        """Make a version, with a checkpoint where one is due.

        Returns:
            Whether this call made it: False if the number is taken; a look at the version tells
            whose it is.

        Raises:
            StorageError: The store did not tell whether it made the version.
        """
        path = self.paths.version(version.branch, version.number)
        if not self._publish(publisher, path, version.to_json().encode()):
            return False
        if version.number % _CHECKPOINT_EVERY == 0:
            whole = self.at(version.branch, version.number)
            path = self.paths.checkpoint(version.branch, version.number)
            publisher.publish(path, whole.to_json().encode())
        return True

    def _publish(self, publisher: FilePublisher, path: str, data: bytes) -> bool:
        """Make a file until its name is taken: a try without an answer may arrive later."""
        for _ in range(_TRIES):
            match publisher.publish(path, data):
                case Published.WON:
                    return True
                case Published.LOST:
                    return False
                case Published.UNKNOWN:
                    if self._reader.files.exists(path):
                        return False
        raise StorageError(
            f"The store did not tell whether it made {path}. Run: branch-console recover.",
            path=path,
        )

    def _at_fork(
        self, fork: CatalogVersion
    ) -> tuple[dict[str, DatabaseChange], dict[str, TableChange]]:
        parent = fork.parents[0]
        before = self.recorded(parent.branch, parent.number)
        scope = fork.scope or CatalogScope()
        names = {key: database.name or "" for key, database in before.databases.items()}
        tables = {
            # What the branch before it says of its own table branches is not said of these.
            key: _of_its_own(table)
            for key, table in before.tables.items()
            if scope.holds_table(names.get(table.database or "", ""), table.name or "")
        }
        if fork.is_empty:
            tables = {key: replace(table, head=None) for key, table in tables.items()}
        holding = {table.database for table in tables.values()}
        databases = {
            key: database
            for key, database in before.databases.items()
            if key in holding or scope.holds_database(names[key])
        }
        return databases, tables

    def _checkpoint(self, branch: str, number: int) -> CatalogCheckpoint | None:
        numbers = self._numbers(branch, CHECKPOINT_PREFIX)
        for each in sorted((found for found in numbers if found <= number), reverse=True):
            path = self.paths.checkpoint(branch, each)
            try:
                data = self._reader.files.find(path)
                found = None if data is None else CatalogCheckpoint.from_json(data)
            except FormatError as error:
                _log.warning("%s is broken and was left out: %s", path, error)
                continue
            if found is not None and found.number == each:
                return found
        return None

    def _numbers(self, branch: str, prefix: str) -> Iterable[int]:
        names = self._reader.files.names(self.paths.branch_dir(branch))
        return (number for name in names if (number := number_in(name, prefix)) is not None)


def _gone(name: VersionName, path: str) -> NotFound:
    return NotFound(
        f"Version {name} of the catalog, at which branches may begin, is gone: there is no file "
        f"{path}. Nothing was changed. Put the file back from a copy of the warehouse; until then "
        "merge the branches of single tables, with MERGE BRANCH … ON TABLE.",
        path=path,
    )


def _put(found: dict[str, Change], key: str, change: Change | None) -> None:
    known = found.get(key)
    if change is None:
        found.pop(key, None)
    else:
        found[key] = change if known is None else known.then(change)


def _of_its_own(table: TableChange) -> TableChange:
    """A table without what another branch says of its table branch."""
    if table.base_tag is None and table.adopted is None and table.source is None:
        return table
    return replace(table, base_tag=None, adopted=None, source=None)
