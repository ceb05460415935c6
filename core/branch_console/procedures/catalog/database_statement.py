"""CREATE, DROP, RENAME and SET of databases, on main or on the catalog branch that a call names."""

from collections.abc import Callable
from typing import Any, Final

from branch_console.catalog.catalog_branch import CatalogOnBranch
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.journals.objects import (
    CREATE_DATABASE_JOURNAL,
    DROP_DATABASE_JOURNAL,
    RENAME_DATABASE_JOURNAL,
    SET_DATABASE_JOURNAL,
    BranchChangeJournal,
)
from branch_console.format.receipt import Receipt
from branch_console.operations.database_requests import DatabaseRequest
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.catalog import branch_databases, main_databases
from branch_console.procedures.catalog.branch_change import finish_change
from branch_console.procedures.catalog.catalog_operation import (
    CatalogOperation,
    CatalogPlan,
    CatalogProcedure,
)

_Plan = Callable[[Warehouse, ProcedureCall], CatalogPlan]
_PlanOnBranch = Callable[[Warehouse, CatalogOnBranch, ProcedureCall], CatalogPlan]
_Finish = Callable[[CatalogOperation, Any], Receipt]


def either_plan(on_main: _Plan, on_branch: _PlanOnBranch) -> _Plan:
    """Return the plan of a statement on main or on a catalog branch."""

    def plan(warehouse: Warehouse, call: ProcedureCall) -> CatalogPlan:
        branch = call.request(DatabaseRequest).branch
        if branch is None or branch == MAIN_BRANCH:
            return on_main(warehouse, call)
        return on_branch(warehouse, warehouse.on(branch), call)

    return plan


def either_finish(on_main: _Finish, on_branch: _Finish = finish_change) -> _Finish:
    """Return the finish of a statement on main or on a catalog branch."""

    def finish(operation: CatalogOperation, journal: object) -> Receipt:
        ends = on_branch if isinstance(journal, BranchChangeJournal) else on_main
        return ends(operation, journal)

    return finish


CREATE_DATABASE: Final = CatalogProcedure(
    name="create_database",
    what="create databases",
    doing="Creating the database.",
    plan=either_plan(main_databases.plan_creation, branch_databases.plan_creation),
    codec=CREATE_DATABASE_JOURNAL,
    finish=either_finish(main_databases.finish_creation, branch_databases.finish_creation),
)
DROP_DATABASE: Final = CatalogProcedure(
    name="drop_database",
    what="drop databases",
    doing="Dropping the database.",
    plan=either_plan(main_databases.plan_drop, branch_databases.plan_drop),
    codec=DROP_DATABASE_JOURNAL,
    finish=either_finish(main_databases.finish_drop),
)
RENAME_DATABASE: Final = CatalogProcedure(
    name="rename_database",
    what="rename databases",
    doing="Renaming the database.",
    plan=either_plan(main_databases.plan_rename, branch_databases.plan_rename),
    codec=RENAME_DATABASE_JOURNAL,
    finish=either_finish(main_databases.finish_rename),
)
SET_DATABASE_PROPERTIES: Final = CatalogProcedure(
    name="set_database_properties",
    what="change databases",
    doing="Changing properties of the database.",
    plan=either_plan(main_databases.plan_set, branch_databases.plan_set),
    codec=SET_DATABASE_JOURNAL,
    finish=either_finish(main_databases.finish_set),
)
