"""The gate: when a rule passes, and what its failing does to a merge."""

from dataclasses import replace
from decimal import Decimal

from core.quality.findings import GateVerdict, findings_of
from core.quality.gate import failing_ids, findings_table, judge, judge_state
from core.quality.rules import (
    Outcome,
    Rule,
    RuleKind,
    RuleResult,
    RuleSet,
    Severity,
    outcome,
)

RULE = Rule(id="r", kind=RuleKind.NOT_NULL, columns=("a",), severity=Severity.BLOCK)


def found(failures: int = 0, rows: int = 10, **more: object) -> RuleResult:
    return replace(RuleResult(rule_id="r", rows=rows, failures=failures), **more)  # type: ignore[arg-type]


def rules(rule: Rule) -> RuleSet:
    return RuleSet(table="db.t", digest="d", rules=(rule,))


def test_when_a_rule_passes() -> None:
    rate = replace(RULE, min_pass_rate=Decimal("0.9"))
    third = replace(RULE, min_pass_rate=Decimal("0.7"))
    count = Rule(id="r", kind=RuleKind.ROW_COUNT_BETWEEN, low="5", high="10")
    fresh = Rule(id="r", kind=RuleKind.FRESHNESS, max_age_millis=1000)
    cells = [
        (RULE, found(0), True),
        (RULE, found(1), False),
        (RULE, found(0, rows=0), True),
        (rate, found(1), True),
        (rate, found(2), False),
        # As floats 1 - 0.7 is a little less than 0.3.
        (third, found(3), True),
        (count, found(rows=4), False),
        (count, found(rows=5), True),
        (count, found(rows=10), True),
        (count, found(rows=11), False),
        (fresh, found(age_millis=1000), True),
        (fresh, found(age_millis=1001), False),
        (fresh, found(), False),
    ]
    for rule, result, passes in cells:
        ended = outcome(rule, result)
        assert ended is (Outcome.PASSES if passes else Outcome.FAILS), (rule, result)
    assert outcome(RULE, found(problem="No column.")) is Outcome.NOT_EVALUATED


def test_what_a_merge_is_held_back_by() -> None:
    broken = found(problem="No column.")
    warns, info = (replace(RULE, severity=each) for each in (Severity.WARN, Severity.INFO))
    strict = replace(RULE, strict=True)
    cells = [
        (RULE, found(0), None, GateVerdict.PASS),
        (RULE, found(1), found(0), GateVerdict.BLOCK),
        (RULE, found(1), found(1), GateVerdict.WARN),
        (RULE, found(9), found(1), GateVerdict.WARN),
        (strict, found(1), found(1), GateVerdict.BLOCK),
        (RULE, found(1), broken, GateVerdict.BLOCK),
        (RULE, broken, found(0), GateVerdict.NOT_EVALUATED),
        (RULE, broken, broken, GateVerdict.NOT_EVALUATED),
        (warns, found(1), found(0), GateVerdict.WARN),
        (warns, broken, found(0), GateVerdict.WARN),
        (info, found(1), found(0), GateVerdict.PASS),
    ]
    for rule, after, before, verdict in cells:
        known = {} if before is None else {"r": before}
        report = judge(rules(rule), {"r": after}, known)
        (finding,) = report.findings
        if rule is info:
            assert finding.verdict == GateVerdict.INFO
        assert report.verdict is verdict, (rule, after, before)
        assert bool(report.blocking) == verdict.blocks, (rule, after, before)
        assert ("r" in failing_ids(rules(rule), {"r": after})) == (before is not None)


def test_a_breaking_schema_blocks_whatever_the_rules_say() -> None:
    report = judge(rules(RULE), {"r": found()}, {}, ["dropped 'a': Its values are not read."])
    assert report.verdict is GateVerdict.BLOCK
    assert [each.rule for each in report.blocking] == ["schema"]


def test_a_finding_tells_both_counts_and_comes_back_from_what_is_kept() -> None:
    after = found(41, 1000, examples=('{"a": null}',))
    report = judge(rules(RULE), {"r": after}, {"r": found(0, 960)})
    (finding,) = report.findings
    assert finding.said == "Rule 'r' fails: 41 of 1,000 rows, 0 of 960 rows before."
    assert findings_of(findings_table(report).to_pylist()) == report.findings
    kept = report.to_object()["findings"]
    assert isinstance(kept, list)
    assert findings_of(kept) == report.findings


def test_one_state_is_judged_without_another_before_it() -> None:
    assert judge_state(rules(RULE), {"r": found(1)}).verdict is GateVerdict.BLOCK
    assert judge_state(rules(RULE), {"r": found(0)}).verdict is GateVerdict.PASS
