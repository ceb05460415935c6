"""A merge that compares rows says what is known of them: before, after, and from a dry run."""

from pathlib import Path

import pytest

from branch_console.merge.known_rows import StagedFigures
from branch_console.merge.policy import Policy, PolicyChoice
from branch_console.merge.policy_draft import with_table_rule
from branch_console_app.services import Services
from tests.support.command_line import CommandLine
from tests.support.contested_table import NAME, ContestedTable

THEIRS = with_table_rule(Policy(), NAME, PolicyChoice.parse("theirs")).to_yaml()
PREVIEW = ("merge", "fix-delays", "--table", NAME, "--preview")
STALE = ("to compare", "not counted", "at least", "row comparison")


@pytest.fixture
def table(tmp_path: Path) -> ContestedTable:
    return ContestedTable(tmp_path / "warehouse", flights=3)


def test_conflicts_that_a_comparison_found_are_what_the_preview_says(
    table: ContestedTable, capsys: pytest.CaptureFixture[str]
) -> None:
    console = CommandLine(table.folder, capsys)
    before = console(*PREVIEW)
    assert before.code == 0
    assert "files at least 2 in, 0 out" in squeezed(before.out)
    assert "records counted by a dry run" in squeezed(before.out)
    assert console.json(*PREVIEW)["row_comparison"] == {
        "compared": False, "conflicts": None, "open": None, "staged": None,
    }  # fmt: skip

    table.call("compare_rows", branch="fix-delays", target="main")
    after = console(*PREVIEW)
    assert after.code == 1
    assert "8 conflicts to settle" in after.out
    assert "files follow from how the conflicts are settled" in squeezed(after.out)
    assert [phrase for phrase in STALE if phrase in after.out] == []
    found = console(*PREVIEW, "--json").document["row_comparison"]
    assert found == {"compared": True, "conflicts": 8, "open": 8, "staged": None}


def test_a_merge_with_known_conflicts_is_refused_before_any_job(
    table: ContestedTable, capsys: pytest.CaptureFixture[str]
) -> None:
    table.call("compare_rows", branch="fix-delays", target="main")
    answer = CommandLine(table.folder, capsys)("merge", "fix-delays", "--table", NAME)
    assert answer.code == 1
    assert "8 conflicts of rows must be settled first." in answer.error
    assert "CONFLICTS_OPEN" in answer.error


def test_a_dry_run_gives_the_figures_of_its_result(
    table: ContestedTable, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    policy = tmp_path / "theirs.yaml"
    policy.write_text(THEIRS)
    asked = (*PREVIEW, "--policy", str(policy))
    table.call("dry_run_merge", branch="fix-delays", target="main", policy=THEIRS)
    console = CommandLine(table.folder, capsys)
    answer = console(*asked)
    assert answer.code == 0
    assert "files 4 in, 0 out" in squeezed(answer.out)
    assert "records 12 in added files, 0 in removed files" in squeezed(answer.out)
    assert [phrase for phrase in STALE if phrase in answer.out] == []
    staged = console.json(*asked)["row_comparison"]["staged"]
    assert (staged["files_written"], staged["records_written"]) == (2, 6)


def test_as_many_rows_as_before_are_told_with_what_may_differ_all_the_same(
    table: ContestedTable,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    policy = tmp_path / "theirs.yaml"
    policy.write_text(THEIRS)
    counted = StagedFigures(files_written=2, records_written=6, rows_counted=(6, 6))
    monkeypatch.setattr(Services, "staged_figures", lambda *_: counted)
    answer = CommandLine(table.folder, capsys)(*PREVIEW, "--policy", str(policy))
    assert (
        "rows 6 rows before and after, as many added as deleted; the added files hold 12 records"
    ) in squeezed(answer.out)


def squeezed(text: str) -> str:
    return " ".join(text.split())
