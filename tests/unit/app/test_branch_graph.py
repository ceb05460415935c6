"""The lane graph: who owns a snapshot, where lanes fork, what folds, what is left out."""

import pytest

from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console.format.snapshot import CommitKind, Snapshot
from branch_console_app.models.branches.branch_graph import (
    Axis,
    EdgeKind,
    LaneGraph,
    Node,
    NodeKind,
    draw_branches,
)
from branch_console_app.models.branches.branch_tracks import (
    MOST_LANES,
    LaneState,
    Track,
    versus_words,
    with_service_branches,
)
from tests.unit.app.histories import MINUTE, history, snapshot

MAIN = history("m", 1, 6)


def track(branch: str, snapshots: tuple[Snapshot, ...], **facts: object) -> Track:
    head = snapshots[-1] if snapshots else None
    return Track(branch=branch, snapshots=snapshots, head=head, **facts)  # type: ignore[arg-type]


def node(graph: LaneGraph, branch: str, number: int) -> Node:
    return next(
        each
        for each in graph.nodes
        if each.branch == branch and each.snapshot and each.snapshot.id == number
    )


def test_a_shared_snapshot_is_drawn_once_on_main() -> None:
    dev = (*MAIN[:3], *history("d", 4, 5))
    graph = draw_branches([track("dev", dev, ahead=2, behind=3), track("main", MAIN)])
    assert [lane.branch for lane in graph.lanes] == ["main", "dev"]
    assert len(graph.nodes) == len(MAIN) + 2
    assert {each.snapshot.id for each in graph.nodes if each.branch == "dev" and each.snapshot} == {
        4,
        5,
    }


def test_equal_ids_of_two_branches_are_two_nodes() -> None:
    dev = (*MAIN[:3], *history("d", 4, 4))
    graph = draw_branches([track("main", MAIN), track("dev", dev)])
    assert node(graph, "main", 4).snapshot != node(graph, "dev", 4).snapshot


def test_a_lane_forks_from_the_newest_shared_snapshot() -> None:
    dev = (*MAIN[:3], *history("d", 4, 5))
    graph = draw_branches([track("main", MAIN), track("dev", dev, ahead=2, behind=3)])
    (fork,) = [edge for edge in graph.edges if edge.kind is EdgeKind.FORK]
    assert fork.start == (node(graph, "main", 3).x, 0)
    assert fork.end == (node(graph, "dev", 4).x, 1)
    assert fork.state is LaneState.DIVERGED


def test_a_branch_of_a_branch_forks_from_the_branch() -> None:
    dev = (*MAIN[:2], *history("d", 3, 4))
    deeper = (*dev, *history("x", 5, 5))
    graph = draw_branches([track("main", MAIN), track("dev", dev), track("deeper", deeper)])
    fork = next(e for e in graph.edges if e.kind is EdgeKind.FORK and e.end[1] == 2)
    assert fork.start == (node(graph, "dev", 4).x, 1)


def test_a_fork_that_only_the_ledger_knows_is_drawn_too() -> None:
    own = history("d", 7, 8)
    dev = Track(branch="dev", snapshots=own, head=own[-1], leaves=(MAIN[2].identity,))
    graph = draw_branches([track("main", MAIN), dev])
    (fork,) = [edge for edge in graph.edges if edge.kind is EdgeKind.FORK]
    assert fork.start == (node(graph, "main", 3).x, 0)


def test_a_branch_without_own_commits_has_a_hollow_head() -> None:
    graph = draw_branches([track("main", MAIN), track("dev", MAIN[:4], ahead=0, behind=2)])
    (hollow,) = [each for each in graph.nodes if each.kind is NodeKind.HEAD_ONLY]
    assert hollow.branch == "dev"
    assert hollow.snapshot == MAIN[3]
    assert hollow.x == node(graph, "main", 4).x + 1
    assert "dev" in node(graph, "main", 4).heads


def test_snapshots_without_uuid_are_known_by_their_manifest_lists() -> None:
    from dataclasses import replace  # noqa: PLC0415

    old = tuple(replace(each, uuid=None) for each in MAIN)
    graph = draw_branches([track("main", old), track("dev", MAIN[:4])])
    assert len([each for each in graph.nodes if each.kind is not NodeKind.HEAD_ONLY]) == len(MAIN)


def test_a_broken_branch_ends_in_a_cross_and_spoils_no_other() -> None:
    graph = draw_branches(
        [track("main", MAIN), Track(branch="torn", problem="snapshot-3 is not JSON")]
    )
    (cross,) = [each for each in graph.nodes if each.kind is NodeKind.BROKEN]
    assert cross.branch == "torn"
    assert graph.lanes[1].state is LaneState.BROKEN
    assert graph.alt == "2 branches. torn: cannot be read."


def test_a_child_stands_right_of_all_its_parents() -> None:
    dev = (*MAIN[:3], *history("d", 4, 9))
    merged = (*MAIN, snapshot("m7", 7))
    event = LineageEvent(
        id="e", branch="main", operation_id="o", actor="ada", kind=LineageKind.MERGED,
        source_branch="dev", time_millis=1, after=merged[-1].identity,
        parents=(merged[-2].identity, dev[-1].identity),
    )  # fmt: skip
    graph = draw_branches([track("main", merged), track("dev", dev)], events=[event])
    landing = node(graph, "main", 7)
    assert landing.kind is NodeKind.MERGE
    assert landing.x > node(graph, "dev", 9).x
    (edge,) = [each for each in graph.edges if each.kind is EdgeKind.MERGE]
    assert edge.start == (node(graph, "dev", 9).x, 1)
    assert edge.end == (landing.x, 0)


def test_what_landed_by_fast_forward_is_a_triangle_and_no_second_edge() -> None:
    event = LineageEvent(
        id="e", branch="main", operation_id="o", actor="ada", kind=LineageKind.FAST_FORWARDED,
        source_branch="dev", time_millis=1, after=MAIN[-1].identity,
        parents=(MAIN[2].identity, MAIN[-1].identity),
    )  # fmt: skip
    graph = draw_branches([track("main", MAIN), track("dev", MAIN)], events=[event])
    assert node(graph, "main", 6).kind is NodeKind.FAST_FORWARD
    assert not [edge for edge in graph.edges if edge.kind is EdgeKind.MERGE]


def test_a_fast_forward_that_was_undone_leaves_no_line_and_no_mark() -> None:
    """Main went to the head of dev and back: its line ends at its head again."""
    dev = (*MAIN, *history("d", 7, 8))
    event = LineageEvent(
        id="e", branch="main", operation_id="o", actor="ada", kind=LineageKind.FAST_FORWARDED,
        source_branch="dev", time_millis=1, after=dev[-1].identity,
        parents=(MAIN[-1].identity, dev[-1].identity),
    )  # fmt: skip
    for axis in Axis:
        graph = draw_branches([track("main", MAIN), track("dev", dev)], events=[event], axis=axis)
        assert node(graph, "dev", 8).kind is NodeKind.APPEND
        assert not [edge for edge in graph.edges if edge.kind is EdgeKind.MERGE]


def test_plain_runs_fold_and_keep_their_ends() -> None:
    long = history("m", 1, 312)
    graph = draw_branches([track("main", long)])
    (fold,) = [each for each in graph.nodes if each.kind is NodeKind.FOLD]
    assert fold.first_id == 2
    assert fold.folded == 308
    plain = [each for each in graph.nodes if each.kind is NodeKind.APPEND]
    assert [each.snapshot.id for each in plain if each.snapshot] == [1, 310, 311, 312]
    assert max(each.x for each in graph.nodes) == 4


def test_what_has_something_to_tell_is_not_folded() -> None:
    long = list(history("m", 1, 100))
    long[39] = snapshot("m40", 40, kind=CommitKind.OVERWRITE)
    for number in range(60, 100):
        long[number] = snapshot(f"m{number + 1}", number + 1, schema_id=1)
    dev = (*long[:20], *history("d", 21, 22))
    graph = draw_branches(
        [track("main", tuple(long), tags=(("v1", long[49].identity),)), track("dev", dev)],
        selected_snapshot=long[69].identity,
    )
    shown = {each.snapshot.id for each in graph.nodes if not each.folded and each.snapshot}
    assert {20, 40, 50, 61, 70} <= shown
    assert node(graph, "main", 61).has_new_schema
    assert node(graph, "main", 50).tags == ("v1",)
    assert node(graph, "main", 70).is_selected


def test_a_folded_run_opens_when_asked() -> None:
    long = history("m", 1, 60)
    graph = draw_branches([track("main", long)], opened=[("main", 2)])
    assert len(graph.nodes) == 60


def test_every_snapshot_is_drawn_or_folded_exactly_once() -> None:
    long = history("m", 1, 200)
    tracks = [
        track("main", long),
        track("a", (*long[:50], *history("a", 51, 120))),
        track("b", (*long[:90], *history("b", 91, 93))),
    ]
    graph = draw_branches(tracks)
    assert sum(max(each.folded, 1) for each in graph.nodes) == 200 + 70 + 3


def test_a_clock_that_runs_backwards_does_not_put_a_child_before_its_parent() -> None:
    odd = (snapshot("m1", 1), snapshot("m2", 2), snapshot("m3", 3, millis=MINUTE // 2))
    graph = draw_branches([track("main", odd)], axis=Axis.TIME)
    assert node(graph, "main", 3).x == 2 * MINUTE
    assert node(graph, "main", 3).is_clock_skewed
    assert not node(graph, "main", 2).is_clock_skewed


def test_five_hundred_branches_leave_main_the_selected_and_the_newest() -> None:
    tracks = [track("main", MAIN)]
    tracks += [
        track(f"b{number:03}", (*MAIN[:2], snapshot(f"b{number}", 3, millis=number * MINUTE)))
        for number in range(500)
    ]
    tracks.append(track("kept", (*MAIN[:2], snapshot("k", 3, millis=0)), is_protected=True))
    graph = draw_branches(tracks, selected="b007", shown=["b013"])
    names = [lane.branch for lane in graph.lanes]
    assert len(names) == MOST_LANES
    assert names[0] == "main"
    assert {"b007", "b013", "kept", "b499", "b498"} <= set(names)
    assert graph.hidden == len(tracks) - MOST_LANES


@pytest.mark.parametrize(
    ("ahead", "behind", "state", "words"),
    [
        (0, 0, LaneState.EVEN, "even"),
        (3, 0, LaneState.AHEAD, "3 ahead"),
        (0, 4, LaneState.BEHIND, "4 behind"),
        (3, 12, LaneState.DIVERGED, "3 ahead, 12 behind"),
        (None, None, LaneState.UNRELATED, "no shared history"),
    ],
)
def test_the_standing_of_a_branch(
    ahead: int | None, behind: int | None, state: LaneState, words: str
) -> None:
    dev = track("dev", MAIN, ahead=ahead, behind=behind)
    assert (dev.state, dev.standing) == (state, words)


def test_an_empty_branch_says_so() -> None:
    empty = track("dev", ())
    assert empty.state is LaneState.EMPTY
    graph = draw_branches([track("main", MAIN), empty])
    assert [each.kind for each in graph.nodes if each.branch == "dev"] == [NodeKind.HEAD_ONLY]


def test_the_alternative_text_states_the_finding() -> None:
    dev = track("dev", (*MAIN[:3], *history("d", 4, 5)), ahead=2, behind=3)
    graph = draw_branches([track("main", MAIN), dev], selected="dev")
    assert graph.alt == "2 branches. dev: 2 ahead, 3 behind."


def test_a_table_without_commits_has_nodes_for_its_lanes_only() -> None:
    graph = draw_branches([track("main", ())])
    assert [each.kind for each in graph.nodes] == [NodeKind.HEAD_ONLY]
    assert graph.edges == ()


def test_rescue_branches_are_hidden_until_asked_for() -> None:
    tracks = [track("main", MAIN), track("rescue-1", MAIN), track("merge-1", MAIN)]
    assert [each.branch for each in with_service_branches(tracks, shown=False)] == ["main"]
    assert len(with_service_branches(tracks, shown=True)) == 3


def test_ahead_and_behind_in_short() -> None:
    assert versus_words(3, 12) == "+3 \N{MINUS SIGN}12"
    assert versus_words(None, 1) == ""
