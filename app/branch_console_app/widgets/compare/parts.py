"""Parts of a comparison: figures with their labels, the map and list of partitions, the files."""

import functools
from collections.abc import Sequence

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import streamlit as st

from branch_console.diff.state_diff import StateDiff, StateTotals
from branch_console.format.partition_path import partition_words
from branch_console.format.values.binary_row import decode_row
from branch_console_app import state
from branch_console_app.charts.compare_map import compare_map_figure
from branch_console_app.charts.palette import CHART_CONFIG
from branch_console_app.models.compare.partition_map import is_within, partition_map
from branch_console_app.models.compare.states import (
    PartitionLine,
    bounds_text,
    label_of,
    moved_noun,
    net_words,
    partition_lines,
    partitions_of,
    side_name,
)
from branch_console_app.models.parts.exactness import EXACT, UNREAD, badge
from branch_console_app.models.parts.wording import code, count, full_count, plain, plural, size
from branch_console_app.widgets.parts import rows

_PER_PAGE = 50
_MOST_LINES = 20_000
# Numbers that name something, and count nothing.
_NAMES = ("Bucket", "Level", "Schema")
_SIZES = ("Size A", "Size B")
_CHART = "cmp-map"


def show_figures(diff: StateDiff) -> None:
    """Draw rows, files and bytes, each with how good the number is."""
    keyed = bool(diff.after.schema.primary_keys)
    pairs = [("Rows added", diff.rows.added), ("Rows removed", diff.rows.removed)]
    if keyed:
        pairs.append(("Rows changed", diff.rows.changed))
    with st.container(border=True, key="card-compare"):
        cells = st.columns(len(pairs) + 3, gap="small")
        for cell, (label, bounds) in zip(cells, pairs, strict=False):
            _figure(
                cell, label, bounds_text(bounds), badge(label_of(bounds)), full_count(bounds.high)
            )
        names = [plain(side_name(each)) for each in (diff.before, diff.after)]
        sides = [
            (f"Only in {name}", diff.only_in(after=is_after))
            for name, is_after in zip(names, (False, True), strict=True)
        ]
        for cell, (label, totals) in zip(
            cells[len(pairs) :], (*sides, ("In both", diff.shared)), strict=True
        ):
            _figure(cell, label, plural(totals.file_count, "file"), _size_words(totals), None)
        net = net_words(diff.rows)
        if net:
            st.caption(net)
        for reason in diff.rows.reasons:
            st.caption(f"Why not exact: {plain(reason)}")
        if diff.masks:
            masks = plural(len(diff.masks), "shared file")
            st.caption(f"{masks} with other deletion vectors. {badge(EXACT)}")
        st.caption(
            f"Read from {plural(diff.manifests_read, 'manifest')} that only one side lists; "
            f"{count(diff.manifests_skipped)} that both list were skipped."
        )


def _figure(
    cell: st.delta_generator.DeltaGenerator, label: str, value: str, note: str, full: str | None
) -> None:
    cell.markdown(f":small[:gray[{label}]]  \n**{value}**  \n{note}", help=full)


def _size_words(totals: StateTotals) -> str:
    if totals.byte_count is None:
        return badge(UNREAD)
    return f"{size(totals.byte_count)} {badge(EXACT)}"


def show_partitions(diff: StateDiff) -> None:
    """Draw where rows differ: a map by two partition columns, and a list of all of them."""
    schema = diff.after.schema
    partitions = partitions_of(diff.places)
    if not partitions.num_rows:
        st.info("No file differs, so no partition does.")
        return
    part = state.parameter("cmp_part")
    lines = partition_lines(partitions, schema, slice(0, _MOST_LINES))
    # A part that sums partitions up is opened; a single one is marked among its neighbours.
    is_opened = any(part is not None and line.name.startswith(f"{part}/") for line in lines)
    model = partition_map(lines, schema.partition_keys, within=part if is_opened else None)
    if model is not None:
        key = f"{_CHART}-{part if is_opened else ''}"
        st.plotly_chart(
            compare_map_figure(model, selected=part, uirevision=key), key=key,
            on_select=functools.partial(_on_click, key), selection_mode="points",
            config=CHART_CONFIG, alt=model.alt,
        )  # fmt: skip
        counted = (
            ", a delete counts as one fewer" if any(line.has_deletes for line in lines) else ""
        )
        st.caption(
            f":green[+] more records in files of B{counted} \u2003 "
            ":red[\N{MINUS SIGN}] fewer \u2003 "
            ":violet[~] as many, other files \u2003 stronger colour: more records \u2003 "
            + ("a click opens what a square sums up" if model.is_summed else "a click chooses")
        )
    _show_part(part)
    chosen = [line for line in lines if part is None or is_within(line.name, part)]
    if partitions.num_rows > _MOST_LINES:
        st.caption(
            f"The {count(_MOST_LINES)} partitions with most rows of {count(partitions.num_rows)}."
        )
    _show_lines(chosen, moved_noun(diff).capitalize(), diff)


def _show_part(part: str | None) -> None:
    if part is None:
        return
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.markdown(f"Partition {code(part)}", width="content")
        st.button(
            "All partitions", icon=":material/close:", key="cmp-part-clear", type="tertiary",
            on_click=state.set_parameter, args=("cmp_part", None),
        )  # fmt: skip


def _on_click(key: str) -> None:
    for carried in state.clicked_points(key):
        state.set_parameter("cmp_part", str(carried[0]))
        return


def _show_lines(lines: list[PartitionLine], what: str, diff: StateDiff) -> None:
    holder = st.container()
    visible = lines[rows.page_of_rows("cmp_p", len(lines), _PER_PAGE)]
    frame = pd.DataFrame(
        {
            "Partition": [line.name for line in visible],
            f"{what} A": [line.rows_before for line in visible],
            f"{what} B": [line.rows_after for line in visible],
            **_delete_columns(lines, visible),
            "Difference (B \N{MINUS SIGN} A)": [line.net for line in visible],
            "Files A": [line.files_before for line in visible],
            "Files B": [line.files_after for line in visible],
            "Size A": [line.bytes_before for line in visible],
            "Size B": [line.bytes_after for line in visible],
            "Buckets": [line.buckets for line in visible],
        }
    )
    with holder:
        st.markdown(f"**{plural(len(lines), 'partition')}** with files that only one side has")
        st.dataframe(
            rows.in_units(frame, *_SIZES), hide_index=True, row_height=rows.TABLE_ROW,
            height=rows.table_height(len(visible), 15),
            column_config=rows.in_thousands(frame, but=_SIZES),
            alt=f"{plural(len(lines), 'partition')}, those with most rows first",
        )  # fmt: skip
        st.caption(
            f"A is {code(side_name(diff.before))}, B is {code(side_name(diff.after))}. {what} are "
            "counted in the files that only that side has."
        )


def _delete_columns(
    lines: Sequence[PartitionLine], visible: Sequence[PartitionLine]
) -> dict[str, list[int]]:
    """Return the columns of deletes among the records; none where no line has any."""
    columns = {
        "Deletes A": [line.deletes_before for line in visible],
        "Deletes B": [line.deletes_after for line in visible],
    }
    kept = {
        "Deletes A": any(line.deletes_before for line in lines),
        "Deletes B": any(line.deletes_after for line in lines),
    }
    return {name: numbers for name, numbers in columns.items() if kept[name]}


def show_files(diff: StateDiff) -> None:
    """Draw the files that only one side has, page by page, of one partition where one is chosen."""
    part = state.parameter("cmp_part")
    _show_part(part)
    side = st.segmented_control(
        "Files", ["all", "only A", "only B"], default="all", key="cmp_side", bind="query-params",
        required=True, label_visibility="collapsed",
    )  # fmt: skip
    files = diff.files if side == "all" else diff.files_of(after=side == "only B")
    if part is not None:
        files = _in_part(files, diff, part)
    if not files.num_rows:
        st.info("No file differs here.")
        return
    holder = st.container()
    page = rows.page_of_rows("cmp_p", files.num_rows, _PER_PAGE)
    start, stop, _ = page.indices(files.num_rows)
    visible = files.slice(start, stop - start)
    frame = _file_frame(visible, diff)
    with holder:
        st.dataframe(
            rows.in_units(frame, "Size"), hide_index=True, row_height=rows.TABLE_ROW,
            height=rows.table_height(visible.num_rows, 15),
            column_config=rows.in_thousands(frame, but=(*_NAMES, "Size")),
            alt=f"{plural(files.num_rows, 'file')} that only one side has",
        )  # fmt: skip


def _in_part(files: pa.Table, diff: StateDiff, part: str) -> pa.Table:
    names = _part_names(files, diff)
    wanted = [key for key, name in names.items() if is_within(name, part)]
    return files.filter(pc.is_in(files["partition"], value_set=pa.array(wanted, pa.binary())))


def _part_names(files: pa.Table, diff: StateDiff) -> dict[bytes, str]:
    schema = diff.after.schema
    types = schema.partition_type.types
    keys = files["partition"].unique().to_pylist()
    return {key: partition_words(decode_row(key, types), schema) for key in keys}


def _file_frame(files: pa.Table, diff: StateDiff) -> pd.DataFrame:
    names = _part_names(files, diff)
    return pd.DataFrame(
        {
            "Only in": ["AB"[each] for each in files["is_after"].to_pylist()],
            "Partition": [names[each] for each in files["partition"].to_pylist()],
            "Bucket": files["bucket"].to_pylist(),
            "Level": files["level"].to_pylist(),
            "File": files["file_name"].to_pylist(),
            "Size": files["file_size"].to_pylist(),
            "Records": files["row_count"].to_pylist(),
            "Hidden": files["masked"].to_pylist(),
            "Schema": files["schema_id"].to_pylist(),
        }
    )
