"""The id of a plan is another one where what its preview tells is taken has changed."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from branch_console.errors import ErrorKind, Refused
from branch_console.procedures.call.call import Argument
from branch_console.procedures.call.row_engine import Progress
from tests.support.branch_bench import BranchBench, TrustingRows
from tests.support.lifecycle import metadata, preview, run

DEV = "db.t$branch_dev"
CUT: dict[str, Argument] = {"table": DEV, "snapshot": 2, "cut": True}
FORCED: dict[str, Argument] = {"branch": "main", "target": "dev", "force": True}
verbs = pytest.mark.parametrize(
    ("name", "arguments", "taken"),
    [
        ("rollback", CUT, "dev"),
        ("drop_branch", {"branch": "dev"}, "dev"),
        ("fast_forward", FORCED, "dev"),
        ("replace_main", {"branch": "dev"}, "main"),
    ],
    ids=["cut", "drop", "forced", "replace"],
)


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    """Main and dev have three snapshots of their own, each with a tag and a streaming reader."""
    bench = BranchBench(tmp_path)
    bench.append("a")
    bench.branch("dev")
    for branch in ("main", "dev"):
        for name in ("b", "c", "d"):
            bench.append(f"{branch}-{name}", branch=branch)
        bench.tag(f"{branch}-v1", branch)
        reader(bench, branch, "old", 4)
    return bench


def reader(bench: BranchBench, branch: str, name: str, reads_next: int) -> None:
    path = Path(bench.table(branch).paths.consumer(name))
    path.parent.mkdir(exist_ok=True)
    path.write_text(f'{{"nextSnapshot" : {reads_next}}}')


def a_tag(bench: BranchBench, branch: str) -> None:
    bench.tag("v2", branch)


def a_deleted_tag(bench: BranchBench, branch: str) -> None:
    Path(bench.table(branch).paths.tag(f"{branch}-v1")).unlink()


def a_reader(bench: BranchBench, branch: str) -> None:
    reader(bench, branch, "new", 4)


@pytest.mark.parametrize("change", [a_tag, a_deleted_tag, a_reader])
@verbs
def test_what_was_agreed_to_without_it_is_refused(
    bench: BranchBench,
    name: str,
    arguments: dict[str, Argument],
    taken: str,
    change: Callable[[BranchBench, str], None],
) -> None:
    agreed = preview(bench, name, **arguments).plan_id
    change(bench, taken)
    assert preview(bench, name, **arguments).plan_id != agreed
    before = metadata(bench)
    with pytest.raises(Refused, match="preview is out of date") as caught:
        run(bench, name, plan_id=agreed, **arguments)
    assert caught.value.kind is ErrorKind.HEAD_MOVED
    assert metadata(bench) == before


@verbs
def test_a_reader_that_reads_on_changes_no_plan(
    bench: BranchBench, name: str, arguments: dict[str, Argument], taken: str
) -> None:
    agreed = preview(bench, name, **arguments).plan_id
    reader(bench, taken, "old", 5)
    assert preview(bench, name, **arguments).plan_id == agreed
    run(bench, name, plan_id=agreed, **arguments)


def test_a_reader_that_came_while_files_were_checked_holds_up_a_forced_one(
    bench: BranchBench,
) -> None:
    class Slow(TrustingRows):
        def verify_files(self, files: pa.Table, progress: Progress) -> pa.Table:
            a_reader(bench, "dev")
            return super().verify_files(files, progress)

    with pytest.raises(Refused, match="while the files were checked"):
        bench.call("fast_forward", rows=Slow(), **FORCED)
    assert "dev-d" in "".join(bench.live_names("dev"))


def test_no_reader_changes_the_plan_of_what_takes_nothing(bench: BranchBench) -> None:
    bench.branch("next", from_branch="dev")
    bench.append("more", branch="next")
    arguments: dict[str, Argument] = {"branch": "next", "target": "dev"}
    agreed = preview(bench, "fast_forward", **arguments).plan_id
    a_reader(bench, "dev")
    run(bench, "fast_forward", plan_id=agreed, **arguments)
