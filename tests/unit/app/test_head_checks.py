"""Which check on record is about the heads that branches have now, and how it is told."""

import pytest

from branch_console.format.snapshot import Snapshot
from branch_console.quality.findings import GateReport, RuleFinding
from branch_console_app.models.branches.head_checks import HeadCheck, checks_of_heads
from tests.console.pretend import snapshot

MAIN, DEV = snapshot("main", 3), snapshot("dev", 4)


def report(*verdicts: str) -> GateReport:
    findings = tuple(
        RuleFinding(rule=f"r{number}", asked="", severity="block", verdict=verdict, said="")
        for number, verdict in enumerate(verdicts)
    )
    return GateReport(digest="d", findings=findings)


def check(job: str, *judged: Snapshot, verdicts: tuple[str, ...] = ("block",)) -> HeadCheck:
    names = tuple(each.identity.text for each in judged)
    return HeadCheck(judged=names, target="main", report=report(*verdicts), job=job, time_millis=1)


@pytest.mark.parametrize(
    ("verdicts", "words"),
    [
        (("pass", "info"), "passes the quality rules"),
        (("pass", "warn"), "passes the quality rules, with a warning"),
        (("block", "pass"), "blocked by 'r0'"),
        (("block", "block", "not evaluated"), "blocked by 'r2' and 2 more"),
    ],
)
def test_a_check_is_told_in_words(verdicts: tuple[str, ...], words: str) -> None:
    assert check("a", MAIN, verdicts=verdicts).words == words


def test_the_newest_check_of_the_present_heads_counts() -> None:
    heads = {"main": MAIN, "dev": DEV, "twin": DEV, "empty": None}
    found = checks_of_heads(
        [
            check("moved", snapshot("earlier main", 2), DEV),
            check("of another target", DEV, DEV),
            check("new", MAIN, DEV),
            check("old", MAIN, DEV, verdicts=("pass",)),
            check("none"),
        ],
        heads,
    )
    assert {name: each.job for name, each in found.items()} == {"dev": "new", "twin": "new"}


def test_a_state_that_was_judged_alone_counts_for_its_own_branch() -> None:
    found = checks_of_heads([check("alone", MAIN)], {"main": MAIN, "dev": DEV})
    assert [*found] == ["main"]
