"""Which check on record is about the heads that branches have now, and how it is told."""

from dataclasses import replace

import pytest

from branch_console.format.identifier import Identifier
from branch_console.format.snapshot import Snapshot
from branch_console.procedures.browse.page_values import BranchDistance, BranchItem, Health
from branch_console.procedures.call.call import Argument
from branch_console.quality.findings import GateReport, RuleFinding, findings_of
from branch_console_app.models.branches.head_checks import (
    HeadCheck,
    MergedTable,
    check_of_tables,
    checks_of_heads,
    judges_source_only,
)
from branch_console_app.models.merge.gate_run import passed_words
from branch_console_app.models.merge.merge_state import blocked_by
from branch_console_app.models.parts.wording import code
from tests.console.pretend import job, snapshot

MAIN, DEV = snapshot("main", 3), snapshot("dev", 4)


def report(*verdicts: str) -> GateReport:
    findings = tuple(
        RuleFinding(rule=f"r{number}", asked="", severity="block", verdict=verdict, said="")
        for number, verdict in enumerate(verdicts)
    )
    return GateReport(digest="d", findings=findings)


def check(
    job: str,
    *judged: Snapshot,
    verdicts: tuple[str, ...] = ("block",),
    target: str = "main",
    is_of_source: bool = False,
) -> HeadCheck:
    return HeadCheck(
        judged=tuple(each.identity.text for each in judged),
        target=target,
        is_of_source=is_of_source,
        report=report(*verdicts),
        job=job,
        time_millis=1,
    )


def merged(name: str) -> MergedTable:
    table = Identifier.parse(name)
    return MergedTable(id=f"id of {name}", name=table, heads=("a", "b"), is_forward=True)


PLANES, FLIGHTS = merged("air.planes"), merged("air.flights")


def item(name: str, head: Snapshot | None, behind: int | None = 0) -> BranchItem:
    versus = BranchDistance(ahead=1, behind=behind)
    return BranchItem(name=name, health=Health.HEALTHY, findings=(), head=head, versus=versus)


def jobs_of(found: list[HeadCheck], *items: BranchItem, versus: str = "main") -> dict[str, str]:
    return {name: each.job for name, each in checks_of_heads(found, items, versus).items()}


@pytest.mark.parametrize(
    ("verdicts", "words"),
    [
        (("pass", "pass"), "2 of 2 quality rules passed"),
        (("pass", "info"), "1 of 2 quality rules passed, 'r1' fails for information only"),
        (("pass", "warn"), "1 of 2 quality rules passed, 'r1' warns"),
        (("warn", "warn"), "0 of 2 quality rules passed, 'r0' and 'r1' warn"),
        (("block", "pass"), "blocked by 'r0'"),
        (("block", "block", "not evaluated"), "blocked by 'r0' and 2 more"),
    ],
)
def test_a_check_is_told_in_words(verdicts: tuple[str, ...], words: str) -> None:
    assert check("a", MAIN, verdicts=verdicts).words() == words


def test_a_check_names_the_branch_that_it_compared_with() -> None:
    blocked, passed = (check("a", target="audit", verdicts=(each,)) for each in ("block", "pass"))
    assert blocked.sentence() == "merge into 'audit' is blocked by 'r0'"
    assert passed.sentence() == "merge into 'audit': 1 of 1 quality rule passed"
    assert blocked.to_object()["target"] == "audit"


def test_one_table_that_a_rule_blocks_blocks_a_merge_of_the_catalog() -> None:
    blocked, passed = check("a", DEV), check("b", DEV, verdicts=("pass",))
    found = check_of_tables({PLANES: blocked, FLIGHTS: passed, merged("x.y"): None}, "main")
    assert found is not None
    assert found.sentence() == "merge into 'main' is blocked by 'r0' of 'air.planes'"
    assert [(each.table, each.rule) for each in found.report.findings] == [("air.planes", "r0")]
    assert found.to_object()["blocking"] == ["air.planes: r0"]
    assert found.blocking_tables == {"id of air.planes"}


def test_a_rule_is_named_by_all_of_its_id_in_texts_and_on_pages() -> None:
    (plain,) = report("block").findings
    for rule, text, marked in (
        ("price: positive", "'price: positive'", "`price: positive`"),
        ("it's", "'it's'", "`it's`"),
        ("no 'x' left", "'no 'x' left'", "`no 'x' left`"),
    ):
        finding = replace(plain, rule=rule)
        one = replace(check("a", DEV), report=GateReport(digest="d", findings=(finding,)))
        assert one.words() == f"blocked by {text}"
        assert one.sentence(code) == f"merge into `main` is blocked by {marked}"
        assert blocked_by((finding,), "main").startswith(f"Blocked by rule {marked}: ")
        warned = replace(finding, verdict="warn")
        assert passed_words([warned]) == f"0 of 1 rule passed, {marked} warns"
        of_catalog = check_of_tables({PLANES: one}, "main")
        assert of_catalog is not None
        assert of_catalog.words() == f"blocked by {text} of 'air.planes'"
        assert of_catalog.words(code) == f"blocked by {marked} of `air.planes`"
        (read,) = findings_of(of_catalog.report.worst_first())
        assert (read.table, read.rule) == ("air.planes", rule)


def test_a_finding_of_an_earlier_release_is_read_with_the_table_in_its_id() -> None:
    (written,) = report("block").worst_first()
    assert "table" not in written
    (read,) = findings_of([{**written, "rule": "air.planes: seat"}])
    assert (read.table, read.rule, read.name) == (None, "air.planes: seat", "air.planes: seat")


def test_a_merge_of_the_catalog_passes_only_if_each_table_with_rules_was_judged() -> None:
    passed = check("b", DEV, verdicts=("pass",))
    warned = replace(check("a", MAIN, verdicts=("warn",)), time_millis=9)
    assert check_of_tables({PLANES: passed, FLIGHTS: None}, "main") is None
    assert check_of_tables({}, "main") is None
    found = check_of_tables({PLANES: warned, FLIGHTS: passed}, "main")
    assert found is not None
    said = "merge into 'main': 1 of 2 quality rules passed, 'r0' of 'air.planes' warns"
    assert found.sentence() == said
    # All of it is known for as long as what was judged first.
    assert (found.job, found.time_millis) == ("b", 1)


def test_the_newest_check_of_the_present_heads_counts() -> None:
    found = [
        check("moved", snapshot("earlier main", 2), DEV),
        check("of another target", MAIN, DEV, target="audit"),
        check("new", MAIN, DEV),
        check("old", MAIN, DEV, verdicts=("pass",)),
        check("none"),
    ]
    branches = [item("main", MAIN), item("dev", DEV), item("twin", DEV), item("empty", None)]
    assert jobs_of(found, *branches) == {"dev": "new", "twin": "new"}


def test_a_state_that_was_judged_alone_says_nothing_of_a_merge() -> None:
    alone = [check("of dev", DEV), check("of main", MAIN)]
    branches = [item("main", MAIN), item("dev", DEV)]
    # Main may fail the same rule, so that it stops no merge.
    assert jobs_of(alone, *branches) == {}
    # Nothing is before the first commit of main.
    assert jobs_of(alone, item("main", None), item("dev", DEV)) == {"dev": "of dev"}


def test_main_is_blocked_by_nothing() -> None:
    turned_round = [check("c", DEV, MAIN, target="dev")]
    branches = [item("main", MAIN), item("dev", DEV)]
    for versus in ("main", "dev"):
        assert jobs_of(turned_round, *branches, versus=versus) == {}


def test_a_check_against_another_branch_is_told_only_against_that_one() -> None:
    audit = snapshot("audit", 2)
    found = [
        check("against audit", audit, DEV, target="audit", verdicts=("warn",)),
        check("against main", MAIN, DEV),
    ]
    branches = [item("main", MAIN), item("audit", audit), item("dev", DEV)]
    assert jobs_of(found, *branches) == {"dev": "against main"}
    assert jobs_of(found, *branches, versus="audit") == {"dev": "against audit"}


@pytest.mark.parametrize(("behind", "jobs"), [(0, {"dev": "check"}), (2, {}), (None, {})])
def test_a_check_of_the_source_says_nothing_of_a_merge_of_both_sides(
    behind: int | None, jobs: dict[str, str]
) -> None:
    found = [check("check", MAIN, DEV, is_of_source=True)]
    assert jobs_of(found, item("main", MAIN), item("dev", DEV, behind)) == jobs
    dry_run = [*found, check("dry run", MAIN, DEV)]
    newest = jobs or {"dev": "dry run"}
    assert jobs_of(dry_run, item("main", MAIN), item("dev", DEV, behind)) == newest


@pytest.mark.parametrize(
    ("name", "arguments", "is_of_source"),
    [
        ("check_rules", {"a": "main", "b": "dev"}, True),
        ("fast_forward", {"branch": "dev"}, True),
        ("fast_forward", {"branch": "dev", "force": True}, True),
        ("dry_run_merge", {"branch": "dev"}, False),
        ("merge_branch", {"branch": "dev", "target": "main", "strict": False}, False),
        ("dry_run_merge", {"branch": "dev", "strict": True}, True),
        ("dry_run_merge", {"branch": "dev", "policy": "rules: []"}, True),
        ("merge_branch", {"branch": "dev", "isolation": "snapshot"}, True),
        ("merge_branch", {"another release": 1}, True),
    ],
)
def test_only_a_plain_merge_judges_what_both_sides_changed(
    name: str, arguments: dict[str, Argument], is_of_source: bool
) -> None:
    asked = replace(job("a", name=name), arguments={"table": "air.flights", **arguments})
    assert judges_source_only(asked) is is_of_source
