"""Rules on the command line: what cannot be read is told before anything is started."""

from dataclasses import replace
from pathlib import Path

import pytest

from branch_console.errors import ErrorKind
from branch_console.jobs.progress import JobState
from branch_console.procedures.call.call import ProcedureCall
from branch_console.quality.findings import GateReport, RuleFinding
from branch_console.quality.gate import findings_table
from branch_console.quality.rule_file import rule_path
from branch_console.sql.answer import Answer
from branch_console_app.cli.check import print_findings
from branch_console_app.services import Services
from tests.console.pretend import job
from tests.support.branch_bench import BranchBench
from tests.support.command_line import CommandLine
from tests.support.judged_rules import ORDERED, SAID, TOLD
from tests.support.lifecycle import metadata

MERGE = ("merge", "dev", "--table", "db.t")
UNKNOWN = RuleFinding(
    rule="key", asked="a not null", severity="block", verdict="not evaluated",
    outcome="not evaluated", said="Rule 'key' was not evaluated: Spark could not answer a query.",
)  # fmt: skip
RULES = "table: db.t\nrules:\n  - {id: key, rule: not_null, columns: [a], severity: block}\n"


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    bench = BranchBench(tmp_path / "warehouse", options={"write-only": "true"})
    bench.append("base")
    bench.branch("dev")
    bench.branch("old")
    bench.append("theirs", branch="dev")
    bench.append("mine")
    return bench


def keep(bench: BranchBench, text: str) -> None:
    path = Path(rule_path(str(bench.file_io.root), "db.t"))
    path.parent.mkdir(parents=True)
    path.write_text(text)


def test_a_preview_lists_what_will_be_judged(console: CommandLine, bench: BranchBench) -> None:
    assert not any("Quality rules" in line for line in console(*MERGE, "--preview").lines)
    keep(bench, RULES)
    forward = ("fast-forward", "db.t", "dev", "--to", "old", "--dry-run")
    for command in ((*MERGE, "--preview"), forward):
        lines = console(*command).lines
        assert "Quality rules, run on the result before it is published:" in lines
        assert ["key", "block", "a", "not", "null"] in [line.split() for line in lines]
        gate = console.json(*command)["gate"]
        listed = {"id": "key", "severity": "block", "asked": "a not null"}
        assert (gate["verdict"], gate["rules"]) == ("not run yet", [listed])


def test_a_broken_rule_file_stops_with_its_line(console: CommandLine, bench: BranchBench) -> None:
    keep(bench, RULES + "  - {id: amount, rule: in_rage, column: b}\n")
    before = metadata(bench)
    for command in (MERGE, ("check", "db.t")):
        answer = console(*command)
        assert answer.code == 2, command
        assert "db.t.yaml: Line 4: rules[2].rule is 'in_rage'; it may be" in answer.err, command
    assert metadata(bench) == before


def test_a_check_needs_rules_that_can_be_read(
    console: CommandLine, bench: BranchBench, tmp_path: Path
) -> None:
    assert "db.t has no rules" in console("check", "db.t").err
    file = tmp_path / "rules.yaml"
    assert "The rules" in console("check", "db.t", "--rules", str(file)).err
    file.write_text("table: db.u\nrules: []")
    answer = console("check", "db.t", "--rules", str(file))
    assert (answer.code, "kept for 'db.t'" in answer.err) == (2, True)


def test_the_gate_is_overridden_by_an_operator_with_a_reason(
    console: CommandLine, bench: BranchBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(bench, RULES)
    before = metadata(bench)
    answer = console(*MERGE, "--override-gate", " ")
    assert (answer.code, "with a reason only" in answer.err) == (2, True)
    monkeypatch.setenv("BRANCH_CONSOLE_ROLE", "approver")
    answer = console(*MERGE, "--override-gate", "I may not")
    assert answer.code == 1
    assert "You may not override quality rules: it asks for operator" in answer.err
    assert metadata(bench) == before


def test_a_merge_that_a_rule_blocked_says_so_in_its_document(
    console: CommandLine, bench: BranchBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(bench, RULES)
    blocked = job("j", state=JobState.REFUSED, error=ErrorKind.GATE_FAILED, message="Blocked.")
    kept = Answer(rows=findings_table(ORDERED), has_more=False, plan="")
    # What the worker found; that it counts right is looked at with Spark.
    monkeypatch.setattr(Services, "start", lambda *_: "j")
    monkeypatch.setattr(Services, "job", lambda *_: blocked)
    monkeypatch.setattr(Services, "answer", lambda *_: kept)
    answer = console(*MERGE, "--json")
    assert (answer.code, answer.document["error"]["code"]) == (1, "GATE_FAILED")
    state = answer.document["state"]
    assert (state["standing"], state["role"], state["next"]) == ("gate red", "stop", "show rows")
    assert state["text"].startswith("Blocked by rule ")
    assert state["text"].endswith("main is unchanged.")
    assert answer.document["gate"]["verdict"] == "block"
    told = console(*MERGE)
    assert (told.code, "--override-gate REASON" in told.err) == (1, True)
    # Who may not override is not told how.
    monkeypatch.setenv("BRANCH_CONSOLE_ROLE", "approver")
    assert "--override-gate" not in console(*MERGE).err


def judged_before(
    console: CommandLine, bench: BranchBench, monkeypatch: pytest.MonkeyPatch, report: GateReport
) -> None:
    """Have a dry run of the merge on record that found a report by the rules of the table."""
    keep(bench, RULES)
    dry = ("dry_run_merge", {"table": "db.t", "branch": "dev"})
    done = replace(
        job("j", name=dry[0], table="db.t", state=JobState.REFUSED, error=ErrorKind.GATE_FAILED),
        arguments=dry[1],
    )
    heads = [bench.table(name).head() for name in ("main", "dev")]
    rules = console.json(*MERGE, "--preview")["gate"]["digest"]
    kept = Answer(
        rows=findings_table(report), has_more=False, plan="", notes=(f"By rules {rules}.",),
        judged=tuple(each.identity.text for each in heads if each is not None),
        finished_millis=1_700_000_000_000,
    )  # fmt: skip
    # What the worker found; that it counts right is looked at with Spark.
    monkeypatch.setattr(Services, "has_answers", True)
    monkeypatch.setattr(Services, "jobs", lambda *_, **__: (done,))
    monkeypatch.setattr(Services, "answer", lambda *_: kept)
    call = ProcedureCall(name=dry[0], arguments=dry[1], actor="ada", operation_id="j")
    monkeypatch.setattr(Services, "call_of_job", lambda *_: call)


def test_a_merge_whose_rules_could_not_be_checked_is_no_merge_that_they_block(
    console: CommandLine, bench: BranchBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(bench, RULES)
    report = replace(ORDERED, findings=(UNKNOWN,))
    failed = job("j", state=JobState.FAILED, error=ErrorKind.RULES_NOT_CHECKED, message="Not yet.")
    monkeypatch.setattr(Services, "start", lambda *_: "j")
    monkeypatch.setattr(Services, "job", lambda *_: failed)
    monkeypatch.setattr(
        Services, "answer", lambda *_: Answer(rows=findings_table(report), has_more=False, plan="")
    )
    answer = console(*MERGE, "--json")
    assert (answer.code, answer.document["error"]["code"]) == (3, "RULES_NOT_CHECKED")
    state = answer.document["state"]
    assert (state["standing"], state["role"]) == ("rules not checked", "act")
    assert state["text"].startswith("The quality rules could not be checked. Rule ")
    assert answer.document["gate"]["verdict"] == "not evaluated"


def test_a_verdict_that_was_not_reached_is_not_kept_for_these_heads(
    console: CommandLine, bench: BranchBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged_before(console, bench, monkeypatch, replace(ORDERED, findings=(UNKNOWN,)))
    assert "check" not in console.json(*MERGE, "--preview")
    assert console.json("branches", "db.t")["checks"] == {}


def test_a_preview_says_what_the_rules_found_at_these_heads(
    console: CommandLine, bench: BranchBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged_before(console, bench, monkeypatch, ORDERED)
    listed = [line for line in console("branches", "db.t").lines if line.startswith("dev: merge")]
    told = console(*MERGE, "--preview")
    assert (told.code, told.lines[0].startswith("gate red: Blocked by rule ")) == (1, True)
    assert [line for line in told.lines if line.startswith("dev: merge")] == listed != []
    assert "--override-gate REASON" in told.err
    found = console(*MERGE, "--preview", "--json").document
    assert found["state"]["text"] == told.lines[0].removeprefix("gate red: ")
    assert found["check"] == console.json("branches", "db.t")["checks"]["dev"]
    assert found["gate"]["verdict"] == found["check"]["verdict"] == "block"
    # Whoever overrides the rules is not stopped by them.
    overridden = console(*MERGE, "--preview", "--override-gate", "known")
    assert (overridden.code, "gate red" in overridden.out) == (0, False)
    # Of other heads nothing is said.
    bench.append("later", branch="dev")
    later = console(*MERGE, "--preview")
    assert (later.code, "Blocked" in later.out, "dev: merge" in later.out) == (0, False, False)


def test_what_newly_fails_comes_first_with_both_outcomes_and_counts(
    console: CommandLine, bench: BranchBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(bench, RULES)
    kept = Answer(rows=findings_table(ORDERED), has_more=False, plan="")
    # What the worker found; that it counts right is looked at with Spark.
    monkeypatch.setattr("branch_console_app.cli.check.finish_job", lambda *_: job("judged"))
    monkeypatch.setattr(Services, "answer", lambda *_: kept)
    told = console("check", "db.t", "--since", "dev")
    assert told.code == 1
    table = told.lines[1 : len(TOLD) + 1]
    assert [[cell for cell in line.split("  ") if cell][1].strip() for line in table] == [*TOLD]
    assert table[2].split()[:8] == ["block", "worse", "block", "fails", "fails", "9", "4", "5"]
    said = [line for line in told.lines if line.startswith("Rule")]
    assert said == list(SAID[:4])
    found = console("check", "db.t", "--since", "dev", "--json").document["findings"]
    assert [each["rule"] for each in found] == [*TOLD]
    assert [each["said"] for each in found] == list(SAID)
    names = ("outcome", "outcome_before", "failures", "failures_before", "rows_before", "worse_by")
    assert [tuple(each[name] for name in names) for each in found] == [
        ("fails", "passes", 1, 0, 8, 1),
        ("fails", "passes", 7, 0, 8, 7),
        ("fails", "fails", 9, 4, 8, 5),
        ("fails", "fails", 2, 3, 8, -1),
        ("passes", None, 0, None, None, None),
    ]


def test_rows_that_newly_fail_are_told_from_all_that_fail(
    capsys: pytest.CaptureFixture[str],
) -> None:
    finding = replace(ORDERED.findings[0], failures=25, examples=('{"id": 7}',))
    for shows_new, lines in (
        (True, ["rows that newly fail:", '  {"id": 7}', "all that fail, new or not: SELECT 1"]),
        (False, ['  {"id": 7}', "all of them: SELECT 1"]),
    ):
        shown = replace(finding, verdict="block", shows_new=shows_new)
        print_findings([shown], {shown.rule: "SELECT 1"})
        assert capsys.readouterr().out.splitlines()[-len(lines) - 1 :] == [shown.said, *lines]


def test_a_query_for_rows_of_a_merge_names_the_branch_that_it_reads(
    capsys: pytest.CaptureFixture[str],
) -> None:
    finding = replace(ORDERED.findings[0], failures=25, verdict="block")
    print_findings([finding], {finding.rule: "SELECT 1"}, other_branch="dev")
    assert capsys.readouterr().out.splitlines()[-1] == (
        "all rows of dev that fail (the counts above are of the result of the merge): SELECT 1"
    )
