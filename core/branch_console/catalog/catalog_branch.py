"""A catalog seen from one of its branches: databases and tables by the names that they have there.

A table whose branch is not made yet is main at its base. What the scope leaves out is main.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Final

from branch_console.catalog.catalog import Catalog, TableEntry
from branch_console.catalog.catalog_ledger import CatalogLedger, RecordedCatalog
from branch_console.catalog.table_folders import FoundFolder, TableFolders
from branch_console.errors import ErrorKind, InvalidInput, NotFound, PaimonError, Refused
from branch_console.format.catalog.catalog_version import (
    CatalogScope,
    CatalogVersion,
    TableChange,
    VersionName,
)
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.format.lineage_event import BIRTHS, LineageEvent, LineageKind
from branch_console.format.near_names import did_you_mean, nearest_names
from branch_console.format.tag import Tag
from branch_console.storage.metadata_cache import MetadataReader
from branch_console.storage.table_paths import BASE_TAG_PREFIX
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.lineage_ledger import LineageLedger
from branch_console.table.pinned_table import PinnedTable

_LATER: Final = " A table that main got after the fork comes with a merge of main."


class MemberState(StrEnum):
    """The place of a branch's rows of a table.

    Attributes:
        MADE: On its table branch.
        NOT_MADE: On main, at the base.
        LOST: Nowhere: the table branch was made and is gone, or its base is gone.
    """

    MADE = "made"
    NOT_MADE = "not made yet"
    LOST = "lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A table of a catalog branch.

    Attributes:
        identifier: By the names of the branch, on its table branch.
        table: Its entry in the ledger.
        folder: Its current folder below the warehouse; None if it is nowhere.
        is_taken: Whether a table that was there before has a branch of that name in the folder.
    """

    id: str
    identifier: Identifier
    table: TableChange
    folder: str | None
    state: MemberState
    is_taken: bool = False

    @property
    def name(self) -> str:
        """Database and table, as the branch calls them."""
        return self.identifier.table_name

    @property
    def is_made(self) -> bool:
        """Whether its table branch exists."""
        return self.state is MemberState.MADE

    @property
    def base_tag(self) -> str | None:
        """The tag of main that keeps the fork, None if there was no snapshot."""
        if self.table.head is None:
            return None
        return self.table.base_tag or f"{BASE_TAG_PREFIX}{self.identifier.branch}"


class CatalogOnBranch:
    """The databases and tables of a catalog branch, by the protocol of a catalog.

    Attributes:
        recorded: The state of the branch in the ledger.
    """

    def __init__(
        self, main: Catalog, ledger: CatalogLedger, branch: str, version: int | None = None
    ) -> None:
        """See the catalog from a branch.

        Args:
            main: The catalog.
            ledger: The ledger of all branches.
            branch: The branch.
            version: The number of the version that is seen, also of a branch that ended later;
                None for the newest one.

        Raises:
            NotFound: There is no such catalog branch.
        """
        self._reader = main.reader
        self._main = main
        self._ledger = ledger
        self._paths = ledger.paths
        self._asked = version
        self.recorded: RecordedCatalog = ledger.recorded(branch, version)
        assert self.recorded.fork is not None
        self.fork: CatalogVersion = self.recorded.fork
        births = Counter(each.birth or "" for each in self.recorded.tables.values())
        twins = {birth for birth, count in births.items() if count > 1}
        self._folders = TableFolders(main.reader, ledger.paths, self.content, twins)

    @property
    def reader(self) -> MetadataReader:
        """The metadata of the warehouse, each file decoded once."""
        return self._reader

    @contextmanager
    def listing_once(self) -> Iterator[CatalogOnBranch]:
        """The same catalog, which lists each folder once while the block runs."""
        with self._main.listing_once() as main:
            ledger = CatalogLedger(main.reader, self._paths)
            yield CatalogOnBranch(main, ledger, self.branch, self._asked)

    @property
    def version(self) -> VersionName:
        """The version of the branch that is seen."""
        return self.recorded.version

    @property
    def branch(self) -> str:
        """The name of the branch."""
        return self.recorded.version.branch

    @property
    def content(self) -> str:
        """The name of its table branches."""
        return self.fork.content or self.branch

    @property
    def scope(self) -> CatalogScope:
        """The objects that belong to this branch."""
        return self.recorded.scope

    def databases(self) -> tuple[str, ...]:
        """The names of all databases, sorted: its own, and those of main outside of its scope."""
        own = set(self._database_ids)
        if self.scope.is_whole_catalog:
            return tuple(sorted(own))
        outside = (name for name in self._main.databases() if not self.scope.holds_database(name))
        return tuple(sorted({*own, *outside}))

    def database(self, name: str) -> Mapping[str, str]:
        """The properties of a database; raises NotFound."""
        key = self._database_ids.get(name)
        if key is None:
            self._check_database(name)
            return {}
        properties = self.recorded.databases[key].properties
        return {each: value for each, value in properties.items() if value is not None}

    def table_names(self, database: str) -> tuple[str, ...]:
        """The names of a database's tables, sorted; none of them is opened. Raises NotFound."""
        own = self._tables_of(database)
        if own is not None and self.scope.holds_database(database):
            return tuple(sorted(own))
        self._check_database(database)
        outside = self._main.table_names(database)
        names = (name for name in outside if not self.scope.holds_table(database, name))
        return tuple(sorted({*(own or ()), *names}))

    def tables(self, database: str, names: Collection[str] | None = None) -> tuple[TableEntry, ...]:
        """The tables of a database by name, broken ones with their error; raises NotFound."""
        own = self._tables_of(database) or {}
        found = [
            self._entry(self.member(key))
            for name, key in own.items()
            if names is None or name in names
        ]
        if not self.scope.holds_database(database) or not own:
            self._check_database(database)
        if not self.scope.holds_database(database):
            outside = self._main.tables(database, names)
            found += [
                each
                for each in outside
                if not self.scope.holds_table(database, each.identifier.table)
            ]
        return tuple(sorted(found, key=lambda each: each.identifier.table))

    def find(self, identifier: Identifier) -> FileStoreTable | None:
        """A handle on a table, None if the branch has none of that name.

        A name with a table branch in it is Paimon's, and opened as main has it.

        Raises:
            Refused: Its table branch or its base is gone.
        """
        if not identifier.is_main:
            return self._main.find(identifier)
        member = self.find_member(identifier)
        if member is not None:
            return self.open_member(member)
        if self.scope.holds_table(identifier.database, identifier.table):
            return None
        return self._outside(identifier)

    def open(self, identifier: Identifier) -> FileStoreTable:
        """A handle on a table; raises NotFound, and what `find` raises."""
        table = self.find(identifier)
        if table is not None:
            return table
        if not identifier.is_main:
            return self._main.open(identifier)
        known = self._tables_of(identifier.database)
        if known is None:
            self._check_database(identifier.database)
        hint = did_you_mean(nearest_names(identifier.table, known or ()))
        raise NotFound(
            f"Catalog branch {self.branch!r} has no table {identifier.table_name}."
            f"{self._what_became_of(identifier) or hint + _LATER}",
            kind=ErrorKind.TABLE_NOT_FOUND,
            table=identifier.table_name,
            branch=self.branch,
        )

    def _what_became_of(self, identifier: Identifier) -> str:
        """Say where a table is that the branch began with under a name; nothing of another."""
        began = self._ledger.recorded(self.branch, self.fork.number)
        for key, table in began.tables.items():
            home = began.databases.get(table.database or "")
            if home is None or (home.name, table.name) != (identifier.database, identifier.table):
                continue
            if key in self.recorded.tables:
                return f" It is called {self.member(key).name} there."
            return " It was dropped there."
        return ""

    def find_database(self, name: str) -> str | None:
        """The id of a database of the branch, None if it is outside of it or is not there."""
        return self._database_ids.get(name)

    def members(self) -> tuple[Member, ...]:
        """All tables of the branch, by name."""
        found = self._reader.map_parallel(self.member, list(self.recorded.tables))
        return tuple(sorted(found, key=lambda each: each.name))

    def find_member(self, identifier: Identifier) -> Member | None:
        """The table of the branch that has this name, None if there is none."""
        key = (self._tables_of(identifier.database) or {}).get(identifier.table)
        return None if key is None else self.member(key)

    def member(self, key: str) -> Member:
        """A table of the branch by its id, and where its rows are."""
        table = self.recorded.tables[key]
        identifier = Identifier(
            database=self.recorded.databases[table.database or ""].name or "",
            table=table.name or "",
            branch=self.content,
        )
        found = self._folders.find(table, lambda: self._folders_of_main.get(key))
        if found is None:
            lost = MemberState.LOST
            return Member(id=key, identifier=identifier, table=table, folder=None, state=lost)
        return Member(
            id=key,
            identifier=identifier,
            table=table,
            folder=found.folder,
            state=self._state(table, identifier, found),
            is_taken=found.is_taken,
        )

    def open_member(self, member: Member) -> FileStoreTable:
        """A handle on a table of the branch, made or not made yet.

        Raises:
            Refused: Its table branch or its base is gone.
        """
        if member.folder is None or member.state is MemberState.LOST:
            raise self._lost(member)
        if member.state is MemberState.MADE:
            return self._handle(member.folder, member.identifier)
        source = self._source_of(member, member.folder)
        base = self.find_base(member)
        if base is None and member.table.head is not None:
            raise self._lost(member)
        return PinnedTable(source, self.content, base, member.table.schema or 0)

    def find_base(self, member: Member) -> Tag | None:
        """The tag of main that keeps the fork of a table; None if nothing keeps it."""
        head, name = member.table.head, member.base_tag
        if head is None or name is None or member.folder is None:
            return None
        source = self._source_of(member, member.folder)
        tag = source.tags.find(name)
        if tag is not None and tag.snapshot.identity.same_as(head.identity):
            return tag
        snapshot = source.snapshots.find(head.id)
        if snapshot is not None and snapshot.identity.same_as(head.identity):
            return Tag(name=name, snapshot=snapshot)
        return None

    @cached_property
    def _folders_of_main(self) -> dict[str, str | None]:
        """The folders of the tables that main has, by id, as its ledger notes them."""
        return {key: each.folder for key, each in self._ledger.recorded(MAIN_BRANCH).tables.items()}

    @cached_property
    def _database_ids(self) -> dict[str, str]:
        return {each.name or "": key for key, each in self.recorded.databases.items()}

    @cached_property
    def _table_ids(self) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = {}
        for key, table in self.recorded.tables.items():
            found.setdefault(table.database or "", {})[table.name or ""] = key
        return found

    def _tables_of(self, database: str) -> dict[str, str] | None:
        """The ids of a database's tables by name; None if the branch has no such database."""
        key = self._database_ids.get(database)
        return None if key is None else self._table_ids.get(key, {})

    def _check_database(self, name: str) -> None:
        if name not in self.databases():
            hint = did_you_mean(nearest_names(name, self.databases()))
            raise NotFound(
                f"Catalog branch {self.branch!r} has no database {name!r}.{hint}",
                kind=ErrorKind.DATABASE_NOT_FOUND,
                database=name,
                branch=self.branch,
            )

    def _outside(self, identifier: Identifier) -> FileStoreTable | None:
        """A table that the scope leaves out, as main has it."""
        found = self._main.find(identifier)
        if found is not None and found.branches.exists(self.content):
            raise InvalidInput(
                f"{identifier.table_name} is outside of catalog branch {self.branch!r}, which "
                f"holds {self.scope}, and has a table branch {self.content!r} of its own. Name the "
                f"branch: {identifier.table_name}$branch_{self.content}, or "
                f"{identifier.table_name}$branch_main.",
                kind=ErrorKind.INVALID_NAME,
                table=identifier.table_name,
                branch=self.branch,
            )
        return found

    def _handle(self, folder: str, identifier: Identifier) -> FileStoreTable:
        return FileStoreTable(self._reader, self._paths.folder(folder), identifier)

    def _source_of(self, member: Member, folder: str) -> FileStoreTable:
        """The table on the branch that its fork lies on."""
        source = member.table.source or MAIN_BRANCH
        return self._handle(folder, member.identifier.on_branch(source))

    def _state(self, table: TableChange, identifier: Identifier, found: FoundFolder) -> MemberState:
        if found.has_branch:
            return MemberState.MADE
        if found.is_taken and not table.adopted:
            # What the ledger of the folder says of that branch is said of the other table.
            return MemberState.NOT_MADE
        handle = self._handle(found.folder, identifier)
        return MemberState.LOST if self._was_made(table, handle) else MemberState.NOT_MADE

    def _was_made(self, table: TableChange, handle: FileStoreTable) -> bool:
        """Whether the table's ledger says that its branch was made, and not that it was dropped."""
        if table.adopted:
            return True
        events = LineageLedger(self._reader, handle.paths).events()
        return _was_made(events, handle.branch, self.fork.time_millis)

    def _entry(self, member: Member) -> TableEntry:
        path = self._paths.folder(member.folder or member.table.folder or "")
        try:
            schema = self.open_member(member).schema()
        except PaimonError as error:
            return TableEntry(identifier=member.identifier, path=path, error=error)
        return TableEntry(
            identifier=member.identifier,
            path=path,
            comment=schema.comment,
            options=schema.options,
        )

    def _lost(self, member: Member) -> Refused:
        if member.state is MemberState.NOT_MADE or member.folder is None:
            what = "what it began at is gone from main"
        else:
            what = f"its table branch {self.content!r} was made and is gone"
        return Refused(
            f"{member.name} is lost on catalog branch {self.branch!r}: {what}, and nobody dropped "
            "the table there. Nothing was changed. Put the folder back from a copy, or drop the "
            f"catalog branch: branch-console catalog drop {self.branch}.",
            kind=ErrorKind.FILES_MISSING,
            table=member.name,
            branch=self.branch,
        )


def _was_made(events: Collection[LineageEvent], branch: str, since_millis: int) -> bool:
    made = False
    for event in events:
        if event.branch != branch or event.time_millis < since_millis:
            continue
        made = event.kind in BIRTHS or event.kind is LineageKind.RESTORED or made
        made = made and event.kind is not LineageKind.DROPPED
    return made
