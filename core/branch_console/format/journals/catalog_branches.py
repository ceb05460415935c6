"""The journals of what is done to branches and tags of the catalog."""

from dataclasses import dataclass
from typing import Final

from branch_console.format.catalog.catalog_tag import CatalogTag
from branch_console.format.catalog.catalog_version import CatalogVersion
from branch_console.format.journals.codec import Codec, Layout
from branch_console.format.journals.keys import (
    derived,
    file_text,
    needed,
    needed_identity,
    or_null,
    some_parts,
    texts,
)
from branch_console.format.journals.objects import CATALOG_VERSION, SUBJECT, CatalogJournal
from branch_console.format.snapshot import SnapshotIdentity


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateCatalogBranchJournal(CatalogJournal):
    """The first version of a new catalog branch, which says what its tables begin at."""

    catalog_version: CatalogVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class AddToCatalogBranchJournal(CatalogJournal):
    """The version by which a catalog branch holds more, which says what that begins at."""

    catalog_version: CatalogVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTable:
    """A table that a catalog branch alone has, whose folder leaves its database with the branch.

    Attributes:
        id: Its id in the ledger.
        name: As `database.table`, as the branch calls it.
        birth: The digest of its first schema file.
        folder: Its folder, below the warehouse.
        kept: The folder that it becomes, below the warehouse.
        rescue: The branch that its table branch becomes, which alone is in the folder then.
    """

    id: str
    name: str
    birth: str
    folder: str
    kept: str
    rescue: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnDatabase:
    """A database that a catalog branch alone has, whose folder leaves the warehouse with it.

    Attributes:
        id: Its id in the ledger.
        name: The database that its folder is named after.
        kept: The folder that it becomes, below the warehouse.
    """

    id: str
    name: str
    kept: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnneededTag:
    """A base tag that nobody needs once its catalog branch has ended.

    Attributes:
        id: The id of its table in the ledger.
        name: The table, as the branch calls it.
        folder: The folder of the table, below the warehouse.
        source: The branch of the table that has the tag.
        fork: The snapshot that it names, which its branch has, too.
        snapshot_id: The number of that.
    """

    id: str
    name: str
    folder: str
    source: str
    tag: str
    fork: SnapshotIdentity
    snapshot_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DropCatalogBranchJournal(CatalogJournal):
    """The version that ends a catalog branch.

    Attributes:
        made: The ids of the tables whose table branches go with it.
        own: The tables that it alone has; earlier releases left their folders where they are.
        tags: The base tags that go with it; earlier releases left them all.
        databases: The databases that it alone has, and that are empty once its tables have left;
            earlier releases left their folders where they are.
    """

    catalog_version: CatalogVersion
    made: tuple[str, ...] = ()
    own: tuple[OwnTable, ...] = ()
    tags: tuple[UnneededTag, ...] = ()
    databases: tuple[OwnDatabase, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogTagJournal(CatalogJournal):
    """A tag of the catalog that is made, or deleted."""

    catalog_tag: CatalogTag


_REASON: Final = or_null("reason", str)
OWN_TABLES: Final = some_parts(
    "own",
    Layout(
        OwnTable,
        needed("id", str),
        needed("name", str),
        needed("birth", str),
        needed("folder", str),
        needed("kept", str),
        needed("rescue", str),
    ),
)
OWN_DATABASES: Final = some_parts(
    "databases",
    Layout(OwnDatabase, needed("id", str), needed("name", str), needed("kept", str)),
)
UNNEEDED_TAGS: Final = some_parts(
    "tags",
    Layout(
        UnneededTag,
        needed("id", str),
        needed("name", str),
        needed("folder", str),
        needed("source", str),
        needed("tag", str),
        needed_identity("fork"),
        needed("snapshotId", int),
    ),
)
_TAG: Final = file_text("catalogTag", CatalogTag)

CREATE_CATALOG_BRANCH_JOURNAL: Final = Codec(
    what="journal of a new catalog branch",
    reads={
        1: Layout(
            CreateCatalogBranchJournal,
            SUBJECT,
            derived("claims", lambda journal: journal.catalog_version.branch),
            CATALOG_VERSION,
            _REASON,
        )
    },
)
ADD_TO_CATALOG_BRANCH_JOURNAL: Final = Codec(
    what="journal of what a catalog branch gets of main",
    reads={1: Layout(AddToCatalogBranchJournal, SUBJECT, CATALOG_VERSION, _REASON)},
)
DROP_CATALOG_BRANCH_JOURNAL: Final = Codec(
    what="journal of a catalog branch that is dropped",
    reads={
        1: Layout(
            DropCatalogBranchJournal,
            SUBJECT,
            CATALOG_VERSION,
            _REASON,
            texts("made"),
            OWN_TABLES,
            UNNEEDED_TAGS,
            OWN_DATABASES,
        )
    },
)
CREATE_CATALOG_TAG_JOURNAL: Final = Codec(
    what="journal of a catalog tag",
    reads={1: Layout(CatalogTagJournal, SUBJECT, _TAG)},
)
DELETE_CATALOG_TAG_JOURNAL: Final = Codec(
    what="journal of a catalog tag that is deleted",
    reads={1: Layout(CatalogTagJournal, SUBJECT, _TAG, _REASON)},
)
