"""The partitions of a snapshot as a table: what each holds, largest first."""

from typing import Final, Literal

import pyarrow as pa
import streamlit as st

from branch_console_app.models.parts.wording import plural
from branch_console_app.widgets.parts import rows

_TITLES: Final = {
    "partition": "Partition",
    "file_count": "Files",
    "record_count": "Records in files",
    "byte_count": "Size",
    "bucket_count": "Buckets",
}


def show_partitions(partitions: pa.Table, *, most: int, height: int | Literal["content"]) -> None:
    """Draw the first `most` partitions of a `SnapshotDetail`."""
    shown = partitions.slice(0, most)
    frame = shown.select(list(_TITLES)).rename_columns(list(_TITLES.values())).to_pandas()
    st.dataframe(
        rows.in_units(frame, "Size"),
        hide_index=True,
        row_height=rows.TABLE_ROW,
        height=height,
        column_config=rows.in_thousands(frame, but=("Size",)),
        alt=f"{plural(partitions.num_rows, 'partition')}, largest first",
    )
