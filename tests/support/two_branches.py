"""A main and a dev that is ahead of it, or has gone apart from it."""

from pathlib import Path

from tests.support.branch_bench import BranchBench


def dev_ahead(root: Path) -> BranchBench:
    """Main at 2, dev two commits, a schema and the tag v4 ahead."""
    bench = BranchBench(root)
    bench.append("a")
    bench.append("b")
    bench.branch("dev")
    bench.append("c", branch="dev")
    bench.alter("dev")
    bench.append("d", branch="dev")
    bench.tag("v4", "dev")
    return bench


def move_main(bench: BranchBench) -> None:
    """Main gets a commit, a schema and a tag that mean something else on dev."""
    bench.append("x", user="etl")
    bench.alter("main", "other")
    bench.tag("v4")
