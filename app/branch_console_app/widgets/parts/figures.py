"""A row of counts, each with how good it is."""

from collections.abc import Iterable
from typing import cast

import streamlit as st
from streamlit.elements.metric import DeltaColor

from branch_console.diff.rows.row_figure import RowFigure
from branch_console_app.models.parts.exactness import Figure, label_colour
from branch_console_app.models.parts.wording import count, full_count


def show_total(figure: RowFigure) -> None:
    """Draw all rows of a state, or its records in files where only reading them tells more."""
    label = "Rows" if figure.is_of_rows else "Records in files"
    st.metric(label, figure.number(count), border=True, help=figure.words(full_count))


def show_figures(figures: Iterable[Figure]) -> None:
    """Draw counts beside each other; a pill says which of them are not exact."""
    with st.container(horizontal=True, gap="small", key="figures"):
        draw_figures(figures)


def draw_figures(figures: Iterable[Figure]) -> None:
    """Draw counts into the container that is open."""
    for figure in figures:
        colour = cast(DeltaColor, label_colour(figure.known))
        st.metric(
            figure.label, figure.shown, figure.doubt, colour, delta_arrow="off",
            border=True, help=figure.help, height="stretch",
        )  # fmt: skip
