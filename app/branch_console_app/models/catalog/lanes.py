"""The branches of the catalog as lanes: each version a node, forks and merges as edges."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from branch_console.format.catalog.catalog_version import CatalogVersion, VersionKind, VersionName
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.procedures.browse.catalog_values import CatalogBranchStanding, CatalogOverview
from branch_console_app.models.branches.branch_graph import Edge, EdgeKind
from branch_console_app.models.branches.branch_tracks import (
    MOST_LANES,
    LaneState,
    standing_words,
    state_between,
)
from branch_console_app.models.parts.wording import plural

_JOINING: Final = (VersionKind.MERGED, VersionKind.FORKED)


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogLane:
    """A branch of the catalog, or main, as a row of the graph.

    Attributes:
        ahead: Objects that a merge into main would change; None if not known.
        behind: Objects that main changed since the merge base; None if not known.
        problem: Why the branch cannot be read, where it cannot.
    """

    row: int
    branch: str
    ahead: int | None = None
    behind: int | None = None
    problem: str | None = None

    @property
    def state(self) -> LaneState:
        """How the branch stands to main."""
        if self.problem is not None:
            return LaneState.BROKEN
        if self.branch == MAIN_BRANCH:
            return LaneState.MAIN
        return state_between(self.ahead, self.behind)

    @property
    def standing(self) -> str:
        """The state in a few words."""
        return standing_words(self.state, self.ahead, self.behind)


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionNode:
    """A version of a branch; None if a branch has none that can be read."""

    branch: str
    row: int
    x: float
    version: CatalogVersion | None
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogLanes:
    """The lanes, nodes and edges of the catalog, and its description in one sentence.

    Attributes:
        hidden: The number of branches without a lane.
    """

    lanes: tuple[CatalogLane, ...]
    nodes: tuple[VersionNode, ...]
    edges: tuple[Edge, ...]
    hidden: int
    alt: str


def lane_of(branch: CatalogBranchStanding, row: int = 0) -> CatalogLane:
    """Return a branch as a lane."""
    error = branch.item.error
    return CatalogLane(
        row=row,
        branch=branch.item.name,
        ahead=branch.ahead,
        behind=branch.behind,
        problem=None if error is None else error.message,
    )


def draw_catalog(
    overview: CatalogOverview, *, selected: str | None = None, most_lanes: int = MOST_LANES
) -> CatalogLanes:
    """Lay the branches of the catalog out; main is the first lane, then the newest branches.

    Args:
        overview: The overview that was read.
        selected: The branch that is looked at; it has a lane in any case.
        most_lanes: How many lanes are drawn at most.
    """
    newest_first = sorted(
        overview.branches,
        key=lambda each: (each.item.name != selected, -_newest_millis(each), each.item.name),
    )
    chosen = sorted(newest_first[: most_lanes - 1], key=_forked_millis)
    lanes = (
        CatalogLane(row=0, branch=MAIN_BRANCH),
        *(lane_of(each, row) for row, each in enumerate(chosen, 1)),
    )
    by_lane = [
        [*reversed(overview.main_versions)],
        *([*reversed(each.versions)] for each in chosen),
    ]
    columns = _columns(version for versions in by_lane for version in versions)
    nodes = tuple(_nodes(lanes, by_lane, columns))
    return CatalogLanes(
        lanes=lanes,
        nodes=nodes,
        edges=tuple(_edges(lanes, by_lane, columns)),
        hidden=len(overview.branches) - len(chosen),
        alt=_alt(lanes),
    )


def _columns(versions: Iterable[CatalogVersion]) -> dict[VersionName, float]:
    """Give each version a column: in the order of time, and after all that it builds on."""
    known = {each.name: each for each in versions}
    ordered = sorted(known.values(), key=lambda each: (each.time_millis, each.name))
    # A clock that lags behind must not draw a merge before what it merged.
    columns: dict[VersionName, float] = {}
    waiting = ordered
    while waiting:
        left = []
        for version in waiting:
            before = [*version.parents, *_earlier(version)]
            if any(name in known and name not in columns for name in before):
                left.append(version)
            else:
                columns[version.name] = float(len(columns))
        if len(left) == len(waiting):
            columns |= {each.name: float(len(columns) + n) for n, each in enumerate(left)}
            break
        waiting = left
    return columns


def _earlier(version: CatalogVersion) -> Iterator[VersionName]:
    if version.number > 1 and version.kind is not VersionKind.FORKED:
        yield VersionName(branch=version.branch, number=version.number - 1)


def _nodes(
    lanes: Sequence[CatalogLane],
    by_lane: Sequence[Sequence[CatalogVersion]],
    columns: Mapping[VersionName, float],
) -> Iterator[VersionNode]:
    for lane, versions in zip(lanes, by_lane, strict=True):
        for version in versions:
            yield VersionNode(
                branch=lane.branch, row=lane.row, x=columns[version.name], version=version
            )
        if lane.problem is not None:
            last = columns[versions[-1].name] if versions else -1.0
            yield VersionNode(
                branch=lane.branch, row=lane.row, x=last + 1, version=None, problem=lane.problem
            )


def _edges(
    lanes: Sequence[CatalogLane],
    by_lane: Sequence[Sequence[CatalogVersion]],
    columns: Mapping[VersionName, float],
) -> Iterator[Edge]:
    rows = {lane.branch: lane for lane in lanes}
    for lane, versions in zip(lanes, by_lane, strict=True):
        for earlier, later in itertools.pairwise(versions):
            yield Edge(
                kind=EdgeKind.LANE,
                state=lane.state,
                start=(columns[earlier.name], lane.row),
                end=(columns[later.name], lane.row),
            )
        for version in versions:
            if version.kind not in _JOINING:
                continue
            for parent in version.parents:
                source = rows.get(parent.branch)
                if source is None or source is lane or parent not in columns:
                    continue
                is_fork = version.kind is VersionKind.FORKED
                yield Edge(
                    kind=EdgeKind.FORK if is_fork else EdgeKind.MERGE,
                    state=lane.state if is_fork else source.state,
                    start=(columns[parent], source.row),
                    end=(columns[version.name], lane.row),
                )


def _newest_millis(branch: CatalogBranchStanding) -> int:
    return branch.versions[0].time_millis if branch.versions else 0


def _forked_millis(branch: CatalogBranchStanding) -> tuple[int, str]:
    return (branch.item.created_millis or 0, branch.item.name)


def _alt(lanes: Sequence[CatalogLane]) -> str:
    text = "; ".join(f"{lane.branch}: {lane.standing}" for lane in lanes[1:])
    number = plural(len(lanes) - 1, "branch", "branches")
    return f"{number} of the catalog, below main. {text}".strip(". ") + "."
