"""Role colours and the frame of every figure; the same in the light and the dark theme.

Each colour has a contrast of at least 3.2 : 1 on both backgrounds, so no figure needs to know which
theme it is seen in. Paper and plot stay transparent.
"""

from enum import StrEnum
from typing import Any, Final

import plotly.graph_objects as go


class ColourRole(StrEnum):
    """The colour of each meaning, the same on every page."""

    OURS = "#2A74CC"
    THEIRS = "#C27700"
    BASE = "#626D7A"
    CONFLICT = "#D6246E"
    MERGED = "#0EA08F"
    STALE = "#7A6A45"
    ADDED = "#33A04A"
    REMOVED = "#C23A30"
    CHANGED = "#A9689B"


SELECTED: Final = "#8B5CF6"
GRID: Final = "rgba(128, 136, 148, 0.22)"
CLEAR: Final = "rgba(0, 0, 0, 0)"
CHART_CONFIG: Final = {"displayModeBar": False, "scrollZoom": False, "doubleClick": "reset"}


def faint(role: ColourRole, share: float = 0.14) -> str:
    """Return a role's colour for surfaces: text on it keeps the colour of the theme."""
    red, green, blue = (int(role.value[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {share})"


def framed(height: int, *, uirevision: str, left: int = 8, right: int = 8) -> go.Figure:
    """Return an empty figure with our margins, hover and sizes.

    Args:
        height: In pixels.
        uirevision: The key that zoom and pan are kept for, as long as it stays the same.
        left: Room for labels on the left, in pixels.
        right: Room for labels on the right, in pixels.
    """
    figure = go.Figure()
    figure.update_layout(
        height=height,
        margin={"l": left, "r": right, "t": 8, "b": 8, "pad": 0},
        paper_bgcolor=CLEAR,
        plot_bgcolor=CLEAR,
        showlegend=False,
        hovermode="closest",
        hoverlabel={"align": "left", "font": {"size": 12}},
        dragmode="pan",
        uirevision=uirevision,
        font={"size": 12},
    )
    return figure


def selection(points: list[int], size: int) -> dict[str, Any]:
    """Return how a trace shows what is selected in it: larger, and in the colour of selections.

    A click marks its point in the browser alone. Drawing the figure anew for it would put the chart
    back to where it began, so the points given here are those of the address it was opened with.

    Args:
        points: The selected points; none leaves the trace as it is.
        size: The size of the trace's other marks.
    """
    marked: dict[str, Any] = {"selectedpoints": points} if points else {}
    return {
        **marked,
        "selected": {"marker": {"size": size + 8, "color": SELECTED, "opacity": 1}},
        "unselected": {"marker": {"opacity": 1}},
    }


def quiet_axis(**changes: Any) -> dict[str, Any]:
    """Return an axis without grid, lines and labels, with changes on top."""
    base = {"showgrid": False, "zeroline": False, "showline": False, "showticklabels": False}
    return {**base, "ticks": "", "title": None, **changes}
