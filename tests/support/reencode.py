"""Decodes every metadata file of a warehouse with our codecs and encodes it again in its place."""

from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pyarrow as pa
from pyroaring import BitMap64

from branch_console.format.index_manifest import (
    INDEX_MANIFEST_ENTRY,
    IndexType,
    decode_index_manifest,
    encode_index_manifest,
)
from branch_console.format.manifest_entry import decode_manifest, encode_manifest
from branch_console.format.manifest_list import decode_manifest_list, encode_manifest_list
from branch_console.format.snapshot import Snapshot
from branch_console.format.table_schema import TableSchema
from branch_console.format.tag import Tag
from branch_console.format.values.deletion_vector import (
    DeletionVectorRange,
    read_deletion_vectors,
    write_deletion_vectors,
)


def reencode_warehouse(warehouse: Path, codec: str = "zstandard") -> int:
    """Encode all metadata of all tables anew; the number of files that were written."""
    return sum(_reencode_table(path.parent, codec) for path in warehouse.glob("*.db/*/schema"))


def _reencode_table(table: Path, codec: str) -> int:
    count = 0
    for path in _all(table, "schema/schema-*"):
        path.write_text(TableSchema.from_json(path.read_bytes()).to_json(), encoding="utf-8")
        count += 1
    for path in _all(table, "manifest/manifest-*"):
        if not path.name.startswith("manifest-list-"):
            entries = decode_manifest(path.read_bytes(), path.name)
            count += path.write_bytes(encode_manifest(entries, codec)) > 0
    # A manifest list and a snapshot tell the size of the files they name.
    for path in _all(table, "manifest/manifest-list-*"):
        manifests = decode_manifest_list(path.read_bytes(), path.name)
        sizes = [_size(table, name) for name in manifests["file_name"].to_pylist()]
        position = manifests.schema.get_field_index("file_size")
        field = manifests.schema.field(position)
        resized = manifests.set_column(position, field, pa.array(sizes, field.type))
        count += path.write_bytes(encode_manifest_list(resized, codec)) > 0
    for path in _all(table, "manifest/index-manifest-*"):
        entries = decode_index_manifest(path.read_bytes(), path.name)
        moved = [_reencode_vectors(table, entry) for entry in entries.to_pylist()]
        again = pa.Table.from_pylist(moved, schema=INDEX_MANIFEST_ENTRY)
        count += path.write_bytes(encode_index_manifest(again, codec)) > 0
    for path in (*_all(table, "snapshot/snapshot-*"), *_all(table, "changelog/changelog-*")):
        snapshot = _resized(table, Snapshot.from_json(path.read_bytes()))
        path.write_text(snapshot.to_json(), encoding="utf-8")
        count += 1
    for path in _all(table, "tag/tag-*"):
        tag = Tag.from_json(path.name.removeprefix("tag-"), path.read_bytes())
        again = replace(tag, snapshot=_resized(table, tag.snapshot))
        path.write_text(again.to_json(), encoding="utf-8")
        count += 1
    return count


def _all(table: Path, pattern: str) -> Iterator[Path]:
    yield from sorted(table.glob(pattern))
    yield from sorted(table.glob(f"branch/branch-*/{pattern}"))


def _size(table: Path, manifest: str) -> int:
    return (table / "manifest" / manifest).stat().st_size


def _resized(table: Path, snapshot: Snapshot) -> Snapshot:
    changelog = snapshot.changelog_manifest_list
    if not (table / "manifest" / snapshot.base_manifest_list).exists():
        return snapshot  # a changelog keeps no more than its own list
    return replace(
        snapshot,
        base_manifest_list_size=_size(table, snapshot.base_manifest_list),
        delta_manifest_list_size=_size(table, snapshot.delta_manifest_list),
        changelog_manifest_list_size=changelog and _size(table, changelog),
    )


def _reencode_vectors(table: Path, entry: dict[str, object]) -> dict[str, object]:
    ranges = entry["dv_ranges"]
    if entry["index_type"] != IndexType.DELETION_VECTORS or not isinstance(ranges, list):
        return entry
    path = table / "index" / str(entry["file_name"])
    old = [DeletionVectorRange(**item) for item in ranges]
    vectors = read_deletion_vectors(path.read_bytes(), old, str(path))
    is_64 = any(isinstance(positions, BitMap64) for positions in vectors.values())
    data, new = write_deletion_vectors(vectors, bitmap64=is_64)
    path.write_bytes(data)
    return {**entry, "dv_ranges": [asdict(item) for item in new], "file_size": len(data)}
