"""The graph of a table whose branches no longer hold what others forked from."""

from pathlib import Path

import pytest

from branch_console.diff.branch_trace import Lists
from branch_console.procedures.browse.branches import list_branches
from branch_console.procedures.browse.graph import read_graph
from branch_console_app.cli.lane_text import draw_lanes
from branch_console_app.models.branches.branch_graph import EdgeKind, draw_branches
from branch_console_app.models.branches.branch_tracks import tracks_of, with_service_branches
from tests.support.branch_bench import BranchBench


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    """Main at 4, and dev from its snapshot 3."""
    bench = BranchBench(tmp_path)
    for name in "abcd":
        bench.append(name)
    bench.branch("dev", snapshot=3)
    bench.append("e", branch="dev")
    return bench


def edges(bench: BranchBench) -> set[str]:
    """`dev 4 on main 3`: the branch on whose lane a snapshot stands, and what it builds on."""
    graph = read_graph(bench.warehouse(), bench.identifier)
    names: dict[Lists, str] = {
        each.snapshot.identity.manifest_lists: f"{each.branch} {each.snapshot.id}"
        for each in graph.nodes
    }
    return {
        f"{names[child.manifest_lists]} on {names[parent.manifest_lists]}"
        for child, parent in graph.edges
    }


def forks(bench: BranchBench, *, service: bool = False) -> set[tuple[str, str]]:
    """The lanes that the page joins to another one, as (lane, other lane)."""
    graph = read_graph(bench.warehouse(), bench.identifier)
    tracks = with_service_branches(tracks_of(graph), shown=service)
    drawn = draw_branches(tracks, events=graph.events, parents=graph.edges)
    lanes = {lane.row: lane.branch for lane in drawn.lanes}
    return {
        (lanes[edge.end[1]], lanes[edge.start[1]])
        for edge in drawn.edges
        if edge.kind is EdgeKind.FORK
    }


def standing(bench: BranchBench, branch: str) -> tuple[int | None, int | None]:
    items = {item.name: item for item in list_branches(bench.warehouse(), bench.identifier)}
    versus = items[branch].versus
    assert versus is not None
    return versus.ahead, versus.behind


def test_a_branch_of_a_branch_leaves_that(bench: BranchBench) -> None:
    bench.branch("sub", from_branch="dev")
    bench.append("f", branch="sub")
    assert edges(bench) == {
        "main 2 on main 1",
        "main 3 on main 2",
        "main 4 on main 3",
        "dev 4 on main 3",
        "sub 5 on dev 4",
    }
    assert forks(bench) == {("dev", "main"), ("sub", "dev")}
    assert standing(bench, "sub") == (2, 1)


def test_a_fork_stays_where_main_was_cut_back_behind_it(bench: BranchBench) -> None:
    bench.call("rollback", operation="cut", snapshot=1, cut=True)
    assert edges(bench) == {
        "dev 3 on rescue-cut 2",
        "dev 4 on dev 3",
        "rescue-cut 2 on main 1",
        "rescue-cut 4 on dev 3",
    }
    assert forks(bench) == {("dev", "main")}
    assert forks(bench, service=True) == {("dev", "rescue-cut"), ("rescue-cut", "main")}
    assert standing(bench, "dev") == (3, 0)


def test_a_fork_stays_where_main_has_expired_past_it(bench: BranchBench) -> None:
    bench.append("f")
    for snapshot_id in (1, 2, 3, 4):
        Path(bench.table().paths.snapshot(snapshot_id)).unlink()
    assert edges(bench) == {"main 5 on dev 3", "dev 4 on dev 3"}
    assert forks(bench) == {("main", "dev")}
    assert standing(bench, "dev") == (1, 1)


def test_a_fork_stays_where_main_was_replaced(bench: BranchBench) -> None:
    bench.branch("feature", snapshot=4)
    bench.append("f", branch="feature")
    bench.call("replace_main", operation="new", branch="dev")
    assert edges(bench) == {
        "main 2 on main 1",
        "main 3 on main 2",
        "main 4 on main 3",
        "feature 4 on main 3",
        "feature 5 on feature 4",
    }
    assert forks(bench) == {("feature", "main"), ("dev", "main")}
    assert standing(bench, "feature") == (2, 1)


def test_the_text_joins_what_the_page_joins(bench: BranchBench) -> None:
    bench.call("rollback", operation="cut", snapshot=1, cut=True)
    lines = draw_lanes(read_graph(bench.warehouse(), bench.identifier))
    # One root: what the rescue branch keeps joins main and dev.
    assert lines[-1].startswith("*")
    assert sum(line.lstrip("| ").startswith("*") for line in lines) == 5
