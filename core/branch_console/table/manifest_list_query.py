"""Many manifest lists at once: the manifests that each names, and how many entries these have.

A table with a thousand references has two thousand lists, and to decode each by itself takes longer
than all entries. What cannot be joined to others is read list by list.
"""

import itertools
import tempfile
from collections.abc import Iterable, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.format.avro_encoding import check_file_names, check_header, required, whole
from branch_console.format.avro_frames import AvroFrame, join_files, read_frame
from branch_console.format.manifest_list import MANIFEST_LIST_VERSION
from branch_console.storage.table_paths import TablePaths
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.manifest_query import stream_avro
from branch_console.table.manifest_scan import entry_counts

_FEW: Final = 16
_LISTS_AT_ONCE: Final = 200

_MADE: Final = "names of manifests"
_NAMES: Final = pa.schema([required("manifest", pa.string()), required("entries", pa.int64())])

ListedManifests = list[tuple[str, int]]
"""The manifests of a list, each with the number of its entries."""


def read_manifest_lists(table: FileStoreTable, names: Sequence[str]) -> dict[str, ListedManifests]:
    """Return what each list names.

    Raises:
        FormatError: A list is missing or broken.
    """
    paths, scan = table.paths, table.scan
    made = {name: scan.find_made(paths.manifest(name), _MADE) for name in names}
    found = {name: listed for name, listed in made.items() if listed is not None}
    unknown = [name for name in made if name not in found]
    if len(unknown) > _FEW:
        for start in range(0, len(unknown), _LISTS_AT_ONCE):
            together = _read_together(table, unknown[start : start + _LISTS_AT_ONCE])
            scan.remember_made(
                _MADE, {paths.manifest(name): each for name, each in together.items()}
            )
            found.update(together)
    left = [name for name in unknown if name not in found]
    read = table.reader.map_parallel(lambda name: _read_one(table, name), left)
    found.update(zip(left, read, strict=True))
    return {name: _pairs(found[name]) for name in names}


def _pairs(listed: pa.Table) -> ListedManifests:
    return list(zip(listed["manifest"].to_pylist(), listed["entries"].to_pylist(), strict=True))


def _read_one(table: FileStoreTable, name: str) -> pa.Table:
    # It is remembered as it is, as tables are read by such lists.
    listed = table.scan.read_list(table.paths, name)
    return pa.table(
        [listed["file_name"], pa.array(entry_counts(listed), pa.int64())], schema=_NAMES
    )


def _read_together(table: FileStoreTable, names: Sequence[str]) -> dict[str, pa.Table]:
    """Return the lists that can be read together; the caller reads the others, with errors."""
    framed = [
        (name, frame, data)
        for name, data in _contents(table, table.paths, names)
        if (frame := _frame(data)) is not None
    ]
    found: dict[str, pa.Table] = {}
    for _, group in itertools.groupby(framed, key=lambda each: each[1].header):
        found.update(_query(list(group)))
    return found


def _contents(
    table: FileStoreTable, paths: TablePaths, names: Sequence[str]
) -> Iterable[tuple[str, bytes]]:
    found = table.reader.map_parallel(
        table.reader.files.find, [paths.manifest(name) for name in names]
    )
    return [(name, data) for name, data in zip(names, found, strict=True) if data is not None]


def _frame(data: bytes) -> AvroFrame | None:
    # On damaged content DataFusion may never return; a damaged frame shows itself.
    try:
        frame = read_frame(data)
        check_header(frame.header)
    except Exception:  # a broken header shows itself in any way
        return None
    return frame if frame.is_compressed else None


def _query(group: Sequence[tuple[str, AvroFrame, bytes]]) -> dict[str, pa.Table]:
    with tempfile.NamedTemporaryFile(prefix="manifest-lists-", suffix=".avro") as joined:
        joined.write(join_files((frame, data) for _, frame, data in group))
        joined.flush()
        try:
            rows = pa.Table.from_batches(
                batch.select(["_VERSION", "_FILE_NAME", "_NUM_ADDED_FILES", "_NUM_DELETED_FILES"])
                for batch in stream_avro(joined.name)
            )
            manifests = whole(rows["_FILE_NAME"]).cast(pa.string())
            check_file_names(manifests, "")
            counts = pc.add(rows["_NUM_ADDED_FILES"], rows["_NUM_DELETED_FILES"])
        except Exception:  # DataFusion has one class for all its errors
            return {}
    is_whole = rows.num_rows == sum(frame.records for _, frame, _ in group)
    if not is_whole or pc.unique(rows["_VERSION"]).to_pylist() not in ([], [MANIFEST_LIST_VERSION]):
        return {}
    listed = pa.table([manifests, whole(counts).cast(pa.int64())], schema=_NAMES)
    ends = itertools.accumulate(frame.records for _, frame, _ in group)
    return {
        name: listed.slice(end - frame.records, frame.records)
        for (name, frame, _), end in zip(group, ends, strict=True)
    }
