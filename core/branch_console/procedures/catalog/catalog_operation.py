"""Procedures on objects of the catalog: a plan that changes nothing, then a journalled finish.

They go as those on a table do, but their journal is the catalog's: the table or database that they
change may be gone at their end.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from branch_console.commit.journal import Journal
from branch_console.errors import InvalidInput
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.journals.codec import Codec
from branch_console.format.journals.terms import OperationJournal
from branch_console.format.lineage_event import LineageKind
from branch_console.format.receipt import Receipt
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import Preview
from branch_console.procedures.call.permissions import check_role
from branch_console.procedures.call.row_engine import Progress, RowEngine
from branch_console.procedures.call.stages import Facts, Stages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.run.open_operation import OpenOperation, begin_intent
from branch_console.procedures.run.procedure import finish_procedure
from branch_console.procedures.run.receipts import event_of, receipt_of
from branch_console.storage.catalog_paths import CatalogPaths

J = TypeVar("J")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CatalogOperation(OpenOperation):
    """One operation on objects of the catalog.

    Attributes:
        paths: The paths of the warehouse.
    """

    paths: CatalogPaths

    @property
    def subject(self) -> str:
        """The database or table that it changes."""
        return self.intent.subject or "the catalog"

    @classmethod
    def find(cls, warehouse: Warehouse, operation_id: str) -> "CatalogOperation | None":
        """Return the operation if the journal of the catalog has it."""
        paths = paths_of(warehouse)
        journal = Journal(warehouse.store, paths)
        intent = journal.find(operation_id)
        if intent is None:
            return None
        return cls(
            warehouse=warehouse, journal=journal, intent=intent, paths=paths, is_resumed=True
        )

    @classmethod
    def begin(
        cls,
        warehouse: Warehouse,
        call: ProcedureCall,
        *,
        branch: str,
        codec: Codec[J],
        journal: J,
    ) -> "CatalogOperation":
        """Write the intent; an operation that has begun goes on with the plan it began with."""
        paths = paths_of(warehouse)
        ledger = Journal(warehouse.store, paths)
        plan = codec.encode(journal)
        intent = begin_intent(warehouse, ledger, call, branch=branch, plan=plan)
        return cls(warehouse=warehouse, journal=ledger, intent=intent, paths=paths)


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogPlan:
    """The decision of a procedure about objects of the catalog.

    Attributes:
        journal: Everything that finishing needs; empty if nothing can run.
        branch: The catalog branch whose objects change.
        earlier_receipt: The receipt, if there is nothing to change.
    """

    preview: Preview
    journal: OperationJournal
    branch: str = MAIN_BRANCH
    earlier_receipt: Receipt | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogProcedure(Generic[J]):
    """A procedure on objects of the catalog.

    Attributes:
        name: The procedure, as a call names it.
        what: The right of a role, as the end of "You may not …".
        doing: A sentence for the time in which it changes something.
        plan: Decides; never writes.
        codec: Reads and writes what goes into the journal.
        finish: Carries out the journalled plan from wherever it was cut off; raises CommitConflict
            if somebody else came in between, and has then taken back what it did.
        note: Notes in the ledger what the plan stands on, before anything is begun, and returns the
            plan that names it. None if nothing has to be there.
        run: Goes from the call to its receipt by stages of its own; None if one stage does all.
    """

    name: str
    what: str
    doing: str
    plan: Callable[[Warehouse, ProcedureCall], CatalogPlan]
    codec: Codec[J]
    finish: Callable[[CatalogOperation, J], Receipt]
    note: Callable[[Warehouse, ProcedureCall, CatalogPlan], CatalogPlan] | None = None
    run: (
        Callable[["CatalogProcedure[J]", Warehouse, RowEngine, ProcedureCall, Stages], Receipt]
        | None
    ) = None


def run_catalog_procedure(
    procedure: CatalogProcedure[Any],
    warehouse: Warehouse,
    rows: RowEngine,
    call: ProcedureCall,
    stages: Stages,
) -> Receipt:
    """Run a procedure to its receipt; a call that ran before returns the receipt of then.

    Raises:
        NotAllowed: The role does not reach, or the store is not safe to write.
        Refused: Something stands in the way, or the preview is another one by now.
        CommitConflict: Somebody else came in between.
    """
    if procedure.run is not None:
        return procedure.run(procedure, warehouse, rows, call, stages)

    def work(_: Progress) -> Facts:
        return {"receipt": _carry_out(procedure, warehouse, call).to_json()}

    named = procedure.name.replace("_", " ")
    facts = stages.run(named, work, message=procedure.doing, publishes=True)
    return Receipt.from_json(str(facts["receipt"]))


def _carry_out(
    procedure: CatalogProcedure[Any], warehouse: Warehouse, call: ProcedureCall
) -> Receipt:
    warehouse.check_writable()
    operation = CatalogOperation.find(warehouse, call.operation_id)
    if operation is None:
        planned = procedure.plan(warehouse, call)
        check_role(call.role, planned.preview.role, procedure.what)
        if planned.earlier_receipt is not None:
            return planned.earlier_receipt
        planned.preview.raise_unless_runnable(call.agreement.plan_id)
        if procedure.note is not None:
            planned = procedure.note(warehouse, call, planned)
        named = replace(call, name=procedure.name)
        operation = CatalogOperation.begin(
            warehouse, named, branch=planned.branch, codec=procedure.codec, journal=planned.journal
        )
    if operation.intent.procedure != procedure.name:
        raise InvalidInput(
            f"Operation {call.operation_id} is a {operation.intent.procedure} already. Use an id "
            "of its own for each operation.",
            operation_id=call.operation_id,
        )
    return finish_procedure(procedure, operation)


def complete(operation: CatalogOperation, kind: LineageKind, *notes: str) -> Receipt:
    """Record the event with the receipt, and write the end."""
    receipt = receipt_of(operation, notes=notes)
    return operation.complete(event_of(operation, kind, receipt))


def paths_of(warehouse: Warehouse) -> CatalogPaths:
    """Return the paths of a warehouse."""
    return CatalogPaths(warehouse=warehouse.file_io.root.rstrip("/"))
