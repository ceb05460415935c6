"""The entries of many manifests as numbers, read in portions: a table may have millions."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from branch_console.format.avro_encoding import whole
from branch_console.format.file_columns import FILE_COLUMNS
from branch_console.format.manifest_entry import FileSource
from branch_console.storage.table_paths import TablePaths
from branch_console.table.manifest_query import NAMED_FILE
from branch_console.table.manifest_scan import ManifestScan
from branch_console.table.string_hashes import string_hashes

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
    parts = read_made(scan, paths, [*manifests.items()], _MADE, _columns)
    columns = pa.concat_tables([_OF_MANIFEST.empty_table(), *parts]).combine_chunks()
    counts = np.fromiter(manifests.values(), np.int64, len(manifests))
    numbers = pa.array(np.repeat(np.arange(len(manifests), dtype=np.int32), counts))
    at = FILE_COLUMNS.get_field_index("manifest")
    return columns.add_column(at, FILE_COLUMNS.field(at), numbers)


def name_prints(names: pa.ChunkedArray) -> "np.ndarray[tuple[int], np.dtype[np.uint64]]":
    """The numbers that the column `name` has for file names."""
    return string_hashes(pc.binary_join_element_wise(_BEFORE_NAME, names, ""))


def read_made(
    scan: ManifestScan,
    paths: TablePaths,
    manifests: Sequence[tuple[str, int]],
    what: str,
    make: Callable[[pa.Table], pa.Table],
) -> list[pa.Table]:
    """Return what is made of the entries of each manifest, which is made once and remembered.

    Args:
        scan: Reads manifests, and remembers.
        paths: The table.
        manifests: Their names, each with the number of its entries.
        what: Tells it from other things that are made of manifests.
        make: Makes a row of each entry, given columns of NAMED_FILE.

    Raises:
        FormatError: A manifest is missing or broken.
    """
    made = ((name, count, scan.find_made(paths.manifest(name), what)) for name, count in manifests)
    # One that a list tells to have other entries is looked at again, which tells what is wrong.
    found = {
        name: rows for name, count, rows in made if rows is not None and rows.num_rows == count
    }
    for portion in _portions(item for item in manifests if item[0] not in found):
        fresh = dict(_slices(make(scan.read_past(paths, portion, NAMED_FILE)), portion))
        scan.remember_made(what, {paths.manifest(name): rows for name, rows in fresh.items()})
        found.update(fresh)
    return [found[name] for name, _ in manifests]


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
            pa.array(string_hashes(entries["identity"])),
            pa.array(name_prints(entries["file_name"])),
            whole(entries["file_size"]),
            whole(entries["kind"].cast(pa.int8())),
            whole(is_compacted),
            whole(entries["position"]),
        ],
        schema=_OF_MANIFEST,
    )
