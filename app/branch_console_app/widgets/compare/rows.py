"""Rows of a comparison: asked for by a button, found by a job, read a page at a time."""

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler

from branch_console.diff.rows.row_diff_index import RowDiffIndex, RowFilter
from branch_console.diff.rows.row_kind import RowKind
from branch_console.diff.state_diff import StateDiff
from branch_console.errors import InvalidInput
from branch_console.format.identifier import Identifier
from branch_console.format.table_schema import TableSchema
from branch_console.jobs.kept_diffs import KeptDiff
from branch_console_app import reads
from branch_console_app.charts.palette import ColourRole, faint
from branch_console_app.models.compare.rows import (
    MARKS,
    RowLine,
    changed_words,
    condition_example,
    csv_of,
    is_wide,
    row_lines,
    shown_columns,
    summary,
)
from branch_console_app.models.parts.exactness import EXACT, badge
from branch_console_app.models.parts.wording import plain, plural, size
from branch_console_app.widgets.compare.job import show_running_job, start_job
from branch_console_app.widgets.parts import rows
from branch_console_app.widgets.parts.problem import guarded, show_problem

_JOB = "cmp_job"
_PROCEDURE = "compare_states"
_PER_PAGE = 50
_CSV_ROWS = 1_000_000
_COLOURS = {
    RowKind.ADDED: ColourRole.ADDED,
    RowKind.REMOVED: ColourRole.REMOVED,
    RowKind.CHANGED: ColourRole.CHANGED,
}


def show_rows(identifier: Identifier, diff: StateDiff) -> None:
    """Draw the rows that differ where they were found, else what it takes to find them."""
    with guarded("The rows cannot be shown."):
        found = reads.row_diff(identifier, diff)
        if found is not None:
            _show_found(found, diff.after.schema)
            return
        _show_job(identifier, diff)


def _show_job(identifier: Identifier, diff: StateDiff) -> None:
    if show_running_job(_JOB, "Rows"):
        return
    own = (diff.only_in(after=False), diff.only_in(after=True))
    total = sum(each.byte_count or 0 for each in own)
    overlap = ", and the shared files that may have the same keys" if _has_keys(diff) else ""
    st.markdown(
        f"A job compares the rows. It reads the {plural(diff.files.num_rows, 'file')} that only "
        f"one side has (**{size(total)}**){overlap}. Nothing is changed."
    )
    if not _has_keys(diff):
        st.caption(
            "The table has no primary key: a changed row counts as one removed and one added, and "
            "equal rows are compared by how many there are on each side."
        )
    st.button(
        "Compare rows", type="primary", icon=":material/table_rows:", key="cmp-start",
        on_click=start_job, args=(_JOB, _PROCEDURE, identifier, diff),
    )  # fmt: skip


def _has_keys(diff: StateDiff) -> bool:
    return bool(diff.after.schema.primary_keys)


def _show_found(kept: KeptDiff, schema: TableSchema) -> None:
    found = kept.index
    wanted, only_changed = _filters(found, schema)
    try:
        number = kept.count(wanted)
    except InvalidInput as error:
        show_problem(error, headline="The rows cannot be filtered so.")
        return
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="line-rows"):
        st.markdown(f"{summary(found)} {badge(EXACT)}", width="content")
        st.space("stretch")
        _show_downloads(kept, wanted, number)
    words = changed_words(found)
    if words:
        st.caption(f"Of the changed rows: {plain(words)}")
    for sentence in _sentences(found):
        st.caption(plain(sentence))
    if not number:
        st.info("No row matches this filter." if found.count(RowFilter()) else "No row differs.")
        return
    holder = st.container()
    page = rows.page_of_rows("cmp_p", number, _PER_PAGE)
    lines = row_lines(kept.page(wanted, page.start or 0, _PER_PAGE), found)
    with holder:
        names = shown_columns(found, only_changed=only_changed)
        frame = pd.DataFrame(
            {
                " ": [MARKS[line.kind] for line in lines],
                "What": [str(line.kind) for line in lines],
                **({} if found.keys else {"Copies": [line.copies for line in lines]}),
                **{name: [line.cells[name] for line in lines] for name in names},
            }
        )
        st.dataframe(
            _coloured(frame, lines), hide_index=True, row_height=rows.TABLE_ROW,
            height=rows.table_height(len(lines), 15), placeholder="",
            column_config={" ": st.column_config.TextColumn(width=30, alignment="center")},
            alt=f"{plural(number, 'row')} of "
            + summary(found).strip("*"),
        )  # fmt: skip
        st.caption(
            "`before → after` where a cell changed \u2003 `NULL` no value \u2003 `·` a leading or "
            'trailing space \u2003 `⏎` a line break \u2003 `""` an empty text \u2003 `"NULL"` the '
            "text NULL"
        )


def _sentences(found: RowDiffIndex) -> list[str]:
    left_out = found.facts.get("not_compared")
    return [str(each) for each in left_out] if isinstance(left_out, list) else []


def _filters(found: RowDiffIndex, schema: TableSchema) -> tuple[RowFilter, bool]:
    with st.container(
        horizontal=True, gap="small", vertical_alignment="center", key="filters-rows"
    ):
        kinds = ["all", *(str(kind) for kind in RowKind if found.keys or kind != RowKind.CHANGED)]
        kind = st.segmented_control(
            "Kind", kinds, default="all", key="cmp_kind", bind="query-params", required=True,
            label_visibility="collapsed",
        )  # fmt: skip
        cells = {name: number for name, number in found.changed_cells().items() if number}
        column, only = None, False
        if cells:
            column = st.selectbox(
                "Changed column", list(cells), index=None, key="cmp_cols", bind="query-params",
                placeholder="Changed in any column", label_visibility="collapsed", width=230,
                filter_mode="contains",
            )  # fmt: skip
            only = st.toggle(
                "Only columns that differ", value=is_wide(found), key="cmp_only",
                bind="query-params",
            )  # fmt: skip
        where = st.text_input(
            "Condition", key="cmp_where", bind="query-params",
            placeholder=condition_example(schema), label_visibility="collapsed", width=260,
            icon=":material/filter_alt:",
            help="Rows of which it holds on either side: comparisons of columns with values, "
            "`in`, `is null`, `and`, `or`, `not`, brackets",
        )  # fmt: skip
    chosen = None if kind == "all" else RowKind(kind or "added")
    return RowFilter(kind=chosen, column=column, where=where.strip() or None), only


def _show_downloads(kept: KeptDiff, wanted: RowFilter, number: int) -> None:
    # Files are made when somebody asks for them, not whenever the page is drawn.
    if number <= _CSV_ROWS:
        st.download_button(
            "CSV", lambda: b"".join(csv_of(kept.all_rows(wanted), kept.index)),
            file_name="rows.csv", mime="text/csv", key="cmp-csv", icon=":material/download:",
            on_click="ignore",
        )  # fmt: skip
    st.download_button(
        "Parquet", kept.path.read_bytes, file_name="rows.parquet",
        mime="application/vnd.apache.parquet", key="cmp-parquet", icon=":material/download:",
        on_click="ignore", help="All rows that differ, whatever is filtered here",
    )  # fmt: skip


def _coloured(frame: pd.DataFrame, lines: tuple[RowLine, ...]) -> Styler:
    def paint(row: "pd.Series[str]") -> list[str]:
        line = lines[int(str(row.name))]
        colour = faint(_COLOURS[line.kind], 0.2)
        fill = f"background-color: {colour}"
        if line.kind is RowKind.CHANGED:
            return [
                f"{fill}; font-weight: 600" if name in line.changed else "" for name in row.index
            ]
        struck = "; text-decoration: line-through" if line.kind is RowKind.REMOVED else ""
        return [fill + struck] * len(row)

    return frame.style.apply(paint, axis=1)
