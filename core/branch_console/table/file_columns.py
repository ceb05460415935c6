"""The entries of many manifests as numbers, read in portions: a table may have millions."""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from branch_console.format.avro_encoding import whole
from branch_console.format.file_columns import FILE_COLUMNS
from branch_console.format.manifest_entry import FileSource
from branch_console.storage.table_paths import TablePaths
from branch_console.table.manifest_scan import ManifestScan
from branch_console.table.text_prints import text_prints

_ENTRIES_AT_ONCE = 200_000
# So that no name is shorter than a word, which would change the numbers of all names beside it.
_BEFORE_NAME = "file-name/"


def read_file_columns(
    scan: ManifestScan, paths: TablePaths, manifests: Mapping[str, int]
) -> pa.Table:
    """Read every entry of some manifests, each manifest once.

    Args:
        scan: Reads manifests.
        paths: The table.
        manifests: How many entries each has, by name; the column `manifest` counts them.

    Returns:
        Columns of FILE_COLUMNS, each in one piece.

    Raises:
        FormatError: A manifest is missing or broken.
    """
    parts = []
    numbered = enumerate(manifests.items())
    for portion in _portions(numbered):
        named = [item for _, item in portion]
        numbers = np.repeat([number for number, _ in portion], [count for _, count in named])
        parts.append(_columns(scan.read_past(paths, named), numbers))
    return pa.concat_tables([FILE_COLUMNS.empty_table(), *parts]).combine_chunks()


def name_prints(names: pa.ChunkedArray) -> "np.ndarray[tuple[int], np.dtype[np.uint64]]":
    """The numbers that the column `name` has for file names."""
    return text_prints(pc.binary_join_element_wise(_BEFORE_NAME, names, ""))


def _portions(
    manifests: Iterable[tuple[int, tuple[str, int]]],
) -> Iterator[list[tuple[int, tuple[str, int]]]]:
    portion: list[tuple[int, tuple[str, int]]] = []
    entries = 0
    for numbered in manifests:
        portion.append(numbered)
        entries += numbered[1][1]
        if entries >= _ENTRIES_AT_ONCE:
            yield portion
            portion, entries = [], 0
    if portion:
        yield portion


def _columns(entries: pa.Table, numbers: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> pa.Table:
    source = entries["file_source"]
    is_compacted = pc.fill_null(pc.equal(source, int(FileSource.COMPACT)), False)
    return pa.Table.from_arrays(
        [
            pa.array(text_prints(entries["identity"])),
            pa.array(name_prints(entries["file_name"])),
            whole(entries["file_size"]),
            whole(entries["kind"].cast(pa.int8())),
            whole(is_compacted),
            pa.array(numbers.astype(np.int32)),
            whole(entries["position"]),
        ],
        schema=FILE_COLUMNS,
    )
