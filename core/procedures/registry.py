"""The verbs by their names, as a ProcedureCall knows them."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from core.errors import ErrorKind, InvalidInput
from core.format.receipt import Receipt
from core.procedures.branches import create_branch
from core.procedures.call import ProcedureCall
from core.procedures.demo import build_demo
from core.procedures.fast_forward import fast_forward
from core.procedures.recover import recover
from core.procedures.row_engine import RowEngine
from core.procedures.stages import Stages
from core.procedures.tags import create_tag
from core.procedures.warehouse import Warehouse

Procedure: TypeAlias = Callable[[Warehouse, RowEngine, ProcedureCall, Stages], Receipt]

PROCEDURES: Final[Mapping[str, Procedure]] = MappingProxyType(
    {
        "build_demo": build_demo,
        "create_branch": create_branch,
        "create_tag": create_tag,
        "fast_forward": fast_forward,
        "recover": recover,
    }
)


def run_call(warehouse: Warehouse, rows: RowEngine, call: ProcedureCall, stages: Stages) -> Receipt:
    """Run a call to its receipt.

    Raises:
        InvalidInput: There is no procedure of that name.
    """
    procedure = PROCEDURES.get(call.name)
    if procedure is None:
        raise InvalidInput(
            f"There is no procedure {call.name!r}. There are {', '.join(sorted(PROCEDURES))}.",
            kind=ErrorKind.INVALID_NAME,
            procedure=call.name,
        )
    return procedure(warehouse, rows, call, stages)
