"""The values of the catalog that pages show, frozen; see `page_values`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from branch_console.diff.catalog_standing import ObjectOnBranch
from branch_console.errors import PaimonError
from branch_console.format.catalog.catalog_version import CatalogVersion
from branch_console.merge.catalog.object_merge import ObjectKind


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogBranchItem:
    """A branch of the catalog in a list.

    Attributes:
        version: Its newest version, such as `dev@7`.
        scope: Its objects, for people.
        base: The version that it began at.
        made, not_made, lost: How many of its tables have their branch, have none yet, or lost it.
        changed: How many databases and tables differ from how the branch began: those that it
            made, dropped, renamed, wrote or altered.
        error: Why nothing else can be told.
    """

    name: str
    version: str = ""
    scope: str = ""
    base: str = ""
    mode: str = ""
    owner: str | None = None
    reason: str | None = None
    created_millis: int | None = None
    tables: int = 0
    made: int = 0
    not_made: int = 0
    lost: int = 0
    changed: int = 0
    error: PaimonError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogObject:
    """A database or a table of the warehouse, on any branch.

    Attributes:
        name: Its name on main, else on the first branch that has it.
        main_name: Its name on main; None if main lacks it.
    """

    kind: ObjectKind
    id: str
    name: str
    main_name: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogBranchStanding:
    """A branch of the catalog against main.

    Attributes:
        ahead: How many objects a merge into main would change; None if that is not known.
        behind: How many objects of the branch's scope main changed since the merge base.
        objects: Each object of the warehouse as the branch has it, by its id.
        versions: Its newest versions, newest first.
    """

    item: CatalogBranchItem
    ahead: int | None = None
    behind: int | None = None
    objects: Mapping[str, ObjectOnBranch] = field(default_factory=lambda: MappingProxyType({}))
    versions: tuple[CatalogVersion, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogOverview:
    """The branches of the catalog, and all objects that any of them has.

    Attributes:
        main: The version of main that the ledger has, such as `main@41`.
        main_versions: The newest versions of main, and those at which a branch begins.
        objects: Databases first, by name.
    """

    main: str
    main_versions: tuple[CatalogVersion, ...]
    branches: tuple[CatalogBranchStanding, ...]
    objects: tuple[CatalogObject, ...]
