"""The branches of a table as its graph needs them: which are shown, and how each stands."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, assert_never

from branch_console.diff.rows.row_figure import RowFigure
from branch_console.format.identifier import MAIN_BRANCH, RESERVED_PREFIXES
from branch_console.format.snapshot import Snapshot, SnapshotIdentity
from branch_console.procedures.browse.page_values import BranchGraph, GraphNode
from branch_console_app.models.parts.wording import MINUS, code, count, plural

MOST_LANES: Final = 24
"""How many branches are drawn if nothing else is asked for."""


class LaneState(StrEnum):
    """How a branch stands to the one it is compared with."""

    MAIN = "main"
    AHEAD = "ahead"
    DIVERGED = "diverged"
    EVEN = "even"
    BEHIND = "behind"
    UNRELATED = "unrelated"
    EMPTY = "empty"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """A branch as the graph needs it.

    Attributes:
        snapshots: By id, oldest first; those that another branch holds too may be left out.
        head: The newest snapshot, whichever branch it began on.
        tags: Names with the snapshots they name.
        ahead: Commits of this branch that the compared one lacks; None if not known.
        behind: Commits of the compared branch that this one lacks; None if not known.
        problem: Why the branch cannot be read, where it cannot.
        changes: What each commit changed and what there is after it, by its manifest lists.
        quiet_since_millis: When the last commit or operation was, if that is thirty days ago.
        leaves: Snapshots of other branches that its history comes from, near ones first, where the
            snapshots themselves do not tell.
    """

    branch: str
    snapshots: tuple[Snapshot, ...] = ()
    head: Snapshot | None = None
    tags: tuple[tuple[str, SnapshotIdentity], ...] = ()
    ahead: int | None = None
    behind: int | None = None
    problem: str | None = None
    changes: Mapping[tuple[str, str], tuple[RowFigure, RowFigure]] = field(default_factory=dict)
    leaves: tuple[SnapshotIdentity, ...] = ()
    created_millis: int | None = None
    quiet_since_millis: int | None = None
    is_protected: bool = False

    @property
    def state(self) -> LaneState:
        """How the branch stands to the compared one."""
        if self.problem is not None:
            return LaneState.BROKEN
        if self.branch == MAIN_BRANCH:
            return LaneState.MAIN
        if self.head is None:
            return LaneState.EMPTY
        return state_between(self.ahead, self.behind)

    @property
    def standing(self) -> str:
        """The state in a few words: `3 ahead, 12 behind`."""
        return standing_words(self.state, self.ahead, self.behind)


def state_between(ahead: int | None, behind: int | None) -> LaneState:
    """Return how a branch stands that can be read and has something on it."""
    if ahead is None or behind is None:
        return LaneState.UNRELATED
    states = {
        (False, False): LaneState.EVEN,
        (True, False): LaneState.AHEAD,
        (False, True): LaneState.BEHIND,
        (True, True): LaneState.DIVERGED,
    }
    return states[ahead > 0, behind > 0]


def standing_words(state: LaneState, ahead: int | None, behind: int | None) -> str:
    """Write a state in a few words: `3 ahead, 12 behind`."""
    match state:
        case LaneState.MAIN:
            return "main branch"
        case LaneState.BROKEN:
            return "cannot be read"
        case LaneState.EMPTY:
            return "no commit yet"
        case LaneState.UNRELATED:
            return "no shared history"
        case LaneState.EVEN:
            return "even"
        case _:
            parts = [
                f"{count(ahead)} ahead" if ahead else "",
                f"{count(behind)} behind" if behind else "",
            ]
            return ", ".join(filter(None, parts))


def standing_sentence(track: Track, versus: str) -> str:
    """Say in a sentence how a branch stands, as Markdown: ``2 commits ahead of `main` ``."""
    other, ahead, behind = code(versus), track.ahead or 0, track.behind or 0
    match track.state:
        case LaneState.BROKEN:
            return "This branch cannot be read. Other branches are not affected."
        case _ if track.branch == versus:
            return "The other branches are compared with this one."
        case LaneState.EMPTY:
            return "No commit yet."
        case LaneState.AHEAD:
            return f"{plural(ahead, 'commit')} ahead of {other}, none behind."
        case LaneState.DIVERGED:
            return f"{plural(ahead, 'commit')} ahead of {other}, {count(behind)} behind."
        case LaneState.BEHIND:
            return f"{plural(behind, 'commit')} behind {other}, with none of its own."
        case LaneState.EVEN:
            return f"Even with {other}: neither has a commit that the other lacks."
        case LaneState.MAIN | LaneState.UNRELATED:
            if track.ahead is None or track.behind is None:
                return f"It shares no snapshot with {other}."
            return f"{plural(ahead, 'commit')} ahead of {other}, {count(behind)} behind."
        case _:
            assert_never(track.state)


def tracks_of(graph: BranchGraph) -> list[Track]:
    """Return a track a lane: the snapshots that began on it, and how its branch stands."""
    own: dict[str, list[GraphNode]] = {}
    for node in graph.nodes:
        own.setdefault(node.branch, []).append(node)
    tracks = []
    for lane in graph.lanes:
        item, nodes, distance = lane.item, own.get(lane.branch, []), lane.item.versus
        tracks.append(
            Track(
                branch=lane.branch,
                snapshots=tuple(node.snapshot for node in nodes),
                head=item.head,
                tags=tuple((tag, node.snapshot.identity) for node in nodes for tag in node.tags),
                ahead=distance.ahead if distance else None,
                behind=distance.behind if distance else None,
                problem=item.error.message if item.error else None,
                changes={
                    node.snapshot.identity.manifest_lists: (node.change, node.figure)
                    for node in nodes
                },
                leaves=lane.leaves,
                created_millis=item.created_millis,
                quiet_since_millis=item.quiet_since_millis,
            )
        )
    return tracks


def choose_tracks(
    tracks: Sequence[Track], *, selected: str | None, shown: Iterable[str], most: int
) -> tuple[Track, ...]:
    """Pick the lanes: main, selected, asked for and protected ones, then the newest."""
    wanted = frozenset(shown)

    def rank(track: Track) -> tuple[bool, ...]:
        is_asked_for = track.branch in wanted or track.branch == selected
        return (track.branch != MAIN_BRANCH, not is_asked_for, not track.is_protected)

    by_age = sorted(tracks, key=lambda track: (-_newest_millis(track), track.branch))
    chosen = sorted(by_age, key=rank)[:most]
    return tuple(sorted(chosen, key=_lane_order))


def is_service_branch(branch: str) -> bool:
    """Whether the product itself made the branch, to rescue or to stage."""
    return branch.startswith(RESERVED_PREFIXES)


def _newest_millis(track: Track) -> int:
    return track.head.time_millis if track.head else track.created_millis or 0


def _lane_order(track: Track) -> tuple[bool, int, int, str]:
    # A branch of a branch holds all of its parent's snapshots, so the shorter history goes first.
    first = track.snapshots[0].time_millis if track.snapshots else 2**62
    made = first if track.created_millis is None else track.created_millis
    return (track.branch != MAIN_BRANCH, made, len(track.snapshots), track.branch)


def versus_words(ahead: int | None, behind: int | None) -> str:
    """Write ahead and behind in the short form of lanes and lists."""
    if ahead is None or behind is None:
        return ""
    return f"+{count(ahead)} {MINUS}{count(behind)}"


def with_service_branches(tracks: Iterable[Track], *, shown: bool) -> list[Track]:
    """Return tracks without rescue and staging branches, unless these are asked for."""
    return [track for track in tracks if shown or not is_service_branch(track.branch)]
