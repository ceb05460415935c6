"""A table's branches as lines of text, newest first, the way `git log --graph` draws commits.

Main keeps the first column. A long run of commits that nothing refers to is one line.
"""

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from branch_console.diff.rows.row_figure import add_up, with_sign
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.snapshot import CommitKind, SnapshotIdentity
from branch_console.procedures.browse.page_values import BranchGraph, GraphNode
from branch_console_app.cli.output import local_time, short_user

Key: TypeAlias = tuple[str, str]
"""The identity of a snapshot on every branch: the names of its manifest lists."""

_SIGNS: Final = {
    CommitKind.APPEND: "*",
    CommitKind.COMPACT: "o",
    CommitKind.OVERWRITE: "#",
    CommitKind.ANALYZE: "%",
}
_SHORTEST_RUN: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneMark:
    """A line's snapshot, or a run of them that is drawn as one."""

    key: Key
    nodes: tuple[GraphNode, ...]
    parents: tuple[Key, ...]

    @property
    def newest(self) -> GraphNode:
        """The newest snapshot."""
        return self.nodes[0]


def draw_lanes(graph: BranchGraph, *, fold: bool = True) -> list[str]:
    """Draw the snapshots of all branches, then name the branches that have none.

    Args:
        graph: The lineage of the table.
        fold: Whether a long run of plain commits is one line.
    """
    marks = _order(_marks(graph, fold=fold))
    main = next((mark.key for mark in marks if MAIN_BRANCH in mark.newest.is_head_of), None)
    lines = [f"{lanes}{text}".rstrip() for lanes, text in _rows(marks, main)]
    return [*lines, *_without_snapshots(graph)]


def _marks(graph: BranchGraph, *, fold: bool) -> list[LaneMark]:
    nodes = {_key(node.snapshot.identity): node for node in graph.nodes}
    parents = _parents(graph, nodes)
    children: dict[Key, list[Key]] = defaultdict(list)
    for child, its_parents in parents.items():
        for parent in its_parents:
            children[parent].append(child)
    plain = {key for key, node in nodes.items() if _is_plain(node, parents[key], children[key])}
    marks, done = [], set()
    for key, node in nodes.items():
        if key in done:
            continue
        run = _run(key, plain, parents, children) if fold and key in plain else [key]
        if len(run) < _SHORTEST_RUN:
            run = [key]
        done.update(run)
        marks.append(
            LaneMark(
                key=run[0],
                nodes=tuple(nodes[each] for each in run) if len(run) > 1 else (node,),
                parents=parents[run[-1]],
            )
        )
    return marks


def _parents(graph: BranchGraph, nodes: Mapping[Key, GraphNode]) -> dict[Key, tuple[Key, ...]]:
    found: dict[Key, list[Key]] = {key: [] for key in nodes}
    for child, parent in graph.edges:
        pair = _key(child), _key(parent)
        # A parent that has expired is no node: the line ends there.
        if pair[0] in nodes and pair[1] in nodes and pair[1] not in found[pair[0]]:
            found[pair[0]].append(pair[1])
    return {key: tuple(_own_first(key, each, nodes)) for key, each in found.items()}


def _own_first(key: Key, parents: list[Key], nodes: Mapping[Key, GraphNode]) -> list[Key]:
    own = nodes[key]
    merged = None if own.merged_from is None else _key(own.merged_from)
    return sorted(
        parents, key=lambda parent: (parent == merged, nodes[parent].branch != own.branch)
    )


def _is_plain(node: GraphNode, parents: Sequence[Key], children: Sequence[Key]) -> bool:
    refers = node.tags or node.is_head_of or node.schema_changed or node.merged_from
    return not refers and len(parents) == 1 and len(children) == 1


def _run(
    key: Key,
    plain: set[Key],
    parents: Mapping[Key, tuple[Key, ...]],
    children: Mapping[Key, list[Key]],
) -> list[Key]:
    """Return the whole run of plain snapshots that `key` is in, newest first."""
    first = key
    while children[first][0] in plain:
        first = children[first][0]
    run = [first]
    while parents[run[-1]][0] in plain:
        run.append(parents[run[-1]][0])
    return run


def _order(marks: Iterable[LaneMark]) -> list[LaneMark]:
    """Sort so that no parent stands above a child, and newer ones above older ones."""
    by_key = {mark.key: mark for mark in marks}
    waiting: dict[Key, int] = defaultdict(int)
    for mark in by_key.values():
        for parent in mark.parents:
            waiting[parent] += 1
    ready = [(*_rank(mark), mark.key) for mark in by_key.values() if not waiting[mark.key]]
    heapq.heapify(ready)
    ordered = []
    while ready:
        mark = by_key[heapq.heappop(ready)[-1]]
        ordered.append(mark)
        for parent in mark.parents:
            waiting[parent] -= 1
            if not waiting[parent]:
                heapq.heappush(ready, (*_rank(by_key[parent]), parent))
    return ordered


def _rank(mark: LaneMark) -> tuple[int, int, str]:
    snapshot = mark.newest.snapshot
    return -snapshot.time_millis, -snapshot.id, mark.newest.branch


def _rows(marks: Iterable[LaneMark], main: Key | None) -> Iterator[tuple[str, str]]:
    """Yield the lanes and the text of each line."""
    columns: list[Key | None] = [main]
    seen_main = main is None
    for mark in marks:
        mine = [column for column, key in enumerate(columns) if key == mark.key]
        if not mine:
            mine = [_free_column(columns)]
            columns[mine[0]] = mark.key
        for joining in reversed(mine[1:]):
            columns[joining] = None
            yield _bend(columns, mine[0], joining, "/", seen_main), ""
        seen_main = seen_main or mine[0] == 0
        yield _bars(columns, seen_main, {mine[0]: _sign(mark)}).rstrip() + " ", _text(mark)
        columns[mine[0]] = mark.parents[0] if mark.parents else None
        for parent in mark.parents[1:]:
            if parent not in columns:
                column = _free_column(columns)
                bend = _bend(columns, mine[0], column, "\\", seen_main)
                columns[column] = parent
                yield bend, ""
        while len(columns) > 1 and columns[-1] is None:
            columns.pop()


def _free_column(columns: list[Key | None]) -> int:
    for column, key in enumerate(columns):
        if key is None and column > 0:
            return column
    columns.append(None)
    return len(columns) - 1


def _bars(columns: Sequence[Key | None], seen_main: bool, signs: Mapping[int, str]) -> str:
    bars = [" " if key is None else "|" for key in columns]
    if not seen_main:
        bars[0] = " "
    for column, sign in signs.items():
        bars[column] = sign
    return " ".join(bars)


def _bend(columns: Sequence[Key | None], to: int, start: int, sign: str, seen_main: bool) -> str:
    """Draw a line between two columns, across what stands between them."""
    line = list(_bars(columns, seen_main or to == 0, {}).ljust(2 * start + 1))
    for position in range(2 * to + 1, 2 * start - 1):
        if line[position] == " ":
            line[position] = "_"
    line[2 * start - 1] = sign
    return "".join(line)


def _sign(mark: LaneMark) -> str:
    if len(mark.nodes) > 1:
        return ":"
    return "M" if mark.newest.merged_from else _SIGNS[mark.newest.snapshot.commit_kind]


def _text(mark: LaneMark) -> str:
    snapshot = mark.newest.snapshot
    if len(mark.nodes) > 1:
        figure = add_up(node.change for node in mark.nodes)
        oldest = mark.nodes[-1].snapshot.id
        return f"{len(mark.nodes):,} snapshots {oldest}-{snapshot.id}, {figure.words(with_sign)}"
    figure = mark.newest.change
    parts = [
        str(snapshot.id),
        snapshot.identity.short,
        str(snapshot.commit_kind).lower(),
        figure.words(with_sign) if figure.is_known else "",
        local_time(snapshot.time_millis),
        short_user(snapshot.commit_user),
        _labels(mark.newest),
    ]
    return "  ".join(part for part in parts if part)


def _labels(node: GraphNode) -> str:
    labels = [
        *node.is_head_of,
        *(f"tag: {tag}" for tag in node.tags),
        *([f"schema {node.snapshot.schema_id}"] if node.schema_changed else []),
    ]
    return f"({', '.join(labels)})" if labels else ""


def _without_snapshots(graph: BranchGraph) -> Iterator[str]:
    for lane in graph.lanes:
        if lane.item.error is not None:
            yield f"x {lane.branch}: {lane.item.error.message}"
        elif lane.head is None:
            yield f"- {lane.branch}: no snapshot yet"


def _key(identity: SnapshotIdentity) -> Key:
    return identity.manifest_lists
