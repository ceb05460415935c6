"""Drift by partition and column as squares: where it is that the values are other ones."""

from typing import Final

import plotly.graph_objects as go

from branch_console.quality.drift import Rating
from branch_console_app.charts.palette import GRID, SELECTED, ColourRole, framed
from branch_console_app.models.compare.quality_map import QualityCell, QualityMap
from branch_console_app.models.parts.wording import chart_text, shortened

_SIGNS: Final = {
    Rating.ALARM: ("!", ColourRole.CONFLICT),
    Rating.WATCH: ("~", ColourRole.THEIRS),
    Rating.SMALL: ("+", ColourRole.OURS),
    Rating.CALM: ("", ColourRole.BASE),
}
_LABEL: Final = 24
_ROW: Final = 24
_SQUARE: Final = 18


def quality_map_figure(
    drift: QualityMap, *, selected: QualityCell | None, uirevision: str
) -> go.Figure:
    """Draw the map; marks carry `[partition, column]`.

    Args:
        drift: The drift to draw.
        selected: The cell that is looked at.
        uirevision: The key that zoom and pan are kept for.
    """
    figure = framed(100 + _ROW * len(drift.partitions), uirevision=uirevision, left=150, right=12)
    for rating, (sign, role) in _SIGNS.items():
        cells = [each for each in drift.cells if each.rating is rating]
        if cells:
            figure.add_trace(_trace(drift, cells, sign, role, selected))
    places = (drift.columns, figure.update_xaxes), (drift.partitions, figure.update_yaxes)
    for names, update in places:
        update(
            tickmode="array", tickvals=list(range(len(names))), gridcolor=GRID, zeroline=False,
            ticktext=[chart_text(shortened(name, _LABEL)) for name in names], fixedrange=True,
            range=[-0.6, len(names) - 0.4], tickfont={"size": 11},
        )  # fmt: skip
    figure.update_yaxes(range=[len(drift.partitions) - 0.4, -0.6])
    figure.update_xaxes(side="top")
    figure.update_layout(margin={"b": 8, "t": 76})
    return figure


def _trace(
    drift: QualityMap,
    cells: list[QualityCell],
    sign: str,
    role: ColourRole,
    selected: QualityCell | None,
) -> go.Scatter:
    rows = {name: at for at, name in enumerate(drift.partitions)}
    columns = {name: at for at, name in enumerate(drift.columns)}
    return go.Scatter(
        x=[columns[each.column] for each in cells],
        y=[rows[each.partition] for each in cells],
        mode="markers+text",
        text=[sign] * len(cells),
        textfont={"size": 12, "color": "#FFFFFF"},
        marker={
            "symbol": "square",
            "size": _SQUARE,
            "color": role.value,
            # How bad it is shows without the colour too: by the sign, and by how full a square is.
            "opacity": [0.2 + 0.8 * min(1.0, each.severity) for each in cells],
            "line": {
                "width": [3 if each == selected else 0 for each in cells],
                "color": SELECTED,
            },
        },
        customdata=[[each.partition, each.column] for each in cells],
        hovertext=[chart_text(each.words) for each in cells],
        hovertemplate="%{hovertext}<extra></extra>",
        name=role.name.lower(),
    )
