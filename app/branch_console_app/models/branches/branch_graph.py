"""The lane graph: each branch a lane, each snapshot a node where it was made, forks as edges.

A snapshot that several branches hold is drawn once, on the first lane that has it: main first, then
by the time of the fork. Plain runs fold into one capsule, so a thousand snapshots stay readable.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from branch_console.diff.rows.row_figure import NOTHING_COUNTED, RowFigure
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console.format.snapshot import CommitKind, Snapshot, SnapshotIdentity
from branch_console_app.models.branches.branch_tracks import (
    MOST_LANES,
    LaneState,
    Track,
    choose_tracks,
)
from branch_console_app.models.parts.wording import plural

FOLD_ABOVE: Final = 30
_SHORTEST_FOLD: Final = 4


class Axis(StrEnum):
    """The meaning of the horizontal direction."""

    LINEAGE = "lineage"
    TIME = "time"


class NodeKind(StrEnum):
    """The kind of a node; each kind has a shape of its own."""

    APPEND = "append"
    COMPACT = "compact"
    OVERWRITE = "overwrite"
    ANALYZE = "analyze"
    MERGE = "merge"
    FAST_FORWARD = "fast-forward"
    REVERT = "revert"
    HEAD_ONLY = "head"
    FOLD = "fold"
    BROKEN = "broken"


class EdgeKind(StrEnum):
    """The kind of an edge; the state of a lane is shown by its style."""

    LANE = "lane"
    FORK = "fork"
    MERGE = "merge"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """One row of the graph."""

    row: int
    track: Track

    @property
    def branch(self) -> str:
        """The branch's name."""
        return self.track.branch

    @property
    def state(self) -> LaneState:
        """How the branch stands to the compared one."""
        return self.track.state


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A snapshot, a folded run of them, or the mark of a branch without own commits.

    Attributes:
        branch: The branch on whose lane it is drawn.
        x: Column, or milliseconds on the time axis.
        snapshot: The snapshot; the last one of a folded run; None if nothing could be read.
        folded: The number of snapshots in a folded run, else 0.
        first_id: The first snapshot of a folded run.
        change: The changes by its commit.
        figure: All its rows.
        heads: Branches whose head this is.
        is_clock_skewed: Whether its clock is before its parent's, so that it is drawn later.
    """

    branch: str
    row: int
    x: float
    kind: NodeKind
    snapshot: Snapshot | None
    tags: tuple[str, ...] = ()
    heads: tuple[str, ...] = ()
    has_new_schema: bool = False
    is_selected: bool = False
    is_clock_skewed: bool = False
    folded: int = 0
    first_id: int | None = None
    change: RowFigure = NOTHING_COUNTED
    figure: RowFigure = NOTHING_COUNTED


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A line between two nodes; `state` is that of the lane it belongs to."""

    kind: EdgeKind
    state: LaneState
    start: tuple[float, int]
    end: tuple[float, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneGraph:
    """The lanes, nodes and edges of the graph, and its description in one sentence.

    Attributes:
        hidden: The number of branches without a lane.
        focus: The x that must be visible: of the selected snapshot, or of a run just opened.
    """

    axis: Axis
    lanes: tuple[Lane, ...]
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    hidden: int
    focus: float | None
    alt: str


def draw_branches(
    tracks: Sequence[Track],
    *,
    events: Iterable[LineageEvent] = (),
    parents: Iterable[tuple[SnapshotIdentity, SnapshotIdentity]] = (),
    selected: str | None = None,
    selected_snapshot: SnapshotIdentity | None = None,
    shown: Iterable[str] = (),
    opened: Iterable[tuple[str, int]] = (),
    axis: Axis = Axis.LINEAGE,
    most_lanes: int = MOST_LANES,
) -> LaneGraph:
    """Lay the branches of a table out.

    Args:
        tracks: All branches, in any order.
        events: The ledger: it knows merges and what landed by fast-forward.
        parents: Pairs of child and parent, as far as they are known from elsewhere.
        selected: The branch that is looked at; it has a lane in any case.
        selected_snapshot: The snapshot that is looked at.
        shown: Branches that must not be left out, whatever their age.
        opened: Folded runs that are shown in full, by branch and first id, the newest last.
        axis: Columns in the order of lineage, or time.
        most_lanes: How many lanes are drawn at most.
    """
    visible = choose_tracks(tracks, selected=selected, shown=shown, most=most_lanes)
    runs = list(opened)
    layout = _Layout(visible, axis)
    layout.land(events)
    layout.join(parents)
    layout.mark(selected_snapshot)
    layout.fold(frozenset(runs))
    layout.number()
    nodes = tuple(layout.nodes())
    return LaneGraph(
        axis=axis,
        lanes=tuple(Lane(row=row, track=track) for row, track in enumerate(visible)),
        nodes=nodes,
        edges=tuple(layout.edges()),
        hidden=len(tracks) - len(visible),
        focus=_focus(nodes, runs),
        alt=_alt(tracks, visible),
    )


def _alt(tracks: Sequence[Track], visible: Sequence[Track]) -> str:
    lanes = "; ".join(
        f"{track.branch}: {track.standing}" for track in visible if track.branch != MAIN_BRANCH
    )
    return f"{plural(len(tracks), 'branch', 'branches')}. {lanes}".strip(". ") + "."


def _focus(nodes: Sequence[Node], opened: Sequence[tuple[str, int]]) -> float | None:
    selected = next((node.x for node in nodes if node.is_selected), None)
    if selected is not None or not opened:
        return selected
    branch, first_id = opened[-1]
    return next(
        (
            node.x
            for node in nodes
            if node.branch == branch and node.snapshot and node.snapshot.id == first_id
        ),
        None,
    )


class Identities:
    """Finds snapshots by identity: by uuid where both sides have one, else by manifest lists."""

    def __init__(self) -> None:
        self._by_uuid: dict[str, int] = {}
        self._by_lists: dict[tuple[str, str], tuple[int, str | None]] = {}

    def find(self, identity: SnapshotIdentity) -> int | None:
        """Return the number that the snapshot was added under."""
        if identity.uuid is not None and identity.uuid in self._by_uuid:
            return self._by_uuid[identity.uuid]
        found = self._by_lists.get(identity.manifest_lists)
        if found is None or (identity.uuid is not None and found[1] is not None):
            return None
        return found[0]

    def add(self, identity: SnapshotIdentity, number: int) -> None:
        """Remember a snapshot under a number."""
        if identity.uuid is not None:
            self._by_uuid[identity.uuid] = number
        self._by_lists[identity.manifest_lists] = (number, identity.uuid)


@dataclass(slots=True, kw_only=True)
class _Item:
    """A node while it is laid out."""

    number: int
    row: int
    branch: str
    kind: NodeKind
    snapshots: list[Snapshot]
    parents: list[int] = field(default_factory=list)
    column: int = 0

    @property
    def last(self) -> Snapshot | None:
        return self.snapshots[-1] if self.snapshots else None


class _Layout:
    """Lays out in steps, each on top of the one before: place, land, join, mark, fold, number."""

    def __init__(self, tracks: Sequence[Track], axis: Axis) -> None:
        self._tracks = tracks
        self._axis = axis
        self._known = Identities()
        self._items: list[_Item] = []
        self._lane_items: dict[int, list[int]] = {row: [] for row in range(len(tracks))}
        self._fork_of: dict[int, int] = {}
        self._merges: list[tuple[int, int]] = []
        self._new_schema: set[int] = set()
        self._heads: dict[int, list[str]] = {}
        self._tags: dict[int, list[str]] = {}
        self._selected: int | None = None
        self._folded_away: set[int] = set()
        self._times: dict[int, int] = {}
        self._place()

    def nodes(self) -> Iterator[Node]:
        for number, item in enumerate(self._items):
            if number in self._folded_away:
                continue
            x, is_skewed = self._x(item)
            is_fold = len(item.snapshots) > 1
            change, figure = self._figures(item)
            yield Node(
                branch=item.branch,
                row=item.row,
                x=x,
                kind=NodeKind.FOLD if is_fold else item.kind,
                snapshot=item.last,
                tags=tuple(self._tags.get(number, ())),
                heads=tuple(self._heads.get(number, ())),
                has_new_schema=number in self._new_schema,
                is_selected=number == self._selected,
                is_clock_skewed=is_skewed,
                folded=len(item.snapshots) if is_fold else 0,
                first_id=item.snapshots[0].id if is_fold else None,
                change=change,
                figure=figure,
            )

    def _figures(self, item: _Item) -> tuple[RowFigure, RowFigure]:
        unknown = (NOTHING_COUNTED, NOTHING_COUNTED)
        if item.last is None:
            return unknown
        return self._tracks[item.row].changes.get(item.last.identity.manifest_lists, unknown)

    def edges(self) -> Iterator[Edge]:
        for row, numbers in self._lane_items.items():
            state = self._tracks[row].state
            if row in self._fork_of and numbers:
                fork = self._fork_of[row]
                yield self._edge(EdgeKind.FORK, state, fork, numbers[0])
            for earlier, later in itertools.pairwise(numbers):
                yield self._edge(EdgeKind.LANE, state, earlier, later)
        for source, arrow_end in self._merges:
            state = self._tracks[self._items[source].row].state
            yield self._edge(EdgeKind.MERGE, state, source, arrow_end)

    def _place(self) -> None:
        """Give each snapshot to the first lane that holds it, and each lane its fork."""
        shared: dict[int, int] = {}
        for row, track in enumerate(self._tracks):
            schema_id = None
            for snapshot in track.snapshots:
                number = self._known.find(snapshot.identity)
                if number is not None:
                    shared[row] = number
                else:
                    number = self._add(row, track.branch, _kind_of(snapshot), [snapshot])
                    self._known.add(snapshot.identity, number)
                    if schema_id is not None and snapshot.schema_id != schema_id:
                        self._new_schema.add(number)
                schema_id = snapshot.schema_id
            if track.problem is not None:
                self._add(row, track.branch, NodeKind.BROKEN, [])
            elif not self._lane_items[row]:
                # The branch has no commit of its own: its head stands on another lane.
                head = [track.head] if track.head else []
                self._add(row, track.branch, NodeKind.HEAD_ONLY, head)
        # A lane may come from one that is drawn below it.
        for row, track in enumerate(self._tracks):
            self._fork(row, shared.get(row), track)

    def _fork(self, row: int, shared: int | None, track: Track) -> None:
        left = (self._known.find(each) for each in track.leaves)
        found = next((each for each in (shared, *left) if each is not None), None)
        if found is not None and self._items[found].row != row:
            self._fork_of[row] = found
            self._items[self._lane_items[row][0]].parents.append(found)

    def _add(self, row: int, branch: str, kind: NodeKind, snapshots: list[Snapshot]) -> int:
        number = len(self._items)
        lane = self._lane_items[row]
        self._items.append(
            _Item(
                number=number,
                row=row,
                branch=branch,
                kind=kind,
                snapshots=snapshots,
                parents=lane[-1:],
            )
        )
        lane.append(number)
        return number

    def land(self, events: Iterable[LineageEvent]) -> None:
        """Mark what landed by merge, fast-forward or revert, and draw a merge's second edge."""
        for event in events:
            kind = _LANDINGS.get(event.kind)
            number = self._known.find(event.after) if event.after and kind else None
            if number is None or kind is None:
                continue
            item = self._items[number]
            if event.kind is LineageKind.FAST_FORWARDED and item.branch != event.branch:
                # An undo or a rollback left the snapshot with the source, where it was an append.
                continue
            item.kind = kind
            self.join((event.after, parent) for parent in event.parents if event.after)

    def join(self, parents: Iterable[tuple[SnapshotIdentity, SnapshotIdentity]]) -> None:
        """Add the edges that neither a lane nor a fork draws."""
        for child, parent in parents:
            arrow_end, source = self._known.find(child), self._known.find(parent)
            if arrow_end is None or source is None:
                continue
            item = self._items[arrow_end]
            # A parent on the same lane is an ancestor already, folded or not.
            if source not in item.parents and self._items[source].row != item.row:
                self._merges.append((source, arrow_end))
                item.parents.append(source)

    def mark(self, selected: SnapshotIdentity | None) -> None:
        for track in self._tracks:
            if track.head and (number := self._known.find(track.head.identity)) is not None:
                self._heads.setdefault(number, []).append(track.branch)
            for name, identity in track.tags:
                number = self._known.find(identity)
                if number is not None and name not in self._tags.setdefault(number, []):
                    self._tags[number].append(name)
        if selected is not None:
            self._selected = self._known.find(selected)

    def fold(self, opened: frozenset[tuple[str, int]]) -> None:
        """Replace plain runs by their last item, which then stands for all of them."""
        if max((len(numbers) for numbers in self._lane_items.values()), default=0) <= FOLD_ABOVE:
            return
        kept = self._kept()
        for row, numbers in self._lane_items.items():
            for run in _runs(numbers, kept):
                snapshots = [snapshot for each in run for snapshot in self._items[each].snapshots]
                if len(run) < _SHORTEST_FOLD or _is_opened(snapshots, row, self._tracks, opened):
                    continue
                self._items[run[-1]].snapshots = snapshots
                self._items[run[-1]].parents = self._items[run[0]].parents
                self._folded_away.update(run[:-1])
        self._lane_items = {
            row: [number for number in numbers if number not in self._folded_away]
            for row, numbers in self._lane_items.items()
        }

    def _kept(self) -> set[int]:
        """Return the items with something to tell, and their neighbours at the ends of lanes."""
        kept = {*self._fork_of.values(), *self._tags, *self._heads, *self._new_schema}
        kept.update(number for pair in self._merges for number in pair)
        kept.update(numbers[0] for numbers in self._lane_items.values() if numbers)
        kept.update(number for numbers in self._lane_items.values() for number in numbers[-3:])
        if self._selected is not None:
            kept.add(self._selected)
        kept.update(n for n, item in enumerate(self._items) if item.kind not in _PLAIN)
        return kept

    def number(self) -> None:
        """Give each item the first column behind all of its parents."""
        pending = [n for n in range(len(self._items)) if n not in self._folded_away]
        columns: dict[int, int] = {}
        # A merge's parent may stand on a later lane, so one pass in lane order is not enough.
        while pending:
            waiting = []
            for number in pending:
                parents = [p for p in self._items[number].parents if p not in self._folded_away]
                if all(parent in columns for parent in parents):
                    columns[number] = 1 + max((columns[p] for p in parents), default=-1)
                else:
                    waiting.append(number)
            if len(waiting) == len(pending):
                columns.update(dict.fromkeys(waiting, 0))
                break
            pending = waiting
        for number, column in columns.items():
            self._items[number].column = column
        self._times = self._clock_order(columns)

    def _clock_order(self, columns: Mapping[int, int]) -> dict[int, int]:
        """Return drawing times in which no snapshot stands before its parents."""
        times: dict[int, int] = {}
        for number in sorted(columns, key=lambda each: columns[each]):
            item = self._items[number]
            own = item.last.time_millis if item.last else 0
            times[number] = max([own, *(times.get(parent, 0) for parent in item.parents)])
        return times

    def _x(self, item: _Item) -> tuple[float, bool]:
        drawn = self._times[item.number]
        is_skewed = item.last is not None and drawn > item.last.time_millis
        return float(drawn if self._axis is Axis.TIME else item.column), is_skewed

    def _edge(self, kind: EdgeKind, state: LaneState, start: int, end: int) -> Edge:
        first, last = self._items[start], self._items[end]
        return Edge(
            kind=kind,
            state=state,
            start=(self._x(first)[0], first.row),
            end=(self._x(last)[0], last.row),
        )


_PLAIN: Final = frozenset({NodeKind.APPEND, NodeKind.COMPACT})
_LANDINGS: Final = {
    LineageKind.MERGED: NodeKind.MERGE,
    LineageKind.FAST_FORWARDED: NodeKind.FAST_FORWARD,
    LineageKind.REVERTED: NodeKind.REVERT,
}
_KINDS: Final = {
    CommitKind.APPEND: NodeKind.APPEND,
    CommitKind.COMPACT: NodeKind.COMPACT,
    CommitKind.OVERWRITE: NodeKind.OVERWRITE,
    CommitKind.ANALYZE: NodeKind.ANALYZE,
}


def _kind_of(snapshot: Snapshot) -> NodeKind:
    return _KINDS[snapshot.commit_kind]


def _runs(numbers: Sequence[int], kept: set[int]) -> Iterator[list[int]]:
    run: list[int] = []
    for number in numbers:
        if number not in kept:
            run.append(number)
            continue
        if run:
            yield run
        run = []
    if run:
        yield run


def _is_opened(
    snapshots: list[Snapshot],
    row: int,
    tracks: Sequence[Track],
    opened: frozenset[tuple[str, int]],
) -> bool:
    branch = tracks[row].branch
    return any((branch, snapshot.id) in opened for snapshot in snapshots)
