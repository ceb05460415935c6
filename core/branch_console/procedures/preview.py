"""The consequences of any call, told before it runs."""

from dataclasses import replace

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.procedures.branch.create_branch import plan_creation
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import Consequence, Preview, Weight
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.catalog.catalog_operation import CatalogPlan
from branch_console.procedures.registry import (
    CATALOG_PROCEDURES,
    PROCEDURES,
    find_catalog_procedure,
)
from branch_console.procedures.run.procedure import PlannedOperation, decide

__all__ = ["Consequence", "Preview", "Weight", "preview_call"]


def preview_call(warehouse: Warehouse, call: ProcedureCall) -> Preview:
    """Tell what a call would do; nothing is written.

    Raises:
        InvalidInput: There is no such procedure, it has no preview, or an argument is wrong.
        NotFound: What it names is not there.
        AlreadyExists: The name that it would give is taken.
    """
    if call.name == "create_branch":
        return plan_creation(warehouse, call).preview
    of_catalog = find_catalog_procedure(call)
    if of_catalog is not None:
        return _preview_of(of_catalog.plan(warehouse, call))
    procedure = PROCEDURES.get(call.name)
    if procedure is None:
        known = ", ".join(sorted({*PROCEDURES, *CATALOG_PROCEDURES, "create_branch"}))
        raise InvalidInput(
            f"There is no preview of {call.name!r}. There are previews of {known}.",
            kind=ErrorKind.INVALID_NAME,
            procedure=call.name,
        )
    return _preview_of(decide(procedure, warehouse, call))


def _preview_of(planned: PlannedOperation | CatalogPlan) -> Preview:
    """Return the preview of a plan, which says whether there is anything to do."""
    return replace(planned.preview, is_idle=planned.earlier_receipt is not None)
