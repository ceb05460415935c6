"""The entries of many manifests as numbers, read in portions: a table may have millions."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from branch_console.format.avro_encoding import whole
from branch_console.format.file_columns import FILE_COLUMNS
from branch_console.format.manifest_entry import FileSource
from branch_console.storage.table_paths import TablePaths
from branch_console.table.manifest_scan import ManifestScan
from branch_console.table.text_prints import text_prints

_ENTRIES_AT_ONCE: Final = 200_000
_MADE: Final = "file columns"
_OF_MANIFEST: Final = pa.schema([each for each in FILE_COLUMNS if each.name != "manifest"])
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
    found = _remembered(scan, paths, manifests)
    for portion in _portions(item for item in manifests.items() if item[0] not in found):
        made = dict(_slices(_columns(scan.read_past(paths, portion)), portion))
        scan.remember_made(_MADE, {paths.manifest(name): each for name, each in made.items()})
        found.update(made)
    parts = [found[name] for name in manifests]
    columns = pa.concat_tables([_OF_MANIFEST.empty_table(), *parts]).combine_chunks()
    counts = np.fromiter(manifests.values(), np.int64, len(manifests))
    numbers = pa.array(np.repeat(np.arange(len(manifests), dtype=np.int32), counts))
    at = FILE_COLUMNS.get_field_index("manifest")
    return columns.add_column(at, FILE_COLUMNS.field(at), numbers)


def name_prints(names: pa.ChunkedArray) -> "np.ndarray[tuple[int], np.dtype[np.uint64]]":
    """The numbers that the column `name` has for file names."""
    return text_prints(pc.binary_join_element_wise(_BEFORE_NAME, names, ""))


def _remembered(
    scan: ManifestScan, paths: TablePaths, manifests: Mapping[str, int]
) -> dict[str, pa.Table]:
    """What an earlier look made of manifests that have as many entries as their lists tell of."""
    made = ((name, scan.find_made(paths.manifest(name), _MADE)) for name in manifests)
    return {
        name: columns
        for name, columns in made
        if columns is not None and columns.num_rows == manifests[name]
    }


def _portions(manifests: Iterable[tuple[str, int]]) -> Iterator[list[tuple[str, int]]]:
    portion: list[tuple[str, int]] = []
    entries = 0
    for manifest in manifests:
        portion.append(manifest)
        entries += manifest[1]
        if entries >= _ENTRIES_AT_ONCE:
            yield portion
            portion, entries = [], 0
    if portion:
        yield portion


def _slices(
    columns: pa.Table, manifests: Iterable[tuple[str, int]]
) -> Iterator[tuple[str, pa.Table]]:
    start = 0
    for name, count in manifests:
        yield name, columns.slice(start, count)
        start += count


def _columns(entries: pa.Table) -> pa.Table:
    source = entries["file_source"]
    is_compacted = pc.fill_null(pc.equal(source, int(FileSource.COMPACT)), False)
    return pa.Table.from_arrays(
        [
            pa.array(text_prints(entries["identity"])),
            pa.array(name_prints(entries["file_name"])),
            whole(entries["file_size"]),
            whole(entries["kind"].cast(pa.int8())),
            whole(is_compacted),
            whole(entries["position"]),
        ],
        schema=_OF_MANIFEST,
    )
