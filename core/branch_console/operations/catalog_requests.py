"""The requests of branches and tags of the whole catalog."""

from dataclasses import dataclass
from typing import Final

from branch_console.operations.agreement import PREVIEWED
from branch_console.operations.argument import Unserved, WrittenAs, argument
from branch_console.operations.isolation import InsertScope, Isolation
from branch_console.operations.request import Request
from branch_console.operations.shared_arguments import (
    policy_argument,
    reason_argument,
    strict_argument,
    target_argument,
)

BEGINS_AT: Final = "from_branch"
"""The field of a new branch that says where it begins, for a form that tells what it means."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateCatalogBranchRequest(
    Request,
    procedure="create_catalog_branch",
    job=("Create a catalog branch", ""),
    terms=PREVIEWED,
    command="catalog create",
):
    """Create a branch of the whole catalog, of some databases, or of tables by their names.

    For example: branch-console catalog create dev --database air
    """

    branch: str = argument("The name of the new branch.", cli="NAME")
    databases: str | None = argument(
        "Only these databases, with all their tables; several with a comma between them.",
        default=None,
        cli="--database DATABASE",
        cli_help="Only this database, with all its tables; may be given several times.",
        written=WrittenAs.SEVERAL,
    )
    tables: str | None = argument(
        "Only these tables: patterns such as air.fl*, several with a comma between them.",
        default=None,
        cli="--tables PATTERN",
        cli_help="Only the tables of this pattern, such as 'air.fl*'; may be given several times.",
        written=WrittenAs.SEVERAL,
    )
    from_branch: str | None = argument(
        "Begin at the heads of this catalog branch; at those of main where left out.",
        default=None,
        cli="--from BRANCH",
    )
    tag: str | None = argument("Begin at this catalog tag.", default=None, cli="--from-tag TAG")
    empty: bool = argument("Begin with the schemas and no rows.", default=False)
    lazy: bool = argument(
        "Make the branch of each table at its first write, not now.", default=False
    )
    adopt: bool = argument(
        "Take the table branches of this name that there are, where their fork is certain.",
        default=False,
    )
    owner: str | None = argument("Who answers for the branch.", default=None)
    reason: str | None = reason_argument()


@dataclass(frozen=True, slots=True, kw_only=True)
class AddToCatalogBranchRequest(
    Request,
    procedure="add_to_catalog_branch",
    job=("Add to a catalog branch", ""),
    terms=PREVIEWED,
    command="catalog add",
):
    """Have a branch of the catalog hold another database, or more tables, as main has them now.

    For example: branch-console catalog add dev 'lab.no*'
    """

    branch: str = argument("The name of the branch.", cli="NAME")
    pattern: str = argument(
        "A database with all its tables, or a pattern of tables such as air.fl*.", cli="PATTERN"
    )
    reason: str | None = reason_argument()


@dataclass(frozen=True, slots=True, kw_only=True)
class DropCatalogBranchRequest(
    Request,
    procedure="drop_catalog_branch",
    job=("Drop a catalog branch", ""),
    terms=PREVIEWED,
    command="catalog drop",
    confirmed_by=("confirm", "branch"),
):
    """Drop a branch of the catalog; rescue branches keep what its tables hold."""

    branch: str = argument("The name of the branch.", cli="NAME")
    reason: str | None = reason_argument()


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateCatalogTagRequest(
    Request,
    procedure="create_catalog_tag",
    job=("Create a catalog tag", ""),
    terms=PREVIEWED,
    command="catalog tag",
):
    """Name the state that all tables of the catalog, or of a branch of it, have now."""

    tag: str = argument("The name of the tag.", cli="NAME")
    branch: str | None = argument(
        "Of this catalog branch; of main where left out.", default=None, cli="--branch BRANCH"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteCatalogTagRequest(
    Request,
    procedure="delete_catalog_tag",
    job=("Delete a catalog tag", ""),
    terms=PREVIEWED,
    command="catalog delete-tag",
    confirmed_by=("confirm", "tag"),
):
    """Delete a tag of the catalog, and the tags of its tables."""

    tag: str = argument("The name of the tag.", cli="NAME")
    reason: str | None = reason_argument()


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeCatalogRequest(
    Request,
    procedure="merge_catalog_branch",
    job=("Merge a catalog branch", ""),
    terms=(*PREVIEWED, "override_gate", "plan_again", "decisions"),
    command=Unserved(why="merge --catalog and merge --database ask for it."),
):
    """Bring all databases and tables that a branch of the catalog changed into another one."""

    source: str = argument(
        "The source: the catalog branch whose changes are merged.", json="branch"
    )
    target: str | None = target_argument()
    database: str | None = argument(
        "Only this database, with all its tables; everything where left out.", default=None
    )
    strict: bool = strict_argument()
    scope: InsertScope = argument(
        "As for a merge of one table: table or partition.", default=InsertScope.TABLE
    )
    isolation: Isolation = argument(
        "As for a merge of one table: serializable or snapshot.", default=Isolation.SERIALIZABLE
    )
    policy: str | None = policy_argument(
        "A YAML file that settles conflicts over databases and tables, and those of rows."
    )
    reason: str | None = reason_argument()
