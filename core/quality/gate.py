"""Whether the rules let a result be published: what fails now, and did not fail before.

Source: section 7 of the design of quality. A rule is judged on the staged result; only where it
fails there does it matter how it stood on the target.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final

import pyarrow as pa

from core.quality.rules import (
    Outcome,
    Rule,
    RuleKind,
    RuleResult,
    RuleSet,
    Severity,
    outcome,
    result_text,
)

SCHEMA_RULE: Final = "schema"
"""What the built-in check of the schema is called."""


class GateVerdict(StrEnum):
    """What the gate says, of one rule or of all; from best to worst.

    Attributes:
        INFO: A rule fails that is only listed: of all, that is a pass.
    """

    PASS = "pass"
    INFO = "info"
    WARN = "warn"
    BLOCK = "block"
    NOT_EVALUATED = "not evaluated"

    @property
    def blocks(self) -> bool:
        """Whether nothing may be published: what is not known is not good."""
        return self in (GateVerdict.BLOCK, GateVerdict.NOT_EVALUATED)


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
        pa.field("examples", pa.list_(pa.string()), nullable=False),
    ]
)
"""What was found of each rule; numbers are null where nothing was counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What was found of one rule; see FINDINGS.

    Attributes:
        rule: Its id.
        asked: What it asks for.
        said: What was found, in a sentence.
        examples: Some rows that fail, each a JSON object of texts by column.
    """

    rule: str
    asked: str
    severity: str
    verdict: str
    said: str
    rows: int | None = None
    failures: int | None = None
    rows_before: int | None = None
    failures_before: int | None = None
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GateReport:
    """All findings of one judgement; `digest` is of the rule file."""

    digest: str
    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> GateVerdict:
        """The worst of all findings."""
        order = list(GateVerdict)
        found = (GateVerdict(each.verdict) for each in self.findings)
        worst = max(found, key=order.index, default=GateVerdict.PASS)
        return GateVerdict.PASS if worst is GateVerdict.INFO else worst

    @property
    def blocking(self) -> tuple[Finding, ...]:
        """The findings that let nothing be published."""
        return tuple(each for each in self.findings if GateVerdict(each.verdict).blocks)

    def to_object(self) -> dict[str, object]:
        """Return JSON values."""
        return {
            "digest": self.digest,
            "verdict": str(self.verdict),
            "findings": [_object(each) for each in self.findings],
        }

    def to_table(self) -> pa.Table:
        """Return the columns of FINDINGS, the worst findings first."""
        order = list(GateVerdict)
        rows = sorted(map(_object, self.findings), key=lambda each: -order.index(each["verdict"]))
        return pa.Table.from_pylist(rows, schema=FINDINGS)


def findings_of(rows: Iterable[Mapping[str, Any]]) -> tuple[Finding, ...]:
    """Return findings from the rows of `to_table`, or from the JSON values of `to_object`."""
    return tuple(Finding(**{**row, "examples": tuple(row["examples"])}) for row in rows)


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
        after: What was found on the staged result, of every rule.
        before: What was found on the target, of those that do not pass after.
        breaking: Changes of the schema that old readers would trip over, in sentences.
    """
    findings = [_judged(rule, after[rule.id], before.get(rule.id)) for rule in rules.rules]
    findings += [
        Finding(
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


def _judged(rule: Rule, after: RuleResult, before: RuleResult | None) -> Finding:
    ended = outcome(rule, after)
    stood = None if before is None else outcome(rule, before)
    return Finding(
        rule=rule.id,
        asked=rule.text,
        severity=str(rule.severity),
        verdict=str(_verdict(rule, ended, stood)),
        said=_said(rule, after, before, ended),
        **_numbers(rule, after, ""),
        **_numbers(rule, before, "_before"),
        examples=after.examples,
    )


def _verdict(rule: Rule, after: Outcome, before: Outcome | None) -> GateVerdict:
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


def _said(rule: Rule, after: RuleResult, before: RuleResult | None, ended: Outcome) -> str:
    if ended is Outcome.NOT_EVALUATED:
        return f"Rule {rule.id!r} was {result_text(rule, after).rstrip('.')}."
    stood = "" if before is None else f", {result_text(rule, before).rstrip('.')} before"
    return f"Rule {rule.id!r} {ended}: {result_text(rule, after)}{stood}."


def _numbers(rule: Rule, found: RuleResult | None, suffix: str) -> dict[str, int | None]:
    if found is None or found.problem is not None or rule.kind is RuleKind.FRESHNESS:
        return {}
    return {f"rows{suffix}": found.rows, f"failures{suffix}": found.failures}


def _object(finding: Finding) -> dict[str, Any]:
    return {**asdict(finding), "examples": list(finding.examples)}
