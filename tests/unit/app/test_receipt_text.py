"""A receipt in words."""

import json
import re
from dataclasses import asdict, replace
from datetime import UTC

import pytest

from branch_console.format.journals.written import GateOverride, override_note
from branch_console.format.receipt import Counts, HeadMove, Receipt
from branch_console.jobs.progress import JobState
from branch_console.quality.findings import RuleFinding
from branch_console_app.cli.branches import print_receipt
from branch_console_app.models.jobs.receipt_text import (
    count_pairs,
    move_words,
    reason_of,
    receipt_markdown,
    receipt_title,
    undone_operation,
)
from branch_console_app.models.parts.wording import moment
from tests.console.pretend import job
from tests.unit.app.histories import snapshot

BEFORE, AFTER = snapshot("a", 3), snapshot("b", 5)
FORWARD = "CALL sys.fast_forward(branch => 'dev', table => 'air.planes')"
MOVE = HeadMove(
    branch="main", before=BEFORE.identity, before_id=3, after=AFTER.identity, after_id=5
)

FAILS = RuleFinding(
    rule="tail", asked="tailnum not null", severity="block", verdict="block", said="It fails."
)


def test_only_counts_that_are_not_zero_are_told() -> None:
    counts = Counts(snapshots_added=2, records_added=1_234_567, bytes_written=2048)
    assert count_pairs(counts) == [
        ("Snapshots added", "2"),
        ("Net records", "+1,234,567"),
        ("Bytes written", "2.0 KiB"),
    ]
    merged = Counts(files_shared=3, files_written=2)
    assert count_pairs(merged) == [
        ("Data files shared by branches", "3"),
        ("Data files written", "2"),
    ]


def test_rows_are_told_where_both_heads_were_counted() -> None:
    counts = Counts(records_added=-1_742, rows_before=336_776, rows_after=335_751)
    assert count_pairs(counts) == [
        ("Net records", "\N{MINUS SIGN}1,742"),
        ("Rows", "336,776 → 335,751"),
    ]
    differ = replace(counts, rows_inserted=0, rows_removed=1_025, rows_changed=717)
    assert ("Changed rows", "1,025 rows removed, 717 changed") in count_pairs(differ)
    assert count_pairs(Counts(rows_before=336_776)) == []
    updated = Counts(records_added=48_406, rows_before=336_776, rows_after=336_776)
    assert ("Rows", "336,776 before and after") in count_pairs(updated)


def test_a_receipt_of_an_earlier_release_is_read_as_records() -> None:
    stored = {**Counts(snapshots_added=1).to_object(), "rows_added": 1_742}
    receipt = Receipt(
        operation_id="o", statement="s", actor="ada", plan_id="p",
        started_millis=1, finished_millis=2,
    )  # fmt: skip
    text = json.dumps({**receipt.to_object(), "counts": stored})
    assert Receipt.from_json(text).counts == Counts(snapshots_added=1, records_added=1_742)
    empty = replace(receipt, counts=Counts(rows_before=0, rows_after=0))
    assert Receipt.from_json(empty.to_json()) == empty


def test_a_move_names_both_heads_by_id_and_identity() -> None:
    assert move_words(MOVE) == "`main`: snapshot 3 `a-uuid` → snapshot 5 `b-uuid`"


def test_a_first_commit_comes_from_nowhere() -> None:
    move = HeadMove(branch="dev", before=None, before_id=None, after=AFTER.identity, after_id=5)
    assert move_words(move).startswith("`dev`: no commit →")


def test_the_markdown_tells_all() -> None:
    receipt = Receipt(
        operation_id="0123456789", statement=FORWARD, actor="ada_l",
        plan_id="p1", rescue_branch="rescue-01", moves=(MOVE,), counts=Counts(snapshots_added=2),
        notes=("Keep *this*.",), started_millis=0, finished_millis=1500,
    )  # fmt: skip
    text = receipt_markdown(receipt, None, UTC)
    assert text.splitlines()[0] == "# Merge `dev` into `main` by fast-forward"
    for part in (f"`{FORWARD}`", "Receipt of operation: `0123456789`", "ada\\_l",
                 "1970-01-01 00:00:01 +00:00",
                 "`rescue-01`", "- Snapshots added: 2", "Keep \\*this\\*\\."):  # fmt: skip
        assert part in text


def _receipt(statement: str) -> Receipt:
    return Receipt(
        operation_id="9f2a00c4d5", statement=statement, actor="ada", plan_id="p",
        started_millis=1, finished_millis=2,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("state", "began", "told"),
    [
        (JobState.DONE, 12_000, ["Job ran for: 8.1 s, preparation included"]),
        # Its operation had begun before: the job was cut off, and taken up again.
        (JobState.DONE, 20_001, []),
        (JobState.INTERRUPTED, 12_000, []),
    ],
)
def test_markdown_has_the_times_of_the_receipt_and_how_long_its_job_ran(
    state: JobState, began: int, told: list[str]
) -> None:
    given = replace(_receipt("CALL sys.x()"), started_millis=20_000, finished_millis=20_063)
    ran = replace(job("9f2a00", state=state), started_millis=began, finished_millis=20_100)
    lines = receipt_markdown(given, ran, UTC).splitlines()
    assert f"- Started: {moment(given.started_millis, UTC)}" in lines
    assert [line.removeprefix("- ") for line in lines if "ran for" in line] == told


def test_the_reason_that_was_given_is_told_and_none_is_made_up() -> None:
    call = "CALL sys.merge_branch(branch => 'fix', {}table => 'air.planes')"
    given = _receipt(call.format("reason => 'Checked *twice*', "))
    assert reason_of(given) == "Checked *twice*"
    assert "- Reason: Checked \\*twice\\*" in receipt_markdown(given, None, UTC)
    for statement in (call.format(""), call.format("reason => '', "), "what a later release wrote"):
        assert reason_of(_receipt(statement)) is None
        assert "Reason" not in receipt_markdown(_receipt(statement), None, UTC)


@pytest.mark.parametrize("reason", ["Known, see 41", "Late rows"])
def test_why_rules_were_overridden_is_said_once(
    reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    override = GateOverride(reason="Known, see 41", actor="ann", time_millis=5)
    call = f"CALL sys.merge_branch(branch => 'fix', reason => '{reason}', table => 'air.planes')"
    notes = (override_note("ann", "Known, see 41"), "Rule 'delay' warns.")
    given = replace(_receipt(call), gate=override.on({"findings": [asdict(FAILS)]}), notes=notes)
    without_call = re.compile(r"^.*CALL sys.*$", re.MULTILINE)
    markdown = without_call.sub("", receipt_markdown(given, None, UTC))
    print_receipt(given)
    printed = without_call.sub("", capsys.readouterr().out)
    for text in (markdown, printed):
        assert text.count("Known, see 41") == 1
        assert text.count("overridden") == 1
        assert reason in text
        assert "warns" in text
    assert "- Quality rules: rule `tail` overridden by ann" in markdown


def test_a_title_says_what_was_done() -> None:
    merge = _receipt("CALL sys.merge_branch(branch => 'fix', table => 'air.planes')")
    undo = _receipt("CALL sys.undo(operation => '0123456789ab', table => 'air.planes')")
    assert receipt_title(merge) == "Merge `fix` into `main`"
    assert undone_operation(undo) == "0123456789ab"
    assert receipt_title(undo, merge) == "Undo “Merge `fix` into `main`”"
    assert receipt_title(undo) == "Undo operation `01234567`"
    assert undone_operation(merge) is None


def test_a_statement_of_a_later_release_leaves_the_id_as_the_title() -> None:
    later = _receipt("CALL sys.of_a_later_release(x => 1)")
    assert receipt_title(later) == "Receipt 9f2a00c4"
    assert undone_operation(later) is None


def test_a_command_calls_the_difference_of_records_net(
    capsys: pytest.CaptureFixture[str],
) -> None:
    receipt = Receipt(
        operation_id="o", statement="s", actor="ada", plan_id="p",
        started_millis=1, finished_millis=2, counts=Counts(snapshots_added=1, records_added=-1),
    )  # fmt: skip
    print_receipt(receipt)
    lines = dict(re.findall(r"^(\S[^\n]*?)  +(\S.*)$", capsys.readouterr().out, re.MULTILINE))
    assert (lines["counts"], lines["net records"]) == ("1 snapshot added", "-1")
