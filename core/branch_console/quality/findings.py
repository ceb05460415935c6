"""Findings of a table's rules as values: kept with an operation and shown again."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final

from branch_console.errors import ErrorKind
from branch_console.quality.rules import Outcome, PartitionFailures

GATE_ERRORS: Final = frozenset({ErrorKind.GATE_FAILED, ErrorKind.RULES_NOT_CHECKED})
"""How a job ends that its rules let publish nothing; what they found is its answer."""


class GateVerdict(StrEnum):
    """The verdicts of the gate on one rule or on all, from best to worst.

    Attributes:
        INFO: A rule fails that is only listed: of all, that is a pass.
        NOT_EVALUATED: A rule that would block could not be checked; of all, no rule fails.
    """

    PASS = "pass"
    INFO = "info"
    WARN = "warn"
    NOT_EVALUATED = "not evaluated"
    BLOCK = "block"

    @property
    def blocks(self) -> bool:
        """Whether nothing may be published: what is not known is not good."""
        return self in (GateVerdict.BLOCK, GateVerdict.NOT_EVALUATED)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleFinding:
    """The finding on one rule; numbers are None if nothing was counted.

    Attributes:
        rule: Its id.
        asked: The demand of the rule.
        said: The finding, in a sentence.
        outcome: How it ended; None for what is no rule.
        outcome_before: How it ended on the state before; None if that was not asked.
        worse_by: How many rows more than before break it, or milliseconds that the newest is older;
            None if both are not known.
        allowed: The share of rows that may fail, as a text such as `1%`; None if no row may.
        examples: Some rows that fail, each a JSON object of texts by column; where more fail than
            before, only rows that did not fail before, if there are any.
        shows_new: Whether the examples are only of rows that did not fail before.
        partitions: Those in which more rows fail than before, the largest growth first; none where
            no more rows fail in all.
        table: The table of the rule in a report on many tables; None in a report on one table, and
            in one of an earlier release, whose ids begin with the table.
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
    outcome: str | None = None
    outcome_before: str | None = None
    worse_by: int | None = None
    allowed: str | None = None
    examples: tuple[str, ...] = ()
    partitions: tuple[PartitionFailures, ...] = ()
    shows_new: bool = False
    table: str | None = None

    @property
    def name(self) -> str:
        """Its id, after its table in a report on many tables: `air.flights: tail`."""
        return self.rule if self.table is None else f"{self.table}: {self.rule}"

    @property
    def is_new(self) -> bool:
        """Whether it fails now, and passed before."""
        return (self.outcome, self.outcome_before) == (Outcome.FAILS, Outcome.PASSES)


@dataclass(frozen=True, slots=True, kw_only=True)
class GateReport:
    """All findings of one judgement; `digest` is of the rule file."""

    digest: str
    findings: tuple[RuleFinding, ...]

    @property
    def verdict(self) -> GateVerdict:
        """The worst of all findings."""
        order = list(GateVerdict)
        found = (GateVerdict(each.verdict) for each in self.findings)
        worst = max(found, key=order.index, default=GateVerdict.PASS)
        return GateVerdict.PASS if worst is GateVerdict.INFO else worst

    @property
    def is_settled(self) -> bool:
        """Whether another check of the same rows would say the same: a rule fails, or all ran."""
        if self.verdict is GateVerdict.BLOCK:
            return True
        return all(each.outcome != Outcome.NOT_EVALUATED for each in self.findings) and (
            self.verdict is not GateVerdict.NOT_EVALUATED
        )

    @property
    def blocking(self) -> tuple[RuleFinding, ...]:
        """The findings that let nothing be published, as they are told."""
        return tuple(each for each in self.in_order if GateVerdict(each.verdict).blocks)

    @property
    def in_order(self) -> tuple[RuleFinding, ...]:
        """All findings as they are told: what fails newly first, then the worst first."""
        order = [str(each) for each in GateVerdict]
        return tuple(
            sorted(self.findings, key=lambda each: (not each.is_new, -order.index(each.verdict)))
        )

    def to_object(self) -> dict[str, object]:
        """Return JSON values."""
        return {
            "digest": self.digest,
            "verdict": str(self.verdict),
            "findings": self.worst_first(),
        }

    def worst_first(self) -> list[dict[str, Any]]:
        """Return the findings as they are told, as JSON values."""
        return [_object(each) for each in self.in_order]


def findings_of(rows: Iterable[Mapping[str, Any]]) -> tuple[RuleFinding, ...]:
    """Return findings from the JSON values of a report, or from the rows of its table."""
    return tuple(
        RuleFinding(
            **{
                **row,
                "examples": tuple(row["examples"]),
                # An earlier release kept none.
                "partitions": tuple(
                    PartitionFailures(**each) for each in row.get("partitions") or ()
                ),
            }
        )
        for row in rows
    )


def _object(finding: RuleFinding) -> dict[str, Any]:
    partitions = [asdict(each) for each in finding.partitions]
    found = {**asdict(finding), "examples": list(finding.examples), "partitions": partitions}
    if finding.table is None:
        del found["table"]
    return found
