"""The obstacles that keep steps of a merge of the catalog from running, found by the preview.

The preview asks the same actions as a run, so that both refuse the same merges.
"""

from collections.abc import Mapping
from typing import Final

from branch_console.commit.journal import Journal
from branch_console.errors import CommitConflict, Refused
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.journals.catalog_merge import CatalogMergeJournal
from branch_console.format.journals.intent import Intent
from branch_console.merge.catalog.catalog_plan import CatalogMergePlan
from branch_console.merge.file_moves import Block
from branch_console.operations.catalog_requests import MergeCatalogRequest
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.catalog.catalog_operation import CatalogOperation, paths_of
from branch_console.procedures.catalog_merge.actions import ACTIONS
from branch_console.procedures.catalog_merge.planned_merge import (
    content_of,
    database_names_of,
    steps_of_plan,
    subject_of,
)
from branch_console.procedures.catalog_merge.step_actions import MergeOperation
from branch_console.procedures.merge.inputs import DecidedMerge

_NOT_BEGUN: Final = "not-begun"


def blocks_of_steps(
    warehouse: Warehouse, plan: CatalogMergePlan, decided: Mapping[str, DecidedMerge]
) -> dict[str, Block]:
    """Return the first refusal of each object, by its id; nothing is written."""
    if plan.target != MAIN_BRANCH:
        return {}  # names, drops and properties are in its version alone
    merge = _not_begun(warehouse, plan, decided)
    found: dict[str, Block] = {}
    for step in merge.steps:
        action = ACTIONS.get(step.kind)
        if action is None or step.object_id in found:
            continue
        try:
            action.check(merge, step)
        except (Refused, CommitConflict) as error:
            found[step.object_id] = Block(text=error.message, kind=error.kind)
    return found


def _not_begun(
    warehouse: Warehouse, plan: CatalogMergePlan, decided: Mapping[str, DecidedMerge]
) -> MergeOperation:
    """Return the operation that a run would begin, as far as checks ask for it."""
    paths = paths_of(warehouse)
    operation = CatalogOperation(
        warehouse=warehouse,
        journal=Journal(warehouse.store, paths),
        intent=Intent(
            operation_id=_NOT_BEGUN,
            procedure=MergeCatalogRequest.procedure,
            actor="",
            branch=plan.target,
            statement="",
            time_millis=0,
            event_millis=0,
            plan={},
        ),
        paths=paths,
    )
    return MergeOperation(
        operation=operation,
        noted=CatalogMergeJournal(
            subject=subject_of(plan),
            plan_id=plan.id,
            source=plan.source,
            target=plan.target,
            source_content=content_of(warehouse, plan.source),
            target_content=content_of(warehouse, plan.target),
            steps=tuple(each.journalled for each in steps_of_plan(plan, decided)),
            database_names=database_names_of(plan),
            catalog_version={},
        ),
    )
