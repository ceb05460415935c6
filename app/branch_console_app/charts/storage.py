"""The storage that each branch of a table needs alone and shares with others, as bars."""

from collections.abc import Sequence
from typing import Final

import plotly.graph_objects as go

from branch_console_app.charts.palette import ColourRole, faint, framed, quiet_axis
from branch_console_app.models.maintenance.storage import MOST_BARS, StorageLine
from branch_console_app.models.parts.wording import chart_text, plural, shortened, size

_BAR: Final = 26
_LABEL: Final = 24


def storage_figure(lines: Sequence[StorageLine], *, uirevision: str) -> go.Figure:
    """Draw a bar for each owner of files, the first on top."""
    shown = list(lines[:MOST_BARS])
    figure = framed(48 + _BAR * len(shown), uirevision=uirevision, left=170, right=90)
    places = list(range(len(shown)))
    parts = (
        ("alone", [each.cost.exclusive for each in shown], ColourRole.OURS, ""),
        ("with others", [each.cost.shared for each in shown], ColourRole.BASE, "/"),
    )
    for name, amounts, role, shape in parts:
        figure.add_trace(
            go.Bar(
                name=name,
                orientation="h",
                y=places,
                x=[each.byte_count for each in amounts],
                marker={
                    "color": faint(role, 0.55),
                    "line": {"color": role.value, "width": 1.2},
                    "pattern": {"shape": shape, "fgcolor": role.value, "size": 6},
                },
                hovertext=[
                    chart_text(
                        f"{line.name}, {name}: {size(each.byte_count)} in "
                        f"{plural(each.file_count, 'file')}"
                    )
                    for line, each in zip(shown, amounts, strict=True)
                ],
                hovertemplate="%{hovertext}<extra></extra>",
            )
        )
    figure.add_trace(
        go.Scatter(
            name="size",
            y=places,
            x=[each.needed.byte_count for each in shown],
            mode="text",
            text=[f" {size(each.needed.byte_count)}" for each in shown],
            textposition="middle right",
            hoverinfo="skip",
            cliponaxis=False,
            showlegend=False,
        )
    )
    figure.update_yaxes(
        tickmode="array", tickvals=places, autorange="reversed", showgrid=False, zeroline=False,
        fixedrange=True, ticktext=[chart_text(shortened(each.name, _LABEL)) for each in shown],
    )  # fmt: skip
    figure.update_xaxes(**quiet_axis(fixedrange=True, rangemode="tozero"))
    figure.update_layout(
        barmode="stack", bargap=0.35, showlegend=True, margin={"t": 30, "b": 8},
        legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0},
    )  # fmt: skip
    return figure
