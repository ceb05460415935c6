from pathlib import Path

import pytest

from tests.support.branch_bench import BranchBench, TrustingRows
from tests.support.command_line import CommandLine
from tests.support.jobs_at_once import run_jobs_at_once


@pytest.fixture
def console(
    bench: BranchBench,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> CommandLine:
    """The program on the bench of a test; jobs run at once, in this process."""
    monkeypatch.setenv("BRANCH_CONSOLE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("BRANCH_CONSOLE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("BRANCH_CONSOLE_ROLE", "operator")
    run_jobs_at_once(monkeypatch, bench.warehouse, lambda _: TrustingRows())
    return CommandLine(tmp_path / "warehouse", capsys)
