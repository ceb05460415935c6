"""A warehouse, opened: its store, its catalog, and whether commits are safe in it."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from branch_console.catalog.catalog import Catalog
from branch_console.catalog.catalog_branch import CatalogOnBranch
from branch_console.catalog.catalog_ledger import CatalogLedger
from branch_console.catalog.catalog_references import LedgerReferences
from branch_console.catalog.catalog_tag_view import CatalogAtTag, CatalogTags
from branch_console.catalog.filesystem_catalog import FilesystemCatalog
from branch_console.commit.base.commit_store import CommitStore
from branch_console.errors import ErrorKind, NotAllowed, NotFound
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.format.other_catalog import CatalogKind
from branch_console.storage.catalog_paths import CatalogPaths
from branch_console.storage.file_io import FileIO
from branch_console.storage.metadata_cache import MetadataCache
from branch_console.storage.shelf import Shelf
from branch_console.storage.store_probe import StoreVerdict, probe
from branch_console.table.file_store_table import FileStoreTable

if TYPE_CHECKING:
    from branch_console.diff.rows.row_figure import RowCounts

    # These need Arrow, which takes longer to load than to open a warehouse.
    from branch_console.maintenance.file_lister import FileLister
    from branch_console.merge.plan import Plan

_CLAIMS: Final = "claims"
_MOST_PLANS: Final = 16


class CountedRows(Protocol):
    """Rows of states that a job has counted."""

    def find_state(self, key: str) -> int | None:
        """Return the rows of a state, None if nobody has counted them."""

    def find(self, name: str) -> "RowCounts | None":
        """Return the rows of two states, None if nobody has counted them."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Warehouse:
    """A warehouse as every procedure gets it; it is not changed after opening.

    Attributes:
        url: The address that the user gave.
        verdict: Whether commits are safe here, and if not, why.
        clock: Milliseconds since the epoch.
        catalog_kind: The catalog that keeps the tables; None if no setting says it.
        counted: The row counts that jobs made; None if they are not kept.
        plans: The merges that this process planned, by everything that a plan depends on.
        opened: The tables that the current decision has opened; None if each use opens them again.
        file_lister: Lists the files of a table; None if this process lists them itself.
    """

    url: str
    file_io: FileIO
    catalog: Catalog
    store: CommitStore
    verdict: StoreVerdict
    clock: Callable[[], int]
    catalog_kind: CatalogKind | None = None
    counted: CountedRows | None = None
    plans: "Shelf[tuple[object, ...], Plan]" = field(default_factory=lambda: Shelf(_MOST_PLANS))
    opened: dict[Identifier, FileStoreTable] | None = None
    file_lister: "FileLister | None" = None

    @classmethod
    def open(
        cls,
        url: str,
        *,
        store_options: Mapping[str, object] | None = None,
        cache_dir: Path | None = None,
        read_only: bool = False,
        catalog_kind: CatalogKind | None = None,
        counted: CountedRows | None = None,
        clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> "Warehouse":
        """Open a warehouse by path or URL.

        Args:
            url: A folder, or a URL that fsspec knows.
            store_options: Options of the store, such as endpoint and keys. `claims` is ours: the
                URL of a database in which writers claim what they publish, for a store that
                cannot create a file only if there is none.
            cache_dir: The folder for fetched metadata; None keeps it for this process only.
            read_only: Do not probe the store, and refuse to write.
            catalog_kind: The catalog of Paimon that keeps the tables; None if nobody said.
            counted: The rows of states that a job counted; None if these are not known.
            clock: Milliseconds since the epoch.

        Raises:
            InvalidInput: The URL cannot be opened.
        """
        options = dict(store_options or {})
        database = options.pop(_CLAIMS, None)
        file_io = FileIO.for_url(url, options)
        claims = None
        if database is not None and not read_only:
            from branch_console.storage.database_claims import DatabaseClaims  # noqa: PLC0415 - SQLAlchemy

            claims = DatabaseClaims(str(database), file_io.url(file_io.root))
        store = CommitStore.of(file_io, claims)
        verdict = (
            StoreVerdict(can_write=False, reason="The warehouse was opened for reading only.")
            if read_only
            else probe(file_io, store.publisher, file_io.root, claims)
        )
        cache = None if cache_dir is None else MetadataCache(cache_dir)
        return cls(
            url=url,
            file_io=file_io,
            catalog=FilesystemCatalog(file_io, file_io.root, cache),
            store=store,
            verdict=verdict,
            clock=clock,
            catalog_kind=catalog_kind,
            counted=counted,
        )

    @contextmanager
    def deciding(self, known: FileStoreTable | None = None) -> Iterator["Warehouse"]:
        """The same warehouse for one decision: it opens a table once, and lists a folder once.

        A handle that the decision keeps looks anew after the block, as what is published is held
        against what there is then.

        Args:
            known: The table, where an earlier decision has opened it.
        """
        if self.opened is not None:
            yield self
        elif known is not None:
            with known.listing_once() as table:
                yield replace(self, opened={table.identifier: table})
        else:
            with self.catalog.listing_once() as catalog:
                yield replace(self, catalog=catalog, opened={})

    def table(self, name: str | Identifier) -> FileStoreTable:
        """Open a table, on the branch of it or of the catalog that its name says.

        Raises:
            NotFound: There is no such table or branch.
        """
        identifier = _identifier(name)
        known = None if self.opened is None else self.opened.get(identifier)
        if known is None:
            known = self._seen_by(identifier).open(identifier.in_catalog)
        return self._kept(identifier, known)

    def find_table(self, name: str | Identifier) -> FileStoreTable | None:
        """Open a table as `table` does; None if there is no such one."""
        identifier = _identifier(name)
        known = None if self.opened is None else self.opened.get(identifier)
        found = known or self._seen_by(identifier).find(identifier.in_catalog)
        return None if found is None else self._kept(identifier, found)

    @property
    def lister(self) -> "FileLister":
        """Lists the files of a table."""
        from branch_console.maintenance.file_lister import LocalLister  # noqa: PLC0415 - Arrow

        return self.file_lister or LocalLister()

    @property
    def ledger(self) -> CatalogLedger:
        """The versions of the branches of the catalog."""
        paths = CatalogPaths(warehouse=self.file_io.root.rstrip("/"))
        return CatalogLedger(self.catalog.reader, paths)

    def on(self, branch: str) -> CatalogOnBranch:
        """The catalog seen from one of its branches, as it is now.

        Raises:
            NotFound: There is no such catalog branch; `catalog` is main.
        """
        if branch == MAIN_BRANCH:
            raise NotFound(
                "'main' is no branch of the catalog: it is what branches of the catalog begin at. "
                "See: branch-console catalog list.",
                kind=ErrorKind.BRANCH_NOT_FOUND,
                branch=branch,
            )
        return CatalogOnBranch(self.catalog, self.ledger, branch)

    @property
    def catalog_tags(self) -> CatalogTags:
        """The tags of the catalog."""
        return CatalogTags(self.catalog.reader, self.ledger.paths)

    @property
    def catalog_references(self) -> LedgerReferences:
        """The snapshots of tables that branches and tags of the catalog name."""
        return LedgerReferences(self.ledger, self.catalog_tags)

    def at_tag(self, tag: str) -> CatalogAtTag:
        """The tables of a catalog tag, each as it was; raises NotFound."""
        found = self.catalog_tags.get(tag)
        return CatalogAtTag(self.catalog.reader, self.ledger.paths, found)

    def has_catalog_branch(self, branch: str) -> bool:
        """Whether a branch of the whole catalog has this name."""
        return branch != MAIN_BRANCH and self.ledger.find(branch) is not None

    def _seen_by(self, identifier: Identifier) -> Catalog | CatalogAtTag:
        """The catalog that has the names of an identifier."""
        if identifier.catalog_tag is not None:
            return self.at_tag(identifier.catalog_tag)
        branch = identifier.catalog_branch
        return self.catalog if branch is None else self.on(branch)

    def _kept(self, identifier: Identifier, table: FileStoreTable) -> FileStoreTable:
        if self.opened is not None:
            self.opened[identifier] = table
        return table

    def check_writable(self) -> None:
        """Refuse to change a warehouse in which a commit could be lost.

        Raises:
            NotAllowed: The store, or the way it was opened, forbids it.
        """
        if not self.verdict.can_write:
            raise NotAllowed(
                f"{self.url} is open for reading only. {self.verdict.reason}",
                kind=ErrorKind.READ_ONLY,
            )


def _identifier(name: str | Identifier) -> Identifier:
    return Identifier.parse(name) if isinstance(name, str) else name
