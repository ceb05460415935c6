"""The commands that bring or take back one snapshot, done in this process."""

from pathlib import Path

import pytest

from tests.support.branch_bench import BranchBench
from tests.support.command_line import CommandLine


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    bench = BranchBench(tmp_path / "warehouse", options={"write-only": "true"})
    bench.append("base")
    bench.branch("dev")
    bench.append("one", branch="dev")
    bench.append("two", branch="dev")
    bench.append("mine")
    return bench


def test_a_snapshot_is_picked_and_reverted(console: CommandLine, bench: BranchBench) -> None:
    picked = console.json("cherry-pick", "db.t", "dev", "3")
    assert picked["receipt"]["moves"][0]["after_id"] == 3
    assert "data-two.parquet" in bench.live_names()
    assert console("revert", "db.t", picked["operation_id"]).code == 0
    assert bench.live_names() == {"data-base.parquet", "data-mine.parquet"}


def test_any_snapshot_of_a_branch_is_reverted(console: CommandLine, bench: BranchBench) -> None:
    done = console.json("revert", "db.t", "--branch", "dev", "--snapshot", "2")
    assert done["preview"]["title"] == "Revert snapshot 2 of 'dev' of db.t"
    assert bench.live_names("dev") == {"data-base.parquet", "data-two.parquet"}


def test_a_dry_run_changes_nothing(console: CommandLine, bench: BranchBench) -> None:
    before = bench.live_names()
    assert console("cherry-pick", "db.t", "dev", "3", "--dry-run").code == 0
    assert bench.live_names() == before


@pytest.mark.parametrize(
    "words", [("revert", "db.t"), ("revert", "db.t", "op", "--snapshot", "2")], ids=" ".join
)
def test_a_revert_names_one_thing(console: CommandLine, words: tuple[str, ...]) -> None:
    found = console(*words)
    assert found.code == 2
    assert "A revert takes back one thing" in found.error
