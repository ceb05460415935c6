"""The procedures by their names, as a ProcedureCall knows them."""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.receipt import Receipt
from branch_console.procedures.apply_policy import apply_policy, set_policy
from branch_console.procedures.branch.create_branch import create_branch
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.row_engine import RowEngine
from branch_console.procedures.call.stages import Stages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.catalog.catalog_operation import run_catalog_procedure
from branch_console.procedures.compare.check_rules import check_rules
from branch_console.procedures.compare.count_rows import COUNT_ROWS, count_rows
from branch_console.procedures.compare.quality import COMPARE_QUALITY, compare_quality
from branch_console.procedures.compare.rows import compare_rows_of_states
from branch_console.procedures.demo import build_demo
from branch_console.procedures.merge.merge_branch import MERGE_BRANCH
from branch_console.procedures.merge.reconcile_rows import compare_rows_of_merge
from branch_console.procedures.recover import recover
from branch_console.procedures.registry import (
    CATALOG_PROCEDURES,
    PROCEDURES,
    find_catalog_procedure,
)
from branch_console.procedures.run.procedure import Procedure
from branch_console.procedures.run.runner import run_procedure
from branch_console.procedures.statement.compact_database import run_compact_database
from branch_console.procedures.statement.query import run_query
from branch_console.procedures.statement.table_statement import run_table_statement
from branch_console.procedures.statement.write_statement import run_compact, run_write
from branch_console.sql.statement import COMPACT, COMPACT_DATABASE, QUERY
from branch_console.sql.tables import TableStatementKind
from branch_console.sql.writes import WriteKind

CallRunner: TypeAlias = Callable[[Warehouse, RowEngine, ProcedureCall, Stages], Receipt]


def _runner(procedure: Procedure[Any, Any], *, is_dry: bool = False) -> CallRunner:
    return partial(run_procedure, procedure, is_dry=is_dry)


RUNNERS: Final[Mapping[str, CallRunner]] = MappingProxyType(
    {
        "apply_policy": apply_policy,
        "build_demo": build_demo,
        "check_rules": check_rules,
        COMPARE_QUALITY: compare_quality,
        "compare_rows": compare_rows_of_merge,
        "compare_states": compare_rows_of_states,
        COUNT_ROWS: count_rows,
        "create_branch": create_branch,
        "dry_run_merge": _runner(MERGE_BRANCH, is_dry=True),
        QUERY: run_query,
        COMPACT: run_compact,
        COMPACT_DATABASE: run_compact_database,
        **{str(kind): run_write for kind in WriteKind},
        **{str(kind): run_table_statement for kind in TableStatementKind},
        "recover": recover,
        "set_policy": set_policy,
        **{name: _runner(procedure) for name, procedure in PROCEDURES.items()},
        **{
            name: partial(run_catalog_procedure, procedure)
            for name, procedure in CATALOG_PROCEDURES.items()
        },
    }
)


def run_call(warehouse: Warehouse, rows: RowEngine, call: ProcedureCall, stages: Stages) -> Receipt:
    """Run a call to its receipt.

    Raises:
        InvalidInput: There is no procedure of that name.
    """
    of_catalog = find_catalog_procedure(call)
    if of_catalog is not None:
        return run_catalog_procedure(of_catalog, warehouse, rows, call, stages)
    runner = RUNNERS.get(call.name)
    if runner is None:
        raise InvalidInput(
            f"There is no procedure {call.name!r}. There are {', '.join(sorted(RUNNERS))}.",
            kind=ErrorKind.INVALID_NAME,
            procedure=call.name,
        )
    return runner(warehouse, rows, call, stages)
