"""Whether the rules let a result be published: what fails now, and did not fail before.

Source: section 7 of the design of quality. A rule is judged on the staged result; only if it
fails there does it matter how it stood on the target.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import pyarrow as pa

from branch_console.quality.findings import GateReport, GateVerdict, RuleFinding
from branch_console.quality.rules import (
    Outcome,
    PartitionFailures,
    QualityRule,
    RuleKind,
    RuleResult,
    RuleSet,
    Severity,
    allowed_share,
    outcome,
    result_text,
    worse_by,
    worse_text,
)

SCHEMA_RULE: Final = "schema"
"""The name of the built-in check of the schema."""

_NAMED: Final = 3
_PARTITION: Final = pa.struct(
    [
        pa.field("partition", pa.string(), nullable=False),
        pa.field("failures", pa.int64(), nullable=False),
        pa.field("failures_before", pa.int64(), nullable=False),
    ]
)

FINDINGS: Final = pa.schema(
    [
        pa.field("rule", pa.string(), nullable=False),
        pa.field("asked", pa.string(), nullable=False),
        pa.field("severity", pa.string(), nullable=False),
        pa.field("verdict", pa.string(), nullable=False),
        pa.field("said", pa.string(), nullable=False),
        pa.field("rows", pa.int64()),
        pa.field("failures", pa.int64()),
        pa.field("rows_before", pa.int64()),
        pa.field("failures_before", pa.int64()),
        pa.field("outcome", pa.string()),
        pa.field("outcome_before", pa.string()),
        pa.field("worse_by", pa.int64()),
        pa.field("allowed", pa.string()),
        pa.field("examples", pa.list_(pa.string()), nullable=False),
        pa.field("partitions", pa.list_(_PARTITION), nullable=False),
        pa.field("shows_new", pa.bool_(), nullable=False),
    ]
)
"""The findings on each rule; numbers are null if nothing was counted."""

_FINDINGS_ON_TABLES: Final = pa.schema([*FINDINGS, pa.field("table", pa.string())])


def findings_table(report: GateReport) -> pa.Table:
    """Return the columns of FINDINGS: what fails newly first, then the worst first.

    A report on many tables has one more column, `table`.
    """
    is_of_many = any(each.table is not None for each in report.findings)
    schema = _FINDINGS_ON_TABLES if is_of_many else FINDINGS
    return pa.Table.from_pylist(report.worst_first(), schema=schema)


def failing_ids(rules: RuleSet, after: Mapping[str, RuleResult]) -> frozenset[str]:
    """Return the rules that do not pass on the result: how these stood before matters."""
    return frozenset(
        rule.id for rule in rules.rules if outcome(rule, after[rule.id]) is not Outcome.PASSES
    )


def judge(
    rules: RuleSet,
    after: Mapping[str, RuleResult],
    before: Mapping[str, RuleResult],
    breaking: Sequence[str] = (),
) -> GateReport:
    """Decide whether a result may be published.

    Args:
        rules: The rules.
        after: The findings on the staged result, of every rule.
        before: The findings on the target, of rules that the result fails.
        breaking: Changes of the schema that old readers would trip over, in sentences.
    """
    findings = [_judged(rule, after[rule.id], before.get(rule.id)) for rule in rules.rules]
    findings += [
        RuleFinding(
            rule=SCHEMA_RULE,
            asked="no breaking change of the schema",
            severity=str(Severity.BLOCK),
            verdict=str(GateVerdict.BLOCK),
            said=each,
        )
        for each in breaking
    ]
    return GateReport(digest=rules.digest, findings=tuple(findings))


def judge_state(rules: RuleSet, found: Mapping[str, RuleResult]) -> GateReport:
    """Decide how one state stands, with none before it: a `block` rule that fails blocks."""
    findings = tuple(_judged(rule, found[rule.id], None) for rule in rules.rules)
    return GateReport(digest=rules.digest, findings=findings)


def _judged(rule: QualityRule, after: RuleResult, before: RuleResult | None) -> RuleFinding:
    ended = outcome(rule, after)
    stood = None if before is None else outcome(rule, before)
    worse = None if before is None else worse_by(rule, after, before)
    return RuleFinding(
        rule=rule.id,
        asked=rule.text,
        severity=str(rule.severity),
        verdict=str(_verdict(rule, ended, stood)),
        said=_said(rule, after, before, worse),
        outcome=str(ended),
        outcome_before=None if stood is None else str(stood),
        worse_by=worse,
        allowed=allowed_share(rule),
        **_numbers(rule, after, ""),
        **_numbers(rule, before, "_before"),
        examples=after.examples,
        partitions=after.partitions,
        shows_new=after.shows_new,
        table=None,
    )


def _verdict(rule: QualityRule, after: Outcome, before: Outcome | None) -> GateVerdict:
    if after is Outcome.PASSES:
        return GateVerdict.PASS
    if rule.severity is Severity.INFO:
        return GateVerdict.INFO
    if rule.severity is Severity.WARN:
        return GateVerdict.WARN
    if after is Outcome.NOT_EVALUATED:
        return GateVerdict.NOT_EVALUATED
    # What failed before is not this merge's doing.
    is_old = before is Outcome.FAILS and not rule.strict
    return GateVerdict.WARN if is_old else GateVerdict.BLOCK


def _said(
    rule: QualityRule, after: RuleResult, before: RuleResult | None, worse: int | None
) -> str:
    ended, now = outcome(rule, after), result_text(rule, after)
    grown = _grown(after.partitions)
    old = _old(after, before)
    if ended is Outcome.NOT_EVALUATED:
        return f"Rule {rule.id!r} was {now.rstrip('.')}."
    if ended is Outcome.PASSES:
        at_most = f"; {allowed_share(rule)} is allowed" if after.failures else ""
        return f"Rule {rule.id!r} passes: {now}{at_most}."
    if (allowed := allowed_share(rule)) is not None:
        now = f"{now}; {allowed} is allowed"
    if before is None:
        return f"Rule {rule.id!r} fails: {now}."
    then = result_text(rule, before).rstrip(".")
    match outcome(rule, before):
        case Outcome.PASSES:
            return (
                f"Rule {rule.id!r} fails now, and passed before: {now}; before: {then}.{grown}{old}"
            )
        case Outcome.NOT_EVALUATED:
            return f"Rule {rule.id!r} fails: {now}; before it was {then}."
        case Outcome.FAILS:
            more = "" if worse is None else f", {worse_text(rule, worse)}"
            return f"Rule {rule.id!r} fails: {now}{more}; it failed before: {then}.{grown}{old}"


def _grown(partitions: Sequence[PartitionFailures]) -> str:
    """Say where more rows fail than before; empty if that is not known."""
    if not partitions:
        return ""
    named = "; ".join(each.words for each in partitions[:_NAMED])
    others = len(partitions) - _NAMED
    noun = "partition" if others == 1 else "partitions"
    more = f"; and more in {others} other {noun}" if others > 0 else ""
    return f" More rows fail than before: {named}{more}."


def _old(after: RuleResult, before: RuleResult | None) -> str:
    """Say that the rows shown may not be the new ones; empty where they are, or none is shown."""
    if before is None or after.shows_new or not after.examples:
        return ""
    has_old = 0 < before.failures < after.failures
    return " The rows shown may have failed before." if has_old else ""


def _numbers(rule: QualityRule, found: RuleResult | None, suffix: str) -> dict[str, int | None]:
    if found is None or found.problem is not None or rule.kind is RuleKind.FRESHNESS:
        return {}
    return {f"rows{suffix}": found.rows, f"failures{suffix}": found.failures}
