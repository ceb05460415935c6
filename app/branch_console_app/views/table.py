"""Table: what it is, its files, its options, who reads it, and what happened to it."""

import pandas as pd
import pyarrow as pa
import streamlit as st

from branch_console.diff.branch_counts import BranchCounts
from branch_console.diff.rows.row_figure import RowCounts, RowFigure
from branch_console.errors import PaimonError
from branch_console.format.identifier import Identifier
from branch_console.format.table_schema import TableSchema
from branch_console.procedures.browse.page_values import TableSummary
from branch_console.quality.rule_file import rule_path
from branch_console_app import reads, state
from branch_console_app.charts.palette import CHART_CONFIG
from branch_console_app.charts.snapshot_timeline import snapshot_timeline_figure
from branch_console_app.models.branches.snapshot_timeline import TimelineAxis, draw_timeline
from branch_console_app.models.branches.tag_labels import split_tags
from branch_console_app.models.parts.exactness import change_fact
from branch_console_app.models.parts.location import SnapshotPoint
from branch_console_app.models.parts.wording import (
    age,
    code,
    count,
    full_count,
    one_line,
    plain,
    plural,
    shortened,
    size,
)
from branch_console_app.state import PageName
from branch_console_app.widgets.branches.ledger import show_history
from branch_console_app.widgets.parts import rows
from branch_console_app.widgets.parts.fallback import show_fallback
from branch_console_app.widgets.parts.figures import show_total
from branch_console_app.widgets.parts.gates import show_rules
from branch_console_app.widgets.parts.partition_list import show_partitions
from branch_console_app.widgets.parts.patience import read_snapshot
from branch_console_app.widgets.parts.problem import guarded
from branch_console_app.widgets.parts.row_counts import show_row_counts
from branch_console_app.widgets.parts.same_as import show_same_as
from branch_console_app.widgets.parts.table_picker import here, pick_table, show_table_header

_TABS = ("Summary", "Files", "Options", "Consumers", "Events")
_MOST_ROWS = 1_000
_MOST_TAGS = 12
_PATIENCE_SECONDS = 0.3
_CHART = "table-timeline"


def show() -> None:
    """Draw the page."""
    picked = pick_table(PageName.TABLE)
    if picked is None:
        return
    identifier, summary = picked
    show_table_header(identifier, summary, PageName.TABLE)
    if summary.schema.comment:
        st.caption(plain(one_line(summary.schema.comment)))
    tabs = st.tabs(_TABS, key="t_tab", on_change="rerun", bind="query-params")
    draws = (_show_summary, _show_files, _show_options, _show_consumers, _show_events)
    for tab, draw in zip(tabs, draws, strict=True):
        if tab.open:
            with tab:
                draw(identifier, summary)
    show_same_as("show", identifier.table_name, "--branch", identifier.branch)


def _show_summary(identifier: Identifier, summary: TableSummary) -> None:
    head = summary.head
    figure, is_summed_up = _head_figure(identifier, summary)
    with st.container(horizontal=True, gap="small", key="figures"):
        show_total(figure)
        st.metric("Snapshots", count(summary.snapshot_count), border=True)
        st.metric("Branches", BranchCounts.of(summary.branches).cell, border=True)
        st.metric("Tags", count(len(summary.tags)), border=True)
        st.metric("Columns", count(len(summary.schema.fields)), border=True)
    if is_summed_up and figure.rows is None and summary.schema.primary_keys:
        branch = identifier.branch
        show_row_counts(identifier, branch, branch, _counted_words, by_itself=False)
    if summary.branch_options:
        show_fallback(identifier)
    if head is None:
        st.info(f"No commit yet on {code(identifier.branch)}. The schema below is what it expects.")
    else:
        _show_growth(identifier)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        st.markdown("**Columns**")
        _show_columns(summary.schema)
        _show_rules(identifier)
    with right:
        _show_head(identifier, summary)


def _show_rules(identifier: Identifier) -> None:
    """Draw the quality rules of the table, or where to write the first one."""
    file = code(rule_path("", identifier.table_name).removeprefix("/"))
    with guarded("The quality rules cannot be read."):
        rules = reads.rules(identifier)
        if rules is None:
            st.caption(f"No quality rules. They are read from {file} of the warehouse.")
            return
        when = (
            f"They are read from {file} of the warehouse, and run on the result of a merge before "
            "it is published: `block` stops the merge, `warn` only says so."
        )
        show_rules(rules, "Quality rules", when)


def _head_figure(identifier: Identifier, summary: TableSummary) -> tuple[RowFigure, bool]:
    """The rows of the head, and whether its files were asked, which may take a while."""
    if summary.head is None or summary.figure.rows is not None:
        return summary.figure, False
    begun = reads.begin_snapshot(identifier, summary.head)
    if not begun.is_done(within_seconds=_PATIENCE_SECONDS):
        return summary.figure, False
    try:
        return begun.result().figure, True
    except PaimonError:
        # The tab of files says what is broken; here the snapshot has told enough.
        return summary.figure, False


def _counted_words(counts: RowCounts) -> str:
    return f"**{full_count(counts.before)} rows**, counted by reading the keys of its files."


def _show_growth(identifier: Identifier) -> None:
    with guarded("The snapshots cannot be read."):
        with st.skeleton(height=240):
            items = reads.snapshots(identifier)
        timeline = draw_timeline(identifier.branch, items)
        point = here().point
        figure = snapshot_timeline_figure(
            [timeline],
            axis=TimelineAxis.SNAPSHOTS,
            selected=(point.branch, point.id) if point else None,
            uirevision=identifier.full_name,
        )
        st.plotly_chart(figure, key=_CHART, config=CHART_CONFIG, alt=timeline.alt)


def _show_columns(schema: TableSchema) -> None:
    fields = schema.fields
    frame = pd.DataFrame(
        {
            "Id": [field.id for field in fields],
            "Column": [field.name for field in fields],
            "Type": [str(field.type).removesuffix(" NOT NULL") for field in fields],
            "Null": ["" if field.type.nullable else "not null" for field in fields],
            "Role": [_role(schema, field.name) for field in fields],
            "Default": [field.default_value or "" for field in fields],
            "Comment": [field.description or "" for field in fields],
        }
    )
    used = [name for name in frame if name not in {"Default", "Comment"} or frame[name].any()]
    st.dataframe(
        frame[used],
        hide_index=True,
        row_height=rows.TABLE_ROW,
        height=rows.table_height(len(fields), 12),
        column_config={"Id": st.column_config.NumberColumn(width=50, format="%d")},
        alt=f"{plural(len(fields), 'column')} of schema {schema.id}",
    )


def _role(schema: TableSchema, name: str) -> str:
    roles = []
    if name in schema.primary_keys:
        roles.append("key")
    if name in schema.partition_keys:
        roles.append("partition")
    if name in schema.bucket_keys and name not in schema.primary_keys:
        roles.append("bucket")
    if name in (schema.options.get("sequence.field") or "").split(","):
        roles.append("sequence")
    return ", ".join(roles)


def _show_head(identifier: Identifier, summary: TableSummary) -> None:
    with st.container(border=True, key="card-head"):
        head = summary.head
        if head is not None:
            st.markdown(f"##### Head: snapshot {head.id}")
            facts = [
                ("Committed", age(head.time_millis, state.now_millis())),
                ("By", plain(shortened(head.commit_user, 24))),
                ("Kind", head.commit_kind.lower()),
                change_fact(summary.change),
            ]
            rows.facts("head", facts)
            place = here().at_snapshot(SnapshotPoint.of(identifier.branch, head))
            state.link(PageName.SNAPSHOTS, "Snapshots", place, icon=":material/timeline:")
        if summary.tags:
            _show_tags_of_head(identifier, summary)
        st.caption("Path")
        st.markdown(code(summary.path))


def _show_tags_of_head(identifier: Identifier, summary: TableSummary) -> None:
    """Draw the tags of the head, and how many others the branch has."""
    with guarded("The tags cannot be read."):
        own, others = split_tags(reads.tags(identifier), summary.head)
        st.caption("Tags of this snapshot")
        shown = " ".join(f":violet-badge[⚑ {plain(each)}]" for each in own[:_MOST_TAGS])
        more = f" and {count(len(own) - _MOST_TAGS)} more" if len(own) > _MOST_TAGS else ""
        st.markdown(f"{shown}{more}" if own else "None")
        if others:
            st.caption(f"{plural(others, 'tag')} of other snapshots: see *Snapshots*.")


def _show_files(identifier: Identifier, summary: TableSummary) -> None:
    if summary.head is None:
        st.info("No commit yet, so no data file.")
        return
    with guarded("The files cannot be read."):
        detail = read_snapshot("files", identifier, summary.head)
        if detail is None:
            with st.container(horizontal=True, gap="small", key="figures"):
                show_total(summary.figure)
            return
        with st.container(horizontal=True, gap="small", key="figures"):
            st.metric("Data files", count(detail.file_count), border=True)
            st.metric("Size", size(detail.byte_count), border=True)
            show_total(detail.figure)
            st.metric("Partitions", count(detail.partitions.num_rows), border=True)
        by = st.segmented_control(
            "Show", ["partitions", "buckets", "files"], default="partitions", key="t_files",
            bind="query-params", required=True, label_visibility="collapsed",
        )  # fmt: skip
        if by == "partitions":
            height = rows.table_height(min(detail.partitions.num_rows, _MOST_ROWS), 14)
            show_partitions(detail.partitions, most=_MOST_ROWS, height=height)
            _show_cut(detail.partitions.num_rows)
            return
        with st.skeleton(height=240):
            first, row_count = reads.first_rows(identifier, str(by), _MOST_ROWS)
        _show_first_rows(first, row_count, f"{by} of {identifier.full_name}")


def _show_first_rows(first: pa.Table, row_count: int, alt: str) -> None:
    st.dataframe(
        first.to_pandas(),
        hide_index=True,
        row_height=rows.TABLE_ROW,
        height=rows.table_height(first.num_rows, 14),
        alt=f"{alt}, {plural(row_count, 'row')}",
    )
    _show_cut(row_count)


def _show_cut(row_count: int) -> None:
    """Say so where only the first rows of a table are drawn."""
    if row_count > _MOST_ROWS:
        st.caption(f"The first {count(_MOST_ROWS)} of {count(row_count)} rows.")


def _show_options(identifier: Identifier, summary: TableSummary) -> None:
    if summary.branch_options:
        with st.container(border=True, key="card-branch-options"):
            st.markdown("**Options that name a branch**")
            for key, value in summary.branch_options:
                st.markdown(f"{code(key)} = {code(value)}")
            show_fallback(identifier)
    options = summary.schema.options
    if not options:
        st.info("No option is set: Paimon's defaults hold.")
        return
    frame = pd.DataFrame(sorted(options.items()), columns=["Option", "Value"])
    st.dataframe(
        frame,
        hide_index=True,
        row_height=rows.TABLE_ROW,
        height=rows.table_height(len(frame), 14),
        alt=f"{plural(len(frame), 'option')} of {identifier.full_name}",
    )


def _show_consumers(identifier: Identifier, summary: TableSummary) -> None:
    if not summary.consumers:
        st.info(f"Nobody keeps a reading position on {code(identifier.branch)}.")
        return
    frame = pd.DataFrame(list(summary.consumers), columns=["Consumer", "Reads next"])
    st.dataframe(
        frame,
        hide_index=True,
        row_height=rows.TABLE_ROW,
        alt=plural(len(frame), "streaming consumer"),
    )


def _show_events(identifier: Identifier, summary: TableSummary) -> None:
    show_history(summary.events, here())
