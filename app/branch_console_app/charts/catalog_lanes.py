"""The lanes of the catalog as a figure: the lines of the branch graph, and versions as nodes."""

from collections.abc import Iterator
from typing import Final

import plotly.graph_objects as go

from branch_console.format.catalog.catalog_version import CatalogVersion, VersionKind
from branch_console_app.charts.branch_graph import (
    COLOURS,
    VISIBLE_COLUMNS,
    edge_traces,
    lanes_frame,
    show_newest,
)
from branch_console_app.models.catalog.lanes import CatalogLanes, VersionNode
from branch_console_app.models.parts.wording import (
    chart_text,
    cut_at_word,
    moment,
    plural,
    shortened,
)

_SYMBOLS: Final = {
    VersionKind.FORKED: "circle",
    VersionKind.CHANGED: "diamond",
    VersionKind.SIGHTED: "circle-open",
    VersionKind.MERGED: "hexagon",
    VersionKind.UNDONE: "triangle-left",
    VersionKind.TURNED_BACK: "triangle-left-open",
    VersionKind.VOID: "line-ns",
    VersionKind.DROPPED: "x-thin",
}
_SIZES: Final = {
    VersionKind.FORKED: 11,
    VersionKind.CHANGED: 12,
    VersionKind.SIGHTED: 9,
    VersionKind.MERGED: 14,
    VersionKind.UNDONE: 14,
    VersionKind.TURNED_BACK: 14,
    VersionKind.VOID: 10,
    VersionKind.DROPPED: 11,
}
_WORDS: Final = {
    VersionKind.FORKED: "the branch begins",
    VersionKind.CHANGED: "a statement changed names or properties",
    VersionKind.SIGHTED: "main as found in its folders",
    VersionKind.MERGED: "merge",
    VersionKind.UNDONE: "undo",
    VersionKind.TURNED_BACK: "merge turned back",
    VersionKind.VOID: "a number nobody can use any more",
    VersionKind.DROPPED: "the branch ends",
}
_GLYPHS: Final = {
    VersionKind.FORKED: "●",
    VersionKind.CHANGED: "◆",
    VersionKind.SIGHTED: "○",
    VersionKind.MERGED: "⬢",
    VersionKind.UNDONE: "◀",
    VersionKind.TURNED_BACK: "◁",
    VersionKind.VOID: "❘",
    VersionKind.DROPPED: "✕",
}


def catalog_lanes_figure(lanes: CatalogLanes, *, uirevision: str) -> go.Figure:
    """Draw the lanes; points carry `[branch, number]`.

    Args:
        lanes: The lanes to draw.
        uirevision: The key that zoom and pan are kept for.
    """
    figure = lanes_frame(len(lanes.lanes), uirevision=uirevision)
    figure.add_traces([*edge_traces(lanes.edges), *_version_traces(lanes), *_broken(lanes)])
    show_newest(figure, max((node.x for node in lanes.nodes), default=0.0))
    return figure


def is_wider_than_shown(lanes: CatalogLanes) -> bool:
    """Whether there are older versions to the left of those shown at first."""
    return max((node.x for node in lanes.nodes), default=0.0) > VISIBLE_COLUMNS


def legend_words(lanes: CatalogLanes) -> list[tuple[str, str]]:
    """Return glyph and meaning of the kinds of version that are drawn."""
    kinds = {node.version.kind for node in lanes.nodes if node.version is not None}
    return [(_GLYPHS[kind], _WORDS[kind]) for kind in _WORDS if kind in kinds]


def _version_traces(lanes: CatalogLanes) -> Iterator[go.Scatter]:
    colours = {lane.row: COLOURS[lane.state].value for lane in lanes.lanes}
    for kind, symbol in _SYMBOLS.items():
        found = [
            (node, node.version)
            for node in lanes.nodes
            if node.version is not None and node.version.kind is kind
        ]
        if not found:
            continue
        is_line = symbol.endswith(("open", "thin", "ns"))
        drawn = [colours[node.row] for node, _ in found]
        yield go.Scatter(
            x=[node.x for node, _ in found],
            y=[node.row for node, _ in found],
            mode="markers",
            marker={
                "symbol": symbol,
                "size": _SIZES[kind],
                "color": drawn,
                "opacity": 1,
                "line": {"width": 2.4 if is_line else 0, "color": drawn},
            },
            unselected={"marker": {"opacity": 1}},
            customdata=[[node.branch, version.number] for node, version in found],
            hovertext=[_hover(version) for _, version in found],
            hovertemplate="%{hovertext}<extra></extra>",
            name=_WORDS[kind],
        )


def _broken(lanes: CatalogLanes) -> Iterator[go.Scatter]:
    found = [node for node in lanes.nodes if node.version is None]
    if not found:
        return
    colours = {lane.row: COLOURS[lane.state].value for lane in lanes.lanes}
    drawn = [colours[node.row] for node in found]
    yield go.Scatter(
        x=[node.x for node in found],
        y=[node.row for node in found],
        mode="markers",
        marker={"symbol": "x-thin", "size": 11, "line": {"width": 2.4, "color": drawn}},
        customdata=[[node.branch, None] for node in found],
        hovertext=[_problem(node) for node in found],
        hovertemplate="%{hovertext}<extra></extra>",
        name="cannot be read",
    )


def _problem(node: VersionNode) -> str:
    branch = chart_text(shortened(node.branch, 40))
    return f"<b>{branch}</b> cannot be read<br>{chart_text(cut_at_word(node.problem or '', 120))}"


def _hover(version: CatalogVersion) -> str:
    changed = len(version.databases) + len(version.tables)
    lines = [
        f"<b>{chart_text(shortened(str(version.name), 40))}</b> {_WORDS[version.kind]}",
        f"{moment(version.time_millis)} by {chart_text(shortened(version.actor, 40))}",
    ]
    if changed:
        lines.append(f"{plural(changed, 'database or table', 'databases and tables')} noted")
    if version.statement:
        lines.append(chart_text(shortened(version.statement, 80)))
    return "<br>".join(lines)
