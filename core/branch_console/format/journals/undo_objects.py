"""The journals of what takes an operation on objects of the catalog back, by the way it goes."""

from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from branch_console.format.catalog.catalog_version import CatalogVersion
from branch_console.format.catalog.database_file import NumberedDatabaseFile
from branch_console.format.journals.catalog_branches import (
    OWN_DATABASES,
    OWN_TABLES,
    UNNEEDED_TAGS,
    OwnDatabase,
    OwnTable,
    UnneededTag,
)
from branch_console.format.journals.codec import Codec, Layout, Ways
from branch_console.format.journals.keys import Entry, constant, needed, or_null, texts
from branch_console.format.journals.objects import (
    BRANCH_CHANGE,
    CATALOG_VERSION,
    DATABASE_FILE,
    DROP,
    DROPS,
    SUBJECT,
    BranchChangeJournal,
    CatalogJournal,
    TableDrop,
)
from branch_console.format.journals.terms import PLAN_ID, REASON


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedDatabase(CatalogJournal):
    """A database whose folder gets another place or name.

    Attributes:
        source: Its current place.
        target: Its new place.
        file: The file that it has.
    """

    source: str
    target: str
    file: NumberedDatabaseFile


@dataclass(frozen=True, slots=True, kw_only=True)
class DropNewDatabaseJournal(MovedDatabase):
    """A database that was made, and goes again: its folder is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreDatabaseJournal(MovedDatabase):
    """A dropped database that comes back with its folder, and so with its tables."""

    drops: tuple[TableDrop, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreDatabaseInPlaceJournal(RestoreDatabaseJournal):
    """A dropped database whose folder stayed: its tables come back one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameDatabaseBackJournal(MovedDatabase):
    """A renamed database that gets its old name back; the places are names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetDatabaseBackJournal(CatalogJournal):
    """A database that gets a file with the properties from before."""

    file: NumberedDatabaseFile


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreTableJournal(CatalogJournal):
    """A dropped table that comes back."""

    drop: TableDrop


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameTableBackJournal(CatalogJournal):
    """A renamed table that gets its old name back.

    Attributes:
        source: Its name, as `database.table`.
        target: The old one.
        birth: The digest of its first schema file; None for a folder without one.
    """

    source: str
    target: str
    birth: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DropNewCatalogBranchJournal(CatalogJournal):
    """A catalog branch that was made, and goes again: the version that ends it.

    Attributes:
        own: The tables that it alone has.
        tags: The base tags that go with it; earlier releases left them all.
    """

    catalog_version: CatalogVersion
    own: tuple[OwnTable, ...] = ()
    tags: tuple[UnneededTag, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreCatalogBranchJournal(CatalogJournal):
    """A dropped catalog branch that comes back: the version with which it goes on.

    Attributes:
        own: The tables whose folders come back into their databases.
        databases: The databases whose folders come back.
    """

    catalog_version: CatalogVersion
    own: tuple[OwnTable, ...] = ()
    databases: tuple[OwnDatabase, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeBackJournal(CatalogJournal):
    """A merge of the catalog that is taken back, or one object of it: the version that says so.

    Attributes:
        merge: The operation that merged.
        steps: The steps of the merge that are taken back, by their names.
        reverts: Whether tables get a revert of what came, and not their earlier head.
    """

    merge: str
    catalog_version: CatalogVersion
    steps: tuple[str, ...]
    reverts: bool


ObjectBackJournal: TypeAlias = (
    BranchChangeJournal
    | DropNewDatabaseJournal
    | RestoreDatabaseJournal
    | RestoreDatabaseInPlaceJournal
    | RenameDatabaseBackJournal
    | SetDatabaseBackJournal
    | RestoreTableJournal
    | RenameTableBackJournal
    | DropNewCatalogBranchJournal
    | RestoreCatalogBranchJournal
)
"""How a statement on an object of the catalog is taken back."""

UndoObjectJournal: TypeAlias = ObjectBackJournal | MergeBackJournal
"""How an operation on objects of the catalog is taken back; a statement on a branch by another."""

_UNDOES: Final = needed("undoes", str)
_FROM_TO: Final = (
    needed("from", str, attribute="source"),
    needed("to", str, attribute="target"),
)
_MOVED: Final = (*_FROM_TO, DATABASE_FILE)


def _back(kind: type[CatalogJournal], way: str, *entries: Entry) -> tuple[str, Layout[Any]]:
    return way, Layout(kind, SUBJECT, PLAN_ID, REASON, _UNDOES, constant("way", way), *entries)


UNDO_OBJECT_JOURNAL: Final[Codec[UndoObjectJournal]] = Codec(
    what="journal of an undo",
    reads={
        1: Ways(
            {
                "version": Layout(
                    BranchChangeJournal, *BRANCH_CHANGE, REASON, _UNDOES, constant("way", "version")
                ),
                **dict(
                    (
                        _back(DropNewDatabaseJournal, "drop", *_MOVED),
                        _back(RestoreDatabaseJournal, "restore", *_MOVED, DROPS),
                        _back(RestoreDatabaseInPlaceJournal, "restore in place", *_MOVED, DROPS),
                        _back(RenameDatabaseBackJournal, "rename", *_MOVED),
                        _back(SetDatabaseBackJournal, "set", DATABASE_FILE),
                        _back(RestoreTableJournal, "restore table", DROP),
                        _back(
                            RenameTableBackJournal,
                            "rename table",
                            *_FROM_TO,
                            or_null("birth", str),
                        ),
                        _back(
                            DropNewCatalogBranchJournal,
                            "drop branch",
                            CATALOG_VERSION,
                            OWN_TABLES,
                            UNNEEDED_TAGS,
                        ),
                        _back(
                            RestoreCatalogBranchJournal,
                            "restore branch",
                            CATALOG_VERSION,
                            OWN_TABLES,
                            OWN_DATABASES,
                        ),
                        _back(
                            MergeBackJournal,
                            "merge back",
                            needed("merge", str),
                            CATALOG_VERSION,
                            texts("steps"),
                            needed("reverts", bool),
                        ),
                    )
                ),
            }
        )
    },
)


def decision_of_object_undo(journal: UndoObjectJournal) -> tuple[object, object]:
    """Return JSON values that tell the decision of one undo from that of another.

    The folder of a dropped database is named after the operation, which a preview has none of.
    """
    content = UNDO_OBJECT_JOURNAL.encode(journal)
    return content["way"], content.get("number")
