"""Two schemas side by side: verdict on top, a line a field id, the reasons below."""

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler

from branch_console.diff.schema_diff import SchemaChange, SchemaDiff, SchemaVerdict
from branch_console_app.charts.palette import ColourRole, faint
from branch_console_app.models.branches.schema_changes import (
    ONLY_CHANGES_ABOVE,
    ChangeMark,
    ColumnLine,
    SchemaChanges,
)
from branch_console_app.models.parts.wording import code, plain, plural
from branch_console_app.widgets.parts import rows

_COLOURS = {
    ChangeMark.ADDED: ColourRole.ADDED,
    ChangeMark.REMOVED: ColourRole.REMOVED,
    ChangeMark.CHANGED: ColourRole.CHANGED,
}
_VERDICTS = {
    SchemaVerdict.COMPATIBLE: ":green-badge[✓ compatible]",
    SchemaVerdict.NEEDS_DEFAULT: ":orange-badge[△ needs a default]",
    SchemaVerdict.BREAKING: ":red-badge[✕ breaking]",
}
_MOST_REASONS = 100


def show_schema_diff(diff: SchemaDiff, left: str, right: str) -> None:
    """Draw what differs between two schemas, named `left` and `right`."""
    changes = SchemaChanges.of(diff)
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="verdict"):
        if diff.is_empty:
            st.markdown(":green-badge[✓ same content]", width="content")
        else:
            st.markdown(_VERDICTS[changes.verdict], width="content")
            st.caption(plural(len(diff.changes), "difference"), width="content")
        st.space("stretch")
        only = st.toggle(
            "Only changes", value=len(changes.lines) > ONLY_CHANGES_ABOVE, key="sc_only",
            bind="query-params",
        )  # fmt: skip
    lines = changes.changed_lines if only else changes.lines
    if lines:
        _show_lines(lines, left, right, changes.alt)
    else:
        st.caption("No column differs.")
    _show_others(changes, left, right)
    _show_reasons(changes)


def _show_lines(lines: tuple[ColumnLine, ...], left: str, right: str, alt: str) -> None:
    # A blank keeps the two sides apart even where both are called the same.
    names = [left, f"{left} type", right if right != left else f"{right} ", f"{right} type "]
    frame = pd.DataFrame(
        {
            "Id": [line.field_id for line in lines],
            " ": [str(line.mark) for line in lines],
            names[0]: [line.left_name for line in lines],
            names[1]: [line.left_type for line in lines],
            names[2]: [line.right_name for line in lines],
            names[3]: [line.right_type for line in lines],
            "What became of it": [line.words for line in lines],
        }
    )
    st.dataframe(
        _coloured(frame, lines),
        hide_index=True,
        row_height=rows.TABLE_ROW,
        height=rows.table_height(len(lines), 15),
        column_config={
            "Id": st.column_config.NumberColumn(width=50, format="%d"),
            " ": st.column_config.TextColumn(width=30, alignment="center"),
            names[1]: st.column_config.TextColumn("type"),
            names[3]: st.column_config.TextColumn("type"),
        },
        placeholder="",
        alt=alt,
    )


def _coloured(frame: pd.DataFrame, lines: tuple[ColumnLine, ...]) -> Styler:
    colours = [_COLOURS.get(line.mark) for line in lines]

    def paint(row: "pd.Series[str]") -> list[str]:
        role = colours[int(str(row.name))]
        return [f"background-color: {faint(role, 0.2)}" if role else ""] * len(row)

    return frame.style.apply(paint, axis=1)


def _show_others(changes: SchemaChanges, left: str, right: str) -> None:
    if not changes.others:
        return
    st.markdown("**Keys, options, comment**")
    frame = pd.DataFrame(
        {
            "What": [str(each.kind) for each in changes.others],
            "Name": [each.subject for each in changes.others],
            "Left": [each.before or "" for each in changes.others],
            "Right": [each.after or "" for each in changes.others],
        }
    )
    st.dataframe(
        frame,
        hide_index=True,
        row_height=rows.TABLE_ROW,
        column_config={
            "Left": st.column_config.TextColumn(left),
            "Right": st.column_config.TextColumn(right),
        },
        alt=f"{plural(len(changes.others), 'difference')} of keys, options or the comment",
    )


def _show_reasons(changes: SchemaChanges) -> None:
    if not changes.reasons:
        return
    with st.expander("Why this verdict", expanded=changes.verdict is not SchemaVerdict.COMPATIBLE):
        for change in changes.reasons[:_MOST_REASONS]:
            st.markdown(_reason(change))


def _reason(change: SchemaChange) -> str:
    subject = f" {code(change.subject)}" if change.subject else ""
    return f"{_VERDICTS[change.verdict]} {change.kind}{subject}: {plain(change.reason)}"
