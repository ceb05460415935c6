"""The id of a plan is another one where what its preview tells is taken has changed."""

from collections.abc import Callable
from pathlib import Path

import pytest

from core.errors import ErrorKind, Refused
from core.procedures.call import Argument
from tests.support.branch_bench import BranchBench
from tests.support.lifecycle import metadata, preview, run

DEV = "db.t$branch_dev"
CUT: dict[str, Argument] = {"table": DEV, "snapshot": 2, "cut": True}
DROP: dict[str, Argument] = {"branch": "dev"}
verbs = pytest.mark.parametrize(
    ("name", "arguments"), [("rollback", CUT), ("drop_branch", DROP)], ids=["cut", "drop"]
)


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    """Dev is two snapshots ahead, with a tag and a streaming reader."""
    bench = BranchBench(tmp_path)
    bench.append("a")
    bench.branch("dev")
    for name in ("b", "c", "d"):
        bench.append(name, branch="dev")
    bench.tag("v1", "dev")
    reader(bench, "old", 4)
    return bench


def reader(bench: BranchBench, name: str, reads_next: int) -> None:
    path = Path(bench.table("dev").paths.consumer(name))
    path.parent.mkdir(exist_ok=True)
    path.write_text(f'{{"nextSnapshot" : {reads_next}}}')


def a_tag(bench: BranchBench) -> None:
    bench.tag("v2", "dev")


def a_deleted_tag(bench: BranchBench) -> None:
    Path(bench.table("dev").paths.tag("v1")).unlink()


def a_reader(bench: BranchBench) -> None:
    reader(bench, "new", 4)


@pytest.mark.parametrize("change", [a_tag, a_deleted_tag, a_reader])
@verbs
def test_what_was_agreed_to_without_it_is_refused(
    bench: BranchBench,
    name: str,
    arguments: dict[str, Argument],
    change: Callable[[BranchBench], None],
) -> None:
    agreed = preview(bench, name, **arguments).plan_id
    change(bench)
    assert preview(bench, name, **arguments).plan_id != agreed
    before = metadata(bench)
    with pytest.raises(Refused, match="preview is out of date") as caught:
        run(bench, name, plan_id=agreed, **arguments)
    assert caught.value.kind is ErrorKind.HEAD_MOVED
    assert metadata(bench) == before


@verbs
def test_a_reader_that_reads_on_changes_no_plan(
    bench: BranchBench, name: str, arguments: dict[str, Argument]
) -> None:
    agreed = preview(bench, name, **arguments).plan_id
    reader(bench, "old", 5)
    assert preview(bench, name, **arguments).plan_id == agreed
    run(bench, name, plan_id=agreed, **arguments)
