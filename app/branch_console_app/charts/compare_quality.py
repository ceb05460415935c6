"""Drift as ranked bars, and the values of a column on both sides over the bins of the first."""

from itertools import accumulate
from typing import Final

import plotly.graph_objects as go

from branch_console.quality.drift import Rating
from branch_console_app.charts.palette import GRID, ColourRole, faint, framed
from branch_console_app.models.compare.quality import BinShares, DriftBar, DriftBars
from branch_console_app.models.parts.wording import chart_text, shortened

_COLOURS: Final = {
    Rating.ALARM: ColourRole.CONFLICT,
    Rating.WATCH: ColourRole.THEIRS,
    Rating.SMALL: ColourRole.OURS,
    Rating.CALM: ColourRole.BASE,
}
_SIGNS: Final = {Rating.ALARM: "!", Rating.WATCH: "~", Rating.SMALL: "+", Rating.CALM: ""}
_BAR: Final = 26
_LABEL: Final = 24
_FULL: Final = 3.0
"""Beyond so many alarms bars are cut: all of them are far too much."""


def drift_figure(drift: DriftBars, *, uirevision: str) -> go.Figure:
    """Draw ranked bars, the worst on top; marks carry `[column]`."""
    figure = framed(
        max(120, 64 + _BAR * len(drift.bars)), uirevision=uirevision, left=150, right=12
    )
    names = [each.column for each in drift.bars]
    figure.add_trace(
        go.Bar(
            name="drift",
            orientation="h",
            y=list(range(len(names))),
            x=[min(each.severity, _FULL) for each in drift.bars],
            customdata=[[name] for name in names],
            marker={"color": [_COLOURS.get(each.rating, ColourRole.BASE) for each in drift.bars]},
            text=[_bar_text(each) for each in drift.bars],
            # Beside the bar, as bars of columns that are not chosen are faint.
            textposition="outside",
            cliponaxis=False,
            hovertext=[chart_text(f"{each.column}: {each.words}") for each in drift.bars],
            hovertemplate="%{hovertext}<extra></extra>",
        )
    )
    figure.add_vline(x=1, line={"color": ColourRole.CONFLICT.value, "width": 1.4, "dash": "dash"})
    figure.update_yaxes(
        tickmode="array", tickvals=list(range(len(names))),
        ticktext=[chart_text(shortened(name, _LABEL)) for name in names],
        autorange="reversed", showgrid=False, zeroline=False, fixedrange=True,
    )  # fmt: skip
    most = max([1.15, *(min(each.severity, _FULL) * 1.08 for each in drift.bars)])
    figure.update_xaxes(
        range=[0, most], gridcolor=GRID, zeroline=False, fixedrange=True,
        title={"text": "drift score; 1 is the alarm threshold", "font": {"size": 12}},
    )  # fmt: skip
    figure.update_layout(margin={"b": 40, "t": 8}, bargap=0.35)
    return figure


def _bar_text(bar: DriftBar) -> str:
    """Write the score of a bar; one that is cut says so before its number."""
    cut = "≈" if bar.severity > _FULL else ""
    return " ".join(filter(None, (cut, _SIGNS.get(bar.rating, ""), f"{bar.severity:.2f}")))


def bins_figure(bins: BinShares, *, uirevision: str) -> go.Figure:
    """Draw both sides' shares of each bin, and what those on a line add up to."""
    figure = framed(320, uirevision=uirevision, left=44, right=44)
    places = list(range(len(bins.labels)))
    role_of_first = ColourRole.OURS if bins.first == "A" else ColourRole.BASE
    role_of_other = ColourRole.THEIRS if bins.other == "B" else ColourRole.MERGED
    sides = (
        (bins.first, bins.before, role_of_first, ""),
        (bins.other, bins.after, role_of_other, "/"),
    )
    for name, shares, role, shape in sides:
        figure.add_trace(
            go.Bar(
                name=name,
                x=places,
                y=list(shares),
                marker={
                    "color": faint(role, 0.55),
                    "line": {"color": role.value, "width": 1.4},
                    "pattern": {"shape": shape, "fgcolor": role.value, "size": 6},
                },
                hovertext=[chart_text(each) for each in bins.labels],
                hovertemplate="%{hovertext}<br>" + name + " %{y:.2f} % of rows<extra></extra>",
            )
        )
    if bins.ordered > 1:
        for name, shares, role, dash in (
            (f"{bins.first}, cumulated", bins.before, role_of_first, "solid"),
            (f"{bins.other}, cumulated", bins.after, role_of_other, "dash"),
        ):
            figure.add_trace(
                go.Scatter(
                    name=name,
                    x=places[: bins.ordered],
                    y=list(accumulate(shares[: bins.ordered])),
                    yaxis="y2",
                    mode="lines",
                    line={"color": role.value, "width": 2, "dash": dash, "shape": "linear"},
                    hovertemplate=name + " %{y:.2f} %<extra></extra>",
                )
            )
    figure.update_xaxes(
        tickmode="array", tickvals=places, showgrid=False, zeroline=False,
        ticktext=[chart_text(shortened(each, _LABEL)) for each in bins.labels],
    )  # fmt: skip
    figure.update_yaxes(gridcolor=GRID, zeroline=False, ticksuffix=" %", rangemode="tozero")
    figure.update_layout(
        barmode="group", bargap=0.25, showlegend=True, margin={"b": 64, "t": 30},
        legend={"orientation": "h", "y": 1.12, "x": 0},
        yaxis2={"overlaying": "y", "side": "right", "range": [0, 101], "showgrid": False,
                "zeroline": False, "ticksuffix": " %", "tickvals": [0, 25, 50, 75, 100]},
    )  # fmt: skip
    return figure
