"""The map of drift by partition and column, and what is known of the cell that is looked at."""

import pandas as pd
import streamlit as st

from branch_console.quality.comparison import QualityComparison
from branch_console_app import state
from branch_console_app.charts.palette import CHART_CONFIG
from branch_console_app.charts.quality_map import quality_map_figure
from branch_console_app.models.compare.quality_map import QualityMap, quality_map
from branch_console_app.models.parts.wording import plain, plural
from branch_console_app.widgets.parts import rows

PARTITION = "cmp_part"
_CHART = "cmp-drift-map"


def show_quality_map(found: QualityComparison, column: str, column_parameter: str) -> None:
    """Draw where columns drifted, for a table with partitions.

    Args:
        found: The comparison.
        column: The one that is looked at.
        column_parameter: The parameter of the address that names it.
    """
    drift = quality_map(found.drift_map)
    if drift is None:
        return
    selected = drift.find(state.parameter(PARTITION), column)
    st.plotly_chart(
        quality_map_figure(drift, selected=selected, uirevision=_CHART), key=_CHART,
        on_select=lambda: _on_click(column_parameter), selection_mode="points",
        config=CHART_CONFIG, alt=drift.alt,
    )  # fmt: skip
    left_out = f" \u2003 Not drawn: {'; '.join(drift.left_out)}." if drift.left_out else ""
    st.caption(
        "`!` alarm \u2003 `~` watch \u2003 The fuller a square, the more its rows have "
        f"drifted. Click one to choose its partition and column.{plain(left_out)}"
    )
    if selected is not None:
        st.markdown(f":material/my_location: {plain(selected.words)}.")
    _show_table(drift)


def _on_click(column_parameter: str) -> None:
    for carried in state.clicked_points(_CHART):
        state.set_parameters({PARTITION: str(carried[0]), column_parameter: str(carried[1])})
        return


def _show_table(drift: QualityMap) -> None:
    cells = sorted(drift.cells, key=lambda each: -each.severity)
    with st.expander(f"All {plural(len(cells), 'square')}", icon=":material/table_rows:"):
        st.dataframe(
            pd.DataFrame(
                {
                    "Partition": [each.partition for each in cells],
                    "Column": [each.column for each in cells],
                    "Rating": [str(each.rating) for each in cells],
                    "What": [each.words for each in cells],
                }
            ),
            hide_index=True, row_height=rows.TABLE_ROW, height=rows.table_height(len(cells), 15),
            alt=drift.alt,
        )  # fmt: skip
