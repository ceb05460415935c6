"""Running one of our procedures, without a worker."""

import uuid

from branch_console.format.receipt import Receipt
from branch_console.procedures.call.call import Argument, ProcedureCall
from branch_console.procedures.call.row_engine import NoRowEngine
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.dispatch import run_call


def run_ours(warehouse: Warehouse, procedure: str, **arguments: Argument) -> Receipt:
    """Run a procedure of ours to its receipt."""
    call = ProcedureCall(
        name=procedure,
        arguments=arguments,
        actor="benchmark",
        operation_id=uuid.uuid4().hex,
    )
    return run_call(warehouse, NoRowEngine(), call, InlineStages())
