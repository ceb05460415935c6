"""A branch's snapshots as bars: rows added and removed, the total after each, gaps where some went.

More snapshots than a chart can show are summed up in equal groups, so the chart stays readable.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from branch_console.diff.rows.row_figure import RECORDS_IN_FILES, RowFigure
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.snapshot import CommitKind, Snapshot
from branch_console_app.models.parts.wording import count, plural

MOST_BARS: Final = 1_000


class TimelineAxis(StrEnum):
    """The meaning of the horizontal direction."""

    SNAPSHOTS = "snapshots"
    TIME = "time"


class SnapshotEntry(Protocol):
    """A snapshot in a list; what cannot be read is None."""

    @property
    def id(self) -> int:
        """The snapshot id."""

    @property
    def snapshot(self) -> Snapshot | None:
        """The snapshot, where it can be read."""

    @property
    def figure(self) -> RowFigure:
        """All its rows."""

    @property
    def change(self) -> RowFigure:
        """The change by its commit."""

    @property
    def tags(self) -> tuple[str, ...]:
        """Tags that name it."""

    @property
    def schema_changed(self) -> bool:
        """Whether its schema differs from its predecessor's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One snapshot, or a group of snapshots if there are too many to show.

    Attributes:
        x: Its place, counted in bars and gaps.
        added: The rows or records that the snapshots added, 0 or more; None if not known.
        removed: The rows or records that they removed, 0 or less; None if not known.
        total: The total after the last of them.
        snapshot: The last of them.
    """

    x: int
    first_id: int
    last_id: int
    kind: CommitKind
    added: int | None
    removed: int | None
    total: int | None
    snapshot: Snapshot
    tags: tuple[str, ...]
    has_new_schema: bool

    @property
    def size(self) -> int:
        """How many snapshots it stands for."""
        return self.last_id - self.first_id + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Ids that no file has, or whose file cannot be read.

    Attributes:
        x: Its place, counted in bars and gaps.
        is_broken: Whether there is a file, and it cannot be read.
        is_before: Whether the branch has nothing earlier: it may have begun behind these ids.
    """

    x: int
    first_id: int
    last_id: int
    is_broken: bool
    is_before: bool = False

    @property
    def words(self) -> str:
        """The missing snapshots, as part of a sentence."""
        ids = f"snapshot {self.first_id}"
        if self.last_id > self.first_id:
            ids = f"snapshots {self.first_id} to {self.last_id}"
        if self.is_broken:
            return f"{ids} cannot be read"
        verb = "are" if self.last_id > self.first_id else "is"
        return f"{ids} {verb} not on the branch" if self.is_before else f"{ids} expired"


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """The bars and gaps of one branch, and its description in one sentence.

    Attributes:
        noun: The unit of its numbers: rows only if they are known of every snapshot.
    """

    branch: str
    bars: tuple[Bar, ...]
    gaps: tuple[Gap, ...]
    snapshot_count: int
    noun: str
    alt: str

    @property
    def is_grouped(self) -> bool:
        """Whether a bar stands for several snapshots."""
        return any(bar.size > 1 for bar in self.bars)


def draw_timeline(
    branch: str,
    entries: Iterable[SnapshotEntry],
    *,
    kinds: frozenset[CommitKind] = frozenset(CommitKind),
    first_id: int | None = None,
    last_id: int | None = None,
    most_bars: int = MOST_BARS,
) -> Timeline:
    """Lay the snapshots of a branch out, oldest first.

    Args:
        branch: The branch of the snapshots.
        entries: The snapshots, in any order.
        kinds: Only commits of these kinds are shown.
        first_id: Nothing before this id is shown.
        last_id: Nothing after this id is shown.
        most_bars: How many bars are drawn at most.
    """
    listed = sorted(entries, key=lambda entry: entry.id)
    chosen = [
        entry
        for entry in listed
        if (first_id is None or entry.id >= first_id) and (last_id is None or entry.id <= last_id)
    ]
    # The predecessor of a branch's first snapshot may lie on another branch; main had its own.
    begins_at = listed[0].id if listed and branch != MAIN_BRANCH else 0
    readable = [entry for entry in chosen if entry.snapshot is not None]
    wanted = [each for each in readable if each.snapshot and each.snapshot.commit_kind in kinds]
    is_of_rows = all(
        each.figure.rows is not None and each.change.rows is not None for each in readable
    )
    per_bar = -(-len(wanted) // most_bars) if wanted else 1
    bars: list[Bar] = []
    gaps: list[Gap] = []
    holes = list(_holes(chosen, starts_at=first_id or 1))
    for group in _groups(wanted, per_bar):
        while holes and holes[0][0] < group[0].id:
            gaps.append(_gap(len(bars) + len(gaps), holes.pop(0), begins_at))
        bars.append(_bar(len(bars) + len(gaps), group, is_of_rows=is_of_rows))
    end = len(bars) + len(gaps)
    gaps.extend(_gap(end + number, hole, begins_at) for number, hole in enumerate(holes))
    return Timeline(
        branch=branch,
        bars=tuple(bars),
        gaps=tuple(gaps),
        snapshot_count=len(readable),
        noun="rows" if is_of_rows else RECORDS_IN_FILES,
        alt=_alt(branch, readable, is_of_rows=is_of_rows),
    )


def _groups(entries: Sequence[SnapshotEntry], size: int) -> Iterator[Sequence[SnapshotEntry]]:
    for start in range(0, len(entries), size):
        yield entries[start : start + size]


def _holes(entries: Sequence[SnapshotEntry], starts_at: int) -> Iterator[tuple[int, int, bool]]:
    expected = starts_at
    for entry in entries:
        if entry.id > expected:
            yield (expected, entry.id - 1, False)
        if entry.snapshot is None:
            yield (entry.id, entry.id, True)
        expected = entry.id + 1


def _gap(x: int, hole: tuple[int, int, bool], begins_at: int) -> Gap:
    first_id, last_id, is_broken = hole
    return Gap(
        x=x,
        first_id=first_id,
        last_id=last_id,
        is_broken=is_broken,
        is_before=last_id < begins_at,
    )


def _number(figure: RowFigure, *, is_of_rows: bool) -> int | None:
    return figure.rows if is_of_rows else figure.records


def _bar(x: int, group: Sequence[SnapshotEntry], *, is_of_rows: bool) -> Bar:
    snapshots = [entry.snapshot for entry in group if entry.snapshot is not None]
    figure = (_number(each.change, is_of_rows=is_of_rows) for each in group)
    deltas = [each for each in figure if each is not None]
    last = snapshots[-1]
    return Bar(
        x=x,
        first_id=snapshots[0].id,
        last_id=last.id,
        kind=last.commit_kind,
        added=sum(delta for delta in deltas if delta > 0) if deltas else None,
        removed=sum(delta for delta in deltas if delta < 0) if deltas else None,
        total=_number(group[-1].figure, is_of_rows=is_of_rows),
        snapshot=last,
        tags=tuple(tag for entry in group for tag in entry.tags),
        has_new_schema=any(entry.schema_changed for entry in group),
    )


def _alt(branch: str, entries: Sequence[SnapshotEntry], *, is_of_rows: bool) -> str:
    head = entries[-1].snapshot if entries else None
    if head is None:
        return f"{branch}: no snapshot."
    shrinking = [
        entry
        for entry in entries
        if entry.snapshot
        and (_number(entry.change, is_of_rows=is_of_rows) or 0) < 0
        and entry.snapshot.commit_kind is not CommitKind.COMPACT
    ]
    noun = "rows" if is_of_rows else RECORDS_IN_FILES
    total = count(_number(entries[-1].figure, is_of_rows=is_of_rows))
    return (
        f"{branch}: {plural(len(entries), 'snapshot')}, {total} {noun} at the head, "
        f"{plural(len(shrinking), 'commit')} removed {'rows' if is_of_rows else 'records'}."
    )
