"""Snapshots: the timeline of a branch, or of two on one scale, and an inspector."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from branch_console.diff.rows.row_figure import FigureColumn
from branch_console.format.identifier import Identifier
from branch_console.format.snapshot import CommitKind, Snapshot
from branch_console.procedures.browse.page_values import SnapshotItem
from branch_console_app import reads, state
from branch_console_app.charts.palette import CHART_CONFIG
from branch_console_app.charts.snapshot_timeline import GLYPHS, snapshot_timeline_figure
from branch_console_app.models.branches.snapshot_timeline import (
    Timeline,
    TimelineAxis,
    draw_timeline,
)
from branch_console_app.models.parts.location import SnapshotPoint
from branch_console_app.models.parts.wording import code, full_count, plural, signed
from branch_console_app.state import PageName
from branch_console_app.widgets.branches.pick_dialogs import snapshot_dialogs
from branch_console_app.widgets.branches.snapshot_inspector import show_snapshot
from branch_console_app.widgets.branches.tag_dialogs import TagDialogs
from branch_console_app.widgets.branches.tag_list import show_tags
from branch_console_app.widgets.parts import rows
from branch_console_app.widgets.parts.dialogs import show_dialog
from branch_console_app.widgets.parts.problem import guarded, show_no_snapshot
from branch_console_app.widgets.parts.same_as import show_same_as
from branch_console_app.widgets.parts.table_picker import here, pick_table, show_table_header

_CHART = "snapshot-timeline"
_TABLE = "snapshot-table"
_MOST_ROWS = 2_000


def show() -> None:
    """Draw the page."""
    picked = pick_table(PageName.SNAPSHOTS)
    if picked is None:
        return
    identifier, summary = picked
    with st.skeleton(height=420):
        items = reads.snapshots(identifier)
    show_table_header(identifier, summary, PageName.SNAPSHOTS)
    if not items:
        st.info(f"No commit yet on {code(identifier.branch)}. The first one appears here.")
        return
    others = [name for name in summary.branches_with_main if name != identifier.branch]
    _show_controls(others)
    selected = _selected(items)
    left, right = _two_panes()
    with left:
        with guarded("The timeline cannot be drawn."):
            _show_timeline(identifier, items)
        _show_table(identifier, items)
        with guarded("The tags cannot be read."):
            show_tags(identifier, here())
    with right:
        _show_reuse(items)
        if selected is not None:
            is_head = selected is items[0]
            show_snapshot(identifier, selected, is_head=is_head, has_others=bool(others))
    picks = snapshot_dialogs(identifier, others, here())
    show_dialog({**TagDialogs(identifier, here()).all(), **picks})
    show_same_as("snapshots", identifier.table_name, "--branch", identifier.branch)


def _show_controls(others: Sequence[str]) -> None:
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="filters"):
        st.pills(
            "Kinds", [kind.lower() for kind in CommitKind], selection_mode="multi", key="sn_kind",
            bind="query-params", label_visibility="collapsed",
        )  # fmt: skip
        with st.popover("Range", type="tertiary", help="Only snapshots of a range of ids"):
            st.number_input(
                "From snapshot", min_value=1, value=None, step=1, key="sn_from", bind="query-params"
            )
            st.number_input(
                "To snapshot", min_value=1, value=None, step=1, key="sn_to", bind="query-params"
            )
        st.space("stretch")
        if others:
            st.selectbox(
                "Second branch", others, index=None, key="sn_b2", bind="query-params", width=210,
                placeholder="Beside another branch", label_visibility="collapsed",
                filter_mode="contains",
            )  # fmt: skip
        st.segmented_control(
            "Axis", list(TimelineAxis), default=TimelineAxis.SNAPSHOTS, key="sn_axis",
            bind="query-params", required=True, label_visibility="collapsed",
        )  # fmt: skip


def _two_panes() -> tuple[st.delta_generator.DeltaGenerator, st.delta_generator.DeltaGenerator]:
    both = st.container(horizontal=True, gap="medium", key="panes")
    return both.container(key="pane-main"), both.container(key="pane-side", width=320)


def _selected(items: Sequence[SnapshotItem]) -> SnapshotItem | None:
    """Return the snapshot of the address; without one the newest that can be read."""
    point = here().point
    readable = [item for item in items if item.snapshot is not None]
    if point is None:
        return readable[0] if readable and here().snap is None else None
    return next((item for item in readable if item.snapshot and point.names(item.snapshot)), None)


def _show_reuse(items: Sequence[SnapshotItem]) -> None:
    """Say so where the address names a snapshot that is no more."""
    place = here()
    point = place.point
    if place.snap is None or _selected(items) is not None:
        return
    if point is None:
        show_no_snapshot(place.snap)
    elif any(item.id == point.id for item in items):
        st.warning(
            f"**Snapshot {point.id} of {code(point.branch)} is not the one this link was made "
            "for.** Its id was used again by another commit. `SNAPSHOT_NOT_FOUND`"
        )
    else:
        st.warning(
            f"**Snapshot {point.id} of {code(point.branch)} is not there.** It expired, or never "
            "was. `SNAPSHOT_NOT_FOUND`"
        )
    state.link(PageName.SNAPSHOTS, "Show the head", place.at_snapshot(None))


def _show_timeline(identifier: Identifier, items: Sequence[SnapshotItem]) -> None:
    kinds, (first_id, last_id) = _kinds(), _range()
    axis = TimelineAxis(state.value_of("sn_axis") or TimelineAxis.SNAPSHOTS)
    timelines = [
        draw_timeline(identifier.branch, items, kinds=kinds, first_id=first_id, last_id=last_id)
    ]
    second = state.value_of("sn_b2")
    if second:
        with guarded(f"{code(second)} cannot be read."):
            others = reads.snapshots(identifier.on_branch(second))
            timelines.append(
                draw_timeline(second, others, kinds=kinds, first_id=first_id, last_id=last_id)
            )
    if not any(timeline.bars for timeline in timelines):
        st.info("No snapshot of these kinds in this range. Change the filters above.")
        return
    revision = f"{identifier.full_name} {second} {axis} {sorted(kinds)} {_range()}"
    point = state.marked_point(_CHART, f"{revision} {items[0].id} {len(items)}")
    marked = next((i for i in items if point and i.snapshot and point.names(i.snapshot)), None)
    figure = snapshot_timeline_figure(
        timelines,
        axis=axis,
        selected=(identifier.branch, marked.id) if marked else None,
        uirevision=revision,
    )
    st.plotly_chart(
        figure,
        key=_CHART,
        on_select=_on_click,
        selection_mode="points",
        config=CHART_CONFIG,
        alt=" ".join(timeline.alt for timeline in timelines),
    )
    _show_notes(timelines)


def _kinds() -> frozenset[CommitKind]:
    """Return the kinds that are asked for; none asked for means all."""
    return frozenset(CommitKind(name.upper()) for name in state.value_of("sn_kind") or CommitKind)


def _range() -> tuple[int | None, int | None]:
    """Return the first and the last id that are asked for."""
    return state.value_of("sn_from"), state.value_of("sn_to")


def _on_click() -> None:
    state.select_clicked_snapshot(_CHART)


def _show_notes(timelines: Sequence[Timeline]) -> None:
    kinds = {bar.kind for timeline in timelines for bar in timeline.bars}
    words = ", ".join(f"{GLYPHS[kind]} {kind.lower()}" for kind in CommitKind if kind in kinds)
    noun = timelines[0].noun if timelines else "rows"
    notes = [f"{words}. Bars above the line add {noun}, hatched ones below remove them."]
    if any(timeline.is_grouped for timeline in timelines):
        most = max(bar.size for timeline in timelines for bar in timeline.bars)
        notes.append(f"A bar stands for up to {plural(most, 'snapshot')}.")
    gaps = [gap.words for timeline in timelines for gap in timeline.gaps]
    if gaps:
        notes.append(f"Grey gaps: {'; '.join(gaps[:3])}{' …' if len(gaps) > 3 else ''}.")
    st.caption(" ".join(notes))


def _show_table(identifier: Identifier, items: Sequence[SnapshotItem]) -> None:
    """Draw the same snapshots as a table, for keyboards and for reading figures."""
    kinds, (first_id, last_id) = _kinds(), _range()
    visible = [
        item
        for item in items
        if (item.snapshot is None or item.snapshot.commit_kind in kinds)
        and (first_id is None or item.id >= first_id)
        and (last_id is None or item.id <= last_id)
    ][:_MOST_ROWS]
    zone = state.zone()
    changes = FigureColumn.of([item.change for item in visible], signed)
    totals = FigureColumn.of([item.figure for item in visible], full_count)
    frame = pd.DataFrame(
        {
            "Snapshot": [item.id for item in visible],
            "Kind": [_kind_words(item) for item in visible],
            "Time": [
                pd.Timestamp(item.snapshot.time_millis, unit="ms", tz="UTC").tz_convert(zone)
                if item.snapshot
                else None
                for item in visible
            ],
            "Committed by": [
                item.snapshot.commit_user if item.snapshot else None for item in visible
            ],
            "Change": changes.cells,
            totals.title: totals.cells,
            "Schema": _counts([s.schema_id if s else None for s in _files(visible)]),
            "Tags": [", ".join(item.tags) for item in visible],
        }
    )
    st.dataframe(
        frame,
        key=_TABLE,
        hide_index=True,
        height=rows.table_height(len(visible), 11),
        row_height=rows.TABLE_ROW,
        on_select=_on_row,
        selection_mode="single-row",
        column_config={
            "Snapshot": st.column_config.NumberColumn(width=70, format="%d"),
            "Kind": st.column_config.TextColumn(width=95),
            "Time": st.column_config.DatetimeColumn(format="YYYY-MM-DD HH:mm:ss", width=145),
            "Committed by": st.column_config.TextColumn(width=115),
            "Change": st.column_config.TextColumn(alignment="right", width=85),
            totals.title: st.column_config.TextColumn(alignment="right", width=110),
            "Schema": st.column_config.NumberColumn(format="%d", width=60),
        },
        alt=f"{plural(len(items), 'snapshot')} of {identifier.branch}, newest first",
    )
    state.put("snapshot-table-points", [_point(identifier, item) for item in visible])


def _files(items: Sequence[SnapshotItem]) -> list[Snapshot | None]:
    return [item.snapshot for item in items]


def _counts(numbers: list[int | None]) -> "pd.Series[int]":
    return pd.Series(numbers, dtype="Int64")


def _kind_words(item: SnapshotItem) -> str:
    if item.snapshot is None:
        return "✕ cannot be read"
    kind = item.snapshot.commit_kind
    return f"{GLYPHS[kind]} {kind.lower()}"


def _point(identifier: Identifier, item: SnapshotItem) -> str | None:
    if item.snapshot is None:
        return None
    return str(SnapshotPoint.of(identifier.branch, item.snapshot))


def _on_row() -> None:
    points = state.value_of("snapshot-table-points") or []
    for number in state.clicked_rows(_TABLE):
        point = SnapshotPoint.parse(points[number] or "") if number < len(points) else None
        if point:
            state.move_to(here().at_snapshot(point))
