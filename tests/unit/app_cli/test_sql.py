"""Statements about branches from the command line, done in this process."""

from pathlib import Path

import pytest

from tests.support.branch_bench import BranchBench
from tests.support.command_line import CommandLine


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    bench = BranchBench(tmp_path / "warehouse", options={"write-only": "true"})
    bench.append("base")
    return bench


def test_statements_run_one_after_the_other(console: CommandLine, bench: BranchBench) -> None:
    assert (
        console("sql", "CREATE BRANCH dev ON TABLE db.t; CREATE BRANCH old ON TABLE db.t").code == 0
    )
    bench.append("theirs", branch="dev")
    bench.append("mine")
    done = console.json("sql", "MERGE BRANCH dev ON TABLE db.t")
    assert done["receipt"]["moves"][0]["branch"] == "main"
    assert bench.live_names() == {f"data-{each}.parquet" for each in ("base", "mine", "theirs")}
    assert console("sql", "DROP BRANCH old ON TABLE db.t").code == 0
    assert not bench.table().branches.exists("old")


def test_a_dry_run_changes_nothing(console: CommandLine, bench: BranchBench) -> None:
    bench.branch("dev")
    bench.append("theirs", branch="dev")
    bench.append("mine")
    found = console("sql", "MERGE BRANCH dev ON TABLE db.t DRY RUN")
    assert found.code == 0
    assert bench.live_names() == {"data-base.parquet", "data-mine.parquet"}


def test_the_first_that_is_refused_ends_it(console: CommandLine, bench: BranchBench) -> None:
    text = "REVERT SNAPSHOT 9 ON TABLE db.t; CREATE BRANCH dev ON TABLE db.t"
    assert console("sql", text).code != 0
    assert not bench.table().branches.exists("dev")


def test_what_is_wrong_is_one_line_with_its_place(console: CommandLine) -> None:
    found = console("sql", "MERGE BRANCH dev\nINTO main")
    assert found.code == 2
    assert "Line 2, column 1" in found.error
