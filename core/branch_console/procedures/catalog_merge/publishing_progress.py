"""How far a merge of the catalog is that is decided and not yet visible in all of its tables."""

from dataclasses import dataclass

from branch_console.format.catalog.catalog_version import VersionName
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.operations.catalog_requests import MergeCatalogRequest
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.catalog.catalog_operation import CatalogOperation
from branch_console.procedures.catalog.publishing import is_publishing
from branch_console.procedures.catalog_merge.actions import action_of
from branch_console.procedures.catalog_merge.step_actions import MergeOperation


@dataclass(frozen=True, slots=True, kw_only=True)
class Publishing:
    """A version of main that is being published.

    Attributes:
        done: How many of its steps can be seen.
        total: How many there are; None if the operation is no merge, and has none.
    """

    version: VersionName
    operation_id: str
    done: int = 0
    total: int | None = None


def find_publishing(warehouse: Warehouse) -> Publishing | None:
    """Return what is being published on main, None if nothing is; nothing is written.

    Raises:
        FormatError: The version or the journal cannot be decoded.
    """
    newest = VersionName(branch=MAIN_BRANCH, number=warehouse.ledger.newest(MAIN_BRANCH))
    if not is_publishing(warehouse, newest):
        return None
    operation_id = warehouse.ledger.version(newest).operation
    operation = CatalogOperation.find(warehouse, operation_id)
    if operation is None or operation.intent.procedure != MergeCatalogRequest.procedure:
        return Publishing(version=newest, operation_id=operation_id)
    merge = MergeOperation.of(operation)
    return Publishing(
        version=newest,
        operation_id=operation_id,
        done=sum(action_of(step.kind).is_done(merge, step) for step in merge.steps),
        total=len(merge.steps),
    )
