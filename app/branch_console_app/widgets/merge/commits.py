"""The commits that a merge brings, or that a fast-forward would remove."""

from typing import Final

import pandas as pd
import streamlit as st

from branch_console_app import state
from branch_console_app.models.merge.fast_forward import MovedCommits, commit_column, commit_rows
from branch_console_app.models.parts.wording import listed, plain, plural, signed
from branch_console_app.widgets.parts import rows

_MOST_ROWS: Final = 500


def show_commits(moved: MovedCommits, key: str) -> None:
    """List commits, newest first, and sum them up.

    Args:
        moved: At least one commit.
        key: Another one for each list of a page.
    """
    records, title = commit_rows(moved)[:_MOST_ROWS], commit_column(moved).title
    zone = state.zone()
    frame = pd.DataFrame(records, columns=["Snapshot", "Kind", title, "Committed by", "Time"])
    frame["Time"] = pd.to_datetime(frame["Time"], unit="ms", utc=True).dt.tz_convert(zone)
    st.dataframe(
        frame,
        key=f"commits-{key}",
        hide_index=True,
        row_height=rows.TABLE_ROW,
        height=rows.table_height(len(records), 6),
        column_config={
            "Snapshot": st.column_config.NumberColumn(format="%d", width=75),
            "Kind": st.column_config.TextColumn(width=80),
            title: st.column_config.TextColumn(alignment="right", width=170),
            "Time": st.column_config.DatetimeColumn(format="YYYY-MM-DD HH:mm", width=130),
        },
        alt=f"{plural(len(moved.snapshots), 'commit')}, newest first",
    )
    net = "net " if moved.figure.is_of_rows else ""
    st.caption(
        f"{plural(len(moved.snapshots), 'commit')}, {net}{moved.figure.words(signed)}, by "
        f"{plain(listed(list(moved.users)))}."
    )
