"""Two branches of the catalog that were compared, as a document and as lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from branch_console.diff.schema_diff import SchemaVerdict
from branch_console.operations.compare_requests import CheckRulesRequest
from branch_console.quality.findings import GateReport, GateVerdict, findings_of
from branch_console_app.cli.check import findings_document
from branch_console_app.cli.compare_text import bounds_object
from branch_console_app.cli.jobs import finish_job
from branch_console_app.cli.output import count, error_object, print_json, print_line, print_rows
from branch_console_app.models.compare.states import bounds_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from branch_console.diff.rows.row_bounds import RowDifference
    from branch_console.diff.rows.row_figure import RowFigure
    from branch_console.procedures.compare.catalogs import (
        ComparedCatalogs,
        ComparedObject,
        ComparedTable,
    )
    from branch_console_app.services import Services

_SHOWN: Final = 200


def compare_branches(
    services: Services,
    branches: tuple[str, str],
    *,
    quality: bool,
    every: bool,
    as_json: bool,
) -> None:
    """Compare two branches of the catalog, and print what differs."""
    found = services.compare_catalogs(*branches)
    reports = judged_tables(services, found) if quality else {}
    if as_json:
        print_json(document_of(found, reports))
    else:
        print_compared(branches, found, reports, every=every)


def judged_tables(services: Services, found: ComparedCatalogs) -> dict[str, GateReport]:
    """Judge each table that differs and has rules, by id: B as if it took the place of A.

    Raises:
        PaimonError: A job was refused, failed or was cancelled.
    """
    reports = {}
    for each in found.objects:
        content = each.content
        if content is None or not content.rules or None in content.states:
            continue
        before, after = map(str, content.states)
        branch = after.partition("@")[0]
        table = content.name.on_branch(branch).full_name
        asked = CheckRulesRequest(table=table, before=before, after=after)
        job_id = finish_job(services, asked.procedure, asked.encode()).id
        rows = services.answer(job_id).rows.to_pylist()
        reports[each.id] = GateReport(digest="", findings=findings_of(rows))
    return reports


def print_compared(
    branches: tuple[str, str],
    found: ComparedCatalogs,
    reports: Mapping[str, GateReport],
    *,
    every: bool,
) -> None:
    """Print the objects that differ, a line each, with their rows and verdicts."""
    differing = len(found.objects)
    print_line(f"A is {found.versions[0]}, B is {found.versions[1]}.")
    print_line(f"Objects that differ: {differing:,}. Objects that are the same: {found.same:,}.")
    if not found.objects:
        return
    print_line()
    objects = found.objects if every else found.objects[:_SHOWN]
    print_rows(
        ("kind", "object", "differs in", "in A", "in B", "A to B", "schema", "quality"),
        [_row(each, reports.get(each.id)) for each in objects],
        total=differing,
    )
    for each in objects:
        if each.before and each.after and each.before != each.after:
            print_line(f"{each.after}: {branches[0]} calls it {each.before}.")
        if each.properties:
            print_line(f"{each.name}: other values of {', '.join(each.properties)}.")
        if each.error is not None:
            print_line(f"{each.name}: {each.error.message}")


def document_of(found: ComparedCatalogs, reports: Mapping[str, GateReport]) -> dict[str, object]:
    """Return what differs for a JSON document."""
    return {
        "a": found.versions[0],
        "b": found.versions[1],
        "same": found.same,
        "objects": [_object(each, reports.get(each.id)) for each in found.objects],
    }


def quality_words(content: ComparedTable, report: GateReport | None) -> str:
    """Say how B is judged where it takes the place of A, as far as that is known."""
    if report is not None:
        return str(report.verdict)
    if content.schema is not None and content.schema.verdict is SchemaVerdict.BREAKING:
        return str(GateVerdict.BLOCK)
    if content.rules:
        return f"not run: {count(content.rules, 'rule')}"
    return "no rules"


def _row(each: ComparedObject, report: GateReport | None) -> tuple[object, ...]:
    differs = ", ".join(each.differs) or "cannot be compared"
    content = each.content
    if content is None:
        return str(each.kind), each.name, differs, None, None, None, None, None
    before, after = content.figures
    return (
        str(each.kind),
        each.name,
        differs,
        None if before is None else before.words(),
        None if after is None else after.words(),
        None if content.rows is None else _difference(content.rows),
        None if content.schema is None else str(content.schema.verdict),
        quality_words(content, report),
    )


def _difference(rows: RowDifference) -> str | None:
    parts = (("added", rows.added), ("removed", rows.removed), ("changed", rows.changed))
    differences = [f"{bounds_text(bounds)} {what}" for what, bounds in parts if bounds.high]
    return ", ".join(differences) or None


def _object(each: ComparedObject, report: GateReport | None) -> dict[str, object]:
    content = each.content
    return {
        "kind": str(each.kind),
        "id": each.id,
        "name": {"a": each.before, "b": each.after},
        "differs": [str(difference) for difference in each.differs],
        "properties": list(each.properties),
        "rows": None if content is None else _rows_object(content),
        "schema": None
        if content is None or content.schema is None
        else {"verdict": str(content.schema.verdict), "changes": content.schema.changes},
        "quality": None
        if content is None
        else {
            "verdict": quality_words(content, report),
            "rules": content.rules,
            "findings": [] if report is None else findings_document(report.findings),
        },
        "error": None if each.error is None else error_object(each.error),
    }


def _rows_object(content: ComparedTable) -> dict[str, object]:
    before, after = map(_figure_object, content.figures)
    rows = content.rows
    if rows is None:
        return {"a": before, "b": after}
    return {
        "a": before,
        "b": after,
        "added": bounds_object(rows.added),
        "removed": bounds_object(rows.removed),
        "changed": bounds_object(rows.changed),
        "exact": rows.is_exact,
        "why_not_exact": list(rows.reasons),
    }


def _figure_object(figure: RowFigure | None) -> dict[str, int | None] | None:
    return None if figure is None else figure.to_object()
