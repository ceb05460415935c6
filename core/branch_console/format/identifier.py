"""Names: how Paimon spells a table on a branch, and which names may be created.

Source: Paimon Identifier and BranchManager; the stricter rule for new branch names is ours.
"""

import re
from dataclasses import dataclass, replace
from typing import Final

from branch_console.errors import ErrorKind, InvalidInput

MAIN_BRANCH: Final = "main"
RESCUE_PREFIX: Final = "rescue-"
RESERVED_PREFIXES: Final = (RESCUE_PREFIX, "merge-")
_BRANCH_PREFIX: Final = "branch_"
_TAG_PREFIX: Final = "tag_"
_TAG_MARK: Final = f"${_TAG_PREFIX}"
BRANCH_MARK: Final = f"${_BRANCH_PREFIX}"
"""The separator of table and branch in a name."""
_BRANCH_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_MAX_NAME_LENGTH: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Identifier:
    """A table of a warehouse on one of its branches, or a system table of it.

    Attributes:
        branch: A branch of the table, by the name that main gives the table.
        catalog_branch: A branch of the catalog, which has names of its own; None for main.
        catalog_tag: A tag of the catalog, with the names of then; None for what is there now.
    """

    database: str
    table: str
    branch: str = MAIN_BRANCH
    system_table: str | None = None
    catalog_branch: str | None = None
    catalog_tag: str | None = None

    @classmethod
    def parse(cls, text: str) -> "Identifier":
        """Parse `db.t`, `db.t$branch_b`, `db.t$files` or `db.t$branch_b$files`.

        On a branch or a tag of the catalog that is `db$branch_b.t` or `db$tag_x.t`, either with a
        system table behind it.

        Raises:
            InvalidInput: The text is none of these.
        """
        database, dot, rest = text.partition(".")
        if not dot:
            raise InvalidInput(
                f"{text!r} names no table. Write database.table.", kind=ErrorKind.INVALID_NAME
            )
        database, catalog_branch, catalog_tag = _catalog_part(database)
        table, *suffixes = rest.split("$")
        branch, system_table = MAIN_BRANCH, None
        if suffixes and suffixes[0].startswith(_BRANCH_PREFIX):
            branch = suffixes.pop(0).removeprefix(_BRANCH_PREFIX)
            # Paimon takes $branch_MAIN for the main branch too.
            branch = MAIN_BRANCH if branch.lower() == MAIN_BRANCH else branch
            if catalog_branch is not None or catalog_tag is not None:
                raise InvalidInput(
                    f"{text!r} names a branch twice. Write {database}$branch_name.{table} for a "
                    f"branch of the catalog, or {database}.{table}$branch_name for one of the "
                    "table.",
                    kind=ErrorKind.INVALID_NAME,
                )
        if suffixes:
            system_table = suffixes.pop(0)
        if suffixes or system_table == "" or not branch:
            raise InvalidInput(
                f"{text!r} is not a table name. Write database.table, database.table$branch_name, "
                "or either with a system table behind it.",
                kind=ErrorKind.INVALID_NAME,
            )
        check_object_name(database)
        check_object_name(table)
        return cls(
            database=database,
            table=table,
            branch=branch,
            system_table=system_table,
            catalog_branch=catalog_branch,
            catalog_tag=catalog_tag,
        )

    @property
    def full_name(self) -> str:
        """The name in Paimon's spelling, main left out."""
        branch = "" if self.is_main else f"{BRANCH_MARK}{self.branch}"
        system = f"${self.system_table}" if self.system_table else ""
        return f"{self.table_name}{branch}{system}"

    @property
    def table_name(self) -> str:
        """The name of the table itself: database and table, no branch of the table."""
        catalog = "" if self.catalog_branch is None else f"{BRANCH_MARK}{self.catalog_branch}"
        tag = "" if self.catalog_tag is None else f"{_TAG_MARK}{self.catalog_tag}"
        return f"{self.database}{catalog}{tag}.{self.table}"

    @property
    def is_main(self) -> bool:
        """Whether this is the table's main branch."""
        return self.branch == MAIN_BRANCH

    @property
    def is_of_catalog(self) -> bool:
        """Whether a branch or a tag of the catalog says which table this is."""
        return self.catalog_branch is not None or self.catalog_tag is not None

    @property
    def in_catalog(self) -> "Identifier":
        """The same table as the branch or the tag of the catalog calls it."""
        return replace(self, catalog_branch=None, catalog_tag=None)

    def on_branch(self, branch: str) -> "Identifier":
        """Return the same table on `branch`."""
        return replace(self, branch=branch)

    def __str__(self) -> str:
        return self.full_name


def _catalog_part(database: str) -> tuple[str, str | None, str | None]:
    """Take the branch or the tag of the catalog off the name of a database."""
    name, _, mark = database.partition("$")
    if mark.startswith(_BRANCH_PREFIX):
        branch = mark.removeprefix(_BRANCH_PREFIX)
        return name, None if branch.lower() == MAIN_BRANCH else branch, None
    if mark.startswith(_TAG_PREFIX):
        return name, None, mark.removeprefix(_TAG_PREFIX)
    return database, None, None


def check_object_name(name: str) -> None:
    """Refuse a database or table name that could leave its folder.

    Raises:
        InvalidInput: The name is blank, a dot name, or holds a separator.
    """
    if not name.strip() or name in {".", ".."} or any(c in name for c in "/\\$\0"):
        raise InvalidInput(
            f"{name!r} is not a usable name: it must not be blank or hold '/', '\\' or '$'.",
            kind=ErrorKind.INVALID_NAME,
        )


def rescue_name(operation_id: str) -> str:
    """Return the name of the rescue branch of an operation."""
    return f"{RESCUE_PREFIX}{operation_id}"


def branch_name_problem(name: str, *, by_product: bool = False) -> str | None:
    """Say why a branch must not be created under `name`, or return None.

    Args:
        name: The name to judge.
        by_product: Whether the product itself makes the branch, so its own prefixes are free.
    """
    if not name.strip():
        return "A branch needs a name."
    if name.lower() == MAIN_BRANCH:
        return "'main' is the default branch and cannot be created."
    if name.isdigit():
        return f"{name!r} has only digits; Paimon would take it for a snapshot."
    if len(name) > _MAX_NAME_LENGTH:
        return f"The name has {len(name)} characters; {_MAX_NAME_LENGTH} is the most."
    if not _BRANCH_NAME.fullmatch(name):
        return (
            f"{name!r} cannot name a branch: a name holds only letters (a-z, A-Z), digits, '_' "
            "and '-', and begins with a letter or a digit."
        )
    prefix = next((p for p in RESERVED_PREFIXES if name.startswith(p)), None)
    if prefix and not by_product:
        return f"Names that start with {prefix!r} are kept for the console's own branches."
    return None


def check_branch_name(name: str, *, by_product: bool = False) -> None:
    """Refuse a name that no new branch may have.

    Raises:
        InvalidInput: With the sentence of `branch_name_problem`.
    """
    problem = branch_name_problem(name, by_product=by_product)
    if problem:
        raise InvalidInput(problem, kind=ErrorKind.INVALID_NAME, branch=name)
