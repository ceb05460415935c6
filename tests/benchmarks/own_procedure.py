"""Running one of our procedures, without a worker."""

import uuid

from core.procedures.call import Argument, ProcedureCall
from core.procedures.registry import run_call
from core.procedures.row_engine import NoRowEngine
from core.procedures.stages import InlineStages
from core.procedures.warehouse import Warehouse


def run_ours(warehouse: Warehouse, procedure: str, **arguments: Argument) -> object:
    """Run a procedure of ours to its receipt."""
    call = ProcedureCall(
        name=procedure,
        arguments=arguments,
        actor="benchmark",
        operation_id=uuid.uuid4().hex,
    )
    return run_call(warehouse, NoRowEngine(), call, InlineStages())
