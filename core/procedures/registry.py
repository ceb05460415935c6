"""The verbs by their names, as a ProcedureCall knows them."""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final, TypeAlias

from core.errors import ErrorKind, InvalidInput
from core.format.receipt import Receipt
from core.procedures.branches import create_branch
from core.procedures.call import ProcedureCall
from core.procedures.check_rules import check_rules
from core.procedures.compare_quality import COMPARE_QUALITY, compare_quality
from core.procedures.compare_rows_job import compare_rows_of_states
from core.procedures.count_rows import COUNT_ROWS, count_rows
from core.procedures.demo import build_demo
from core.procedures.fast_forward import fast_forward
from core.procedures.lifecycle import VERBS
from core.procedures.merge_branch import MERGE_BRANCH
from core.procedures.query import run_query
from core.procedures.recover import recover
from core.procedures.row_engine import RowEngine
from core.procedures.run_verb import run_verb
from core.procedures.settle_rows import compare_rows
from core.procedures.stages import Stages
from core.procedures.table_statement import run_table_statement
from core.procedures.verb import Verb
from core.procedures.warehouse import Warehouse
from core.procedures.write_statement import run_compact, run_write
from core.sql.statement import COMPACT, QUERY
from core.sql.tables import TableKind
from core.sql.writes import WriteKind

Procedure: TypeAlias = Callable[[Warehouse, RowEngine, ProcedureCall, Stages], Receipt]


def _procedure(verb: Verb, *, is_dry: bool = False) -> Procedure:
    return partial(run_verb, verb, is_dry=is_dry)


PROCEDURES: Final[Mapping[str, Procedure]] = MappingProxyType(
    {
        "build_demo": build_demo,
        "check_rules": check_rules,
        COMPARE_QUALITY: compare_quality,
        "compare_rows": compare_rows,
        "compare_states": compare_rows_of_states,
        COUNT_ROWS: count_rows,
        "create_branch": create_branch,
        "dry_run_merge": _procedure(MERGE_BRANCH, is_dry=True),
        "fast_forward": fast_forward,
        QUERY: run_query,
        COMPACT: run_compact,
        **{str(kind): run_write for kind in WriteKind},
        **{str(kind): run_table_statement for kind in TableKind},
        "recover": recover,
        **{name: _procedure(verb) for name, verb in VERBS.items()},
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
