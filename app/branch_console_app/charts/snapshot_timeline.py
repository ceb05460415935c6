"""The timeline as a figure: totals as a line, changes as bars, and a bead for each snapshot."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from branch_console.diff.rows.row_figure import RECORDS_IN_FILES
from branch_console.format.snapshot import CommitKind
from branch_console_app.charts.marks import schema_bars, tag_flags
from branch_console_app.charts.palette import (
    GRID,
    SELECTED,
    ColourRole,
    framed,
    quiet_axis,
    selection,
)
from branch_console_app.models.branches.snapshot_timeline import Bar, Timeline, TimelineAxis
from branch_console_app.models.branches.tag_labels import spaced_labels, tag_label
from branch_console_app.models.parts.wording import chart_text, count, moment, shortened, signed

_PANEL_HEIGHT: Final = 250
_SMALLEST_SCALE: Final = 4
_FEWEST_COLUMNS: Final = 11
# The share of the width that a letter of a tag takes where a window is narrow.
_LETTER: Final = 0.008
KIND_COLOURS: Final = {
    CommitKind.APPEND: ColourRole.ADDED,
    CommitKind.OVERWRITE: ColourRole.CHANGED,
    CommitKind.COMPACT: ColourRole.BASE,
    CommitKind.ANALYZE: ColourRole.STALE,
}
_SYMBOLS: Final = {
    CommitKind.APPEND: "circle",
    CommitKind.OVERWRITE: "diamond",
    CommitKind.COMPACT: "square-open",
    CommitKind.ANALYZE: "triangle-up-open",
}
GLYPHS: Final = {
    CommitKind.APPEND: "●",
    CommitKind.OVERWRITE: "◆",
    CommitKind.COMPACT: "□",
    CommitKind.ANALYZE: "△",
}


def snapshot_timeline_figure(
    timelines: Sequence[Timeline],
    *,
    axis: TimelineAxis,
    selected: tuple[str, int] | None,
    uirevision: str,
) -> go.Figure:
    """Draw one branch, or several stacked on shared scales; beads carry `[branch, id, identity]`.

    Args:
        timelines: The timelines to draw, top to bottom.
        axis: Columns by snapshot, or time.
        selected: Branch and id of the snapshot that is looked at.
        uirevision: The key that zoom and pan are kept for.
    """
    base = framed(_PANEL_HEIGHT * len(timelines) + 30, uirevision=uirevision, left=64, right=12)
    figure = make_subplots(
        rows=3 * len(timelines),
        cols=1,
        shared_xaxes=True,
        vertical_spacing=0.05,
        row_heights=[0.36, 0.46, 0.18] * len(timelines),
        figure=base,
    )
    for number, timeline in enumerate(timelines):
        row = 3 * number + 1
        for trace in _totals(timeline, axis):
            figure.add_trace(trace, row=row, col=1)
        for trace in _changes(timeline, axis):
            figure.add_trace(trace, row=row + 1, col=1)
        for trace in _beads(timeline, axis, selected):
            figure.add_trace(trace, row=row + 2, col=1)
        _scale(figure, row, timeline, is_stacked=len(timelines) > 1)
    _share_scales(figure, timelines)
    _mark_gaps(figure, timelines, axis)
    return figure


def _place(bar: Bar, axis: TimelineAxis) -> Any:
    if axis is TimelineAxis.SNAPSHOTS:
        return bar.x
    try:
        return datetime.fromtimestamp(bar.snapshot.time_millis / 1000, tz=UTC)
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0, tz=UTC)


def _totals(timeline: Timeline, axis: TimelineAxis) -> Iterator[go.Scatter]:
    bars = [bar for bar in timeline.bars if bar.total is not None]
    yield go.Scatter(
        x=[_place(bar, axis) for bar in bars],
        y=[bar.total for bar in bars],
        # A line through one point is none.
        mode="lines" if len(bars) > 1 else "lines+markers",
        line={"shape": "hvh", "color": ColourRole.OURS.value, "width": 2},
        fill="tozeroy",
        fillcolor="rgba(42, 116, 204, 0.10)",
        customdata=[_custom(timeline.branch, bar) for bar in bars],
        hovertext=[f"{count(bar.total)} {timeline.noun} after {_ids(bar)}" for bar in bars],
        hovertemplate="%{hovertext}<extra></extra>",
        name=timeline.noun,
    )


def _changes(timeline: Timeline, axis: TimelineAxis) -> Iterator[go.Bar]:
    for kind, role in KIND_COLOURS.items():
        if kind is CommitKind.APPEND and timeline.noun == RECORDS_IN_FILES:
            # Records that delete rows are counted too: green would call them rows that were added.
            role = ColourRole.OURS  # noqa: PLW2901
        bars = [bar for bar in timeline.bars if bar.kind is kind and bar.added]
        if bars:
            yield _bar_trace(timeline, bars, axis, role, kind.lower(), is_removal=False)
    shrinking = [bar for bar in timeline.bars if bar.removed]
    if shrinking:
        yield _bar_trace(timeline, shrinking, axis, ColourRole.REMOVED, "removed", is_removal=True)


def _bar_trace(
    timeline: Timeline,
    bars: list[Bar],
    axis: TimelineAxis,
    role: ColourRole,
    name: str,
    *,
    is_removal: bool,
) -> go.Bar:
    return go.Bar(
        x=[_place(bar, axis) for bar in bars],
        y=[bar.removed if is_removal else bar.added for bar in bars],
        marker={
            "color": role.value,
            "opacity": 0.9,
            "line": {"width": 0},
            # Removal is hatched too: red alone does not say it to everyone.
            "pattern": {"shape": "/" if is_removal else "", "size": 5, "solidity": 0.35},
        },
        selected={"marker": {"color": SELECTED, "opacity": 1}},
        unselected={"marker": {"opacity": 0.9}},
        customdata=[_custom(timeline.branch, bar) for bar in bars],
        hovertext=[_hover(bar, timeline.noun) for bar in bars],
        hovertemplate="%{hovertext}<extra></extra>",
        name=name,
    )


def _beads(
    timeline: Timeline, axis: TimelineAxis, selected: tuple[str, int] | None
) -> Iterator[go.Scatter]:
    """Yield the strip in which each snapshot can be clicked, however little it changed."""
    size = 9 if len(timeline.bars) <= 150 else 6
    chosen = [
        number for number, bar in enumerate(timeline.bars) if _is_chosen(bar, timeline, selected)
    ]
    yield go.Scatter(
        x=[_place(bar, axis) for bar in timeline.bars],
        y=[0] * len(timeline.bars),
        mode="markers",
        marker={
            "symbol": [_SYMBOLS[bar.kind] for bar in timeline.bars],
            "size": size,
            "color": [KIND_COLOURS[bar.kind].value for bar in timeline.bars],
            "line": {
                "width": 2,
                "color": [KIND_COLOURS[bar.kind].value for bar in timeline.bars],
            },
        },
        **selection(chosen, size),
        customdata=[_custom(timeline.branch, bar) for bar in timeline.bars],
        hovertext=[_hover(bar, timeline.noun) for bar in timeline.bars],
        hovertemplate="%{hovertext}<extra></extra>",
        name="snapshots",
    )
    marked = [bar for bar in timeline.bars if tag_label(bar.tags)]
    if marked:
        labels = spaced_labels([(bar.x, tag_label(bar.tags)) for bar in marked])
        places = [(_place(bar, axis), 0.9) for bar in marked]
        yield tag_flags(places, [bar.tags for bar in marked], labels)
    altered = [bar for bar in timeline.bars if bar.has_new_schema]
    if altered:
        places = [(_place(bar, axis), -0.9) for bar in altered]
        yield schema_bars(places, [f"schema {bar.snapshot.schema_id} from here" for bar in altered])


def _is_chosen(bar: Bar, timeline: Timeline, selected: tuple[str, int] | None) -> bool:
    if selected is None or selected[0] != timeline.branch:
        return False
    return bar.first_id <= selected[1] <= bar.last_id


def _custom(branch: str, bar: Bar) -> list[str | int]:
    return [branch, bar.snapshot.id, bar.snapshot.identity.short]


def _ids(bar: Bar) -> str:
    if bar.size > 1:
        return f"snapshots {bar.first_id} to {bar.last_id}"
    return f"snapshot {bar.last_id}"


def _hover(bar: Bar, noun: str) -> str:
    snapshot = bar.snapshot
    lines = [
        f"<b>{_ids(bar)}</b>",
        f"{snapshot.commit_kind.lower()} by {chart_text(shortened(snapshot.commit_user, 40))}",
        moment(snapshot.time_millis),
        f"{_change(bar)} {noun}, {count(bar.total)} in all",
    ]
    if bar.tags:
        lines.append(f"tag {chart_text(', '.join(bar.tags))}")
    return "<br>".join(lines)


def _change(bar: Bar) -> str:
    changes = [signed(part) for part in (bar.added, bar.removed) if part]
    return " ".join(changes) or count(bar.added)


def _scale(figure: go.Figure, row: int, timeline: Timeline, *, is_stacked: bool) -> None:
    name = f"<b>{chart_text(shortened(timeline.branch, 16))}</b><br>" if is_stacked else ""
    numbers: dict[str, Any] = {
        "gridcolor": GRID,
        "zeroline": False,
        "nticks": 4,
        "tickformat": "~s",
        "fixedrange": True,
        "tickfont": {"size": 11},
    }
    figure.update_yaxes(
        **numbers,
        title=_title(f"{name}{_short(timeline.noun)}"),
        rangemode="tozero",
        row=row,
        col=1,
    )
    zero = {"zeroline": True, "zerolinecolor": GRID, "zerolinewidth": 1}
    figure.update_yaxes(**{**numbers, **zero}, title=_title("change"), row=row + 1, col=1)
    figure.update_yaxes(**quiet_axis(range=[-1.5, 1.6], fixedrange=True), row=row + 2, col=1)
    figure.update_xaxes(**quiet_axis(), row=row, col=1)
    figure.update_xaxes(**quiet_axis(), row=row + 1, col=1)
    figure.update_xaxes(**quiet_axis(), row=row + 2, col=1)


def _short(noun: str) -> str:
    return noun.partition(" ")[0]


def _title(text: str) -> dict[str, Any]:
    return {"text": text, "font": {"size": 11, "color": ColourRole.BASE.value}, "standoff": 6}


def _share_scales(figure: go.Figure, timelines: Sequence[Timeline]) -> None:
    """Give stacked branches the same scales, so that heights compare."""
    totals = [bar.total for each in timelines for bar in each.bars if bar.total is not None]
    most = max(totals, default=0)
    # Below four rows the axis would count in halves.
    most = max(most, _SMALLEST_SCALE)
    changes = [
        part
        for each in timelines
        for bar in each.bars
        for part in (bar.added, bar.removed)
        if part is not None
    ]
    low, high = min([0, *changes]), max([_SMALLEST_SCALE, *changes])
    room = max((high - low) * 0.08, 1)
    for number in range(len(timelines)):
        figure.update_yaxes(range=[0, most * 1.08], row=3 * number + 1, col=1)
        bottom = low - room if low else 0
        figure.update_yaxes(range=[bottom, high + room], row=3 * number + 2, col=1)


def _mark_gaps(figure: go.Figure, timelines: Sequence[Timeline], axis: TimelineAxis) -> None:
    last_row = 3 * len(timelines)
    if axis is TimelineAxis.TIME:
        figure.update_xaxes(**quiet_axis(showticklabels=True, nticks=8), row=last_row, col=1)
        figure.update_layout(margin={"b": 30})
        return
    for number, timeline in enumerate(timelines):
        row = 3 * number + 3
        for gap in timeline.gaps:
            figure.add_vrect(
                x0=gap.x - 0.45,
                x1=gap.x + 0.45,
                fillcolor=ColourRole.REMOVED.value if gap.is_broken else ColourRole.BASE.value,
                opacity=0.12,
                line_width=0,
                row=row,
                col=1,
            )
        if timeline.gaps:
            figure.add_trace(_gap_trace(timeline), row=row, col=1)
    last = max((len(each.bars) + len(each.gaps) - 1 for each in timelines), default=0)
    # The mark of the newest bead must not be cut off, however many there are.
    room = max(0.7, last * 0.015)
    bars = max(timelines, key=lambda each: len(each.bars)).bars if timelines else ()
    step = max(1, len(bars) // 12)
    figure.update_xaxes(
        tickvals=[bar.x for bar in bars[::step]],
        ticktext=[str(bar.last_id) for bar in bars[::step]],
        showticklabels=True,
        tickfont={"size": 11},
        range=[-room, max(last + _label_room(timelines, last), _FEWEST_COLUMNS) + room],
        row=last_row,
        col=1,
    )
    figure.update_layout(margin={"b": 30}, bargap=0.55 if len(bars) < 40 else 0.2)


def _label_room(timelines: Sequence[Timeline], last: int) -> float:
    """Return the columns that the name of a tag on the newest snapshot needs to its right."""
    newest = [each.bars[-1] for each in timelines if each.bars]
    longest = max((len(tag_label(bar.tags)) for bar in newest if bar.x == last), default=0)
    return longest * _LETTER * max(last, _FEWEST_COLUMNS)


def _gap_trace(timeline: Timeline) -> go.Scatter:
    return go.Scatter(
        x=[gap.x for gap in timeline.gaps],
        y=[0] * len(timeline.gaps),
        mode="markers",
        marker={
            "symbol": ["x-thin" if gap.is_broken else "line-ew-open" for gap in timeline.gaps],
            "size": 8,
            "color": ColourRole.BASE.value,
            "line": {"width": 2, "color": ColourRole.BASE.value},
        },
        hovertext=[gap.words for gap in timeline.gaps],
        hovertemplate="%{hovertext}<extra></extra>",
        name="gaps",
    )
