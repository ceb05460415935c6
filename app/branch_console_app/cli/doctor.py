"""The command that looks after the health of tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from branch_console.diff.health.finding import (
    ALTER,
    RECOVER,
    HazardSeverity,
    HealthFinding,
    Remedy,
)
from branch_console.errors import PaimonError
from branch_console.jobs.progress import JobState
from branch_console.operations.agreement import Agreement
from branch_console.procedures.browse.remedies import (
    remedy_command,
    remedy_sql,
    remedy_statements,
)
from branch_console.procedures.call.call import Argument
from branch_console_app.cli.arguments import JsonOption, WarehouseOption, named_table, open_services
from branch_console_app.cli.exit_codes import DONE, FAILED, REFUSED
from branch_console_app.cli.jobs import follow_job
from branch_console_app.cli.output import error_object, print_json, print_line, print_note

if TYPE_CHECKING:
    from branch_console.format.identifier import Identifier
    from branch_console.procedures.compare.catalog_health import CatalogHealth
    from branch_console.procedures.maintenance.doctor import TableHealth
    from branch_console_app.services import Services

doctor_commands = typer.Typer()


@doctor_commands.command()
def doctor(
    table: Annotated[
        str | None,
        typer.Argument(metavar="TABLE", help="All tables, and the catalog, if left out."),
    ] = None,
    fix: Annotated[
        bool,
        typer.Option(
            "--fix",
            help="Run the remedies that delete nothing and change no row, of the findings that "
            "--fail-on counts.",
        ),
    ] = False,
    deep: Annotated[
        bool,
        typer.Option(
            "--deep",
            help="Look at every file, too: whether all that is needed is there, and whole.",
        ),
    ] = False,
    fail_on: Annotated[
        HazardSeverity,
        typer.Option("--fail-on", help="The least severity of a finding that makes it exit 1."),
    ] = HazardSeverity.WARNING,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> int:
    """Tell what may break branches, when, and what remedies it.

    Exit codes: 0 nothing at the level of --fail-on; 1 findings; 2 wrong usage; 3 something could
    not be checked.
    """
    services = open_services(warehouse)
    wanted = None if table is None else named_table(table)
    found, of_catalog = _examine(services, wanted, is_deep=deep)
    every: tuple[TableHealth | CatalogHealth, ...] = (of_catalog, *found)
    fixes: list[dict[str, object]] = []
    if fix:
        remedies = {
            _key(remedy): remedy
            for health in every
            for finding in health.at_least(fail_on)
            for remedy in finding.remedies
            if remedy.only_adds
        }
        fixes = [_fix(services, remedy) for remedy in remedies.values()]
        found, of_catalog = _examine(services, wanted, is_deep=deep)
        every = (of_catalog, *found)
    if as_json:
        document: dict[str, object] = {"tables": [_document(each) for each in found]}
        if wanted is None:
            document["catalog"] = _document_of(of_catalog)
        print_json({**document, "fixes": fixes})
    else:
        _print_fixes(fixes)
        if of_catalog.findings or of_catalog.unchecked:
            _print_health("The catalog", of_catalog)
        for health in found:
            _print_health(health.table.full_name, health)
    if any(health.unchecked for health in every) or any(each["error"] for each in fixes):
        return FAILED
    return REFUSED if any(health.at_least(fail_on) for health in every) else DONE


def _examine(
    services: Services, table: Identifier | None, *, is_deep: bool
) -> tuple[tuple[TableHealth, ...], CatalogHealth]:
    """Look at a table, or at all of them and at the catalog."""
    # Who asks for help does not wait for what looks at a catalog.
    from branch_console.procedures.compare.catalog_health import CatalogHealth  # noqa: PLC0415

    if table is not None:
        return services.examine(table, is_deep=is_deep), CatalogHealth(findings=(), unchecked=())
    return services.examine(None, is_deep=is_deep), services.examine_catalog()


def _key(remedy: Remedy) -> tuple[str, tuple[tuple[str, object], ...]]:
    return remedy.procedure, tuple(remedy.arguments.items())


def _fix(services: Services, remedy: Remedy) -> dict[str, object]:
    """Run a remedy to its end; tell its job, and why it failed where it did."""
    found: dict[str, object] = {
        "procedure": remedy.procedure,
        "arguments": dict(remedy.arguments),
        "operation_id": None,
        "error": None,
    }
    try:
        arguments: dict[str, Argument] = {**remedy.arguments}
        # A statement says what it does, and has no preview.
        if remedy.procedure not in {ALTER, RECOVER}:
            preview = services.preview(remedy.procedure, remedy.arguments)
            preview.raise_unless_runnable(None)
            arguments |= Agreement(plan_id=preview.plan_id).encode()
        job = follow_job(services, services.start(remedy.procedure, arguments))
    except PaimonError as error:
        return {**found, "error": error_object(error)}
    failure = None if job.state is JobState.DONE else error_object(job.failure())
    return {**found, "operation_id": job.id, "error": failure}


def _document(health: TableHealth) -> dict[str, object]:
    return {"table": health.table.full_name, **_document_of(health)}


def _document_of(health: TableHealth | CatalogHealth) -> dict[str, object]:
    return {
        "findings": [
            {
                "rule": each.rule,
                "severity": str(each.severity),
                "branch": each.branch,
                "evidence": list(each.evidence),
                "finding": each.text,
                "breaks": each.breaks,
                "advice": each.advice,
                "remedies": [
                    {
                        "procedure": one.procedure,
                        "arguments": dict(one.arguments),
                        **_as_run(one),
                    }
                    for one in each.remedies
                ],
            }
            for each in health.findings
        ],
        "unchecked": [
            {"branch": each.branch, "error": error_object(each.error)} for each in health.unchecked
        ],
    }


def _as_run(remedy: Remedy) -> dict[str, str]:
    """How a remedy is run: as a statement, or as a command where SQL does not serve it."""
    sql = remedy_sql(remedy)
    return {"command": remedy_command(remedy)} if sql is None else {"sql": sql}


def _print_fixes(fixes: Iterable[dict[str, object]]) -> None:
    for each in fixes:
        error = each["error"]
        ended = f"failed: {error['message']}" if isinstance(error, dict) else "done"
        print_line(f"{each['procedure']} {each['arguments']}: {ended}")


def _print_health(name: str, health: TableHealth | CatalogHealth) -> None:
    if not health.findings:
        print_line(f"{name}: {'not checked' if health.unchecked else 'healthy'}")
    else:
        print_line(name)
    for finding in health.findings:
        _print_finding(finding)
    for each in health.unchecked:
        whose = "The ledger" if each.branch is None else f"Branch {each.branch!r}"
        print_note(f"{whose} of {name} could not be checked: {each.error.message}")


def _print_finding(finding: HealthFinding) -> None:
    print_line(f"  {finding.rule} {finding.severity:<8} {finding.branch}: {finding.sentences}")
    for statement in remedy_statements(finding):
        print_line(f"           {statement}")
