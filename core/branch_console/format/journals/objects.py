"""The journals of statements on databases, and on tables as objects of the catalog.

A statement has two: on main folders move and files are added, on a catalog branch it is the next
version of its ledger.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeVar

from branch_console.format.catalog.catalog_version import CatalogVersion
from branch_console.format.catalog.database_file import DatabaseFile, NumberedDatabaseFile
from branch_console.format.identifier import Identifier
from branch_console.format.journals.codec import Codec, Either, Layout
from branch_console.format.journals.keys import (
    Entry,
    file_text,
    inlined,
    needed,
    needed_part,
    or_null,
    parts,
    text_or_null_map,
    values,
)
from branch_console.format.journals.terms import PLAN_ID, REASON, OperationJournal
from branch_console.format.json_text import JsonObject
from branch_console.format.table_schema import TableSchema


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogJournal(OperationJournal):
    """The journal of an operation on objects of the catalog.

    Attributes:
        subject: The database, table, branch or tag that it changes, for people.
    """

    subject: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchChangeJournal(CatalogJournal):
    """A statement on a catalog branch: the version that it makes.

    Attributes:
        sentence: The sentence of the receipt.
    """

    catalog_version: CatalogVersion
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NewDatabaseOnBranchJournal(BranchChangeJournal):
    """A database that a catalog branch gets, and its file, which main does not list."""

    file: DatabaseFile


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTableOnBranchJournal(BranchChangeJournal):
    """A table that a catalog branch gets.

    Attributes:
        folder: Its folder below the warehouse.
        content: The branch of the table that the schema is written to.
        schema: Its first schema.
    """

    folder: str
    content: str
    schema: TableSchema


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseJournal(CatalogJournal):
    """A statement on a database of main, which is the subject.

    Attributes:
        file: The file that it gets; of one that is dropped or renamed, the file that it has.
    """

    file: NumberedDatabaseFile


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDrop:
    """A table of main that goes.

    Attributes:
        name: As `database.table`.
        birth: The digest of its first schema file; None for a folder without one.
        kept: The folder that its folder becomes.
        rescue: The branch that main becomes where its folder stays.
        is_held: Whether a catalog branch holds it, so that its folder stays.
    """

    name: str
    birth: str | None
    kept: str
    rescue: str
    is_held: bool

    @property
    def identifier(self) -> Identifier:
        """The table."""
        return Identifier.parse(self.name)

    def went(self, kept: str) -> str:
        """Return the sentence for a folder that moved to a path below the warehouse."""
        return f"Table {self.name} was dropped with all its branches. Its folder is kept as {kept}."

    @property
    def stays(self) -> str:
        """Return the sentence for a table that only main dropped."""
        return (
            f"Table {self.name} was dropped from main, which its branch {self.rescue!r} keeps; "
            "its other branches stay."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DropDatabaseJournal(DatabaseJournal):
    """A database of main that goes.

    Attributes:
        kept: The folder that its folder becomes.
        drops: Its tables, which go along.
        is_held: Whether a catalog branch holds a table in it, so that its folder stays.
    """

    kept: str
    drops: tuple[TableDrop, ...]
    is_held: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameDatabaseJournal(DatabaseJournal):
    """A database of main that gets another name."""

    to: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SetDatabaseJournal(DatabaseJournal):
    """Properties of a database of main that change.

    Attributes:
        earlier: Those from before, None for one that it did not have.
    """

    earlier: Mapping[str, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class DropTableJournal(CatalogJournal):
    """A table of main that goes."""

    drop: TableDrop


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameTableJournal(CatalogJournal):
    """A table of main, which is the subject, and which gets another name.

    Attributes:
        to: The name, as `database.table`.
        birth: The digest of its first schema file; None for a folder without one.
    """

    to: str
    birth: str | None


def _version(raw: JsonObject, key: str) -> CatalogVersion:
    return CatalogVersion.from_object(JsonObject(raw.get(key, dict), raw.what))


SUBJECT: Final = needed("subject", str)
CATALOG_VERSION: Final = values("catalogVersion", _version, CatalogVersion.to_object)
DATABASE_FILE: Final = inlined(
    "file",
    Layout(
        NumberedDatabaseFile,
        needed("number", int),
        file_text("file", DatabaseFile, attribute="content"),
    ),
)
TABLE_DROP: Final = Layout(
    TableDrop,
    needed("name", str),
    or_null("birth", str),
    needed("kept", str),
    needed("rescue", str),
    needed("isHeld", bool),
)
DROP: Final = needed_part("drop", TABLE_DROP)
DROPS: Final = parts("drops", TABLE_DROP)
BRANCH_CHANGE: Final = (
    SUBJECT,
    PLAN_ID,
    CATALOG_VERSION,
    needed("told", str, attribute="sentence"),
)
_ON_MAIN: Final = (SUBJECT, PLAN_ID, DATABASE_FILE, REASON)

J = TypeVar("J", bound=CatalogJournal)
OnBranchOr: TypeAlias = BranchChangeJournal | J
"""The journal of a statement: on a catalog branch, or the one that it has on main."""


def _either(
    what: str, on_main: Layout[J], on_branch: Layout[Any] | None = None
) -> Codec[OnBranchOr[J]]:
    """The codec of a statement, which makes a version where it is one on a catalog branch."""
    having = on_branch or Layout(BranchChangeJournal, *BRANCH_CHANGE)
    return Codec(what=what, reads={1: Either("catalogVersion", having, on_main)})


def _of_database(kind: type[J], *entries: Entry) -> Layout[J]:
    return Layout(kind, *_ON_MAIN, *entries)


CREATE_DATABASE_JOURNAL: Final = _either(
    "journal of a new database",
    _of_database(DatabaseJournal),
    Layout(NewDatabaseOnBranchJournal, *BRANCH_CHANGE, file_text("file", DatabaseFile)),
)
DROP_DATABASE_JOURNAL: Final = _either(
    "journal of a database that is dropped",
    _of_database(DropDatabaseJournal, needed("kept", str), DROPS, needed("isHeld", bool)),
)
RENAME_DATABASE_JOURNAL: Final = _either(
    "journal of a database that is renamed",
    _of_database(RenameDatabaseJournal, needed("to", str)),
)
SET_DATABASE_JOURNAL: Final = _either(
    "journal of properties of a database",
    _of_database(SetDatabaseJournal, text_or_null_map("earlier")),
)
CREATE_TABLE_JOURNAL: Final = Codec(
    what="journal of a new table",
    reads={
        1: Layout(
            NewTableOnBranchJournal,
            *BRANCH_CHANGE,
            needed("folder", str),
            needed("content", str),
            file_text("schema", TableSchema),
        )
    },
)
DROP_TABLE_JOURNAL: Final = _either(
    "journal of a table that is dropped",
    Layout(DropTableJournal, SUBJECT, PLAN_ID, DROP),
)
RENAME_TABLE_JOURNAL: Final = _either(
    "journal of a table that is renamed",
    Layout(RenameTableJournal, SUBJECT, PLAN_ID, needed("to", str), or_null("birth", str)),
)
