"""How a merge of the catalog is told: the verdict, what becomes of each object, what collides."""

from collections.abc import Mapping
from typing import Final

from branch_console.errors import Refused
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
from branch_console.procedures.catalog_merge.merge_catalog import not_published
from branch_console_app.cli.output import (
    error_object,
    print_error,
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
    services: Services, arguments: Mapping[str, Argument], *, preview: bool, as_json: bool
) -> int:
    """Preview a merge of the catalog, or refuse to run it; return the exit code.

    Args:
        services: The door to the core.
        arguments: Of the procedure.
        preview: Whether only that was asked for.
        as_json: Whether to print a document.
    """
    plan = services.preview_catalog_merge(arguments)
    is_asked_to_run = not preview and plan.verdict is not MergeVerdict.UP_TO_DATE
    refusal = _refusal(plan) if is_asked_to_run else None
    if as_json:
        error = {} if refusal is None else {"error": error_object(refusal)}
        print_json({**plan.to_object(), **error})
    else:
        print_catalog_merge(plan)
        if refusal is not None:
            print_error(refusal, as_json=False)
    return _REFUSED if refusal is not None or plan.verdict in _STOPS else 0


def print_catalog_merge(plan: CatalogMergePlan) -> None:
    """Print the report of a merge of the catalog; what blocks it comes first."""
    print_line(f"{plan.verdict}: {verdict_words(plan)}")
    print_line()
    print_fields(
        {
            "base": plan.versions.base,
            "ours": plan.versions.ours,
            "theirs": plan.versions.theirs,
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


def _refusal(plan: CatalogMergePlan) -> Refused:
    block = not_published(plan)
    return Refused(f"{plan.target!r} is unchanged. {block.text}", kind=block.kind)
