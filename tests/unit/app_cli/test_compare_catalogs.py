"""Two branches of the catalog compared on the command line."""

from pathlib import Path

import pytest

from tests.support.branch_bench import TrustingRows
from tests.support.command_line import CommandLine
from tests.support.golden import Golden
from tests.support.jobs_at_once import run_jobs_at_once
from tests.unit.procedures.test_compare_catalogs import RULES, went_apart


@pytest.fixture
def console(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> CommandLine:
    """The program on branches that went apart; jobs run at once, in this process."""
    monkeypatch.setenv("BRANCH_CONSOLE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("BRANCH_CONSOLE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("BRANCH_CONSOLE_ROLE", "operator")
    bench = went_apart(tmp_path)
    run_jobs_at_once(monkeypatch, bench.warehouse, lambda _: TrustingRows())
    folder = bench.root / ".branch-console" / "quality"
    folder.mkdir(parents=True)
    (folder / "air.planes.yaml").write_text(RULES)
    return CommandLine(str(bench.root), capsys)


def test_what_differs_is_told_as_lines_and_as_a_document(
    console: CommandLine, golden: Golden
) -> None:
    told = console("catalog", "compare", "main", "dev")
    assert told.code == 0
    golden.check("catalog/compare.txt", "\n".join(told.lines) + "\n")
    found = console.json("catalog", "compare", "main", "dev")
    assert (found["a"], found["b"], found["same"]) == ("main@1", "dev@5", 1)
    planes = next(each for each in found["objects"] if each["name"]["b"] == "air.planes")
    assert planes["quality"] == {"verdict": "not run: 1 rule", "rules": 1, "findings": []}
    assert planes["schema"]["verdict"] == "compatible"
    assert set(planes["rows"]) == {
        *("a", "b", "added", "removed", "changed", "exact", "why_not_exact")
    }
    assert planes["rows"]["a"] == {"rows": 0, "records": 0}


def test_branches_without_a_difference_say_so(console: CommandLine) -> None:
    assert console("catalog", "create", "late", "--from", "dev").code == 0
    told = console("catalog", "compare", "dev", "late")
    assert told.lines[1].startswith("Objects that differ: 0. ")
    wrong = console("catalog", "compare", "dev", "nope")
    assert (wrong.code, "no catalog branch 'nope'" in wrong.error) == (3, True)
