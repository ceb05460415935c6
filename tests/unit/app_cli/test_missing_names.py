"""A name that is not there is told with those that are near, by whatever command."""

from pathlib import Path

import pytest

from tests.support.branch_bench import BranchBench
from tests.support.command_line import CommandLine

TABLE = "There is no table db.tt. Did you mean 'db.t'?"
BRANCH = "Table db.t has no branch 'devel'. Did you mean 'develop'?"
TAG = "Branch 'main' has no tag 'releas'. Did you mean 'release'?"


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    bench = BranchBench(tmp_path / "warehouse")
    bench.append("a")
    bench.tag("release")
    bench.branch("develop")
    return bench


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("branches db.tt", TABLE),
        ("graph db.tt", TABLE),
        ("drop-branch db.tt develop --dry-run", TABLE),
        ("tables --database dbb", "There is no database 'dbb'. Did you mean 'db'?"),
        ("snapshots db.t --branch devel", BRANCH),
        ("branches db.t --versus devel", BRANCH),
        ("compare db.t main devel", BRANCH),
        ("schema-diff db.t main devel", BRANCH),
        ("schema-diff db.t devel@0 main", BRANCH),
        ("create-branch db.t new --from-branch devel --dry-run", BRANCH),
        ("fast-forward db.t devel --dry-run", BRANCH),
        ("merge devel --table db.t --dry-run", BRANCH),
        ("drop-branch db.t devel --dry-run", BRANCH),
        ("lost-commits db.t --branch devel", BRANCH),
        ("compare db.t main tag:releas", TAG),
        ("create-branch db.t new --from-tag releas --dry-run", TAG),
        ("delete-tag db.t releas --dry-run", TAG),
        (
            "compare db.t main release",
            "has no branch 'release', but a tag of that name. Write 'tag",
        ),
    ],
)
def test_a_missing_name_is_told_with_near_ones(
    console: CommandLine, bench: BranchBench, command: str, told: str
) -> None:
    found = console(*command.split())
    assert (found.code, told in found.error) == (3, True), found
