"""The map of partitions as a figure: squares on two axes, coloured around zero, each signed."""

import math
from collections.abc import Iterable
from typing import Final

import plotly.graph_objects as go

from branch_console_app.charts.palette import GRID, SELECTED, ColourRole, framed
from branch_console_app.models.compare.partition_map import CellKind, MapCell, PartitionMap
from branch_console_app.models.parts.wording import chart_text, shortened

_COLOURS: Final = {
    CellKind.MORE: ColourRole.ADDED,
    CellKind.FEWER: ColourRole.REMOVED,
    CellKind.BOTH: ColourRole.CHANGED,
}
_LABEL: Final = 18
_ROW: Final = 30
_LARGEST: Final = 26
_SMALLEST: Final = 7
_WIDTH: Final = 1_000


def compare_map_figure(
    partitions: PartitionMap, *, selected: str | None, uirevision: str
) -> go.Figure:
    """Draw the map; marks carry `[part]`.

    Args:
        partitions: The partitions to draw.
        selected: The part that is looked at.
        uirevision: The key that zoom and pan are kept for.
    """
    height = min(640, 84 + _ROW * max(1, len(partitions.ys)))
    figure = framed(height, uirevision=uirevision, left=120, right=12)
    size = _size_of(partitions)
    most = max(abs(cell.net) for cell in partitions.cells) or 1
    for kind, role in _COLOURS.items():
        cells = [cell for cell in partitions.cells if cell.kind is kind]
        if cells:
            figure.add_trace(_trace(cells, kind, role, size, most, selected))
    axis = {
        "type": "category", "gridcolor": GRID, "zeroline": False, "ticks": "", "nticks": 20,
        "tickfont": {"size": 11},
    }  # fmt: skip
    figure.update_xaxes(
        **axis, categoryorder="array", categoryarray=_texts(partitions.xs),
        title={"text": chart_text(partitions.x_title), "font": {"size": 12}},
    )  # fmt: skip
    figure.update_yaxes(
        **axis, categoryorder="array", categoryarray=_texts(partitions.ys), autorange="reversed",
        title={"text": chart_text(partitions.y_title), "font": {"size": 12}},
    )  # fmt: skip
    figure.update_layout(margin={"b": 44, "t": 8})
    return figure


def _trace(
    cells: list[MapCell],
    kind: CellKind,
    role: ColourRole,
    size: int,
    most: int,
    selected: str | None,
) -> go.Scatter:
    # A light square is few rows, a full one many; the sign says which way without the colour.
    shares = [0.35 + 0.65 * math.sqrt(abs(cell.net) / most) for cell in cells]
    is_large = size >= 18
    return go.Scatter(
        x=_texts(cell.x for cell in cells),
        y=_texts(cell.y for cell in cells),
        mode="markers+text" if is_large else "markers",
        text=[str(kind)] * len(cells) if is_large else None,
        textfont={"size": 12, "color": "#FFFFFF"},
        marker={
            "symbol": "square",
            "size": size,
            "color": role.value,
            "opacity": shares if kind is not CellKind.BOTH else 0.8,
            "line": {
                "width": [3 if cell.part == selected else 0 for cell in cells],
                "color": SELECTED,
            },
        },
        customdata=[[cell.part] for cell in cells],
        hovertext=[f"{chart_text(cell.part)}<br>{cell.words}" for cell in cells],
        hovertemplate="%{hovertext}<extra></extra>",
        name=kind.name.lower(),
    )


def _size_of(partitions: PartitionMap) -> int:
    columns = max(1, len(partitions.xs))
    return max(_SMALLEST, min(_LARGEST, _WIDTH // columns - 4))


def _texts(values: Iterable[str]) -> list[str]:
    # Two long values may be cut to one label; their marks then share a place, and hovering tells.
    return [chart_text(shortened(each, _LABEL)) or " " for each in values]
