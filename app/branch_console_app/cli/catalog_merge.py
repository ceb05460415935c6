"""How a merge of the catalog is told: the verdict, what becomes of each object, what collides."""

from collections.abc import Mapping
from typing import Final

from branch_console.merge.catalog.catalog_plan import CatalogMergePlan
from branch_console.merge.catalog.catalog_report import (
    conflict_words,
    cost_words,
    did_words,
    verdict_words,
)
from branch_console.merge.catalog.object_merge import ObjectMerge
from branch_console.merge.plan import MergeVerdict
from branch_console.operations.argument import Argument
from branch_console.operations.catalog_requests import MergeCatalogRequest
from branch_console_app.cli.branches import run_call
from branch_console_app.cli.output import (
    print_fields,
    print_json,
    print_line,
    print_rows,
)
from branch_console_app.services import Services

_REFUSED: Final = 1
_OBJECTS_LISTED: Final = 200
_STOPS: Final = (MergeVerdict.CONFLICTS, MergeVerdict.REFUSED)


def run_catalog_merge(
    services: Services,
    arguments: Mapping[str, Argument],
    *,
    preview: bool,
    as_json: bool,
    background: bool = False,
    plan_again: bool = False,
) -> int:
    """Preview a merge of the catalog, and run it if nothing stops it; return the exit code.

    Args:
        services: The door to the core.
        arguments: The arguments of the procedure.
        preview: Whether only that was asked for.
        as_json: Whether to print a document.
        background: Whether to leave once the job is enqueued.
        plan_again: Whether to go on where a branch moves and the decisions stay.
    """
    plan = services.preview_catalog_merge(arguments)
    judged = tuple(each.text for each in services.rules_of_catalog_merge(plan))
    document = {**plan.to_object(), "judged": list(judged)}
    runs = not preview and plan.can_run
    if not as_json:
        print_catalog_merge(plan, judged)
    elif not runs:
        print_json(document)
    if not runs:
        return _REFUSED if plan.verdict in _STOPS else 0
    if not as_json:
        print_line()
    return run_call(
        services,
        MergeCatalogRequest.procedure,
        {
            **arguments,
            "plan_id": plan.id,
            **({"decisions": plan.decisions} if plan_again else {}),
        },
        background=background,
        as_json=as_json,
        beside=document,
    )


def print_catalog_merge(plan: CatalogMergePlan, judged: tuple[str, ...]) -> None:
    """Print the report of a merge of the catalog; what blocks it comes first.

    Args:
        plan: The decision.
        judged: By which rules tables will be judged, in sentences.
    """
    print_line(f"{plan.verdict}: {verdict_words(plan)}")
    print_line()
    print_fields(
        {
            "base": plan.versions.base,
            "target": plan.versions.ours,
            "source": plan.versions.theirs,
            "does": cost_words(plan) or None,
        }
    )
    if plan.objects:
        print_line()
        print_rows(
            ("kind", "object", "becomes", "source did", "target did", "cells"),
            [_row(each) for each in plan.objects[:_OBJECTS_LISTED]],
            total=len(plan.objects),
        )
    lines = [
        *(block.text for block in plan.blocks),
        *(conflict_words(conflict) for conflict in plan.conflicts),
        *(f"{each.name}: {text}" for each in plan.objects for text in each.reported),
        *plan.reported,
        *judged,
    ]
    if lines:
        print_line()
    for line in lines:
        print_line(line)


def _row(merged: ObjectMerge) -> tuple[str | None, ...]:
    is_open, did = bool(merged.conflicts or merged.blocks), did_words(merged)
    return (
        str(merged.kind),
        merged.name,
        "open" if is_open else merged.merged_name or "dropped",
        did.theirs or None,
        did.ours or None,
        ", ".join(merged.cells) or None,
    )
