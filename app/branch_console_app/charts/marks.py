"""The marks above and below the snapshots of every chart: flags of tags, bars of new schemas."""

from collections.abc import Sequence
from typing import Any, Final

import plotly.graph_objects as go

from branch_console_app.charts.palette import ColourRole
from branch_console_app.models.parts.wording import chart_text

# Reaches down from a flag to the snapshot it names; charts without room do with the flag alone.
POLE: Final = {
    "type": "constant",
    "value": 0.24,
    "valueminus": 0,
    "symmetric": False,
    "thickness": 1.4,
    "width": 0,
    "color": ColourRole.CHANGED.value,
}


def tag_flags(
    places: Sequence[tuple[Any, float]],
    tags: Sequence[tuple[str, ...]],
    labels: Sequence[str],
    *,
    pole: dict[str, Any] | None = None,
) -> go.Scatter:
    """Return the flags of tagged snapshots; hovering one tells all its tags.

    Args:
        places: The positions of the flags.
        tags: The tags at each place.
        labels: The text beside each flag; blank if there is no room.
        pole: The line from each flag to its snapshot, as an error bar.
    """
    return go.Scatter(
        x=[x for x, _ in places],
        y=[y for _, y in places],
        mode="markers+text",
        marker={"symbol": "triangle-right", "size": 8, "color": ColourRole.CHANGED.value},
        error_y=pole,
        text=[chart_text(label) for label in labels],
        textposition="middle right",
        textfont={"size": 10, "color": ColourRole.CHANGED.value},
        hovertext=[f"tag {chart_text(', '.join(names))}" for names in tags],
        hovertemplate="%{hovertext}<extra></extra>",
        name="tags",
    )


def schema_bars(places: Sequence[tuple[Any, float]], words: Sequence[str]) -> go.Scatter:
    """Return the bars of snapshots that brought another schema; `words` are what hovering tells."""
    return go.Scatter(
        x=[x for x, _ in places],
        y=[y for _, y in places],
        mode="markers",
        marker={
            "symbol": "line-ew",
            "size": 12,
            "line": {"width": 2.6, "color": ColourRole.CHANGED.value},
        },
        hovertext=list(words),
        hovertemplate="%{hovertext}<extra></extra>",
        name="schema changes",
    )
