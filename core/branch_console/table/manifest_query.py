"""Manifests to Arrow by DataFusion, where that is safe: many manifests in one query.

Planning a query takes as long as decoding hundreds of entries, and a table may have thousands of
small manifests. So neighbours of one layout are joined into one Avro file before they are decoded,
and large ones are cut between blocks, so that all threads have work.
"""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from branch_console.errors import ErrorKind, FormatError
from branch_console.format.avro_encoding import (
    check_file_names,
    check_header,
    one_array,
    paimon_name,
    relabel,
)
from branch_console.format.avro_frames import AvroFrame, join_files, read_frame
from branch_console.format.manifest_entry import MANIFEST_ENTRY, MANIFEST_VERSION, file_identity
from branch_console.storage.manifest_count import note_read

if TYPE_CHECKING:
    import datafusion

_THREADS: Final = max(2, min(8, os.cpu_count() or 2))
# Planning a query costs as much as decoding this many entries the slow way.
_SMALL: Final = 40
_LEAST_GROUP_ROWS: Final = 4_096
_MOST_GROUP_ROWS: Final = 32_768
_DECODED: Final = pa.schema(list(MANIFEST_ENTRY)[:-3])
# All that tells files apart and where they lie, without keys and statistics.
NAMED_FILE: Final = pa.schema(
    [
        MANIFEST_ENTRY.field(name)
        for name in (
            *("kind", "partition", "bucket", "file_name", "file_size", "level", "extra_files"),
            *("embedded_file_index", "file_source", "external_path"),
            *("identity", "manifest", "position"),
        )
    ]
)
_TOP_LEVEL: Final = frozenset({"kind", "partition", "bucket", "total_buckets"})

_Numbers = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestSource:
    """A manifest to decode: its path, a file on this machine, how many entries it should have."""

    path: str
    file: str
    count: int

    @property
    def name(self) -> str:
        """The file name, as manifest lists and entries give it."""
        return self.path.rsplit("/", 1)[-1]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Part:
    """Some neighbouring blocks of a manifest, maybe all, and the position of their first entry."""

    source: ManifestSource
    data: bytes
    frame: AvroFrame
    first: int

    @property
    def is_whole(self) -> bool:
        return self.frame.records == self.source.count


class _Copies:
    """Columns in memory of our own, where those that repeat from batch to batch stand once.

    The decoder gives a batch's memory back as a whole, and more than it needs. Many columns hold
    one value all along: levels, schema ids, empty keys and statistics.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, ...], pa.Array] = {}

    def of(self, column: pa.Array, *name: str) -> pa.Array:
        """An equal column, given its name and, in a struct, its parents' before it."""
        if pa.types.is_struct(column.type):
            fields = list(column.type)
            parts = zip(fields, column.flatten(), strict=True)
            mask = pc.is_null(column) if column.null_count else None
            children = [self.of(child, *name, field.name) for field, child in parts]
            return pa.StructArray.from_arrays(children, fields=fields, mask=mask)
        known = self._known.get(name)
        if known is not None and known.slice(0, len(column)).equals(column):
            return known.slice(0, len(column))
        # To concatenate is to copy, but not a single array.
        copy = pa.concat_arrays([column, column.slice(0, 0)])
        # Threads may replace each other's; what they lose is only that a column stands twice.
        self._known[name] = copy
        return copy


def query_manifests(
    sources: Sequence[ManifestSource], layout: pa.Schema = MANIFEST_ENTRY
) -> dict[str, pa.Table]:
    """Decode manifests with DataFusion.

    Args:
        sources: The manifests; neighbours are decoded together, and large ones in parts.

        layout: MANIFEST_ENTRY, or NAMED_FILE, which takes less time.

    Returns:
        The columns of the layout by path. What is missing was too small to be worth it or
        cannot be decoded this way; what is there has as many entries as it should.
    """
    total = sum(source.count for source in sources)
    if total <= _SMALL:
        return {}
    import datafusion  # noqa: PLC0415 - it loads pandas; most tables of most commands are small

    config = datafusion.SessionConfig()
    # One partition keeps the entries of a file in their order.
    config = config.with_target_partitions(1).with_batch_size(_MOST_GROUP_ROWS)
    session = datafusion.SessionContext(config)
    opened = [each for source in sources if (each := _open(source)) is not None]
    groups = list(_groups(opened, _group_rows(total)))
    copies = _Copies()
    with ThreadPoolExecutor(_THREADS) as pool:
        decoded = pool.map(lambda group: _query_group(session, copies, group, layout), groups)
        return _by_path(itertools.chain.from_iterable(map(_slices, groups, decoded)))


def _open(source: ManifestSource) -> _Part | None:
    # On damaged content DataFusion may never return. A damaged frame shows itself, and damage
    # within a block shows when that is decompressed: so only plain blocks are left out.
    try:
        data = Path(source.file).read_bytes()
        note_read(source.path)
        frame = read_frame(data)
        check_header(frame.header)
    except Exception:  # as with the decoder, a broken header shows itself in any way
        return None
    if not frame.is_compressed or frame.records != source.count:
        return None
    return _Part(source=source, data=data, frame=frame, first=0)


def _group_rows(total: int) -> int:
    """How many entries make a piece of work, so that all threads get equally many such pieces."""
    rounds = -(-total // (_THREADS * _MOST_GROUP_ROWS))
    return max(_LEAST_GROUP_ROWS, -(-total // (_THREADS * rounds)))


def _groups(manifests: Iterable[_Part], rows: int) -> Iterator[list[_Part]]:
    """Neighbours of one layout, some `rows` entries a group, cut between blocks where need be."""
    pieces = _pieces(manifests, rows)
    for _, group in itertools.groupby(pieces, key=lambda each: (each[0], each[1].frame.header)):
        yield [part for _, part in group]


def _pieces(manifests: Iterable[_Part], rows: int) -> Iterator[tuple[int, _Part]]:
    """The blocks of the manifests by the group that they begin in."""
    passed = 0
    for whole in manifests:
        starts = [0, *itertools.accumulate(whole.frame.counts)]
        blocks = range(len(whole.frame.blocks))
        for number, chosen in itertools.groupby(
            blocks, key=lambda block: (passed + starts[block]) // rows
        ):
            places = tuple(chosen)
            part = replace(whole, frame=whole.frame.only(places), first=starts[places[0]])
            yield number, part
        passed += whole.source.count


def _query_group(
    session: datafusion.SessionContext,
    copies: _Copies,
    group: Sequence[_Part],
    layout: pa.Schema,
) -> pa.Table | None:
    """The entries of parts with one layout; None if they cannot be decoded this way."""
    if len(group) == 1 and group[0].is_whole:
        return _query_file(session, copies, group[0].source.file, group, layout)
    with tempfile.NamedTemporaryFile(prefix="manifests-", suffix=".avro") as joined:
        joined.write(join_files((each.frame, each.data) for each in group))
        joined.flush()
        return _query_file(session, copies, joined.name, group, layout)


def _slices(
    group: Iterable[_Part], entries: pa.Table | None
) -> Iterator[tuple[str, pa.Table | None]]:
    """The entries of each part of a group."""
    start = 0
    for part in group:
        count = part.frame.records
        yield part.source.path, None if entries is None else entries.slice(start, count)
        start += count


def _by_path(parts: Iterable[tuple[str, pa.Table | None]]) -> dict[str, pa.Table]:
    """Whole manifests of their parts; those that miss one are left out."""
    found: dict[str, list[pa.Table | None]] = {}
    for path, entries in parts:
        found.setdefault(path, []).append(entries)
    return {
        path: pa.concat_tables(each)
        for path, each in found.items()
        if all(part is not None for part in each)
    }


def _query_file(
    session: datafusion.SessionContext,
    copies: _Copies,
    file: str,
    parts: Sequence[_Part],
    layout: pa.Schema,
) -> pa.Table | None:
    counts = [part.frame.records for part in parts]
    owners = np.repeat(np.arange(len(parts)), counts)
    positions = np.concatenate([part.first + np.arange(part.frame.records) for part in parts])
    names = pa.array([part.source.name for part in parts])
    tables = []
    decoded = 0
    try:
        for batch in _stream(session, file, layout):
            rows = slice(decoded, decoded + batch.num_rows)
            manifests = names.take(pa.array(owners[rows]))
            tables.append(_entries(copies, batch, manifests, positions[rows], layout))
            decoded += batch.num_rows
    except Exception:  # DataFusion has one class for all its errors
        return None
    return pa.concat_tables(tables) if tables and decoded == sum(counts) else None


def stream_avro(file: str) -> Iterator[pa.RecordBatch]:
    """The records of an Avro file, by one thread, in their order."""
    import datafusion  # noqa: PLC0415 - it loads pandas; most tables of most commands are small

    config = datafusion.SessionConfig().with_target_partitions(1)
    return _stream(datafusion.SessionContext(config), file)


def _stream(
    session: datafusion.SessionContext, file: str, layout: pa.Schema = MANIFEST_ENTRY
) -> Iterator[pa.RecordBatch]:
    # As a URL, for a plain path with [, ? or * would be taken for a pattern.
    url = f"file://{quote(file)}"
    found = session.read_avro(url, file_extension="")
    if layout != MANIFEST_ENTRY:
        # Of nested columns a query leaves none out, but a schema does.
        found = session.read_avro(url, schema=_only(found.schema(), layout), file_extension="")
    return (batch.to_pyarrow() for batch in found.execute_stream())


def _only(written: pa.Schema, layout: pa.Schema) -> pa.Schema:
    """The columns of an Avro manifest, with those of a file that a layout has."""
    wanted = {paimon_name(name) for name in layout.names}
    at = written.get_field_index("_FILE")
    file = written.field(at)
    fields = pa.struct([each for each in file.type if each.name in wanted])
    return written.set(at, pa.field(file.name, fields, file.nullable, file.metadata))


def _entries(
    copies: _Copies,
    batch: pa.RecordBatch,
    manifests: pa.Array,
    positions: _Numbers,
    layout: pa.Schema,
) -> pa.Table:
    _check_version(batch["_VERSION"], manifests)
    fields = pa.schema([each for each in _DECODED if each.name in layout.names])
    decoded = relabel(_columns(batch, fields), fields)
    columns = {name: one_array(decoded[name], decoded[name].type) for name in decoded.column_names}
    _check_names(columns["file_name"])
    _check_names(pc.list_flatten(columns["extra_files"]))
    columns["manifest"] = manifests
    kept = {name: copies.of(column, name) for name, column in columns.items()}
    kept["identity"] = file_identity(decoded)
    kept["position"] = pa.array(positions.astype(np.int32))
    return pa.Table.from_arrays([kept[each.name] for each in layout], schema=layout)


def _check_names(names: pa.Array) -> None:
    """Raise FormatError if a name would lead out of its folder."""
    letters = names.buffers()[2]
    found = b"" if letters is None else letters.to_pybytes()
    # To look for separators among all bytes takes a tenth of the time of a look at each name.
    if b"/" in found or b"\\" in found or (len(names) and _shortest(names) <= len("..")):
        check_file_names(names, "")


def _shortest(names: pa.Array) -> int:
    length: int = pc.min(pc.binary_length(names)).as_py()
    return length


def _columns(batch: pa.RecordBatch, fields: pa.Schema) -> list[pa.Array]:
    file = batch["_FILE"]
    parts = dict(zip((field.name for field in file.type), file.flatten(), strict=True))
    return [
        batch[paimon_name(field.name)]
        if field.name in _TOP_LEVEL
        else _file_column(parts, field, batch.num_rows)
        for field in fields
    ]


def _file_column(parts: dict[str, pa.Array], field: pa.Field, count: int) -> pa.Array:
    column = parts.get(paimon_name(field.name))
    if column is not None:
        # DataFusion puts UTC on what is a wall clock without zone.
        return column.cast(field.type) if pa.types.is_timestamp(field.type) else column
    if field.nullable:
        # Older releases wrote fewer columns; those that came later may all be null.
        return pa.nulls(count, field.type)
    raise FormatError(f"The manifest has no field {paimon_name(field.name)!r}.")


def _check_version(versions: pa.Array, manifest: pa.Array) -> None:
    if not len(versions):
        return
    newest = pc.max(versions).as_py()
    if newest != MANIFEST_VERSION or pc.min(versions).as_py() != MANIFEST_VERSION:
        raise FormatError(
            f"Manifest {manifest[0]} has format version {newest}; {MANIFEST_VERSION} is the one "
            "known. Upgrade Branch Console to read it.",
            kind=ErrorKind.UNKNOWN_VERSION,
            version=newest,
        )
