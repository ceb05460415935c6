"""Whether the data of a state are worse than those of another, in one sentence."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from branch_console.quality.comparison import ScopeComparison
from branch_console.quality.drift import Rating
from branch_console.quality.findings import RuleFinding
from branch_console.quality.rules import Outcome
from branch_console_app.models.parts.wording import code, listed, plural


class QualityChange(StrEnum):
    """The result of a comparison of quality."""

    WORSE = "worse"
    BETTER = "better"
    NO_CHANGE = "no notable change"
    FEW_ROWS = "too few rows to tell"


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityVerdict:
    """The verdict and its sentence, which is Markdown."""

    change: QualityChange
    sentence: str


def quality_verdict(
    scope: ScopeComparison, findings: Sequence[RuleFinding], versus: str
) -> QualityVerdict:
    """Judge a side by the drift of its columns and by the rules that newly fail or pass on it.

    Drift has no good direction, so a column beyond its threshold counts as worse.

    Args:
        scope: The rows that are compared.
        findings: The findings of the rules on the side; none if they were not judged.
        versus: The name of the other side.
    """
    alarms = [each.name for each in scope.columns if each.rating is Rating.ALARM]
    newly = [each.rule for each in findings if each.is_new]
    other = code(versus)
    if alarms or newly:
        parts = []
        if alarms:
            names = listed([code(each) for each in alarms])
            parts.append(f"{plural(len(alarms), 'column')} beyond the alarm threshold ({names})")
        if newly:
            verb = "fails" if len(newly) == 1 else "fail"
            names = listed([code(each) for each in newly])
            parts.append(f"{plural(len(newly), 'rule')} newly {verb} ({names})")
        sentence = f"**Worse than** {other}**:** {', '.join(parts)}."
        return QualityVerdict(change=QualityChange.WORSE, sentence=sentence)
    mended = [each.rule for each in findings if _is_mended(each)]
    if mended:
        verb = "passes" if len(mended) == 1 else "pass"
        names = listed([code(each) for each in mended])
        rules = plural(len(mended), "rule")
        sentence = f"**Better than** {other}**:** {rules} now {verb} ({names})."
        return QualityVerdict(change=QualityChange.BETTER, sentence=sentence)
    if scope.rating in (Rating.FEW_ROWS, Rating.NOT_RATED) or min(scope.rows) == 0:
        sentence = "**Too few rows to tell.** A side has fewer than 100 rows to rate columns by."
        return QualityVerdict(change=QualityChange.FEW_ROWS, sentence=sentence)
    return QualityVerdict(
        change=QualityChange.NO_CHANGE,
        sentence=f"**No notable change** against {other}: no column is beyond the alarm threshold.",
    )


def _is_mended(finding: RuleFinding) -> bool:
    """Whether a rule passes that failed on the other side."""
    return (finding.outcome, finding.outcome_before) == (Outcome.PASSES, Outcome.FAILS)
