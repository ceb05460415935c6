"""The maintenance policies of a warehouse: one for all tables, and one a table that has its own.

Each version is a file of its own, published only if there is none, so that of two people who set
a policy at once one is told.
"""

from dataclasses import dataclass

from branch_console.commit.rows.policy_drafts import find_policy_draft, publish_policy_draft
from branch_console.diff.lifecycle.policy import MaintenancePolicy
from branch_console.errors import CommitConflict, ErrorKind, InvalidInput, NotFound
from branch_console.format.identifier import Identifier
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.storage.catalog_paths import OF_WAREHOUSE, MaintenancePaths


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptPolicy:
    """A policy as it was set last.

    Attributes:
        table: The table that it is for; None for all tables without one of their own.
        version: How often it was set.
        text: The file.
    """

    table: str | None
    version: int
    text: str
    policy: MaintenancePolicy


def find_policy(warehouse: Warehouse, table: Identifier | None) -> KeptPolicy | None:
    """Return the policy that holds for a table: its own, or that of the warehouse.

    Args:
        warehouse: The warehouse.
        table: The table; None asks for the policy of the warehouse.

    Raises:
        InvalidInput: The policy cannot be read; the message names line and key.
    """
    own = None if table is None else _find(warehouse, table.table_name)
    return own or _find(warehouse, None)


def get_policy(warehouse: Warehouse, table: Identifier) -> KeptPolicy:
    """Return the policy that holds for a table.

    Raises:
        NotFound: There is none.
        InvalidInput: As `find_policy`.
    """
    found = find_policy(warehouse, table)
    if found is None:
        raise NotFound(
            f"There is no maintenance policy for {table.table_name}. Set one: branch-console "
            "policy set FILE.",
            kind=ErrorKind.FILE_NOT_FOUND,
        )
    return found


def find_own_policy(warehouse: Warehouse, table: Identifier | None) -> KeptPolicy | None:
    """Return the policy that was set for a table alone; raises as `find_policy` does."""
    return _find(warehouse, None if table is None else table.table_name)


def all_policies(warehouse: Warehouse) -> tuple[KeptPolicy, ...]:
    """Return all policies, that of the warehouse first; raises as `find_policy` does."""
    paths = _paths(warehouse)
    scopes = sorted(set(warehouse.file_io.folder_names(paths.root)) - {OF_WAREHOUSE})
    found = (_find(warehouse, each) for each in (None, *scopes))
    return tuple(each for each in found if each is not None)


def keep_policy(warehouse: Warehouse, table: Identifier | None, text: str) -> KeptPolicy:
    """Set the policy of a table, or of the warehouse; an equal one stays as it is.

    Raises:
        InvalidInput: It cannot be read; the message names line and key.
        CommitConflict: Somebody else set another one in the meantime.
    """
    name = None if table is None else table.table_name
    policy = MaintenancePolicy.from_yaml(text)
    kept = find_policy_draft(warehouse.store.files, _paths(warehouse), _scope(name))
    version, before = (0, None) if kept is None else kept
    if before != text:
        version += 1
        if not publish_policy_draft(
            warehouse.store, _paths(warehouse), _scope(name), version, text
        ):
            raise CommitConflict(
                f"Somebody else set the maintenance policy of {subject_of(name)} in the meantime. "
                "Yours was not set. Look at theirs, then set it again.",
                kind=ErrorKind.HEAD_MOVED,
            )
    return KeptPolicy(table=name, version=version, text=text, policy=policy)


def subject_of(table: str | None) -> str:
    """Return the object of a policy, as the end of "the maintenance policy of …"."""
    return "the warehouse" if table is None else table


def _find(warehouse: Warehouse, table: str | None) -> KeptPolicy | None:
    paths, scope = _paths(warehouse), _scope(table)
    kept = find_policy_draft(warehouse.store.files, paths, scope)
    if kept is None:
        return None
    version, text = kept
    try:
        policy = MaintenancePolicy.from_yaml(text)
    except InvalidInput as error:
        path = paths.policy_draft(scope, version)
        raise InvalidInput(
            f"The maintenance policy of {subject_of(table)} cannot be read: {error.message} "
            "Nothing was done by it. Set it anew: branch-console policy set FILE.",
            kind=error.kind,
            path=path,
        ) from error
    return KeptPolicy(table=table, version=version, text=text, policy=policy)


def _scope(table: str | None) -> str:
    return OF_WAREHOUSE if table is None else table


def _paths(warehouse: Warehouse) -> MaintenancePaths:
    return MaintenancePaths(warehouse=warehouse.file_io.root.rstrip("/"))
