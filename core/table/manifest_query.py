"""Manifests to Arrow by DataFusion, where that is safe: many manifests in one query.

Planning a query takes as long as decoding hundreds of entries, and a table may have thousands of
small manifests. So neighbours of one layout are joined into one Avro file before they are decoded.
"""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import datafusion
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from core.errors import ErrorKind, FormatError
from core.format.avro_encoding import paimon_name, relabel
from core.format.avro_frames import AvroFrame, join_files, read_frame
from core.format.manifest_entry import MANIFEST_ENTRY, MANIFEST_VERSION, file_identity

_THREADS: Final = max(2, min(8, os.cpu_count() or 2))
# Planning a query costs as much as decoding this many entries the slow way.
_SMALL: Final = 40
_GROUP_ROWS: Final = 32_768
_BATCH_ROWS: Final = 16_384
_DECODED: Final = pa.schema(list(MANIFEST_ENTRY)[:-3])
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
class _Opened:
    source: ManifestSource
    data: bytes
    frame: AvroFrame


def query_manifests(sources: Sequence[ManifestSource]) -> dict[str, pa.Table]:
    """Decode manifests with DataFusion.

    Args:
        sources: The manifests; neighbours are decoded together.

    Returns:
        The columns of MANIFEST_ENTRY by path. What is missing was too small to be worth it or
        cannot be decoded this way; what is there has as many entries as it should.
    """
    config = datafusion.SessionConfig()
    # One partition keeps the entries of a file in their order.
    config = config.with_target_partitions(1).with_batch_size(_BATCH_ROWS)
    session = datafusion.SessionContext(config)
    groups = [each for each in _groups(sources) if sum(one.count for one in each) > _SMALL]
    if len(groups) == 1:
        return dict(_query_group(session, groups[0]))
    with ThreadPoolExecutor(_THREADS) as pool:
        found = pool.map(lambda group: list(_query_group(session, group)), groups)
        return dict(itertools.chain.from_iterable(found))


def _groups(sources: Iterable[ManifestSource]) -> Iterator[list[ManifestSource]]:
    """Neighbouring manifests, some ten thousand entries a group: one piece of work."""
    group: list[ManifestSource] = []
    rows = 0
    for source in sources:
        if group and rows + source.count > _GROUP_ROWS:
            yield group
            group, rows = [], 0
        group.append(source)
        rows += source.count
    if group:
        yield group


def _query_group(
    session: datafusion.SessionContext, group: Sequence[ManifestSource]
) -> Iterator[tuple[str, pa.Table]]:
    opened = [each for source in group if (each := _open(source)) is not None]
    for _, alike in itertools.groupby(opened, key=lambda each: each.frame.header):
        together = list(alike)
        entries = _query_alike(session, together)
        if entries is None:
            continue
        start = 0
        for each in together:
            yield each.source.path, entries.slice(start, each.source.count)
            start += each.source.count


def _open(source: ManifestSource) -> _Opened | None:
    # On damaged content DataFusion may never return. A damaged frame shows itself, and damage
    # within a block shows when that is decompressed: so only plain blocks are left out.
    try:
        data = Path(source.file).read_bytes()
        frame = read_frame(data)
    except (OSError, ValueError, FormatError):
        return None
    if not frame.is_compressed or frame.records != source.count:
        return None
    return _Opened(source=source, data=data, frame=frame)


def _query_alike(
    session: datafusion.SessionContext, manifests: Sequence[_Opened]
) -> pa.Table | None:
    sources = [each.source for each in manifests]
    if len(sources) == 1:
        return _query_file(session, sources[0].file, sources)
    with tempfile.NamedTemporaryFile(prefix="manifests-", suffix=".avro") as joined:
        joined.write(join_files((each.frame, each.data) for each in manifests))
        joined.flush()
        return _query_file(session, joined.name, sources)


def _query_file(
    session: datafusion.SessionContext, file: str, sources: Sequence[ManifestSource]
) -> pa.Table | None:
    """The entries of one Avro file, batch by batch, as it may be large."""
    counts = [source.count for source in sources]
    owners = np.repeat(np.arange(len(sources)), counts)
    positions = np.concatenate([np.arange(count) for count in counts])
    names = pa.array([source.name for source in sources])

    def entries(batch: pa.RecordBatch, start: int) -> pa.Table:
        part = slice(start, start + batch.num_rows)
        return _entries(batch, names.take(pa.array(owners[part])), positions[part])

    decoded = 0
    pending: list[Future[pa.Table]] = []
    try:
        # One thread decodes Avro while another brings the last batch into shape.
        with ThreadPoolExecutor(1) as pool:
            for batch in _stream(session, file):
                pending.append(pool.submit(entries, batch, decoded))
                decoded += batch.num_rows
        tables = [each.result() for each in pending]
    except Exception:  # DataFusion has one class for all its errors
        return None
    return pa.concat_tables(tables) if tables and decoded == sum(counts) else None


def _stream(session: datafusion.SessionContext, file: str) -> Iterator[pa.RecordBatch]:
    # As a URL, for a plain path with [, ? or * would be taken for a pattern.
    found = session.read_avro(f"file://{quote(file)}", file_extension="")
    return (batch.to_pyarrow() for batch in found.execute_stream())


def _entries(batch: pa.RecordBatch, manifest: pa.Array, positions: _Numbers) -> pa.Table:
    _check_version(batch["_VERSION"], manifest)
    entries = relabel(_columns(batch), _DECODED)
    ours = [file_identity(entries), manifest, pa.array(positions.astype(np.int32))]
    return pa.Table.from_arrays([*entries.columns, *ours], schema=MANIFEST_ENTRY)


def _columns(batch: pa.RecordBatch) -> list[pa.Array]:
    file = batch["_FILE"]
    parts = dict(zip((field.name for field in file.type), file.flatten(), strict=True))
    return [
        batch[paimon_name(field.name)]
        if field.name in _TOP_LEVEL
        else _file_column(parts, field, batch.num_rows)
        for field in _DECODED
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
