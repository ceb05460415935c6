"""Lists as quiet rows: a head, a hairline between rows, numbers to the right."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler
from streamlit.delta_generator import DeltaGenerator
from streamlit.elements.lib.column_types import ColumnConfig

from branch_console_app.models.parts.wording import NOT_READ, size

NOTHING: Final = f":gray[{NOT_READ}]"
TABLE_ROW: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a list; `weight` is its share of the width."""

    label: str
    weight: float
    align: Literal["left", "right"] = "left"


def block(number: int, title: str) -> None:
    """Draw the heading of a numbered part of a page."""
    st.markdown(f"##### :gray[{number}] \u2002 {title}")


def two_panes() -> tuple[DeltaGenerator, DeltaGenerator]:
    """Return graph and inspector side by side, or one above the other if there is no room."""
    both = st.container(horizontal=True, gap="medium", key="panes")
    return both.container(key="pane-main"), both.container(key="pane-side", width=320)


def row_list(key: str) -> DeltaGenerator:
    """Return the container that the rows of one list go into."""
    return st.container(key=f"rows-{key}", gap=None)


def head(key: str, columns: Sequence[Column]) -> None:
    """Draw the line of labels."""
    with st.container(key=f"rowhead-{key}"):
        cells = st.columns([each.weight for each in columns], gap="small")
        for cell, column in zip(cells, columns, strict=True):
            cell.markdown(column.label or " ", text_alignment=column.align)


def row(
    key: str, columns: Sequence[Column], *, is_selected: bool = False
) -> Sequence[DeltaGenerator]:
    """Return the cells of the next row."""
    with st.container(key=f"row-{'selected-' if is_selected else ''}{key}"):
        return st.columns(
            [each.weight for each in columns], gap="small", vertical_alignment="center"
        )


def text(cell: DeltaGenerator, column: Column, markdown: str, *, help: str | None = None) -> None:
    """Write into a cell as its column is aligned."""
    cell.markdown(markdown, text_alignment=column.align, help=help)


def page_of_rows(key: str, count: int, per_page: int) -> slice:
    """Draw the page chooser where there is more than one page, and return what to show.

    The rows go into a container made before, so that the chooser stands below them.
    """
    pages = max(1, -(-count // per_page))
    if pages == 1:
        return slice(0, per_page)
    number = st.pagination(pages, key=key, bind="query-params")
    return slice((number - 1) * per_page, number * per_page)


def facts(key: str, pairs: Sequence[tuple[str, str]], *, columns: int = 2) -> None:
    """Draw labels with their values; values are Markdown."""
    with st.container(key=f"facts-{key}"):
        for start in range(0, len(pairs), columns):
            cells = st.columns(columns, gap="small")
            for cell, (label, value) in zip(cells, pairs[start : start + columns], strict=False):
                cell.markdown(f":small[:gray[{label}]]  \n{value}")


def in_thousands(frame: pd.DataFrame, but: Collection[str] = ()) -> dict[str, ColumnConfig]:
    """Numbers stay numbers, so that a click on a title sorts them, and are read in thousands.

    Args:
        frame: The rows of a table.
        but: Columns whose numbers are names, such as ids.
    """
    return {
        str(name): st.column_config.NumberColumn(format="localized")
        for name, kind in frame.dtypes.items()
        if pd.api.types.is_numeric_dtype(kind) and name not in but
    }


def in_units(frame: pd.DataFrame, *sizes: str) -> Styler:
    """Sizes in bytes stay numbers, so that a click on a title sorts them, and are read in units."""
    formats: dict[str, Any] = dict.fromkeys(sizes, size)
    return frame.style.format(formats)


def table_height(count: int, most: int = 10) -> int | Literal["content"]:
    """Return the height of a data table: its rows, or a window on them."""
    return "content" if count <= most else (most + 1) * TABLE_ROW + 2
