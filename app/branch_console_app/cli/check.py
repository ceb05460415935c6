"""The command that judges a table by its rules, and how a judgement is printed."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

import typer

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.operations.compare_requests import CheckRulesRequest
from branch_console.quality.findings import GateReport, GateVerdict, RuleFinding, findings_of
from branch_console.quality.rules import RuleSet
from branch_console_app.cli.arguments import (
    JsonOption,
    WarehouseOption,
    open_services,
)
from branch_console_app.cli.exit_codes import DONE, FAILED, REFUSED
from branch_console_app.cli.jobs import finish_job
from branch_console_app.cli.output import local_time, print_json, print_line, print_rows
from branch_console_app.cli.request_options import AskedRequest, takes
from branch_console_app.models.branches.head_checks import HeadCheck

checks = typer.Typer()

_EXAMPLES_PRINTED: Final = 5
_NO_QUERIES: Final[Mapping[str, str]] = MappingProxyType({})
OVERRIDE_HINT: Final = (
    "Run it with --override-gate REASON to go on despite the rules; the receipt keeps the reason."
)
_NOT_RUN: Final = "not run yet"
_EXIT_CODES: Final = {GateVerdict.BLOCK: REFUSED, GateVerdict.NOT_EVALUATED: FAILED}


@checks.command()
@takes(CheckRulesRequest)
def check(
    asked: AskedRequest[CheckRulesRequest],
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> int:
    """Check a branch by the rules of its table; exit code 1 if one blocks, 3 if one cannot run."""
    services = open_services(warehouse)
    identifier, request = asked.named_table, asked.request
    # What cannot be read is told before a job is started.
    if services.rules(identifier, request.rules) is None:
        raise InvalidInput(
            f"{identifier.table_name} has no rules. Name a file: --rules FILE.",
            kind=ErrorKind.INVALID_ARGUMENT,
        )
    if request.before is not None:
        if request.version is not None:
            raise InvalidInput(
                "With --since the head of the branch is judged. Leave --snapshot out.",
                kind=ErrorKind.INVALID_ARGUMENT,
            )
        request = replace(request, after=identifier.branch)
    job_id = finish_job(services, request.procedure, request.encode()).id
    queries = services.failing_rows(job_id).queries
    report = GateReport(digest="", findings=findings_of(services.answer(job_id).rows.to_pylist()))
    if as_json:
        print_json(
            {
                "operation_id": job_id,
                "table": identifier.table_name,
                "branch": identifier.branch,
                "verdict": str(report.verdict),
                "findings": findings_document(report.findings, queries),
            }
        )
    else:
        print_findings(report.findings, queries)
        print_line()
        print_line(f"{identifier.full_name}: {report.verdict}")
    return _EXIT_CODES.get(report.verdict, DONE)


def print_check(name: str, check: HeadCheck) -> None:
    """Print what the rules found for the merge of a branch, and when."""
    print_line(f"{name}: {check.sentence()}, checked {local_time(check.time_millis)}")


def findings_document(
    findings: Iterable[RuleFinding], queries: Mapping[str, str] = _NO_QUERIES
) -> list[dict[str, Any]]:
    """Return findings for a JSON document, with the rows that fail as objects.

    Args:
        findings: The findings.
        queries: By the rule's id, the query that lists all rows that fail.
    """
    document = GateReport(digest="", findings=tuple(findings)).worst_first()
    return [
        {
            **each,
            "examples": [json.loads(text) for text in each["examples"]],
            "failing_rows_query": queries.get(each["rule"]) if each["failures"] else None,
        }
        for each in document
    ]


def print_findings(
    findings: Iterable[RuleFinding],
    queries: Mapping[str, str] = _NO_QUERIES,
    *,
    other_branch: str | None = None,
) -> None:
    """Print what was found of each rule, some of the rows that fail, and the query for all.

    Args:
        findings: The findings.
        queries: The query of each rule that lists rows, by its id.
        other_branch: The branch that the queries read; None if it is what was judged.
    """
    listed = tuple(findings)
    print_rows(
        (
            "verdict",
            "rule",
            "severity",
            "outcome",
            "before",
            ">failures",
            ">before",
            ">worse by",
            ">rows",
            "asked",
        ),
        (
            (
                each.verdict,
                each.name,
                each.severity,
                each.outcome,
                each.outcome_before,
                each.failures,
                each.failures_before,
                each.worse_by if each.failures is not None else None,
                each.rows,
                each.asked,
            )
            for each in listed
        ),
    )
    for each in listed:
        if each.verdict != GateVerdict.PASS:
            print_line()
            print_line(each.said)
        if each.shows_new:
            print_line("rows that newly fail:")
        for text in each.examples[:_EXAMPLES_PRINTED]:
            print_line(f"  {text}")
        if len(each.examples) > _EXAMPLES_PRINTED:
            print_line(f"  and {len(each.examples) - _EXAMPLES_PRINTED} more; --json has them")
        if each.failures and each.verdict != GateVerdict.PASS and each.rule in queries:
            rows = "all that fail, new or not" if each.shows_new else "all of them"
            if other_branch is not None:
                # What fails there may be other rows, and another number of them.
                rows = (
                    f"all rows of {other_branch} that fail (the counts above are of the result of "
                    "the merge)"
                )
            print_line(f"{rows}: {queries[each.rule]}")


def gate_document(rules: RuleSet | None, findings: Sequence[RuleFinding] = ()) -> dict[str, object]:
    """Return the rules that a result is judged by for a JSON document.

    Args:
        rules: The rules; None if there are none.
        findings: What they found in the result; nothing before they ran.
    """
    if rules is None:
        return {}
    report = GateReport(digest=rules.digest, findings=tuple(findings))
    verdict = str(report.verdict) if findings else _NOT_RUN
    listed = [
        {"id": each.id, "severity": str(each.severity), "asked": each.text} for each in rules.rules
    ]
    return {"gate": {"verdict": verdict, "digest": rules.digest, "rules": listed}}


def print_gate(rules: RuleSet | None) -> None:
    """Print the rules that a result will be judged by; nothing if there are none."""
    if rules is None:
        return
    print_line()
    print_line("Quality rules, run on the result before it is published:")
    print_rows(
        ("rule", "severity", "asked"),
        ((each.id, str(each.severity), each.text) for each in rules.rules),
    )
