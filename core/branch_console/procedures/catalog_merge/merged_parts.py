"""The parts of a finished merge of the catalog: each step has an id by which it is undone alone."""

from branch_console.merge.catalog.merged_part import MergedPart
from branch_console.operations.catalog_requests import MergeCatalogRequest
from branch_console.procedures.call.call import AGAIN
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.catalog.catalog_operation import CatalogOperation
from branch_console.procedures.catalog_merge.step_actions import MergeOperation, MergeStep
from branch_console.procedures.run.runner import MOST_PLANS


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
            operation_id=merge.step_id(step),
            object_id=step.object_id,
            kind=step.kind,
            name=name_of_object(merge, step),
        )
        for step in merge.steps
    )


def parts_of_job(warehouse: Warehouse, job_id: str) -> tuple[MergedPart, ...]:
    """Return the parts of the merge of the catalog that a job carries out, as `parts_of_merge`.

    A job whose merge was taken back and planned again goes on under the id of another operation.
    """
    tries = (job_id, *(f"{job_id}{AGAIN}{number}" for number in range(1, MOST_PLANS + 1)))
    found = (parts_of_merge(warehouse, each) for each in reversed(tries))
    return next((each for each in found if each), ())


def name_of_object(merge: MergeOperation, step: MergeStep) -> str:
    """Return what the object of a step is called after the merge, or before it where it is gone."""
    place = step.step.after or step.step.before
    if place is None:
        return step.object_id
    if not place.database:
        return place.name
    return f"{merge.final_name(place.database)}.{place.name}"
