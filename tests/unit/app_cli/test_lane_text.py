import re

import pytest

from branch_console.diff.rows.row_figure import RowFigure
from branch_console.errors import FormatError
from branch_console.format.identifier import Identifier
from branch_console.format.snapshot import CommitKind, Snapshot, SnapshotIdentity
from branch_console.procedures.browse.page_values import (
    BranchGraph,
    BranchItem,
    GraphLane,
    GraphNode,
    Health,
)
from branch_console_app.cli.lane_text import draw_lanes

TABLE = Identifier(database="db", table="t")


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "branch_console_app.cli.lane_text.local_time", lambda millis: f"{millis} ms"
    )


def snapshot(branch: str, number: int, kind: CommitKind = CommitKind.APPEND) -> Snapshot:
    return Snapshot(
        id=number,
        schema_id=0,
        base_manifest_list=f"manifest-list-{branch}-{number}-0",
        delta_manifest_list=f"manifest-list-{branch}{number}-1",
        commit_user="ann",
        commit_identifier=1,
        commit_kind=kind,
        time_millis=1000 * number,
        delta_record_count=10,
    )


def node(
    branch: str,
    number: int,
    *,
    kind: CommitKind = CommitKind.APPEND,
    head: bool = False,
    tags: tuple[str, ...] = (),
    new_schema: bool = False,
    merged: GraphNode | None = None,
) -> GraphNode:
    return GraphNode(
        branch=branch,
        snapshot=snapshot(branch, number, kind),
        figure=RowFigure(rows=10 * number, records=10 * number),
        change=RowFigure(rows=10, records=10),
        tags=tags,
        schema_changed=new_schema,
        is_head_of=(branch,) if head else (),
        merged_from=merged.snapshot.identity if merged else None,
    )


def lane(branch: str, head: GraphNode | None, error: FormatError | None = None) -> GraphLane:
    health = Health.BROKEN if error else Health.HEALTHY
    return GraphLane(
        branch=branch,
        parent=None,
        leaves=(),
        head=head.snapshot.identity if head else None,
        item=BranchItem(name=branch, health=health, findings=(), error=error),
    )


def graph(nodes: list[GraphNode], pairs: list[tuple[GraphNode, GraphNode]]) -> BranchGraph:
    heads = {name: each for each in nodes for name in each.is_head_of}
    edges: list[tuple[SnapshotIdentity, SnapshotIdentity]] = [
        (child.snapshot.identity, parent.snapshot.identity) for child, parent in pairs
    ]
    return BranchGraph(
        identifier=TABLE,
        lanes=tuple(lane(name, head) for name, head in heads.items()),
        nodes=tuple(nodes),
        edges=tuple(edges),
        events=(),
    )


def chain(nodes: list[GraphNode]) -> list[tuple[GraphNode, GraphNode]]:
    return list(zip(nodes[1:], nodes, strict=False))


def lanes(lines: list[str]) -> list[str]:
    """The lines up to the snapshot's id."""
    return [re.sub(r"(?<=\d)  .*", "", line) for line in lines]


def test_a_straight_history_is_one_lane() -> None:
    nodes = [node("main", 1), node("main", 2, kind=CommitKind.OVERWRITE, head=True, tags=("v1",))]
    first, second = draw_lanes(graph(nodes, chain(nodes)))
    assert first == (
        "# 2  "
        + nodes[1].snapshot.identity.short
        + "  overwrite  +10 rows  2000 ms  ann  (main, tag: v1)"
    )
    assert second.startswith("* 1  ")


def test_a_branch_leaves_main_and_main_keeps_the_first_column() -> None:
    main = [node("main", 1), node("main", 2), node("main", 3, head=True)]
    dev = node("dev", 4, head=True)
    lines = draw_lanes(graph([*main, dev], [*chain(main), (dev, main[0])]))
    assert lanes(lines) == ["  * 4", "* | 3", "* | 2", "|/", "* 1"]


def test_three_branches_from_one_snapshot_join_there() -> None:
    main = [node("main", 1), node("main", 2, head=True)]
    others = [node(name, number, head=True) for name, number in (("a", 3), ("b", 4))]
    pairs = [*chain(main), *((other, main[0]) for other in others)]
    lines = draw_lanes(graph([*main, *others], pairs))
    assert lanes(lines) == ["  * 4", "  | * 3", "* | | 2", "|_|/", "|/", "* 1"]


def test_a_merge_has_two_parents() -> None:
    base = node("main", 1)
    dev = node("dev", 2, head=True)
    merge = node("main", 3, head=True, merged=dev)
    lines = draw_lanes(graph([base, dev, merge], [(merge, base), (merge, dev), (dev, base)]))
    assert lanes(lines) == ["M 3", "|\\", "| * 2", "|/", "* 1"]


def test_a_long_run_is_one_line_unless_all_are_wanted() -> None:
    nodes = [node("main", number, head=number == 300) for number in range(1, 301)]
    folded = draw_lanes(graph(nodes, chain(nodes)))
    assert lanes(folded) == ["* 300", ": 298 snapshots 2-299, +2,980 rows", "* 1"]
    assert len(draw_lanes(graph(nodes, chain(nodes)), fold=False)) == 300


def test_a_run_ends_where_something_refers_to_a_snapshot() -> None:
    nodes = [
        node("main", number, head=number == 20, tags=("mid",) if number == 10 else ())
        for number in range(1, 21)
    ]
    lines = draw_lanes(graph(nodes, chain(nodes)))
    assert lanes(lines) == [
        "* 20",
        ": 9 snapshots 11-19, +90 rows",
        "* 10",
        ": 8 snapshots 2-9, +80 rows",
        "* 1",
    ]


def test_a_clock_that_runs_backwards_does_not_turn_history_round() -> None:
    parent, child = node("main", 9), node("main", 2, head=True)
    lines = draw_lanes(graph([parent, child], [(child, parent)]))
    assert lanes(lines) == ["* 2", "* 9"]


def test_branches_without_snapshots_are_named() -> None:
    empty = lane("new", None)
    broken = lane("bad", None, FormatError("snapshot-1 is broken."))
    drawn = draw_lanes(
        BranchGraph(identifier=TABLE, lanes=(empty, broken), nodes=(), edges=(), events=())
    )
    assert drawn == ["- new: no snapshot yet", "x bad: snapshot-1 is broken."]
