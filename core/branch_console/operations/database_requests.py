"""The requests of a database's life: create, drop, rename, change properties."""

from dataclasses import dataclass
from typing import Final

from branch_console.operations.agreement import PREVIEWED
from branch_console.operations.argument import Unserved, argument
from branch_console.operations.request import Request
from branch_console.operations.shared_arguments import reason_argument

_BY_SQL: Final = Unserved(why="The command sql takes the statement.")


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseRequest(Request):
    """A database, on main or on a catalog branch."""

    database: str = argument("The name of the database.", cli=_BY_SQL)
    branch: str | None = argument(
        "The catalog branch; main where left out.", default=None, cli=_BY_SQL
    )
    reason: str | None = reason_argument()


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateDatabaseRequest(
    DatabaseRequest,
    procedure="create_database",
    job=("Create a database", ""),
    terms=PREVIEWED,
    command=_BY_SQL,
):
    """Create a database, on main or on a catalog branch."""

    if_not_exists: bool = argument(
        "Change nothing where there is such a database.", default=False, cli=_BY_SQL
    )
    properties: str | None = argument(
        "Its properties, as a JSON object of texts.", default=None, cli=_BY_SQL
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DropDatabaseRequest(
    DatabaseRequest,
    procedure="drop_database",
    job=("Drop a database", ""),
    terms=PREVIEWED,
    confirmed_by=("confirm", "database"),
    command=_BY_SQL,
):
    """Drop a database; its folder is kept, so that it can be brought back."""

    if_exists: bool = argument(
        "Change nothing where there is no such database.", default=False, cli=_BY_SQL
    )
    cascade: bool = argument("Drop its tables, too.", default=False, cli=_BY_SQL)


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameDatabaseRequest(
    DatabaseRequest,
    procedure="rename_database",
    job=("Rename a database", ""),
    terms=PREVIEWED,
    command=_BY_SQL,
):
    """Give a database another name; its tables and their branches go with it."""

    to: str = argument("The new name.", cli=_BY_SQL)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetDatabasePropertiesRequest(
    DatabaseRequest,
    procedure="set_database_properties",
    job=("Change a database", ""),
    terms=PREVIEWED,
    command=_BY_SQL,
):
    """Set properties of a database, or take them away."""

    properties: str = argument(
        "The properties, as a JSON object of texts; null takes one away.", cli=_BY_SQL
    )
