"""F24 to F29 and F34: what somebody has to look after, each with its bound."""

from dataclasses import replace

import pytest

from branch_console.diff.health.finding import HazardSeverity, HealthFinding
from branch_console.diff.health.open_operations import OpenOperationFacts
from branch_console.diff.health.upkeep_rules import (
    BlockingRelease,
    ConsumerFacts,
    FenceFacts,
    StagedFacts,
    UpkeepFacts,
    upkeep_findings,
)

DAY = 86_400_000
CONSUMER = ConsumerFacts(id="etl", branch="dev", next_id=3, idle_millis=2 * DAY, held=7)
FENCE = FenceFacts(branch="dev", held=51, limit=50)
STAGED = StagedFacts(plan_id="p1", subject="dev into main", branch="main", age_millis=DAY)
OPERATION = OpenOperationFacts(id="op", what="merge branch", branch="main", age_millis=300_000)


def found(**facts: object) -> list[HealthFinding]:
    return list(upkeep_findings(replace(UpkeepFacts(table="db.t"), **facts)))  # type: ignore[arg-type]


def one(**facts: object) -> HealthFinding:
    (finding,) = found(**facts)
    for sentence in (finding.text, finding.breaks, finding.advice):
        assert not sentence or (sentence[0].isupper() and sentence.endswith("."))
    assert finding.evidence
    is_young = finding.rule == "F26" and not finding.remedies
    assert finding.severity is (HazardSeverity.INFO if is_young else HazardSeverity.WARNING)
    return finding


def calls(finding: HealthFinding) -> list[tuple[str, dict[str, object]]]:
    return [(each.procedure, dict(each.arguments)) for each in finding.remedies]


def test_nothing_to_look_after_is_not_spoken_of() -> None:
    assert found() == []


def test_f24_an_idle_consumer_that_keeps_snapshots() -> None:
    finding = one(consumers=[CONSUMER])
    assert (finding.rule, finding.branch) == ("F24", "dev")
    assert finding.severity is HazardSeverity.WARNING
    assert finding.evidence == ("consumer etl", "snapshot 3")
    assert "has not moved for 2 days, and keeps 7 snapshots from 3 on" in finding.text
    assert calls(finding) == [("reset_consumer", {"table": "db.t$branch_dev", "consumer": "etl"})]
    assert found(consumers=[replace(CONSUMER, idle_millis=DAY - 1)]) == []
    assert len(found(consumers=[replace(CONSUMER, idle_millis=DAY)])) == 1
    assert found(consumers=[replace(CONSUMER, held=0)]) == []


@pytest.mark.parametrize(
    ("has_history", "held"), [(True, "snapshots or tags and no"), (False, "no")]
)
def test_f25_a_branch_that_was_half_made(has_history: bool, held: str) -> None:
    finding = one(half_made=[("dev", has_history)])
    assert (finding.rule, finding.branch) == ("F25", "dev")
    assert f"It has {held} schema" in finding.text
    assert calls(finding) == [("repair_branch", {"table": "db.t", "branch": "dev"})]


def test_f26_an_operation_without_an_end() -> None:
    finding = one(operations=[OPERATION])
    assert (finding.rule, finding.severity) == ("F26", HazardSeverity.WARNING)
    assert finding.text == "Operation op (merge branch) began 5 min ago and has no end."
    assert calls(finding) == [("recover", {"table": "db.t"})]
    assert finding.sentences.endswith("It was cut off. Recovery finishes it or takes it back.")
    young = one(operations=[replace(OPERATION, age_millis=299_999)])
    assert (young.severity, young.remedies) == (HazardSeverity.INFO, ())
    assert young.sentences.endswith("has no end. Somebody may be at work on it.")


def test_f27_a_fence_that_keeps_more_than_a_run_takes() -> None:
    finding = one(fences=[FENCE])
    assert (finding.rule, finding.evidence) == ("F27", ("51 snapshots",))
    assert calls(finding) == [("expire_snapshots", {"table": "db.t$branch_dev", "max_deletes": 51})]
    assert found(fences=[replace(FENCE, held=50)]) == []


def test_f28_a_store_whose_clock_is_ahead() -> None:
    finding = one(store_ahead_millis=61_000)
    assert (finding.rule, finding.evidence) == ("F28", ("61 seconds",))
    # Only people set clocks.
    assert finding.remedies == ()
    assert found(store_ahead_millis=60_000) == []


def test_f29_a_result_that_nobody_published() -> None:
    finding = one(staged=[STAGED])
    assert (finding.rule, finding.evidence) == ("F29", ("plan p1",))
    assert "A dry run of dev into main staged files 1 day ago" in finding.text
    assert calls(finding) == [("recover", {"table": "db.t"})]
    assert found(staged=[replace(STAGED, age_millis=DAY - 1)]) == []


def test_f34_a_released_branch_that_cannot_be_read() -> None:
    release = BlockingRelease(
        operation_id="op", procedure="release_branch", branch="rescue-1", until="20:33"
    )
    finding = one(blocking=[release])
    assert (finding.rule, finding.branch) == ("F34", "rescue-1")
    assert finding.evidence == ("operation op",)
    assert finding.text == (
        "Expiry of db.t is blocked until 20:33: the released branch 'rescue-1' cannot be read."
    )
    assert finding.advice.endswith(
        "undo operation op, and release the branch with the grace '0 s'."
    )
    assert calls(finding) == []
    # No branch but those that operations kept can be released.
    dropped = one(blocking=[replace(release, procedure="drop_branch", branch="dev")])
    assert "the dropped branch 'dev' cannot be read" in dropped.text
    assert dropped.advice.endswith(
        "undo operation op, and drop the branch with reclaim and the grace '0 s'."
    )
