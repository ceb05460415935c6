"""The parts of a finished merge of the catalog: each step has an id by which it is undone alone."""

from dataclasses import dataclass

from branch_console.merge.catalog.catalog_steps import StepKind
from branch_console.operations.catalog_requests import MergeCatalogRequest
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.catalog.catalog_operation import CatalogOperation
from branch_console.procedures.catalog_merge.step_actions import MergeOperation, MergeStep


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedPart:
    """What a merge of the catalog did to one object.

    Attributes:
        operation_id: Of the step, such as `op-91-t1`; `undo` takes it.
        name: What the target called the object as the merge began, or calls it since.
    """

    operation_id: str
    kind: StepKind
    name: str


def parts_of_merge(warehouse: Warehouse, operation_id: str) -> tuple[MergedPart, ...]:
    """Return the parts of a merge of the catalog, in their order; none of another operation.

    Raises:
        FormatError: Its journal cannot be decoded.
    """
    operation = CatalogOperation.find(warehouse, operation_id)
    if operation is None or operation.intent.procedure != MergeCatalogRequest.procedure:
        return ()
    merge = MergeOperation.of(operation)
    return tuple(
        MergedPart(
            operation_id=merge.step_id(step), kind=step.kind, name=name_of_object(merge, step)
        )
        for step in merge.steps
    )


def name_of_object(merge: MergeOperation, step: MergeStep) -> str:
    """Return what the object of a step is called after the merge, or before it where it is gone."""
    place = step.step.after or step.step.before
    if place is None:
        return step.object_id
    if not place.database:
        return place.name
    return f"{merge.final_name(place.database)}.{place.name}"
