"""Operations without an end: at work, or cut off and to be recovered."""

from dataclasses import dataclass
from typing import Final

from branch_console.diff.health.finding import HazardSeverity, HealthFinding, Remedy

_YOUNG_MILLIS: Final = 300_000
"""An operation that began less than so long ago may be at work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenOperationFacts:
    """An operation without an end.

    Attributes:
        what: Its procedure in words, such as `merge catalog branch`.
        branch: The branch that changes.
        age_millis: How long ago it began.
        turns_back: Why it takes back what it did; None if it does not.
        waits: What it waits for meanwhile and the ways out, as sentences; None if it does not.
    """

    id: str
    what: str
    branch: str
    age_millis: int
    turns_back: str | None = None
    waits: str | None = None


def open_operation(rule: str, facts: OpenOperationFacts, recovery: Remedy) -> HealthFinding:
    """Return the finding on an operation that does not take back what it did."""
    is_young = facts.age_millis < _YOUNG_MILLIS
    return HealthFinding(
        rule=rule,
        severity=HazardSeverity.INFO if is_young else HazardSeverity.WARNING,
        branch=facts.branch,
        evidence=(facts.id,),
        text=f"Operation {facts.id} ({facts.what}) began {facts.age_millis // 60_000:,} min ago "
        "and has no end.",
        breaks="Somebody may be at work on it." if is_young else "It was cut off.",
        advice="" if is_young else "Recovery finishes it or takes it back.",
        remedies=() if is_young else (recovery,),
    )
