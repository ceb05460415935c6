"""`lost-commits` against a history that a writer renamed over."""

import os
from pathlib import Path

import pytest

from tests.support.branch_bench import BranchBench
from tests.support.command_line import CommandLine

_LONG_AGO = 1_600_000_000


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    bench = BranchBench(tmp_path)
    for name in ("first", "second"):
        bench.append(name)
    for each in Path(bench.table().paths.manifest_dir).iterdir():
        os.utime(each, (_LONG_AGO, _LONG_AGO))
    return bench


def test_a_whole_history_has_no_lost_commit(
    bench: BranchBench, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = CommandLine(bench.file_io.root, capsys)("lost-commits", "db.t")
    assert answer.code == 0
    assert answer.out == "No commit to db.t is lost.\n"


def test_a_commit_that_was_replaced_is_told(
    bench: BranchBench, capsys: pytest.CaptureFixture[str]
) -> None:
    # What a writer does that looked before the last commit and renames after it.
    head = Path(bench.table().paths.snapshot(2))
    lost = head.read_bytes()
    head.unlink()
    bench.append("other")
    assert head.read_bytes() != lost
    run = CommandLine(bench.file_io.root, capsys)
    answer = run("lost-commits", "db.t")
    assert answer.code == 1
    assert "is in no snapshot" in answer.out
    (found,) = run("lost-commits", "db.t", "--json").document["lost_commits"]
    assert found["files"] == ["data-second.parquet"]
