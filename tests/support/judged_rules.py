"""A judgement of rules in each state that is told apart, not in the order in which it is told."""

from typing import Final

from branch_console.quality.gate import judge
from branch_console.quality.rules import QualityRule, RuleKind, RuleResult, RuleSet, Severity

_BEFORE: Final = {"worse": 4, "better": 3, "newly": 0, "newly warns": 0}
_AFTER: Final = {"worse": 9, "fine": 0, "better": 2, "newly warns": 7, "newly": 1}

ORDERED: Final = judge(
    RuleSet(
        table="air.flights",
        digest="d",
        rules=tuple(
            QualityRule(
                id=each, kind=RuleKind.NOT_NULL, columns=("carrier",), strict=True,
                severity=Severity.WARN if each == "newly warns" else Severity.BLOCK,
            )
            for each in _AFTER
        ),
    ),
    {each: RuleResult(rule_id=each, rows=10, failures=count) for each, count in _AFTER.items()},
    {each: RuleResult(rule_id=each, rows=8, failures=count) for each, count in _BEFORE.items()},
)  # fmt: skip
"""What newly fails only warns in part, and stands behind what failed before."""

TOLD: Final = ("newly", "newly warns", "worse", "better", "fine")
"""The rules as they are told: what newly fails, then the worst first."""

SAID: Final = (
    "Rule 'newly' fails now, and passed before: 1 of 10 rows breaks it; before: 0 of 8 rows break "
    "it.",
    "Rule 'newly warns' fails now, and passed before: 7 of 10 rows break it; before: 0 of 8 rows "
    "break it.",
    "Rule 'worse' fails: 9 of 10 rows break it, 5 more than before; it failed before: 4 of 8 rows "
    "break it.",
    "Rule 'better' fails: 2 of 10 rows break it, 1 fewer than before; it failed before: 3 of 8 "
    "rows break it.",
    "Rule 'fine' passes: 0 of 10 rows break it.",
)
