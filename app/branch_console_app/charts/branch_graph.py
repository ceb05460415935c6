"""The lane graph as a figure: one trace a kind of node, and no theme in it."""

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from textwrap import wrap
from typing import Any, Final

import plotly.graph_objects as go

from branch_console_app.charts.marks import POLE, schema_bars, tag_flags
from branch_console_app.charts.palette import ColourRole, framed, quiet_axis, selection
from branch_console_app.models.branches.branch_graph import (
    Axis,
    Edge,
    EdgeKind,
    LaneGraph,
    Node,
    NodeKind,
)
from branch_console_app.models.branches.branch_tracks import LaneState
from branch_console_app.models.branches.tag_labels import spaced_labels, tag_label
from branch_console_app.models.parts.wording import chart_text, count, moment, shortened, signed

LANE_HEIGHT: Final = 46
TOP: Final = 8
_BOTTOM: Final = 30
_HOVER_WIDTH: Final = 60
VISIBLE_COLUMNS: Final = 26
_CURVE_STEPS: Final = 12

COLOURS: Final = {
    LaneState.MAIN: ColourRole.OURS,
    LaneState.AHEAD: ColourRole.MERGED,
    LaneState.DIVERGED: ColourRole.THEIRS,
    LaneState.EVEN: ColourRole.BASE,
    LaneState.BEHIND: ColourRole.BASE,
    LaneState.UNRELATED: ColourRole.STALE,
    LaneState.EMPTY: ColourRole.STALE,
    LaneState.BROKEN: ColourRole.REMOVED,
}
_SYMBOLS: Final = {
    NodeKind.APPEND: "circle",
    NodeKind.COMPACT: "square-open",
    NodeKind.OVERWRITE: "diamond",
    NodeKind.ANALYZE: "triangle-up-open",
    NodeKind.MERGE: "hexagon",
    NodeKind.FAST_FORWARD: "triangle-right",
    NodeKind.REVERT: "triangle-left",
    NodeKind.HEAD_ONLY: "circle-open",
    NodeKind.BROKEN: "x-thin",
}
_SIZES: Final = {
    NodeKind.APPEND: 11,
    NodeKind.COMPACT: 8,
    NodeKind.OVERWRITE: 12,
    NodeKind.ANALYZE: 9,
    NodeKind.MERGE: 14,
    NodeKind.FAST_FORWARD: 14,
    NodeKind.REVERT: 14,
    NodeKind.HEAD_ONLY: 10,
    NodeKind.BROKEN: 11,
}
_LEGEND: Final = {
    NodeKind.APPEND: "append",
    NodeKind.COMPACT: "compact",
    NodeKind.OVERWRITE: "overwrite",
    NodeKind.ANALYZE: "analyze",
    NodeKind.MERGE: "merge",
    NodeKind.FAST_FORWARD: "fast-forward",
    NodeKind.REVERT: "undo or revert",
    NodeKind.HEAD_ONLY: "no commit of its own",
    NodeKind.BROKEN: "cannot be read",
}
# At most six edge traces whatever the number of lanes: a trace costs more than its points.
_EDGE_GROUPS: Final = (
    (ColourRole.OURS, "solid"),
    (ColourRole.MERGED, "solid"),
    (ColourRole.THEIRS, "solid"),
    (ColourRole.BASE, "solid"),
    (ColourRole.STALE, "dot"),
    (ColourRole.REMOVED, "dot"),
)


def branch_graph_figure(
    graph: LaneGraph, *, uirevision: str, width_columns: int = VISIBLE_COLUMNS
) -> go.Figure:
    """Draw the graph; points carry `[branch, id, identity]`, folded runs `[branch, id, "fold"]`.

    Args:
        graph: The graph to draw.
        uirevision: The key that zoom and pan are kept for.
        width_columns: How many columns are seen before one has to pan.
    """
    figure = lanes_frame(len(graph.lanes), uirevision=uirevision)
    to_x = _time if graph.axis is Axis.TIME else float
    figure.add_traces(
        [
            *edge_traces(graph.edges, graph.axis, to_x),
            *_node_traces(graph, to_x),
            *_folds(graph, to_x),
            *_marks(graph, to_x),
        ]
    )
    _scale(figure, graph, width_columns)
    return figure


def is_wider_than_shown(graph: LaneGraph) -> bool:
    """Whether older columns stand left of what is seen at first."""
    last = max((node.x for node in graph.nodes), default=0.0)
    return graph.axis is Axis.LINEAGE and last > VISIBLE_COLUMNS


def legend_words(graph: LaneGraph) -> list[tuple[str, str]]:
    """Return glyph and meaning of the kinds of node that the graph holds."""
    kinds = {node.kind for node in graph.nodes}
    return [(_GLYPHS[kind], _LEGEND[kind]) for kind in _LEGEND if kind in kinds]


_GLYPHS: Final = {
    NodeKind.APPEND: "●",
    NodeKind.COMPACT: "□",
    NodeKind.OVERWRITE: "◆",
    NodeKind.ANALYZE: "△",
    NodeKind.MERGE: "⬢",
    NodeKind.FAST_FORWARD: "▶",
    NodeKind.REVERT: "◀",
    NodeKind.HEAD_ONLY: "○",
    NodeKind.BROKEN: "✕",
}


def _time(x: float) -> Any:
    try:
        return datetime.fromtimestamp(x / 1000, tz=UTC)
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0, tz=UTC)


def edge_traces(
    edges: Iterable[Edge], axis: Axis = Axis.LINEAGE, to_x: Callable[[float], Any] = float
) -> Iterator[go.Scatter]:
    """Yield the lines between nodes, one trace a colour."""
    lines: dict[ColourRole, tuple[list[Any], list[float | None]]] = {}
    for edge in edges:
        xs, ys = lines.setdefault(COLOURS[edge.state], ([], []))
        for x, y in _curve(edge, axis):
            xs.append(to_x(x))
            ys.append(y)
        xs.append(None)
        ys.append(None)
    for role, dash in _EDGE_GROUPS:
        if role in lines:
            xs, ys = lines[role]
            yield go.Scatter(
                x=xs,
                y=ys,
                mode="lines",
                line={"color": role.value, "width": 2.4, "dash": dash},
                opacity=0.75,
                hoverinfo="skip",
                name="edges",
            )


def _curve(edge: Edge, axis: Axis) -> Iterator[tuple[float, float]]:
    """Yield the points of an edge: straight on a lane, an S between lanes, then straight."""
    (x0, y0), (x1, y1) = edge.start, edge.end
    yield (x0, float(y0))
    if y0 != y1 and edge.kind is not EdgeKind.LANE:
        bend = min(x1 - x0, 0.9) if axis is Axis.LINEAGE else x1 - x0
        # Forks leave their lane at once, merges arrive at the last moment: lanes stay readable.
        start = x0 if edge.kind is EdgeKind.FORK else x1 - bend
        if start != x0:
            yield (start, float(y0))
        for step in range(1, _CURVE_STEPS):
            part = step / _CURVE_STEPS
            eased = part * part * (3 - 2 * part)
            yield (start + bend * part, y0 + (y1 - y0) * eased)
        if start + bend < x1:
            yield (start + bend, float(y1))
    yield (x1, float(y1))


def _node_traces(graph: LaneGraph, to_x: Callable[[float], Any]) -> Iterator[go.Scatter]:
    colours = {lane.row: COLOURS[lane.state].value for lane in graph.lanes}
    problems = {lane.row: lane.track.problem for lane in graph.lanes}
    for kind, symbol in _SYMBOLS.items():
        nodes = [node for node in graph.nodes if node.kind is kind]
        if not nodes:
            continue
        is_open = symbol.endswith(("open", "thin"))
        yield go.Scatter(
            x=[to_x(node.x) for node in nodes],
            y=[node.row for node in nodes],
            mode="markers",
            marker={
                "symbol": symbol,
                "size": _SIZES[kind],
                "color": [colours[node.row] for node in nodes],
                "opacity": 1,
                "line": {
                    "width": 2.4 if is_open else 0,
                    "color": [colours[node.row] for node in nodes],
                },
            },
            **selection([n for n, node in enumerate(nodes) if node.is_selected], _SIZES[kind]),
            customdata=[_custom(node) for node in nodes],
            hovertext=[_hover(node, problems.get(node.row)) for node in nodes],
            hovertemplate="%{hovertext}<extra></extra>",
            name=_LEGEND[kind],
        )


def _folds(graph: LaneGraph, to_x: Callable[[float], Any]) -> Iterator[go.Scatter]:
    folds = [node for node in graph.nodes if node.kind is NodeKind.FOLD]
    if not folds:
        return
    colours = {lane.row: COLOURS[lane.state] for lane in graph.lanes}
    # The capsule is drawn as a wide marker: shapes cannot be clicked.
    yield go.Scatter(
        x=[to_x(node.x) for node in folds],
        y=[node.row for node in folds],
        mode="markers+text",
        marker={
            "symbol": "square",
            "size": [18 + 2 * len(_fold_words(node)) for node in folds],
            "color": [colours[node.row].value for node in folds],
            "opacity": 1,
        },
        unselected={"marker": {"opacity": 1}},
        text=[_fold_words(node) for node in folds],
        textposition="middle center",
        textfont={"size": 10, "color": "#FFFFFF"},
        customdata=[[node.branch, node.first_id, "fold"] for node in folds],
        hovertext=[_fold_hover(node) for node in folds],
        hovertemplate="%{hovertext}<extra></extra>",
        name="folded",
    )


def _marks(graph: LaneGraph, to_x: Callable[[float], Any]) -> Iterator[go.Scatter]:
    """Yield what stands above, below and around nodes: tags, schema changes, the selection."""
    tagged = [node for node in graph.nodes if tag_label(node.tags)]
    if tagged:
        places = [(to_x(node.x), node.row - 0.34) for node in tagged]
        yield tag_flags(
            places, [node.tags for node in tagged], _tag_labels(graph, tagged), pole=POLE
        )
    altered = [node for node in graph.nodes if node.has_new_schema]
    if altered:
        places = [(to_x(node.x), node.row + 0.24) for node in altered]
        yield schema_bars(places, ["the schema changed here"] * len(altered))


def _tag_labels(graph: LaneGraph, tagged: list[Node]) -> list[str]:
    """Name the tags of each lane as far as their names have room; hovering tells the rest."""
    a_column = 1.0
    if graph.axis is Axis.TIME:
        ends = [node.x for node in graph.nodes]
        a_column = (max(ends) - min(ends)) / VISIBLE_COLUMNS or 1.0
    labels = [""] * len(tagged)
    for row in {node.row for node in tagged}:
        of_row = [number for number, node in enumerate(tagged) if node.row == row]
        marks = [(tagged[n].x / a_column, tag_label(tagged[n].tags)) for n in of_row]
        for number, label in zip(of_row, spaced_labels(marks), strict=True):
            labels[number] = label
    return labels


def _custom(node: Node) -> list[str | int | None]:
    if node.snapshot is None:
        return [node.branch, None, None]
    return [node.branch, node.snapshot.id, node.snapshot.identity.short]


def _hover(node: Node, problem: str | None) -> str:
    snapshot = node.snapshot
    branch = chart_text(shortened(node.branch, 40))
    if snapshot is None:
        why = "<br>".join(
            chart_text(line) for line in wrap(problem or "", _HOVER_WIDTH, max_lines=6)
        )
        return f"<b>{branch}</b> cannot be read<br>{why}"
    if node.kind is NodeKind.HEAD_ONLY:
        return f"<b>{branch}</b> stands at snapshot {snapshot.id}<br>no commit of its own"
    lines = [
        f"<b>{branch}</b> snapshot {snapshot.id}",
        f"{snapshot.commit_kind.lower()} by {chart_text(shortened(snapshot.commit_user, 40))}",
        moment(snapshot.time_millis),
        f"{node.change.words(signed)}, {node.figure.words(count)} in all",
    ]
    if node.tags:
        lines.append(f"tag {chart_text(', '.join(node.tags))}")
    others = [each for each in node.heads if each != node.branch]
    if others:
        lines.append(f"head of {chart_text(shortened(', '.join(others), 60))} too")
    if node.is_clock_skewed:
        lines.append("◷ its clock is before its parent's")
    return "<br>".join(lines)


def _fold_words(node: Node) -> str:
    shown = f"{node.folded / 1000:.1f}k" if node.folded >= 1_000 else str(node.folded)
    return f"\N{MULTIPLICATION SIGN}{shown}"


def _fold_hover(node: Node) -> str:
    last = node.snapshot.id if node.snapshot else node.first_id
    branch = chart_text(shortened(node.branch, 40))
    return (
        f"<b>{branch}</b> snapshots {node.first_id} to {last}<br>"
        f"{count(node.folded)} plain commits, folded<br>click to open"
    )


def lanes_frame(lanes: int, *, uirevision: str) -> go.Figure:
    """Return a figure for so many lanes, which stand beside names that are page elements.

    Lane `n` stands exactly n lane heights below the top.
    """
    height = TOP + lanes * LANE_HEIGHT + _BOTTOM
    figure = framed(height, uirevision=uirevision, left=0, right=8)
    rows = max(lanes, 1)
    figure.update_yaxes(**quiet_axis(range=[rows - 0.5, -0.5], fixedrange=True, autorange=False))
    figure.update_layout(margin={"t": TOP, "b": _BOTTOM})
    return figure


def show_newest(
    figure: go.Figure, last: float, width_columns: int = VISIBLE_COLUMNS, focus: float | None = None
) -> None:
    """Show the newest columns, which people come for; the rest is a drag away.

    Args:
        figure: The figure.
        last: The newest column.
        width_columns: How many columns are seen before one has to pan.
        focus: A column that must be seen.
    """
    last = max(last, 8)
    end = last + 1.2
    if focus is not None and focus < last - width_columns:
        end = focus + width_columns / 2
    first = max(-0.6, end - 1.2 - width_columns)
    figure.update_xaxes(**quiet_axis(range=[first, end], autorange=False))


def _scale(figure: go.Figure, graph: LaneGraph, width_columns: int) -> None:
    if graph.axis is Axis.TIME:
        ticks = {"showticklabels": True, "tickfont": {"size": 11}, "nticks": 8}
        figure.update_xaxes(**quiet_axis(**ticks, side="bottom"))
        return
    last = max((node.x for node in graph.nodes), default=0.0)
    show_newest(figure, last, width_columns, graph.focus)
