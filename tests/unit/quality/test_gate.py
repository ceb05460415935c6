"""The gate: when a rule passes, and what its failing does to a merge."""

from dataclasses import replace
from decimal import Decimal

from branch_console.quality.findings import GateVerdict, findings_of
from branch_console.quality.gate import failing_ids, findings_table, judge, judge_state
from branch_console.quality.rules import (
    Outcome,
    PartitionFailures,
    QualityRule,
    RuleKind,
    RuleResult,
    RuleSet,
    Severity,
    outcome,
)
from tests.support.judged_rules import ORDERED

RULE = QualityRule(id="r", kind=RuleKind.NOT_NULL, columns=("a",), severity=Severity.BLOCK)


def found(failures: int = 0, rows: int = 10, **more: object) -> RuleResult:
    return replace(RuleResult(rule_id="r", rows=rows, failures=failures), **more)  # type: ignore[arg-type]


def rules(rule: QualityRule) -> RuleSet:
    return RuleSet(table="db.t", digest="d", rules=(rule,))


def test_when_a_rule_passes() -> None:
    rate = replace(RULE, min_pass_rate=Decimal("0.9"))
    third = replace(RULE, min_pass_rate=Decimal("0.7"))
    count = QualityRule(id="r", kind=RuleKind.ROW_COUNT_BETWEEN, low="5", high="10")
    fresh = QualityRule(id="r", kind=RuleKind.FRESHNESS, max_age_millis=1000)
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
    after = found(41, 1000, examples=('{"a": null}',), shows_new=True)
    report = judge(rules(RULE), {"r": after}, {"r": found(0, 960)})
    (finding,) = report.findings
    assert finding.said == (
        "Rule 'r' fails now, and passed before: 41 of 1,000 rows break it; before: 0 of 960 rows "
        "break it."
    )
    assert (finding.outcome, finding.outcome_before, finding.worse_by) == ("fails", "passes", 41)
    assert findings_of(findings_table(report).to_pylist()) == report.findings
    kept = report.to_object()["findings"]
    assert isinstance(kept, list)
    assert findings_of(kept) == report.findings


def test_a_finding_names_the_partitions_in_which_more_rows_fail_than_before() -> None:
    grown = tuple(
        PartitionFailures(partition=f"day={day}", failures=1_200 - day, failures_before=day)
        for day in range(5)
    )
    report = judge(rules(RULE), {"r": found(41, 1000, partitions=grown)}, {"r": found(1, 960)})
    (finding,) = report.findings
    assert finding.said.endswith(
        " More rows fail than before: 1,200 in day=0, 0 before; 1,199 in day=1, 1 before; "
        "1,198 in day=2, 2 before; and more in 2 other partitions."
    )
    assert findings_of(findings_table(report).to_pylist()) == report.findings
    kept = report.to_object()["findings"]
    assert isinstance(kept, list)
    assert findings_of(kept) == report.findings
    # What an earlier release kept has no such columns.
    earlier = findings_table(report).drop_columns(["partitions", "shows_new"]).to_pylist()
    assert findings_of(earlier) == (replace(finding, partitions=()),)


def test_a_finding_says_if_the_rows_it_shows_may_have_failed_before() -> None:
    unsure = " The rows shown may have failed before."
    rows = ('{"a": null}',)
    cells = (
        (found(9, examples=rows), found(1), True),
        (found(9, examples=rows, shows_new=True), found(1), False),
        (found(9, examples=rows), found(0), False),
        (found(9, examples=rows), found(9), False),
        (found(9), found(1), False),
    )
    for after, before, is_unsure in cells:
        (finding,) = judge(rules(RULE), {"r": after}, {"r": before}).findings
        assert finding.said.endswith(unsure) is is_unsure, (after, before)


def test_what_passes_does_not_speak_of_failures_as_passes() -> None:
    rate = replace(RULE, min_pass_rate=Decimal("0.5"))
    (finding,) = judge_state(rules(rate), {"r": found(4_374, 9_000)}).findings
    said = "Rule 'r' passes: 4,374 of 9,000 rows break it (48.6%); 50% is allowed."
    assert finding.said == said


def test_a_rule_that_allows_a_share_says_it_beside_the_shares_that_fail() -> None:
    rate = replace(RULE, min_pass_rate=Decimal("0.99"))
    after, before = found(29_361, 336_776), found(2_512, 336_776)
    (finding,) = judge(rules(rate), {"r": after}, {"r": before}).findings
    assert finding.said == (
        "Rule 'r' fails now, and passed before: 29,361 of 336,776 rows break it (8.72%); 1% "
        "is allowed; before: 2,512 of 336,776 rows break it (0.746%)."
    )
    assert finding.allowed == "1%"


def test_of_what_blocks_that_which_newly_fails_is_told_first() -> None:
    assert [each.rule for each in ORDERED.blocking] == ["newly", "worse", "better"]


def test_what_fails_newly_comes_first_and_what_was_bad_says_how_much_worse_it_is() -> None:
    ids = ("old", "better", "new", "fine")
    listed = RuleSet(
        table="db.t",
        digest="d",
        rules=tuple(
            replace(RULE, id=each, severity=Severity.WARN if each == "new" else Severity.BLOCK,
                    strict=True)
            for each in ids
        ),
    )  # fmt: skip
    after = {"old": found(9), "better": found(2), "new": found(1), "fine": found(0)}
    before = {"old": found(4), "better": found(3), "new": found(0)}
    report = judge(listed, after, before)
    told = report.worst_first()
    assert [each["rule"] for each in told] == ["new", "old", "better", "fine"]
    assert [each["rule"] for each in findings_table(report).to_pylist()] == [
        "new", "old", "better", "fine",
    ]  # fmt: skip
    assert [each["worse_by"] for each in told] == [1, 5, -1, None]
    said = {each["rule"]: each["said"] for each in told}
    assert said["old"] == (
        "Rule 'old' fails: 9 of 10 rows break it, 5 more than before; it failed before: 4 of 10 "
        "rows break it."
    )
    assert "1 fewer than before" in said["better"]
    fresh = QualityRule(id="f", kind=RuleKind.FRESHNESS, max_age_millis=1)
    (aged,) = judge(
        replace(listed, rules=(fresh,)),
        {"f": found(age_millis=7_200_000, future=2)},
        {"f": found(age_millis=3_600_000)},
    ).findings
    assert aged.said == (
        "Rule 'f' fails: 2.0 h old, without 2 rows in the future, 1.0 h older than before; it "
        "failed before: 1.0 h old."
    )
    count = QualityRule(id="c", kind=RuleKind.ROW_COUNT_BETWEEN, low="10")
    (few,) = judge(
        replace(listed, rules=(count,)), {"c": found(rows=6)}, {"c": found(rows=8)}
    ).findings
    assert "6 rows, 2 rows farther off than before" in few.said


def test_one_state_is_judged_without_another_before_it() -> None:
    assert judge_state(rules(RULE), {"r": found(1)}).verdict is GateVerdict.BLOCK
    assert judge_state(rules(RULE), {"r": found(0)}).verdict is GateVerdict.PASS
